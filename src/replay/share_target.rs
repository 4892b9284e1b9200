//! Target assignments of a share group (KIP-932), and the input of the assignor that computed them.
//!
//! A broker assigns only partitions whose share state is initialized. A record of type 15 has these partitions.

use crate::offsets::{DecodedRecord, FieldValue};

use super::epochs::{EpochGroup, owned_by_topic, owner_of};
use super::fields::ints;
use super::member::{OwnedPartitions, merged};
use super::model::GroupKind;
use super::target::{RecordedPartitions, TargetAssignment, target_members};
use super::target_log::TargetLog;

/// The broker's assignor of share groups: the first of `group.share.assignors`, which members cannot choose.
const ASSIGNOR: &str = "simple";

/// Targets of a share group during replay.
#[derive(Debug, Clone, Default)]
pub(super) struct ShareTargets {
    pub(super) log: TargetLog<RecordedPartitions>,
    /// Partitions whose share state is initialized, by topic id; None if the log does not have them.
    pub(super) initialized: Option<OwnedPartitions>,
}

impl ShareTargets {
    /// Apply a record of the group.
    pub(super) fn apply(&mut self, timestamp: i64, record: &DecodedRecord<'_>) {
        if record.record_type == 15 {
            self.initialized = record.value().map(initialized);
        } else {
            self.log.apply(timestamp, record, in_recorded_order);
        }
    }

    /// Return the target assignment that a record of type 12 completes. Call this before applying the record.
    pub(super) fn assignment(&self, group: &EpochGroup, timestamp: i64) -> TargetAssignment {
        TargetAssignment {
            kind: GroupKind::Share,
            timestamp,
            assignors: vec![ASSIGNOR.to_owned()],
            is_homogeneous: group.is_homogeneous(),
            has_predecessor: self.log.is_known,
            initialized: self.initialized.clone(),
            members: target_members(&self.log, group, timestamp, false),
        }
    }
}

/// Return the partitions of a target without duplicates, topics and ids in the order of the record: the broker puts both into hash tables
/// in this order. A topic that occurs twice, or has an id twice, has its ids in ascending order.
fn in_recorded_order(value: FieldValue<'_>) -> RecordedPartitions {
    let mut merged = owned_by_topic(value, &["topicPartitions"]);
    let entries = value.get("topicPartitions").into_iter().flat_map(FieldValue::items);
    let found = entries.filter_map(|entry| {
        let (topic, sorted) = merged.remove_entry(&owner_of(entry))?;
        let recorded: Vec<i32> = ints(entry, "partitions").collect();
        Some((topic, if recorded.len() == sorted.len() { recorded } else { sorted }))
    });
    found.collect()
}

fn initialized(value: FieldValue<'_>) -> OwnedPartitions {
    let topics = value.get("initializedTopics").into_iter().flat_map(FieldValue::items);
    merged(topics.map(|topic| (owner_of(topic), ints(topic, "partitions").filter(|id| *id >= 0))))
}
