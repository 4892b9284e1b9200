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

/// Sums of the times without commits of several partitions, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseTotals {
    /// Number of partitions.
    pub paused: i64,
    /// Time without commits.
    pub duration: i64,
    /// Part of this time of the partitions with a known usual interval.
    pub compared: i64,
    /// Time without commits beyond the usual intervals, of the same partitions; None if no usual interval is known.
    pub lost: Option<i64>,
}

/// Share of a member in the cost of a rebalance. What is None is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberCost {
    /// The member id.
    pub member: Arc<str>,
    /// Number of partitions that were taken from the member.
    pub revoked: Option<i64>,
    /// Number of partitions that the member got.
    pub assigned: Option<i64>,
    /// Pauses of the partitions that the member committed after them.
    pub sums: Option<PauseTotals>,
    /// Time from the group epoch until the member reached it, in milliseconds.
    pub epoch: Option<i64>,
}

impl MemberCost {
    pub(super) const fn new(member: Arc<str>) -> Self {
        Self { member, revoked: None, assigned: None, sums: None, epoch: None }
    }
}

/// Cost of a rebalance. What is None is not known, or not yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of partitions that were taken from members.
    pub revoked: Option<i64>,
    /// Number of partitions that members got.
    pub assigned: Option<i64>,
    /// Time from the group epoch to the target assignment, in milliseconds.
    pub target: Option<i64>,
    /// Pauses of partitions.
    pub sums: Option<PauseTotals>,
    /// The first of the last commits before the pauses, and the last of the first commits after them.
    pub between: Option<(i64, i64)>,
    /// Number of partitions that were revoked or assigned and whose pause is not known.
    pub unknown: Option<i64>,
    /// Number of partitions whose pause has not ended.
    pub open: Option<i64>,
    /// True while a pause has not ended or a member has not reached the epoch.
    pub is_open: bool,
    /// Shares of the members, by member id.
    pub members: Vec<MemberCost>,
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
        cost: Box<Cost>,
    },
    /// Cost of an earlier rebalance, whose record has the time and the offset `rebalance`.
    Cost { generation: i32, rebalance: (i64, i64), causes: Vec<&'static str>, cost: Box<Cost> },
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
            Self::Cost { .. } => "cost",
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
