//! Target assignments of consumer groups (KIP-848) and share groups, and the input of the assignor that computed them.

use crate::offsets::FieldValue;

use super::epochs::{EpochGroup, owned_by_topic, owner_of};
use super::member::{OwnedPartitions, merged};
use super::model::GroupKind;
use super::target_log::TargetLog;

/// Partitions by topic id, in the order of the record. A broker puts the topics into a hash map in this order, and `uniform` reads
/// that map.
pub(super) type RecordedPartitions = Vec<(String, Vec<i32>)>;

/// Target assignment that a broker computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetAssignment {
    /// Kind of the group.
    pub(super) kind: GroupKind,
    /// Milliseconds since 1970.
    pub(super) timestamp: i64,
    /// Names of the assignors with the most votes. If there are several, the log does not show which one the broker used.
    pub(super) assignors: Vec<String>,
    /// True if the broker treats all subscriptions as equal.
    pub(super) is_homogeneous: bool,
    /// False if the log lacks the target assignment before this one.
    pub(super) has_predecessor: bool,
    /// Partitions of a share group whose share state is initialized, by topic id; None if the log does not have them.
    pub(super) initialized: Option<OwnedPartitions>,
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
        TargetAssignment {
            kind: GroupKind::Consumer,
            timestamp,
            assignors: group.preferred_assignors(),
            is_homogeneous: group.is_homogeneous(),
            has_predecessor: self.is_known,
            initialized: None,
            members: target_members(self, group, timestamp, true),
        }
    }
}

/// Return the members of a target assignment, in the order in which the broker passes them to its assignor.
pub(super) fn target_members(
    log: &TargetLog<RecordedPartitions>,
    group: &EpochGroup,
    timestamp: i64,
    is_new_last: bool,
) -> Vec<TargetMember> {
    let member = |(id, owned, assigned): (&str, _, RecordedPartitions)| {
        let (instance_id, rack, topics) = group.assigned_member(id);
        TargetMember { id: id.to_owned(), instance_id, rack, topics, owned, assigned: merged(assigned) }
    };
    log.members(timestamp, is_new_last).into_iter().map(member).collect()
}

/// Return the partitions of a target, without duplicates; a topic that occurs twice has its first place.
pub(super) fn in_recorded_order(value: FieldValue<'_>) -> RecordedPartitions {
    let mut merged = owned_by_topic(value, &["topicPartitions"]);
    let entries = value.get("topicPartitions").into_iter().flat_map(FieldValue::items);
    entries.filter_map(|entry| merged.remove_entry(&owner_of(entry))).collect()
}
