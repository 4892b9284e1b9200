//! Members of a group and their partitions, from its records.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::wire::{Client, Unconvertible};

/// Partition ids by topic; ids are ascending and distinct, and no list is empty.
pub(super) type OwnedPartitions = BTreeMap<String, Vec<i32>>;

/// Member of a group, from its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedMember {
    /// The member id.
    pub id: String,
    /// The group instance id of a static member.
    pub instance_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// The client host.
    pub client_host: String,
    /// The rack; None if it is missing or empty.
    pub rack: Option<String>,
    /// The subscribed topics; None if the subscription cannot be decoded or has a pattern only. If a member names topics and the
    /// broker has resolved its pattern, the topics of both.
    pub topics: Option<Vec<String>>,
    /// The pattern, unless its topics are in `topics`.
    pub pattern: Option<String>,
    /// The owned partitions; None if the assignment cannot be decoded or is not `ConsumerProtocol`.
    pub partitions: Option<OwnedPartitions>,
    /// The client library of a classic member; not known for other members, which need no migration.
    pub client: Client,
    /// Why a broker could not take over the member into a group of KIP-848; None if it could, or if the group has no consumers.
    pub unconvertible: Option<Unconvertible>,
}

/// Return the distinct partitions that members own.
pub(super) fn owned(members: &[RecordedMember]) -> FxHashSet<(&str, i32)> {
    distinct(members.iter().filter_map(|member| member.partitions.as_ref()))
}

/// Return the distinct partitions of several members.
pub(super) fn distinct<'a>(lists: impl IntoIterator<Item = &'a OwnedPartitions>) -> FxHashSet<(&'a str, i32)> {
    lists.into_iter().flatten().flat_map(|(topic, ids)| ids.iter().map(|id| (topic.as_str(), *id))).collect()
}

/// Merge entries in any order, with possible duplicates, into `OwnedPartitions`.
pub(super) fn merged<I: IntoIterator<Item = i32>>(
    entries: impl IntoIterator<Item = (impl Into<String>, I)>,
) -> OwnedPartitions {
    let mut found = OwnedPartitions::new();
    for (topic, ids) in entries {
        let mut ids = ids.into_iter().peekable();
        if ids.peek().is_some() {
            found.entry(topic.into()).or_default().extend(ids);
        }
    }
    // Sort once per topic instead of once per entry: a message may have one entry per partition.
    for ids in found.values_mut() {
        ids.sort_unstable();
        ids.dedup();
    }
    found
}

/// Number of owners of each partition. The cost of an update depends on the number of changed partitions only.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnerCounts {
    owners: FxHashMap<String, FxHashMap<i32, usize>>,
    distinct: usize,
}

impl OwnerCounts {
    pub(super) fn distinct(&self) -> usize {
        self.distinct
    }

    pub(super) fn add(&mut self, topic: &str, ids: &[i32]) {
        if !self.owners.contains_key(topic) {
            self.owners.insert(topic.to_owned(), FxHashMap::default());
        }
        let Some(owners) = self.owners.get_mut(topic) else { return };
        for id in ids {
            let count = owners.entry(*id).or_default();
            self.distinct += usize::from(*count == 0);
            *count += 1;
        }
    }

    /// Undo `add`.
    pub(super) fn remove(&mut self, topic: &str, ids: &[i32]) {
        let Some(owners) = self.owners.get_mut(topic) else { return };
        for id in ids {
            let Some(count) = owners.get_mut(id) else { continue };
            *count -= 1;
            if *count == 0 {
                owners.remove(id);
                self.distinct -= 1;
            }
        }
        if owners.is_empty() {
            self.owners.remove(topic);
        }
    }
}
