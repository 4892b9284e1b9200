//! The history of one group, rebuilt from its records in `__consumer_offsets`: who was in it, which generations it went
//! through, and how it stands at the end of the log.
//!
//! Replay is deterministic and looks at nothing but the records: the state of a group is what a broker would have after
//! loading them. What never reaches the log (a rebalance under way, for one) is not in it.
//!
//! Four types of records say that a group stands or does not: type 2 (classic), 3 (consumer, KIP-848), 11 (share) and 17
//! (streams). A group without one of them that stands is either gone or just a name under which offsets are committed.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::error::WireError;
use crate::offsets::{self, Record, Value};

mod classic;
mod epochs;
mod member;
mod target;
#[cfg(test)]
mod tests;
mod timeline_order;

pub use classic::{ParsedMember, ParsedSubscription};
pub use member::{OwnedPartitions, RecordedMember, owned};
pub use target::{TargetAssignment, TargetMember};

use classic::ClassicGroup;
use epochs::EpochGroup;
use target::TargetLog;

/// Kind of a group: the protocol of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    /// The classic protocol: members join and sync, a leader assigns.
    Classic,
    /// The protocol of KIP-848: the broker assigns.
    Consumer,
    /// A share group (KIP-932).
    Share,
    /// A streams group (KIP-1071).
    Streams,
    /// No group: only committed offsets under that name.
    Offsets,
}

impl GroupKind {
    /// The name under which tables and Python show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
            Self::Share => "share",
            Self::Streams => "streams",
            Self::Offsets => "offsets",
        }
    }

    /// The kind of group that a record type is the group record of.
    const fn of_group_record(record_type: i16) -> Option<Self> {
        match record_type {
            2 => Some(Self::Classic),
            3 => Some(Self::Consumer),
            11 => Some(Self::Share),
            17 => Some(Self::Streams),
            _ => None,
        }
    }
}

/// A record as the log has it.
#[derive(Debug, Clone, Copy)]
pub struct LogRecord<'a> {
    /// Its offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Key bytes.
    pub key: Option<&'a [u8]>,
    /// Value bytes; None is a tombstone.
    pub value: Option<&'a [u8]>,
}

/// One value of a group record: a generation of a classic group, an epoch of another.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Offset of the record.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// What the group was.
    pub kind: GroupKind,
    /// Generation or group epoch.
    pub generation: i32,
    /// What the members speak, such as `consumer` or `connect`; None but for classic groups.
    pub protocol_type: Option<String>,
    /// The assignor that the members agreed on; None for an empty group and for all but classic ones.
    pub protocol: Option<String>,
    /// Member id of the leader.
    pub leader: Option<String>,
    /// How many members.
    pub members: usize,
    /// How many distinct partitions they have.
    pub partitions: usize,
    /// Whether it has the very members that the group record before it had, and some.
    pub same_members: bool,
    /// Subscriptions and assignments of the members, where the engine has the assignor of the classic group.
    pub parsed_members: Option<Vec<ParsedMember>>,
    /// The target assignment that the broker computed for the epoch of a consumer group.
    pub target: Option<TargetAssignment>,
}

/// A group's log, replayed.
#[derive(Debug, Clone)]
pub struct History {
    /// What the group is, or last was.
    pub kind: GroupKind,
    /// Kafka's name for its state, or `gone`.
    pub state: &'static str,
    /// The assignor in use.
    pub protocol: Option<String>,
    /// The last generation or group epoch.
    pub generation: Option<i32>,
    /// Members at the end of the log.
    pub members: Vec<RecordedMember>,
    /// Every generation, in the order of the log.
    pub generations: Vec<Generation>,
    /// How many partitions have a committed offset.
    pub committed_offsets: usize,
    /// Records that could not be decoded; they changed nothing.
    pub bad_records: usize,
}

/// Replays the records of one group, which come in the order of the log.
pub fn replay<'a>(records: impl IntoIterator<Item = LogRecord<'a>>) -> History {
    let mut group = GroupReplay::default();
    for entry in records {
        group.push(&entry, &offsets::decode_record(entry.key, entry.value));
    }
    group.finish()
}

/// State of one group during the replay of its log.
#[derive(Debug, Default)]
pub struct GroupReplay {
    classic: Option<ClassicGroup>,
    consumer: EpochGroup,
    share: EpochGroup,
    streams: EpochGroup,
    targets: TargetLog,
    offsets: FxHashSet<(String, i64)>,
    generations: Vec<Generation>,
    /// The member ids of the last record of a classic group.
    classic_members: BTreeSet<String>,
    last_group_record_was_tombstone: bool,
    bad_records: usize,
}

impl GroupReplay {
    /// Apply the next record of the log; one that cannot be decoded is counted and changes nothing else.
    pub fn push(&mut self, entry: &LogRecord<'_>, decoded: &Result<Record, WireError>) {
        match decoded {
            Ok(record) => self.apply(entry, record),
            Err(_) => self.bad_records += 1,
        }
    }

