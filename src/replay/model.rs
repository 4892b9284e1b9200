//! Data that replay reads and returns: records of the log, generations and histories.

use std::sync::Arc;

use super::{ParsedMember, RecordedMember, TargetAssignment};

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
    /// No group: only committed offsets.
    Offsets,
}

impl GroupKind {
    /// Return the name in tables and in Python.
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

    /// Return the kind of group whose group record has the given type; None if the type is not that of a group record.
    pub(super) const fn of_group_record(record_type: i16) -> Option<Self> {
        match record_type {
            2 => Some(Self::Classic),
            3 => Some(Self::Consumer),
            11 => Some(Self::Share),
            17 => Some(Self::Streams),
            _ => None,
        }
    }
}

/// Record of the log.
#[derive(Debug, Clone, Copy)]
pub struct LogRecord<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Key bytes.
    pub key: Option<&'a [u8]>,
    /// Value bytes; None is a tombstone.
    pub value: Option<&'a [u8]>,
}

/// Generation of a classic group, or epoch of another group: one group record with a value.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Offset of the record.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Kind of the group.
    pub kind: GroupKind,
    /// Generation or group epoch.
    pub generation: i32,
    /// Protocol type of a classic group, such as `consumer` or `connect`.
    pub protocol_type: Option<String>,
    /// Assignor of a classic group; None for an empty group and for other kinds of group.
    pub protocol: Option<String>,
    /// Member id of the leader.
    pub leader: Option<String>,
    /// Number of members.
    pub members: usize,
    /// Number of distinct partitions of the members.
    pub partitions: usize,
    /// True if membership is unchanged since the previous group record and the group is not empty.
    pub same_members: bool,
    /// Subscriptions and assignments of the members; None if the engine does not have the assignor of the classic group.
    pub parsed_members: Option<Arc<[Arc<ParsedMember>]>>,
    /// The target assignment that the broker computed for the epoch of a consumer group.
    pub target: Option<TargetAssignment>,
}

/// Group after the last applied record.
#[derive(Debug, Clone)]
pub struct History {
    /// Kind of the group; the last kind known if the group is gone.
    pub kind: GroupKind,
    /// Kafka's name for the state, or `gone`.
    pub state: &'static str,
    /// The assignor in use.
    pub protocol: Option<String>,
    /// The last generation or group epoch.
    pub generation: Option<i32>,
    /// The members.
    pub members: Vec<RecordedMember>,
    /// Number of partitions with a committed offset.
    pub committed_offsets: usize,
    /// Number of records that could not be decoded; they are ignored.
    pub bad_records: usize,
}

/// Kind of group, number and member count of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GenerationNumber {
    pub(super) kind: GroupKind,
    pub(super) generation: i32,
    pub(super) members: usize,
}

impl GenerationNumber {
    pub(super) const fn of(generation: &Generation) -> Self {
        Self { kind: generation.kind, generation: generation.generation, members: generation.members }
    }
}
