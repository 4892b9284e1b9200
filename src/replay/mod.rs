//! Replay of a group: its history, rebuilt from its records in `__consumer_offsets`.
//!
//! Replay applies one record after another. It returns each generation of the group when it is complete, and the members and state of the
//! group at any time. Its memory is bounded by the members, the partitions and the epochs without a target assignment. Replay is
//! deterministic and depends on the records only. The state is the one that a broker has after loading the records. Events that are
//! not written to the log, such as a rebalance in progress, are not part of this state.
//!
//! A group record is of type 2 (classic), 3 (consumer, KIP-848), 11 (share) or 17 (streams). A group without a current group record is
//! either gone, or only has committed offsets.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::mem;

use rustc_hash::FxHashSet;

use crate::bytes::Int32s;
use crate::error::WireError;
use crate::offsets::{self, DecodedRecord, FieldValue};

mod apply;
mod causes;
mod classic;
mod commits;
mod committed;
mod current_owners;
mod difference;
mod epochs;
mod events;
mod generations;
mod known_member;
mod machine;
mod member;
mod membership;
mod model;
mod replayed_group;
mod snapshot;
mod state;
mod stored;
mod storms;
mod stuck;
mod target;
#[cfg(test)]
mod tests;
mod timeline_order;
mod topic_causes;

pub use events::{Event, EventDetails, Partition};
pub use machine::{Counts, Replay};
pub use replayed_group::{Position, ReplayedGroup};
pub use snapshot::SnapshotError;
pub use state::{Context, Settings};

pub use classic::{ParsedMember, ParsedSubscription};
pub use member::{OwnedPartitions, RecordedMember, owned};
pub use model::{Generation, GroupKind, History, LogRecord};
pub use target::{TargetAssignment, TargetMember};

use classic::ClassicGroup;
use epochs::EpochGroup;
use model::GenerationNumber;
use target::TargetLog;

/// Largest number of epochs that wait for their target assignment. A broker computes one for the latest epoch only.
const MAX_WAITING_EPOCHS: usize = 1_000;

/// Replay the records of one group, given in log order; pass each complete generation to `complete`.
pub fn replay<'a>(records: impl IntoIterator<Item = LogRecord<'a>>, mut complete: impl FnMut(Generation)) -> History {
    let mut group = GroupReplay::default();
    for entry in records {
        group.push(&entry, &offsets::decode_record(entry.key, entry.value));
        group.completed().for_each(&mut complete);
    }
    group.close();
    group.completed().for_each(complete);
    group.state()
}

/// State of a group during replay.
#[derive(Debug, Default)]
pub struct GroupReplay {
    classic: Option<ClassicGroup>,
    consumer: EpochGroup,
    share: EpochGroup,
    streams: EpochGroup,
    targets: TargetLog,
    offsets: FxHashSet<(String, i64)>,
    /// Epochs of a consumer group without a target assignment so far, in log order.
    waiting: VecDeque<Generation>,
    /// Complete generations that the caller has not taken, in log order.
    completed: Vec<Generation>,
    /// The last complete generation.
    last_completed: Option<GenerationNumber>,
    /// The last generation.
    last: Option<GenerationNumber>,
    /// Kinds that the group has had, the kind of the last generation last.
    kinds: Vec<GroupKind>,
    /// The member ids of the last record of a classic group.
    classic_members: BTreeSet<String>,
    last_group_record_was_tombstone: bool,
    bad_records: usize,
}

impl GroupReplay {
    /// Apply the next record of the log; a record that cannot be decoded is only counted.
    pub fn push(&mut self, entry: &LogRecord<'_>, decoded: &Result<DecodedRecord<'_>, WireError>) {
        match decoded {
            Ok(record) => self.apply(entry, record),
            Err(_) => self.bad_records += 1,
        }
    }

    fn apply(&mut self, entry: &LogRecord<'_>, record: &DecodedRecord<'_>) {
        match record.record_type {
            0 | 1 => self.commit(record),
            2 => self.classic = record.value().map(|value| ClassicGroup::read(value, self.classic.as_ref())),
            3 | 5..=8 | 16 => self.apply_consumer(entry, record),
            10..=14 => self.share.apply(record),
            17 | 19..=23 => self.streams.apply(record),
            _ => {}
        }
        if let Some(kind) = GroupKind::of_group_record(record.record_type) {
            self.last_group_record_was_tombstone = record.value().is_none();
            if record.value().is_some() {
                self.add_generation(entry, kind);
            }
        }
    }

