//! Events of a replay and their fields.

use std::sync::Arc;

use super::comparison::Comparison;
use super::model::GroupKind;

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

/// Fields of one kind of event. Lists of partitions are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventDetails {
    /// A group record with a value.
    Generation {
        /// Generation or group epoch.
        generation: i32,
        /// Protocol type of a classic group.
        protocol_type: Option<String>,
        /// Assignor of a classic group.
        protocol: Option<String>,
        /// Member id of the leader of a classic group.
        leader: Option<String>,
        /// Number of members.
        members: usize,
        /// Number of partitions that the members own.
        partitions: usize,
        /// Milliseconds since the previous group record.
        duration: Option<i64>,
        /// True if membership is unchanged since the previous group record and the group is not empty.
        same_members: bool,
        /// Comparison with the answer of the assignor.
        comparison: Option<Comparison>,
    },
    /// A new generation or epoch.
    Rebalance {
        /// Generation or group epoch.
        generation: i32,
        /// Causes, most likely first.
        causes: Vec<&'static str>,
        /// Sentences that give the evidence.
        evidence: String,
        /// Ids of new members.
        joined: Vec<Arc<str>>,
        /// Ids of missing members.
        left: Vec<Arc<str>>,
        /// New ids of static members.
        replaced: Vec<Arc<str>>,
        /// Partitions whose owner differs from their last known owner.
        moved: Option<Vec<Partition>>,
        /// Partitions of subscribed topics without an owner.
        unowned: Option<Vec<Partition>>,
    },
    /// A change of a member.
    Member {
        /// `joined`, `left`, `expired`, `replaced` or `subscription_changed`.
        action: &'static str,
        /// The member id.
        member: Arc<str>,
        /// The group instance id of a static member.
        instance_id: Option<Arc<str>>,
        /// The client id.
        client_id: String,
        /// The client host.
        client_host: String,
        /// Id of the replaced member.
        previous: Option<Arc<str>>,
        /// Generation or group epoch.
        generation: Option<i32>,
        /// Causes of a departure.
        causes: Vec<&'static str>,
    },
    /// Start or end of a rebalance storm.
    Storm {
        /// Start.
        since: i64,
        /// Last rebalance; None if the storm has not ended.
        until: Option<i64>,
        /// Number of rebalances with unchanged membership.
        rebalances: usize,
        /// Partitions that changed owners or had none.
        partitions: Vec<Partition>,
        /// Partitions without an owner in the last generation.
        unowned: Option<Vec<Partition>>,
    },
    /// Start or end of the time in which a member commits no offsets.
    Stuck {
        /// The member id.
        member: Arc<str>,
        /// Its partitions for which an offset was committed while it owned them.
        partitions: Vec<Partition>,
        /// Last commit.
        since: i64,
        /// End; None at the start.
        until: Option<i64>,
        /// Usual interval between commits in milliseconds.
        usual_interval: i64,
    },
    /// A problem with committed offsets.
    Offsets {
        /// `never_committed`, `not_owned` or `went_back`.
        problem: &'static str,
        /// The partitions.
        partitions: Vec<Partition>,
        /// Sentences that give the evidence.
        evidence: String,
    },
    /// A record that cannot be decoded.
    BadRecord {
        /// The record type, if it can be decoded.
        record_type: Option<i16>,
        /// The error.
        error: String,
    },
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
            Self::BadRecord { .. } => "bad_record",
        }
    }
}

/// Return partitions in order.
pub(super) fn sorted(partitions: impl IntoIterator<Item = Partition>) -> Vec<Partition> {
    let mut found: Vec<Partition> = partitions.into_iter().collect();
    found.sort_unstable();
    found
}
