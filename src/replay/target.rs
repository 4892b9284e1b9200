//! Target assignments of a consumer group (KIP-848), and the input of the assignor that computed them.
//!
//! A broker writes a record of type 7 for each member whose target changes, and then a record of type 6 with the epoch. The records of
//! type 7 directly before the record of type 6 are the result of the assignor. Other records of type 7 copy the target of a static
//! member to the member that replaces it, or remove the target of a member that leaves. They take effect before the assignor runs.

use std::collections::BTreeMap;

use crate::offsets::{DecodedRecord, FieldValue};

use super::epochs::{EpochGroup, owned_by_topic, owner_of};
use super::fields::{int, text};
use super::member::OwnedPartitions;
use super::timeline_order::TimelineOrder;

/// Highest epoch of a new group: brokers create a group with epoch 0 or 1, and its first member adds one.
const HIGHEST_FIRST_EPOCH: i32 = 2;

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

/// Targets of a group during replay.
#[derive(Debug, Clone, Default)]
pub(super) struct TargetLog {
    pub(super) targets: BTreeMap<String, RecordedPartitions>,
    /// Targets before the latest series of consecutive records of type 7.
    pub(super) replaced: Vec<(String, Option<RecordedPartitions>)>,
    pub(super) order: TimelineOrder,
    /// Members that joined last, all at the same time.
    pub(super) joined: Vec<String>,
    pub(super) joined_at: i64,
    /// True if the log has the complete input of the next target assignment.
    pub(super) is_known: bool,
}

impl TargetLog {
    /// Apply a record of a consumer group.
    pub(super) fn apply(&mut self, timestamp: i64, record: &DecodedRecord<'_>) {
        let member = || text(record.key(), "memberId");
        match (record.record_type, record.value()) {
            (7, Some(value)) => {
                let target = in_recorded_order(value);
                let before = self.targets.insert(member(), target);
                self.replaced.push((member(), before));
                return;
            }
            (7, None) => _ = self.targets.remove(&member()),
            (5, Some(_)) => {
                let member = member();
                if self.order.add(&member) {
                    if self.joined_at != timestamp {
                        self.joined.clear();
                        self.joined_at = timestamp;
                    }
                    self.joined.push(member);
                }
            }
            (5, None) => {
                let member = member();
                self.order.remove(&member);
                self.joined.retain(|joined| *joined != member);
            }
            (3, Some(value)) => self.is_known |= int(value, "epoch", 0) <= HIGHEST_FIRST_EPOCH,
            (3, None) => self.is_known = false,
            (6, Some(_)) => self.is_known = true,
            _ => {}
        }
        self.replaced.clear();
    }

    /// Return the target assignment that a record of type 6 completes. Call this before applying the record.
    pub(super) fn assignment(&self, group: &EpochGroup, timestamp: i64) -> TargetAssignment {
        let mut before: BTreeMap<&str, Option<&RecordedPartitions>> = BTreeMap::new();
        for (member, target) in self.replaced.iter().rev() {
            before.insert(member, target.as_ref());
        }
        let target_of = |id| self.targets.get(id).cloned().unwrap_or_default();
        let owned_of = |id| match before.get(id) {
            Some(target) => target.cloned().unwrap_or_default(),
            None => target_of(id),
        };
        let is_new = |id: &&str| self.joined_at == timestamp && self.joined.iter().any(|joined| joined == id);
        let others = self.order.keys().filter(|id| !is_new(id));
        let new = self.joined.iter().map(String::as_str).filter(is_new);
        let members = others.chain(new).map(|id| {
            let (instance_id, rack, topics) = group.assigned_member(id);
            TargetMember {
                id: id.to_owned(),
                instance_id,
                rack,
                topics,
                owned: owned_of(id),
                assigned: target_of(id).into_iter().collect(),
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
fn in_recorded_order(value: FieldValue<'_>) -> RecordedPartitions {
    let mut merged = owned_by_topic(value, &["topicPartitions"]);
    let entries = value.get("topicPartitions").into_iter().flat_map(FieldValue::items);
    entries.filter_map(|entry| merged.remove_entry(&owner_of(entry))).collect()
}
