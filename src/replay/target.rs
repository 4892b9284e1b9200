//! Target assignments of a consumer group (KIP-848), and the input of the assignor that computed them.

use crate::offsets::FieldValue;

use super::epochs::{EpochGroup, owned_by_topic, owner_of};
use super::member::OwnedPartitions;
use super::target_log::TargetLog;

/// Partitions by topic id, in the order of the record. A broker puts the topics into a hash map in this order, and `uniform` reads
/// that map.
pub(super) type RecordedPartitions = Vec<(String, Vec<i32>)>;

/// Target assignment that a broker computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetAssignment {
    /// Milliseconds since 1970.
    pub(super) timestamp: i64,
    /// Names of the assignors with the most votes. If there are several, the log does not show which one the broker used.
    pub(super) assignors: Vec<String>,
    /// True if the broker treats all subscriptions as equal.
    pub(super) is_homogeneous: bool,
    /// False if the log lacks the target assignment before this one.
    pub(super) has_predecessor: bool,
    /// The members, in the order in which the broker passes them to its assignor.
    pub(super) members: Vec<TargetMember>,
}

/// Member of a target assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetMember {
    /// The member id.
    pub(super) id: String,
    /// The group instance id of a static member.
    pub(super) instance_id: Option<String>,
    /// The rack; None if it is missing or empty.
    pub(super) rack: Option<String>,
    /// The topics that it names, then those that the broker found for its pattern.
    pub(super) topics: Vec<String>,
    /// The previous target, by topic id.
    pub(super) owned: RecordedPartitions,
    /// The new target, by topic id.
    pub(super) assigned: OwnedPartitions,
}

impl TargetLog<RecordedPartitions> {
    /// Return the target assignment that a record of type 6 completes. Call this before applying the record.
    pub(super) fn assignment(&self, group: &EpochGroup, timestamp: i64) -> TargetAssignment {
        let members = self.members(timestamp).into_iter().map(|(id, owned, assigned)| {
            let (instance_id, rack, topics) = group.assigned_member(id);
            TargetMember {
                id: id.to_owned(),
                instance_id,
                rack,
                topics,
                owned,
                assigned: assigned.into_iter().collect(),
            }
        });
        TargetAssignment {
            timestamp,
            assignors: group.preferred_assignors(),
            is_homogeneous: group.is_homogeneous(),
            has_predecessor: self.is_known,
            members: members.collect(),
        }
    }
}

/// Return the partitions of a target, without duplicates; a topic that occurs twice has its first place.
pub(super) fn in_recorded_order(value: FieldValue<'_>) -> RecordedPartitions {
    let mut merged = owned_by_topic(value, &["topicPartitions"]);
    let entries = value.get("topicPartitions").into_iter().flat_map(FieldValue::items);
    entries.filter_map(|entry| merged.remove_entry(&owner_of(entry))).collect()
}
