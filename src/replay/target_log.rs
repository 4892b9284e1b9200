//! Target assignments of a group with an epoch, and the order in which the broker passes its members to the assignor.
//!
//! A broker writes a record for each member whose target changes (type 7, 13 or 21), and then a record with the epoch (type 6, 12 or 20).
//! The targets directly before the epoch are the result of the assignor. Other records of targets copy the target of a static member to
//! the member that replaces it, or remove the target of a member that leaves. They take effect before the assignor runs.

use std::collections::BTreeMap;

use crate::offsets::{DecodedRecord, FieldValue};

use super::fields::{int, text};
use super::timeline_order::TimelineOrder;

/// Highest epoch of a new group: brokers create a group with epoch 0 or 1, and its first member adds one.
const HIGHEST_FIRST_EPOCH: i32 = 2;

/// Targets of type `T` of a group during replay.
#[derive(Debug, Clone)]
pub(super) struct TargetLog<T> {
    pub(super) targets: BTreeMap<String, T>,
    /// Targets before the latest series of consecutive records of targets.
    pub(super) replaced: Vec<(String, Option<T>)>,
    pub(super) order: TimelineOrder,
    /// Members that joined last, all at the same time.
    pub(super) joined: Vec<String>,
    pub(super) joined_at: i64,
    /// True if the log has the complete input of the next target assignment.
    pub(super) is_known: bool,
}

impl<T> Default for TargetLog<T> {
    fn default() -> Self {
        Self {
            targets: BTreeMap::new(),
            replaced: Vec::new(),
            order: TimelineOrder::default(),
            joined: Vec::new(),
            joined_at: 0,
            is_known: false,
        }
    }
}

impl<T: Clone + Default> TargetLog<T> {
    /// Apply a record of the group; `read` reads a target.
    pub(super) fn apply(&mut self, timestamp: i64, record: &DecodedRecord<'_>, read: impl FnOnce(FieldValue<'_>) -> T) {
        let member = || text(record.key(), "memberId");
        match (record.record_type, record.value()) {
            (7 | 13 | 21, Some(value)) => {
                let before = self.targets.insert(member(), read(value));
                self.replaced.push((member(), before));
                return;
            }
            (7 | 13 | 21, None) => _ = self.targets.remove(&member()),
            (5 | 10 | 19, Some(_)) => {
                let member = member();
                if self.order.add(&member) {
                    if self.joined_at != timestamp {
                        self.joined.clear();
                        self.joined_at = timestamp;
                    }
                    self.joined.push(member);
                }
            }
            // A second entry of the same key can add slots to the table.
            (14, Some(_)) if self.order.has(&member()) => _ = self.order.add(&member()),
            (5 | 10 | 19, None) => {
                let member = member();
                self.order.remove(&member);
                self.joined.retain(|joined| *joined != member);
            }
            (3 | 11 | 17, Some(value)) => self.is_known |= int(value, "epoch", 0) <= HIGHEST_FIRST_EPOCH,
            (3 | 11 | 17, None) => self.is_known = false,
            (6 | 12 | 20, Some(_)) => self.is_known = true,
            _ => {}
        }
        self.replaced.clear();
    }

    /// Return the members, their previous targets and their targets, in the order in which the broker passes the members to its assignor.
    /// Call this before applying the record with the epoch, which has this timestamp.
    ///
    /// In consumer and streams groups, a broker puts a new member into its table of members after the assignor has run, and passes it
    /// last (`is_new_last`). In share groups, it does so before.
    pub(super) fn members(&self, timestamp: i64, is_new_last: bool) -> Vec<(&str, T, T)> {
        let mut before: BTreeMap<&str, Option<&T>> = BTreeMap::new();
        for (member, target) in self.replaced.iter().rev() {
            before.insert(member, target.as_ref());
        }
        let target_of = |id| self.targets.get(id).cloned().unwrap_or_default();
        let previous_of = |id| match before.get(id) {
            Some(target) => target.cloned().unwrap_or_default(),
            None => target_of(id),
        };
        let is_new =
            |id: &&str| is_new_last && self.joined_at == timestamp && self.joined.iter().any(|joined| joined == id);
        let others = self.order.keys().filter(|id| !is_new(id));
        let new = self.joined.iter().map(String::as_str).filter(is_new);
        others.chain(new).map(|id| (id, previous_of(id), target_of(id))).collect()
    }
}
