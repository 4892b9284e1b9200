//! Events of a replay and their fields.

use std::sync::Arc;

use super::comparison::Comparison;
use super::model::GroupKind;
use super::tasks::TaskChanges;

/// Topic, or topic id, and partition id.
pub type Partition = (Arc<str>, i32);

/// Event of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The cluster.
    pub cluster: Arc<str>,
    /// The group; None if the key of a bad record has none.
    pub group: Option<Arc<str>>,
    /// Kind of the group.
    pub kind: Option<GroupKind>,
    /// Milliseconds since 1970.
    pub at: i64,
    /// Offset of the record, or of the last record before a deadline.
    pub offset: i64,
    /// Fields of the kind of event.
    pub details: EventDetails,
}

/// What a broker logged about a rebalance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Time at which the rebalance began, in milliseconds since 1970.
    pub at: i64,
    /// The reason; None if the line has none.
    pub reason: Option<String>,
    /// The causes that the records alone allow.
    pub inferred: Vec<&'static str>,
}

/// Fields of one kind of event, whose meanings `event_schema::KINDS` has. Lists of partitions are sorted.
#[allow(missing_docs, reason = "each meaning is written once")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventDetails {
    /// A group record with a value.
    Generation {
        generation: i32,
        protocol_type: Option<String>,
        protocol: Option<String>,
        leader: Option<String>,
        members: usize,
        partitions: usize,
        duration: Option<i64>,
        same_members: bool,
        comparison: Option<Comparison>,
        tasks: Option<TaskChanges>,
    },
    /// A new generation or epoch.
    Rebalance {
        generation: i32,
        causes: Vec<&'static str>,
        evidence: String,
        joined: Vec<Arc<str>>,
        left: Vec<Arc<str>>,
        replaced: Vec<Arc<str>>,
        moved: Option<Vec<Partition>>,
        unowned: Option<Vec<Partition>>,
        logged: Option<Box<Logged>>,
    },
    /// A change of a member.
    Member {
        action: &'static str,
        member: Arc<str>,
        instance_id: Option<Arc<str>>,
        client_id: String,
        client_host: String,
        previous: Option<Arc<str>>,
        generation: Option<i32>,
        causes: Vec<&'static str>,
    },
    /// Start or end of a rebalance storm.
    Storm {
        since: i64,
        until: Option<i64>,
        rebalances: usize,
        partitions: Vec<Partition>,
        unowned: Option<Vec<Partition>>,
    },
    /// Start or end of the time in which a member commits no offsets.
    Stuck {
        member: Arc<str>,
        partitions: Vec<Partition>,
        since: i64,
        until: Option<i64>,
        usual_interval: i64,
        partition_intervals: Vec<Option<i64>>,
    },
    /// A problem with committed offsets or with the owners of partitions.
    Offsets {
        problem: &'static str,
        partitions: Vec<Partition>,
        evidence: String,
        since: Option<i64>,
        until: Option<i64>,
    },
    /// Deletion of a group.
    GroupDeleted { generation: Option<i32>, causes: Vec<&'static str>, evidence: String },
    /// Deletion of a committed offset.
    OffsetsDeleted { partitions: Vec<Partition>, causes: Vec<&'static str>, evidence: String },
    /// A record that cannot be decoded.
    BadRecord { record_type: Option<i16>, error: String },
    /// The first record of a group without a valid timestamp.
    InvalidTimestamp { record_type: Option<i16>, timestamp: i64 },
}

impl EventDetails {
    /// Return the name of the kind of event.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Generation { .. } => "generation",
            Self::Rebalance { .. } => "rebalance",
            Self::Member { .. } => "member",
            Self::Storm { .. } => "storm",
            Self::Stuck { .. } => "stuck",
            Self::Offsets { .. } => "offsets",
            Self::GroupDeleted { .. } => "group_deleted",
            Self::OffsetsDeleted { .. } => "offsets_deleted",
            Self::BadRecord { .. } => "bad_record",
            Self::InvalidTimestamp { .. } => "invalid_timestamp",
        }
    }
}

/// Return partitions in order.
pub(super) fn sorted(partitions: impl IntoIterator<Item = Partition>) -> Vec<Partition> {
    let mut found: Vec<Partition> = partitions.into_iter().collect();
    found.sort_unstable();
    found
}