    fn apply(&mut self, entry: &LogRecord<'_>, record: &Record) {
        match record.record_type {
            0 | 1 => self.commit(record),
            2 => self.classic = record.value.as_ref().map(ClassicGroup::read),
            3 | 5..=8 | 16 => self.apply_consumer(entry, record),
            10..=14 => self.share.apply(record),
            17 | 19..=23 => self.streams.apply(record),
            _ => {}
        }
        if let Some(kind) = GroupKind::of_group_record(record.record_type) {
            self.last_group_record_was_tombstone = record.value.is_none();
            if record.value.is_some() {
                self.add_generation(entry, kind);
            }
        }
    }

    fn apply_consumer(&mut self, entry: &LogRecord<'_>, record: &Record) {
        if record.record_type == 6
            && let Some(value) = &record.value
            && let Some(generation) = self.computed_epoch(int(value, "assignmentEpoch", 0))
        {
            let target = self.targets.assignment(&self.consumer, entry.timestamp);
            self.generations[generation].target = Some(target);
        }
        self.consumer.apply(record);
        self.targets.apply(entry.timestamp, record);
    }

    /// Return the index of an epoch whose target assignment a broker computes. The broker does not compute the first target of a
    /// classic group that becomes a consumer group: it copies the assignment of its members.
    fn computed_epoch(&self, epoch: i32) -> Option<usize> {
        let from_end = self.generations.iter().rev();
        let mut recent = from_end.take_while(|found| found.kind == GroupKind::Consumer && found.generation >= epoch);
        let index = self.generations.len() - 1 - recent.position(|found| found.generation == epoch)?;
        let before = self.generations[..index].last();
        let is_copy = before.is_some_and(|before| {
            before.kind == GroupKind::Classic && before.members > 0 && before.generation == epoch
        });
        (!is_copy).then_some(index)
    }

    fn commit(&mut self, record: &Record) {
        let topic = text(&record.key, "topic");
        let key = (topic, record.key.get("partition").and_then(Value::as_i64).unwrap_or(-1));
        if record.value.is_some() {
            self.offsets.insert(key);
        } else {
            self.offsets.remove(&key);
        }
    }

    fn add_generation(&mut self, entry: &LogRecord<'_>, kind: GroupKind) {
        let classic = self.classic.as_ref().filter(|_| kind == GroupKind::Classic);
        let ids: BTreeSet<String> = classic.map(ClassicGroup::ids).unwrap_or_default();
        let parsed_members = classic.and_then(ClassicGroup::parsed_members);
        let (members, partitions) = match (classic, self.epoch_group(kind)) {
            (Some(classic), _) => (ids.len(), classic.partitions(parsed_members.as_deref())),
            (None, Some(group)) => (group.size(), group.partitions()),
            (None, None) => (0, 0),
        };
        self.generations.push(Generation {
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
            parsed_members,
            target: None,
        });
        match self.epoch_group_mut(kind) {
            Some(group) => group.mark_group_record(),
            None => self.classic_members = ids,
        }
    }

    /// Whether the group has the members that it had at the group record before; `ids` are those of a classic group.
    fn same_members(&self, kind: GroupKind, ids: &BTreeSet<String>) -> bool {
        let before = self.generations.last().map(|generation| generation.kind);
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

    /// The kind of the group record that stands; the one written last where, against all custom, there are several.
    fn standing(&self) -> Option<GroupKind> {
        self.generations.iter().rev().map(|generation| generation.kind).find(|kind| self.generation(*kind).is_some())
    }

    /// Return the history of the group at the end of its log.
    #[must_use]
    pub fn finish(self) -> History {
        let last = self.generations.last().map(|generation| (generation.kind, generation.generation));
        let gone = self.last_group_record_was_tombstone && self.offsets.is_empty();
        let standing = self.standing();
        let (kind, state, protocol) = match standing {
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
            None if gone => (last.map_or(GroupKind::Offsets, |(kind, _)| kind), "gone", None),
            None => (GroupKind::Offsets, "Empty", None),
        };
        let generation = match standing {
            Some(kind) => self.generation(kind),
            None if gone => last.map(|(_, generation)| generation),
            None => None,
        };
        History {
            kind,
            state,
            protocol,
            generation,
            members: standing.map(|kind| self.members(kind)).unwrap_or_default(),
            generations: self.generations,
            committed_offsets: self.offsets.len(),
            bad_records: self.bad_records,
        }
    }
}

fn as_text(ids: &BTreeSet<String>) -> BTreeSet<&str> {
    ids.iter().map(String::as_str).collect()
}

/// A text field; empty where it is missing or null.
fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A nullable text field.
fn optional_text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// The texts of a list; none where it is missing.
fn texts(value: &Value, field: &str) -> Vec<String> {
    let items = value.get(field).map(Value::items).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// An int32 field; `default` where it is missing.
fn int(value: &Value, field: &str, default: i32) -> i32 {
    value.get(field).and_then(Value::as_i64).map_or(default, |found| found as i32)
}