    fn apply_consumer(&mut self, entry: &LogRecord<'_>, record: &DecodedRecord<'_>) {
        if record.record_type == 6
            && let Some(value) = record.value()
        {
            self.add_target(entry, int(value, "assignmentEpoch", 0));
        }
        self.consumer.apply(record);
        self.targets.apply(entry.timestamp, record);
    }

    /// Add the target assignment of an epoch to its generation, and complete the generations up to that epoch.
    ///
    /// The first target of a classic group that becomes a consumer group is not computed: the broker copies the current assignment.
    fn add_target(&mut self, entry: &LogRecord<'_>, epoch: i32) {
        let later = self.waiting.iter().rev().take_while(|found| found.generation > epoch).count();
        let count = self.waiting.len() - later;
        if let Some(index) = count.checked_sub(1)
            && self.waiting[index].generation == epoch
        {
            let before = match index.checked_sub(1) {
                Some(before) => Some(GenerationNumber::of(&self.waiting[before])),
                None => self.last_completed,
            };
            let is_copy = before.is_some_and(|before| {
                before.kind == GroupKind::Classic && before.members > 0 && before.generation == epoch
            });
            if !is_copy {
                self.waiting[index].target = Some(self.targets.assignment(&self.consumer, entry.timestamp));
            }
        }
        self.complete(count);
    }

    /// Complete the first waiting generations.
    fn complete(&mut self, count: usize) {
        for generation in self.waiting.drain(..count) {
            self.last_completed = Some(GenerationNumber::of(&generation));
            self.completed.push(generation);
        }
    }

    /// Complete all generations: the log has ended.
    pub fn close(&mut self) {
        self.complete(self.waiting.len());
    }

    /// Take the complete generations. An epoch of a consumer group is complete if its target assignment is known or will never be
    /// known. Generations of other groups are always complete.
    pub fn completed(&mut self) -> impl Iterator<Item = Generation> + use<> {
        mem::take(&mut self.completed).into_iter()
    }

    fn commit(&mut self, record: &DecodedRecord<'_>) {
        let topic = text(record.key(), "topic");
        let key = (topic, record.key().get("partition").and_then(FieldValue::as_i64).unwrap_or(-1));
        if record.value().is_some() {
            self.offsets.insert(key);
        } else {
            self.offsets.remove(&key);
        }
    }

    fn add_generation(&mut self, entry: &LogRecord<'_>, kind: GroupKind) {
        let classic = self.classic.as_ref().filter(|_| kind == GroupKind::Classic);
        let ids: BTreeSet<String> = classic.map(ClassicGroup::ids).unwrap_or_default();
        let (members, partitions) = match (classic, self.epoch_group(kind)) {
            (Some(classic), _) => (ids.len(), classic.partitions()),
            (None, Some(group)) => (group.size(), group.partitions()),
            (None, None) => (0, 0),
        };
        let generation = Generation {
            offset: entry.offset,
            timestamp: entry.timestamp,
            kind,
            generation: self.generation(kind).unwrap_or(0),
            protocol_type: classic.map(|classic| classic.protocol_type.clone()),
            protocol: classic.and_then(|classic| classic.protocol.clone()),
            leader: classic.and_then(|classic| classic.leader.clone()),
            members,
            partitions,
            same_members: members > 0 && self.same_members(kind, &ids),
            parsed_members: classic.and_then(ClassicGroup::parsed_members),
            target: None,
        };
        self.last = Some(GenerationNumber::of(&generation));
        self.kinds.retain(|before| *before != kind);
        self.kinds.push(kind);
        if kind == GroupKind::Consumer {
            if self.waiting.len() == MAX_WAITING_EPOCHS {
                self.complete(1);
            }
            self.waiting.push_back(generation);
        } else {
            self.close();
            self.last_completed = self.last;
            self.completed.push(generation);
        }
        match self.epoch_group_mut(kind) {
            Some(group) => group.mark_group_record(),
            None => self.classic_members = ids,
        }
    }

    /// Return true if membership is unchanged since the previous group record; `ids` are the members of a classic group.
    fn same_members(&self, kind: GroupKind, ids: &BTreeSet<String>) -> bool {
        let before = self.last.map(|last| last.kind);
        match (before, self.epoch_group(kind)) {
            (None, _) => false,
            (Some(before), Some(group)) if before == kind => group.same_members(),
            (Some(before), group) => {
                let had =
                    self.epoch_group(before).map_or_else(|| as_text(&self.classic_members), EpochGroup::previous_ids);
                had == group.map_or_else(|| as_text(ids), EpochGroup::ids)
            }
        }
    }

