//! Committed offsets of a group, and the members that own the partitions.
//!
//! Owners are those of the assignment that members have, which differs from the target assignment of a consumer group while its members
//! change over.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::events::{Partition, sorted};

/// Ownership of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tenure {
    pub(super) holder: Arc<str>,
    /// Time since which the partition has had an owner without interruption.
    pub(super) since: i64,
    /// True if an offset was committed since the current owner has the partition.
    pub(super) has_commit: bool,
    /// True if the partition was reported as never committed.
    pub(super) is_reported: bool,
}

/// What is known of a partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PartitionState {
    /// The committed offset.
    pub(super) offset: Option<i64>,
    pub(super) tenure: Option<Tenure>,
    /// The last owner, if the partition has none.
    pub(super) last_holder: Option<Arc<str>>,
    /// True if a commit without an owner was reported in this generation.
    pub(super) is_reported: bool,
}

impl PartitionState {
    /// Return true if nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.offset.is_none() && self.tenure.is_none() && self.last_holder.is_none() && !self.is_reported
    }

    /// Return the ownership of a partition that has an owner, no committed offset, and was not reported yet.
    fn waiting(&self) -> Option<&Tenure> {
        self.tenure.as_ref().filter(|tenure| self.offset.is_none() && !tenure.is_reported)
    }
}

/// Partitions by topic and id.
pub(super) type Topics = FxHashMap<Arc<str>, FxHashMap<i32, PartitionState>>;

/// Committed offsets of a group and the owners of its partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) topics: Topics,
    /// Number of partitions with a committed offset.
    pub(super) offsets: usize,
}

impl Committed {
    /// Return what is known of a partition, and add it if it is new.
    pub(super) fn add(topics: &mut Topics, topic: Arc<str>, id: i32) -> &mut PartitionState {
        topics.entry(topic).or_default().entry(id).or_default()
    }

    /// Return what is known of a partition.
    pub(super) fn partition(&mut self, topic: &str, id: i32) -> Option<&mut PartitionState> {
        self.topics.get_mut(topic)?.get_mut(&id)
    }

    /// Forget a partition.
    pub(super) fn forget(&mut self, topic: &str, id: i32) {
        if let Some(ids) = self.topics.get_mut(topic) {
            ids.remove(&id);
            if ids.is_empty() {
                self.topics.remove(topic);
            }
        }
    }

    /// Replace the owners of all partitions.
    pub(super) fn own(&mut self, holders: &FxHashMap<Partition, Arc<str>>, at: i64) {
        for (topic, ids) in &mut self.topics {
            for (id, partition) in ids.iter_mut() {
                partition.is_reported = false;
                if partition.tenure.is_some() && !holders.contains_key(&(Arc::clone(topic), *id)) {
                    partition.last_holder = partition.tenure.take().map(|tenure| tenure.holder);
                }
                if holders.is_empty() {
                    partition.last_holder = None;
                }
            }
            ids.retain(|_, partition| !partition.is_empty());
        }
        self.topics.retain(|_, ids| !ids.is_empty());
        for (key, holder) in holders {
            self.give(key, holder, at);
        }
    }

    /// Set the owner of a partition; return true if the partition now waits for its first commit.
    pub(super) fn give(&mut self, (topic, id): &Partition, holder: &Arc<str>, at: i64) -> bool {
        let partition = match self.topics.get_mut(topic) {
            Some(ids) => ids.entry(*id).or_default(),
            None => Self::add(&mut self.topics, Arc::clone(topic), *id),
        };
        partition.last_holder = None;
        let (since, is_reported) = match &partition.tenure {
            Some(tenure) if tenure.holder == *holder => return false,
            Some(tenure) => (tenure.since, tenure.is_reported),
            None => (at, false),
        };
        partition.tenure = Some(Tenure { holder: Arc::clone(holder), since, has_commit: false, is_reported });
        partition.waiting().is_some()
    }

    /// Remove the owner of a partition, which becomes its last one.
    pub(super) fn release(&mut self, (topic, id): &Partition) {
        if let Some(partition) = self.partition(topic, *id)
            && let Some(tenure) = partition.tenure.take()
        {
            partition.last_holder = Some(tenure.holder);
        }
    }

    /// Forget that commits of partitions without an owner were reported.
    pub(super) fn forget_reports(&mut self, partitions: Vec<Partition>) {
        for (topic, id) in partitions {
            let Some(partition) = self.partition(&topic, id) else { continue };
            partition.is_reported = false;
            if partition.is_empty() {
                self.forget(&topic, id);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = (&Arc<str>, i32, &PartitionState)> {
        self.topics.iter().flat_map(|(topic, ids)| ids.iter().map(move |(id, partition)| (topic, *id, partition)))
    }

    /// Return the earliest time since which a partition has had an owner and no committed offset.
    pub(super) fn first_waiting(&self) -> Option<i64> {
        self.all().filter_map(|(_, _, partition)| partition.waiting()).map(|tenure| tenure.since).min()
    }

    /// Return, once each, the partitions that have an owner since a time or before and no committed offset.
    pub(super) fn due(&mut self, since: i64) -> Vec<Partition> {
        let mut found = Vec::new();
        for (topic, ids) in &mut self.topics {
            for (id, partition) in ids.iter_mut() {
                if partition.waiting().is_some_and(|tenure| tenure.since <= since)
                    && let Some(tenure) = &mut partition.tenure
                {
                    tenure.is_reported = true;
                    found.push((Arc::clone(topic), *id));
                }
            }
        }
        sorted(found)
    }

    /// Return the partitions of an owner with an offset that was committed since it has them.
    pub(super) fn committed_by(&self, holder: &str) -> Vec<Partition> {
        let is_committed = |partition: &PartitionState| {
            partition.tenure.as_ref().is_some_and(|tenure| &*tenure.holder == holder && tenure.has_commit)
        };
        let found = self.all().filter(|(_, _, partition)| is_committed(partition));
        sorted(found.map(|(topic, id, _)| (Arc::clone(topic), id)))
    }
}
