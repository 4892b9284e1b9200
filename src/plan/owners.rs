//! Owners of partitions by position: the result of assignors that assign partition by partition.

use super::Span;
use crate::cancellation;
use crate::group::Group;

/// Marks a partition without an owner.
pub(crate) const NO_OWNER: u32 = u32::MAX;

/// Owner of each partition. Partitions of all topics are numbered consecutively, by topic in Java's order, then by position.
#[derive(Debug)]
pub(crate) struct Owners {
    /// Per partition, the index of the member that owns it, or `NO_OWNER`.
    pub(crate) members: Vec<u32>,
    /// Per topic, the number of its first partition; one more entry for the end.
    pub(crate) starts: Vec<u32>,
}

impl Owners {
    /// Create owners in which no partition has an owner.
    pub(crate) fn new(group: &Group) -> Self {
        cancellation::check();
        let starts = starts(group);
        Self { members: vec![NO_OWNER; starts[starts.len() - 1] as usize], starts }
    }

    /// Create owners from a list with the owner of each partition.
    pub(crate) fn of(group: &Group, members: Vec<u32>) -> Self {
        Self { members, starts: starts(group) }
    }
}

/// Return the number of the first partition of each topic, and the number of all partitions.
fn starts(group: &Group) -> Vec<u32> {
    let partitions = group.topics().partitions();
    let mut starts = Vec::with_capacity(partitions.len() + 1);
    let mut total = 0;
    for partitions in partitions {
        starts.push(total);
        total += partitions.ids.len() as u32;
    }
    starts.push(total);
    starts
}

/// Call `read` with each span and its owner: topics in Java's order, ids ascending.
pub(super) fn each_span(group: &Group, owners: &Owners, mut read: impl FnMut(u32, Span)) {
    for (topic, partitions) in (0..).zip(group.topics().partitions()) {
        let end = owners.starts[topic as usize + 1] - owners.starts[topic as usize];
        let members = &owners.members[owners.starts[topic as usize] as usize..][..end as usize];
        let mut position = 0;
        while position < members.len() {
            let member = members[position];
            let same = members[position..].iter().take_while(|other| **other == member).count();
            let limit = position + same;
            while position < limit {
                let end = partitions.ids.end_of_run(position, limit);
                if member != NO_OWNER {
                    let (start, count) = (partitions.ids.at(position), (end - position) as i32);
                    read(member, Span { topic, start, count });
                }
                position = end;
            }
        }
    }
}