    fn epoch_group(&self, kind: GroupKind) -> Option<&EpochGroup> {
        match kind {
            GroupKind::Consumer => Some(&self.consumer),
            GroupKind::Share => Some(&self.share),
            GroupKind::Streams => Some(&self.streams),
            GroupKind::Classic | GroupKind::Offsets => None,
        }
    }

    fn epoch_group_mut(&mut self, kind: GroupKind) -> Option<&mut EpochGroup> {
        match kind {
            GroupKind::Consumer => Some(&mut self.consumer),
            GroupKind::Share => Some(&mut self.share),
            GroupKind::Streams => Some(&mut self.streams),
            GroupKind::Classic | GroupKind::Offsets => None,
        }
    }

    fn members(&self, kind: GroupKind) -> Vec<RecordedMember> {
        match kind {
            GroupKind::Classic => self.classic.as_ref().map(ClassicGroup::members).unwrap_or_default(),
            _ => self.epoch_group(kind).map(EpochGroup::members).unwrap_or_default(),
        }
    }

    fn generation(&self, kind: GroupKind) -> Option<i32> {
        match kind {
            GroupKind::Classic => self.classic.as_ref().map(|classic| classic.generation),
            _ => self.epoch_group(kind).and_then(|group| group.epoch),
        }
    }

    /// Return the kind of the current group record; in the rare case of several, the kind of the last one written.
    fn current_kind(&self) -> Option<GroupKind> {
        self.kinds.iter().rev().copied().find(|kind| self.generation(*kind).is_some())
    }

    /// Return the group after the last applied record.
    #[must_use]
    pub fn state(&self) -> History {
        let gone = self.last_group_record_was_tombstone && self.offsets.is_empty();
        let current = self.current_kind();
        let (kind, state, protocol) = match current {
            Some(GroupKind::Classic) => {
                let classic = self.classic.as_ref();
                let empty = classic.is_none_or(ClassicGroup::is_empty);
                (
                    GroupKind::Classic,
                    if empty { "Empty" } else { "Stable" },
                    classic.and_then(|found| found.protocol.clone()),
                )
            }
            Some(kind) => {
                let group = self.epoch_group(kind);
                let state = group.map_or("Empty", |group| group.state(kind));
                (kind, state, group.filter(|_| kind == GroupKind::Consumer).map(EpochGroup::assignor))
            }
            None if gone => (self.last.map_or(GroupKind::Offsets, |last| last.kind), "gone", None),
            None => (GroupKind::Offsets, "Empty", None),
        };
        let generation = match current {
            Some(kind) => self.generation(kind),
            None if gone => self.last.map(|last| last.generation),
            None => None,
        };
        History {
            kind,
            state,
            protocol,
            generation,
            members: current.map(|kind| self.members(kind)).unwrap_or_default(),
            committed_offsets: self.offsets.len(),
            bad_records: self.bad_records,
        }
    }
}

fn as_text(ids: &BTreeSet<String>) -> BTreeSet<&str> {
    ids.iter().map(String::as_str).collect()
}

/// Return a text field; empty if it is missing or null.
fn text(value: FieldValue<'_>, field: &str) -> String {
    optional_text(value, field).unwrap_or_default()
}

/// Return a nullable text field.
fn optional_text(value: FieldValue<'_>, field: &str) -> Option<String> {
    value.get(field).and_then(FieldValue::as_text).map(Cow::into_owned)
}

/// Return the texts of a list; empty if it is missing.
fn texts(value: FieldValue<'_>, field: &str) -> Vec<String> {
    let items = value.get(field).into_iter().flat_map(FieldValue::items);
    items.filter_map(FieldValue::as_text).map(Cow::into_owned).collect()
}

/// Return the int32 values of a list; empty if it is missing.
fn ints<'a>(value: FieldValue<'a>, field: &str) -> impl Iterator<Item = i32> + use<'a> {
    value.get(field).and_then(FieldValue::as_int32s).into_iter().flat_map(Int32s::iter)
}

/// Return an int32 field; `default` if it is missing.
fn int(value: FieldValue<'_>, field: &str, default: i32) -> i32 {
    value.get(field).and_then(FieldValue::as_i64).map_or(default, |found| found as i32)
}
