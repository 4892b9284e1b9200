//! Members of a group as its records describe them, and the partitions they own.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

/// Partition ids by topic, ascending and without repetition; no topic is empty.
pub type OwnedPartitions = BTreeMap<String, Vec<i32>>;

/// Member of a group as its records describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedMember {
    /// The member id.
    pub id: String,
    /// Set for static members.
    pub instance_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// Where it connected from.
    pub client_host: String,
    /// Its rack; None where it names none or an empty one.
    pub rack: Option<String>,
    /// The topics it subscribes to by name; None when that cannot be read, or is said by a pattern alone. Where a broker
    /// has resolved the pattern of a member that has names too, the topics found are among them.
    pub topics: Option<Vec<String>>,
    /// The pattern it subscribes by, as far as it is not in `topics`.
    pub pattern: Option<String>,
    /// Partitions it owns; None when its bytes cannot be read or are not `ConsumerProtocol`.
    pub partitions: Option<OwnedPartitions>,
}

/// Return the distinct partitions that members own.
#[must_use]
pub fn owned(members: &[RecordedMember]) -> FxHashSet<(&str, i32)> {
    distinct(members.iter().filter_map(|member| member.partitions.as_ref()))
}

/// The distinct partitions of several lists.
pub(super) fn distinct<'a>(lists: impl IntoIterator<Item = &'a OwnedPartitions>) -> FxHashSet<(&'a str, i32)> {
    lists.into_iter().flatten().flat_map(|(topic, ids)| ids.iter().map(|id| (topic.as_str(), *id))).collect()
}

/// Partitions from entries in any order: a topic may come more than once, and a partition too.
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
    // Once per topic and not per entry: one entry for each partition is a message like any other.
    for ids in found.values_mut() {
        ids.sort_unstable();
        ids.dedup();
    }
    found
}

/// Number of owners of each partition. An update is O(partitions that change).
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
