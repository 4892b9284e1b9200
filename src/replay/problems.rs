//! Problems of assignments: partitions that several members have, partitions of topics that their member does not subscribe to, and
//! partitions that do not exist.
//!
//! An assignment is that of a generation of a classic group, or the target assignment of an epoch. In a consumer group, several members can
//! also have a partition in their current assignments. Partitions that a member still has to give up belong to its current assignment, so
//! a partition that moves has one owner.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::member::OwnedPartitions;
use super::metadata::{Metadata, MetadataSnapshot};
use crate::group::{Ids, Partitions};

/// Topic and partition id.
type Partition = (Arc<str>, i32);

/// Partitions with a problem, and the ids of their members.
pub(super) type Found = BTreeMap<Partition, Vec<Arc<str>>>;

/// Problems of one assignment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AssignmentProblems {
    /// Partitions that several members have.
    pub(super) several: Found,
    /// Partitions of topics that the member does not subscribe to.
    pub(super) not_subscribed: Found,
    /// Partitions that the snapshot before the assignment does not have.
    pub(super) unknown: Found,
    /// Topics in `unknown` that may have had more partitions: all lower partitions are assigned, too, and the assignor is one of Kafka's.
    pub(super) grown: BTreeSet<Arc<str>>,
}

/// Problem that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastingProblem {
    pub(super) since: i64,
    pub(super) found: Found,
}

/// Problems of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Problems {
    /// Problems of the last assignment.
    pub(super) assigned: AssignmentProblems,
    /// Partitions that several members have in the current assignments of a consumer group.
    pub(super) current: Found,
    /// Problems that have not ended, by their number in `problem_events`.
    pub(super) lasting: BTreeMap<usize, LastingProblem>,
}

/// Member of an assignment.
pub(super) struct AssignedMember<'a> {
    pub(super) id: &'a str,
    /// The subscribed topics; None if they are not known.
    pub(super) topics: Option<&'a [String]>,
    /// The partitions, by topic id in a consumer group, else by name.
    pub(super) assigned: &'a OwnedPartitions,
}

/// What is known about the assignment that is checked.
#[derive(Clone, Copy)]
pub(super) struct Assignment<'a> {
    pub(super) metadata: &'a Metadata,
    /// Milliseconds since 1970.
    pub(super) time: i64,
    /// True if topics are named by id.
    pub(super) has_ids: bool,
    /// True if the assignor is one of Kafka's, which assign only partitions that exist.
    pub(super) is_kafkas: bool,
    /// True if no partition has several members.
    pub(super) is_single: bool,
}

/// Topic of an assignment: its name, and its partitions in the snapshot before the assignment.
#[derive(Clone, Copy)]
struct Topic<'a> {
    name: Option<&'a str>,
    partitions: Option<&'a Partitions>,
}

impl<'a> Assignment<'a> {
    /// Return what is known about a topic, given its key in the assignment. A topic id without a name is not known.
    fn topic(&self, key: &'a str) -> Topic<'a> {
        let name = if self.has_ids { self.metadata.names.get(key).map(String::as_str) } else { Some(key) };
        let known = |snapshot: &'a MetadataSnapshot| {
            let is_same = !self.has_ids || snapshot.topic_ids.get(name?).is_some_and(|id| id == key);
            snapshot.topics.get(name?).filter(|_| is_same)
        };
        Topic { name, partitions: self.metadata.around(self.time).next().and_then(known) }
    }

