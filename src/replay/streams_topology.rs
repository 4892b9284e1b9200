//! Topology of a streams group (KIP-1071): its subtopologies, and the number of their tasks in a snapshot of the topics.

use std::collections::{BTreeMap, BTreeSet};

use super::fields::{int, text, texts};
use super::metadata::MetadataSnapshot;
use crate::offsets::FieldValue;

/// Topology, from a record of type 23 (`STREAMS_GROUP_TOPOLOGY`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Topology {
    pub(super) epoch: i32,
    /// Subtopologies by id.
    pub(super) subtopologies: BTreeMap<String, Subtopology>,
}

/// Part of a topology; its tasks have numbers from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Subtopology {
    /// The distinct topics that its tasks read, in order.
    pub(super) sources: Vec<String>,
    /// True if it also reads topics that match a pattern. No record has their names.
    pub(super) has_pattern: bool,
    /// True if its tasks have state: it has a changelog topic.
    pub(super) has_state: bool,
}

impl Topology {
    /// Read a record.
    pub(super) fn of_record(value: FieldValue<'_>) -> Self {
        let mut subtopologies = BTreeMap::new();
        for subtopology in value.get("subtopologies").into_iter().flat_map(FieldValue::items) {
            let items = |field| subtopology.get(field).into_iter().flat_map(FieldValue::items);
            let internal = items("repartitionSourceTopics").map(|topic| text(topic, "name"));
            let topics: BTreeSet<String> = texts(subtopology, "sourceTopics").into_iter().chain(internal).collect();
            let read = Subtopology {
                sources: topics.into_iter().collect(),
                has_pattern: items("sourceTopicRegex").next().is_some(),
                has_state: items("stateChangelogTopics").next().is_some(),
            };
            subtopologies.insert(text(subtopology, "subtopologyId"), read);
        }
        Self { epoch: int(value, "epoch", 0), subtopologies }
    }

    /// Return the topics that the tasks of a subtopology read; none for an unknown subtopology.
    pub(super) fn sources(&self, subtopology: &str) -> &[String] {
        self.subtopologies.get(subtopology).map_or(&[], |found| &found.sources)
    }

    /// Return true if the tasks of a subtopology have state.
    pub(super) fn has_state(&self, subtopology: &str) -> bool {
        self.subtopologies.get(subtopology).is_some_and(|found| found.has_state)
    }
}

impl Subtopology {
    /// Return the number of tasks: the most partitions of any of its topics in a snapshot. Topics that the snapshot lacks do not count.
    pub(super) fn tasks(&self, snapshot: &MetadataSnapshot) -> u32 {
        let ends = self.sources.iter().filter_map(|topic| snapshot.topics.get(topic)).map(|found| found.ids.end());
        ends.max().unwrap_or(0) as u32
    }

    /// Return the topics that a snapshot lacks.
    pub(super) fn missing(&self, snapshot: &MetadataSnapshot) -> impl Iterator<Item = &str> {
        self.sources.iter().map(String::as_str).filter(|topic| !snapshot.topics.contains_key(*topic))
    }
}
