//! Owners of partitions that several members share: the result of assignors of share groups.

use super::Span;
use crate::cancellation;
use crate::group::Lists;

/// Owners of each partition that has any.
#[derive(Debug, Default)]
pub(crate) struct SharedOwners {
    /// Topic and id of each partition, ascending.
    partitions: Vec<(u32, i32)>,
    /// By partition, the indices of the members that own it.
    owners: Lists,
}

impl SharedOwners {
    /// Add a partition, whose topic and id follow those before it, with its distinct owners.
    pub(crate) fn push(&mut self, topic: u32, id: i32, owners: &[u32]) {
        if !owners.is_empty() {
            self.partitions.push((topic, id));
            self.owners.push(owners);
        }
    }

    /// Return the number of pairs of partition and owner.
    pub(super) fn total(&self) -> usize {
        self.owners.total()
    }

    /// Return the number of partitions of each member.
    pub(super) fn counts(&self, members: usize) -> Vec<i64> {
        let mut counts = vec![0; members];
        for member in self.owners.iter().flatten() {
            counts[*member as usize] += 1;
        }
        counts
    }

    /// Return the spans of all members, and the end of the spans of each member.
    pub(super) fn spans(&self, members: usize) -> (Vec<Span>, Vec<usize>) {
        let mut ends = vec![0; members + 1];
        self.each_pair(members, |member, _, is_new| ends[member as usize + 1] += usize::from(is_new));
        for member in 1..ends.len() {
            ends[member] += ends[member - 1];
        }
        cancellation::check();
        let mut spans = vec![Span { topic: 0, start: 0, count: 0 }; ends[members]];
        // At first `ends` has the start of each member's spans. Each new span advances it by one, until it is their end.
        self.each_pair(members, |member, (topic, id), is_new| {
            let end = &mut ends[member as usize];
            if is_new {
                spans[*end] = Span { topic, start: id, count: 1 };
                *end += 1;
            } else {
                spans[*end - 1].count += 1;
            }
        });
        ends.pop();
        (spans, ends)
    }

    /// Call `read` with each member and each of its partitions, by topic and id; and with true if the partition is not next to the
    /// member's partition before it.
    fn each_pair(&self, members: usize, mut read: impl FnMut(u32, (u32, i32), bool)) {
        // By member, the partition that would continue its last span.
        let mut next = vec![(u32::MAX, 0); members];
        for (partition, owners) in self.partitions.iter().zip(self.owners.iter()) {
            for member in owners {
                let next = &mut next[*member as usize];
                read(*member, *partition, next != partition);
                *next = (partition.0, partition.1.wrapping_add(1));
            }
        }
    }
}