    /// Return the problems of the assignment of members.
    pub(super) fn problems(&self, members: &[AssignedMember<'a>]) -> AssignmentProblems {
        let mut problems = AssignmentProblems::default();
        let mut topics: FxHashMap<&str, Topic<'a>> = FxHashMap::default();
        let mut subscribed: FxHashSet<&str> = FxHashSet::default();
        let mut subscription: Option<&[String]> = None;
        // Most members subscribe to the same topics and have partitions of the same ones. So a topic is usually that of the previous
        // member in the same place, which is faster to find than by its hash.
        let mut previous: Vec<(&str, Topic<'a>, bool)> = Vec::new();
        for member in members {
            if member.topics != subscription {
                subscription = member.topics;
                subscribed = subscription.into_iter().flatten().map(String::as_str).collect();
                previous.clear();
            }
            for (place, (key, ids)) in member.assigned.iter().enumerate() {
                let found = previous.get(place).copied().filter(|found| found.0 == key);
                let found = found.unwrap_or_else(|| {
                    let topic = *topics.entry(key).or_insert_with(|| self.topic(key));
                    let is_wanted = subscription.is_none() || topic.name.is_none_or(|name| subscribed.contains(name));
                    previous.truncate(place);
                    previous.push((key, topic, is_wanted));
                    (key, topic, is_wanted)
                });
                let (_, topic, is_wanted) = found;
                let Some(name) = topic.name else { continue };
                if !is_wanted {
                    add(&mut problems.not_subscribed, name, ids, member.id);
                }
                if let Some(partitions) = topic.partitions
                    && !has_all(partitions, ids)
                {
                    let lacks = |id: &i32| partitions.ids.position(*id).is_none();
                    let unknown: Vec<i32> = ids.iter().copied().filter(lacks).collect();
                    add(&mut problems.unknown, name, &unknown, member.id);
                }
            }
        }
        if !self.is_single {
            problems.several = self.several(members);
        }
        if self.is_kafkas && !problems.unknown.is_empty() {
            problems.grown = self.grown(members, &problems.unknown);
        }
        problems
    }

    /// Return the partitions that several members have.
    pub(super) fn several(&self, members: &[AssignedMember<'a>]) -> Found {
        let all = || members.iter().flat_map(|member| member.assigned.iter().map(move |entry| (member.id, entry)));
        let mut counts: FxHashMap<(&str, i32), usize> = FxHashMap::default();
        for (_, (key, ids)) in all() {
            for id in ids {
                *counts.entry((key, *id)).or_default() += 1;
            }
        }
        let mut found = Found::new();
        for (member, (key, ids)) in all() {
            let shared: Vec<i32> = ids.iter().copied().filter(|id| counts[&(key.as_str(), *id)] > 1).collect();
            add(&mut found, self.metadata.name(key), &shared, member);
        }
        found
    }

    /// Return the topics with unknown partitions whose lower partitions are all assigned.
    fn grown(&self, members: &[AssignedMember<'a>], unknown: &Found) -> BTreeSet<Arc<str>> {
        let mut ids: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
        let wanted: BTreeSet<&str> = unknown.keys().map(|(topic, _)| &**topic).collect();
        for (key, assigned) in members.iter().flat_map(|member| member.assigned) {
            if let Some(name) = wanted.get(self.metadata.name(key)) {
                ids.entry(name).or_default().extend(assigned);
            }
        }
        let is_full = |ids: &BTreeSet<i32>| ids.last().is_some_and(|last| ids.len() as i64 == i64::from(*last) + 1);
        ids.into_iter().filter(|(_, ids)| is_full(ids)).map(|(topic, _)| topic.into()).collect()
    }
}

/// Return true if a topic has all partitions; the ids are ascending.
fn has_all(partitions: &Partitions, ids: &[i32]) -> bool {
    match &partitions.ids {
        Ids::Count(count) => ids.last().is_none_or(|last| i64::from(*last) < i64::from(*count)),
        Ids::Listed(_) => ids.iter().all(|id| partitions.ids.position(*id).is_some()),
    }
}

fn add(found: &mut Found, topic: &str, ids: &[i32], member: &str) {
    if ids.is_empty() {
        return;
    }
    let (topic, member): (Arc<str>, Arc<str>) = (topic.into(), member.into());
    for id in ids {
        found.entry((Arc::clone(&topic), *id)).or_default().push(Arc::clone(&member));
    }
}

impl AssignmentProblems {
    /// Drop the unknown partitions that may have existed, by the topic metadata that is known now.
    ///
    /// A topic can grow between two snapshots, so a partition that the snapshot after the assignment has is not unknown. Without that
    /// snapshot, a topic that may have grown is not, either.
    pub(super) fn settle(&mut self, metadata: &Metadata, time: i64) {
        let after = metadata.around(time).nth(1);
        let grown = &self.grown;
        self.unknown.retain(|(topic, id), _| match after.and_then(|snapshot| snapshot.topics.get(&**topic)) {
            Some(partitions) => partitions.ids.position(*id).is_none(),
            None => !grown.contains(topic),
        });
    }
}

/// Return the partitions that several members have, from the sorted partitions of each.
pub(super) fn several_owners<'a>(members: impl Iterator<Item = (&'a Arc<str>, &'a [Partition])>) -> Found {
    let mut found = Found::new();
    for (id, partitions) in members {
        for key in partitions {
            found.entry(key.clone()).or_default().push(Arc::clone(id));
        }
    }
    found.retain(|_, members| members.len() > 1);
    for members in found.values_mut() {
        members.sort_unstable();
    }
    found
}
