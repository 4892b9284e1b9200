//! Topic metadata of a cluster over time, from a recording.

use rustc_hash::FxHashMap;

use crate::group::{Partitions, Racks};

/// Topics of a cluster at one time.
#[derive(Debug, Clone, Default)]
pub struct MetadataSnapshot {
    /// Milliseconds since 1970.
    pub time: i64,
    /// Partitions by topic name.
    pub topics: FxHashMap<String, Partitions>,
    /// Topic ids by topic name, in Kafka's text form.
    pub topic_ids: FxHashMap<String, String>,
}

/// Topic metadata of a recording.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// Snapshots in ascending order of time.
    pub snapshots: Vec<MetadataSnapshot>,
    /// The racks of the replicas in all snapshots.
    pub racks: Racks,
    /// Topic names by topic id, in Kafka's text form.
    pub names: FxHashMap<String, String>,
}

impl Metadata {
    /// Return the last snapshot at or before a time and the first one after it.
    pub fn around(&self, time: i64) -> impl Iterator<Item = &MetadataSnapshot> {
        let after = self.snapshots.partition_point(|snapshot| snapshot.time <= time);
        self.snapshots[after.saturating_sub(1)..self.snapshots.len().min(after + 1)].iter()
    }

    /// Return true if a snapshot has a topic with this name.
    #[must_use]
    pub fn has_topic(&self, name: &str) -> bool {
        self.snapshots.iter().rev().any(|snapshot| snapshot.topics.contains_key(name))
    }

    /// Return the name of a topic, given its name or id; return an unknown id unchanged.
    #[must_use]
    pub fn name<'a>(&'a self, topic: &'a str) -> &'a str {
        self.names.get(topic).map_or(topic, String::as_str)
    }
}
