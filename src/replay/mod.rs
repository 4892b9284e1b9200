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

use crate::offsets::{self, Record, Value};

mod classic;
mod member;
mod modern;
#[cfg(test)]
mod tests;

pub use classic::{Joined, Reading};
pub use member::{Member, Partitions, owned};

use classic::Classic;
use modern::Modern;

/// What a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
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
    pub kind: Kind,
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
    /// What the members wanted and got, where the classic assignor is `range`.
    pub joined: Option<Vec<Joined>>,
}

/// A group's log, replayed.
#[derive(Debug, Clone)]
pub struct History {
    /// What the group is, or last was.
    pub kind: Kind,
    /// Kafka's name for its state, or `gone`.
    pub state: &'static str,
    /// The assignor in use.
    pub protocol: Option<String>,
    /// The last generation or group epoch.
    pub generation: Option<i32>,
    /// Members at the end of the log.
    pub members: Vec<Member>,
    /// Every generation, in the order of the log.
    pub generations: Vec<Generation>,
    /// How many partitions have a committed offset.
    pub committed_offsets: usize,
    /// Records that could not be decoded; they changed nothing.
    pub bad_records: usize,
}

/// Replays the records of one group, which come in the order of the log.
pub fn replay<'a>(records: impl IntoIterator<Item = LogRecord<'a>>) -> History {
    let mut group = Group::default();
    for entry in records {
        match offsets::decode_record(entry.key, entry.value) {
            Ok(record) => group.apply(&entry, &record),
            Err(_) => group.bad_records += 1,
        }
    }
    group.history()
}

/// A group on the way through its log.
#[derive(Default)]
struct Group {
    classic: Option<Classic>,
    consumer: Modern,
    share: Modern,
    streams: Modern,
    offsets: FxHashSet<(String, i64)>,
    generations: Vec<Generation>,
    /// The member ids of the last record of a classic group.
    classic_members: BTreeSet<String>,
    last_group_record_was_tombstone: bool,
    bad_records: usize,
}

impl Group {
    fn apply(&mut self, entry: &LogRecord<'_>, record: &Record) {
        match record.record_type {
            0 | 1 => self.commit(record),
            2 => self.classic = record.value.as_ref().map(Classic::read),
            3 | 5..=8 | 16 => self.consumer.apply(record),
            10..=14 => self.share.apply(record),
            17 | 19..=23 => self.streams.apply(record),
            _ => {}
        }
        if let Some(kind) = Kind::of_group_record(record.record_type) {
            self.last_group_record_was_tombstone = record.value.is_none();
            if record.value.is_some() {
                self.note_generation(entry, kind);
            }
        }
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

    fn note_generation(&mut self, entry: &LogRecord<'_>, kind: Kind) {
        let classic = self.classic.as_ref().filter(|_| kind == Kind::Classic);
        let ids: BTreeSet<String> = classic.map(Classic::ids).unwrap_or_default();
        let joined = classic.and_then(Classic::joined_under_range);
        let (members, partitions) = match (classic, self.modern(kind)) {
            (Some(classic), _) => (ids.len(), classic.partitions(joined.as_deref())),
            (None, Some(modern)) => (modern.size(), modern.partitions()),
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
            joined,
        });
        match self.modern_mut(kind) {
            Some(modern) => modern.note(),
            None => self.classic_members = ids,
        }
    }

    /// Whether the group has the members that it had at the group record before; `ids` are those of a classic group.
    fn same_members(&self, kind: Kind, ids: &BTreeSet<String>) -> bool {
        let before = self.generations.last().map(|generation| generation.kind);
        match (before, self.modern(kind)) {
            (None, _) => false,
            (Some(before), Some(modern)) if before == kind => modern.same_members(),
            (Some(before), modern) => {
                let had = self.modern(before).map_or_else(|| as_text(&self.classic_members), Modern::ids_noted);
                had == modern.map_or_else(|| as_text(ids), Modern::ids)
            }
        }
    }

    fn modern(&self, kind: Kind) -> Option<&Modern> {
        match kind {
            Kind::Consumer => Some(&self.consumer),
            Kind::Share => Some(&self.share),
            Kind::Streams => Some(&self.streams),
            Kind::Classic | Kind::Offsets => None,
        }
    }

    fn modern_mut(&mut self, kind: Kind) -> Option<&mut Modern> {
        match kind {
            Kind::Consumer => Some(&mut self.consumer),
            Kind::Share => Some(&mut self.share),
            Kind::Streams => Some(&mut self.streams),
            Kind::Classic | Kind::Offsets => None,
        }
    }

    fn members(&self, kind: Kind) -> Vec<Member> {
        match kind {
            Kind::Classic => self.classic.as_ref().map(Classic::members).unwrap_or_default(),
            _ => self.modern(kind).map(Modern::members).unwrap_or_default(),
        }
    }

    fn generation(&self, kind: Kind) -> Option<i32> {
        match kind {
            Kind::Classic => self.classic.as_ref().map(|classic| classic.generation),
            _ => self.modern(kind).and_then(|modern| modern.epoch),
        }
    }

    /// The kind of the group record that stands; the one written last where, against all custom, there are several.
    fn standing(&self) -> Option<Kind> {
        self.generations.iter().rev().map(|generation| generation.kind).find(|kind| self.generation(*kind).is_some())
    }

    fn history(self) -> History {
        let last = self.generations.last().map(|generation| (generation.kind, generation.generation));
        let gone = self.last_group_record_was_tombstone && self.offsets.is_empty();
        let standing = self.standing();
        let (kind, state, protocol) = match standing {
            Some(Kind::Classic) => {
                let classic = self.classic.as_ref();
                let empty = classic.is_none_or(Classic::is_empty);
                (
                    Kind::Classic,
                    if empty { "Empty" } else { "Stable" },
                    classic.and_then(|found| found.protocol.clone()),
                )
            }
            Some(kind) => {
                let modern = self.modern(kind);
                let state = modern.map_or("Empty", |modern| modern.state(kind));
                (kind, state, modern.filter(|_| kind == Kind::Consumer).map(Modern::assignor))
            }
            None if gone => (last.map_or(Kind::Offsets, |(kind, _)| kind), "gone", None),
            None => (Kind::Offsets, "Empty", None),
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

/// The most rebalances of a classic group within a minute that changed no member: what a rebalance storm has many of.
#[must_use]
pub fn busiest_minute(generations: &[Generation]) -> usize {
    const MINUTE: i64 = 60_000;
    let restless = generations.iter().filter(|found| found.kind == Kind::Classic && found.same_members);
    let mut times: Vec<i64> = restless.map(|found| found.timestamp).collect();
    // The log is in the order of its offsets; brokers' clocks may differ.
    times.sort_unstable();
    let mut first = 0;
    let mut most = 0;
    for (last, time) in times.iter().enumerate() {
        while time.saturating_sub(times[first]) >= MINUTE {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most
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
