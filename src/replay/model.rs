//! Basic data of replay: kinds of groups, records of the log, and counts of records.

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
    /// Partition of `__consumer_offsets`; None if it is not known.
    pub partition: Option<i32>,
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Key bytes.
    pub key: Option<&'a [u8]>,
    /// Value bytes; None is a tombstone.
    pub value: Option<&'a [u8]>,
}

/// Record counts over all groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records.
    pub records: u64,
    /// Records with an offset that is not higher than that of an earlier record of their group.
    pub duplicates: u64,
    /// Records that cannot be decoded.
    pub bad_records: u64,
    /// Records of an unknown type.
    pub unknown_types: u64,
    /// Records with a timestamp below the highest timestamp of their group so far.
    pub time_backwards: u64,
    /// Records without a valid timestamp, see [`times`](super::times).
    pub invalid_timestamps: u64,
}
