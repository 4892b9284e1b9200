//! State of a group during replay.
//!
//! Its size depends on members, partitions and time windows that have not ended, not on the number of generations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::broker_log::BrokerLog;
use super::classic::ClassicGroup;
use super::committed::Committed;
use super::comparison::BrokerVersion;
use super::current_owners::CurrentOwners;
use super::difference::{GroupRecord, Members};
use super::epochs::EpochGroup;
use super::events::{Cost, Event, EventDetails, Partition};
use super::generation::{GenerationNumber, HeldGeneration};
use super::known_member::KnownMember;
use super::member::OwnedPartitions;
use super::metadata::Metadata;
use super::model::GroupKind;
use super::open_costs::OpenCosts;
use super::problems::Problems;
use super::share_target::ShareTargets;
use super::silences::Silences;
use super::storms::Storm;
use super::streams_target::StreamsTargetLog;
use super::stuck::CommitTimes;
use super::tally::Tally;
use super::target::RecordedPartitions;
use super::target_log::TargetLog;
use super::tasks::LastTasks;
use super::times::UNKNOWN;

/// Thresholds of events; times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Number of rebalances with unchanged membership that form a storm.
    pub storm_rebalances: i64,
    /// Time window of a storm.
    pub storm_window: i64,
    /// A member is stuck if it has not committed for this multiple of its usual interval.
    pub stuck_factor: i64,
    /// Commits of a member within this time are one burst; the usual interval between bursts is at least as long.
    pub stuck_interval: i64,
    /// Time after which a partition with an owner and without a committed offset is reported.
    pub never_committed: i64,
    /// Session timeout of members whose records have none: those of groups with an epoch.
    pub session_timeout: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            storm_rebalances: 20,
            storm_window: 60_000,
            stuck_factor: 10,
            stuck_interval: 100,
            never_committed: 60_000,
            session_timeout: 45_000,
        }
    }
}

/// Metadata and settings that all groups of a replay share.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Topic metadata.
    pub metadata: Arc<Metadata>,
    /// Silences of the log.
    pub silences: Silences,
    /// Rebalances that brokers logged.
    pub broker_log: BrokerLog,
    /// Thresholds of events.
    pub settings: Settings,
    /// Version of the brokers; None if it is not known.
    pub broker_version: Option<BrokerVersion>,
    /// True if later topic metadata can follow.
    pub is_open: bool,
    /// True if generations are compared with the answers of their assignors.
    pub is_compared: bool,
}

/// Member whose record was deleted, while another record of the same time can still show that the member was replaced.
#[derive(Debug, Clone)]
pub(super) struct PendingLeave {
    pub(super) member: Arc<KnownMember>,
    pub(super) at: i64,
    /// Time at which the leave becomes final; later than `at` and the clock of the group.
    pub(super) deadline: i64,
    pub(super) offset: i64,
    pub(super) kind: GroupKind,
    pub(super) generation: Option<i32>,
    /// `left`, or `expired` if its session expired.
    pub(super) has_expired: bool,
    pub(super) causes: Vec<&'static str>,
}

/// Group whose record was deleted, while another record of the same time can still show that the group was converted.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingDeletion {
    pub(super) at: i64,
    /// Time at which the deletion becomes final; later than `at` and the clock of the group.
    pub(super) deadline: i64,
    pub(super) offset: i64,
    pub(super) kind: GroupKind,
    pub(super) generation: Option<i32>,
}

/// Static member that came back with a new member id after the last group record.
#[derive(Debug, Clone)]
pub(super) struct StaticReturn {
    /// Time of its return, in milliseconds since 1970.
    pub(super) at: i64,
    /// Its member id before.
    pub(super) previous: Arc<str>,
    pub(super) member: Arc<KnownMember>,
}

/// Rebalance of an epoch whose target assignment is not written yet.
#[derive(Debug, Clone)]
pub(super) struct OpenRebalance {
    pub(super) causes: Vec<&'static str>,
    pub(super) evidence: String,
    pub(super) joined: Vec<Arc<str>>,
    pub(super) left: Vec<Arc<str>>,
    pub(super) replaced: Vec<Arc<str>>,
    pub(super) cost: Cost,
}

/// Epoch whose target assignment is not written yet: its generation, and its rebalance if it has one.
#[derive(Debug, Clone)]
pub(super) struct OpenEpoch {
    pub(super) held: HeldGeneration,
    pub(super) rebalance: Option<OpenRebalance>,
    pub(super) topics: Option<BTreeSet<Arc<str>>>,
    pub(super) is_partial: bool,
    /// False if a topic id of the target assignment has no name.
    pub(super) has_all_names: bool,
}

/// Group records that could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Time of the first one in milliseconds since 1970.
    pub since: i64,
    /// Kind of the last one.
    pub kind: GroupKind,
    /// Reason why the last one cannot be decoded.
    pub reason: String,
}

/// Records without a valid timestamp.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InvalidTimestamps {
    pub(super) count: u64,
    /// Offset of the first one.
    pub(super) first: Option<i64>,
    /// True if the last record of the group is one of them, so that its time is not known.
    pub(super) is_last: bool,
}

/// State of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupState {
    pub(super) cluster: Arc<str>,
    pub(super) group: Arc<str>,
    pub(super) storm: Storm,
    /// Partition of `__consumer_offsets` that has the records of the group; None if it is not known.
    pub(super) log_partition: Option<i32>,
    /// Offset of the last record.
    pub(super) offset: i64,
    /// The highest valid timestamp.
    pub(super) clock: Option<i64>,
    pub(super) records: u64,
    pub(super) duplicates: u64,
    pub(super) bad_records: u64,
    pub(super) time_backwards: u64,
    pub(super) invalid: InvalidTimestamps,
    pub(super) rebalances: u64,
    /// Counts of its complete generations.
    pub(super) tally: Tally,
    pub(super) classic: Option<ClassicGroup>,
    pub(super) consumer: EpochGroup,
    pub(super) share: EpochGroup,
    pub(super) streams: EpochGroup,
    pub(super) targets: TargetLog<RecordedPartitions>,
    pub(super) share_targets: ShareTargets,
    pub(super) streams_targets: StreamsTargetLog,
    /// Target assignment of each member, by topic id or by subtopology.
    pub(super) targets_of: BTreeMap<String, OwnedPartitions>,
    /// The last known processes of tasks.
    pub(super) tasks: LastTasks,
    /// Number of partitions by topic, from the last record of type 4 (`CONSUMER_GROUP_PARTITION_METADATA`).
    pub(super) counts: Option<BTreeMap<String, i32>>,
    /// Partitions of a share group whose share state is initialized.
    pub(super) initialized: Vec<Partition>,
    /// Kinds of its group records, the latest last.
    pub(super) kinds: Vec<GroupKind>,
    /// The current members.
    pub(super) members: Members,
    pub(super) pending: Vec<PendingLeave>,
    pub(super) deletion: Option<PendingDeletion>,
    /// Time of the last deleted offset, and true if it had expired.
    pub(super) offsets_deleted: Option<(i64, bool)>,
    /// Times at which members of a group with an epoch left, by member id; the latest `DEPARTED` of them.
    pub(super) departed: BTreeMap<Arc<str>, i64>,
    pub(super) returned: Vec<StaticReturn>,
    /// The last group record.
    pub(super) previous: Option<Arc<GroupRecord>>,
    /// Time at which the last group record was deleted.
    pub(super) ended: Option<i64>,
    pub(super) has_history: bool,
    pub(super) is_deleted: bool,
    /// The last generation and its time, if that is known.
    pub(super) last: Option<(GenerationNumber, Option<i64>)>,
    pub(super) last_members: BTreeSet<Arc<str>>,
    pub(super) open_epoch: Option<OpenEpoch>,
    pub(super) held: Option<HeldGeneration>,
    /// Owners of the last generation or target assignment.
    pub(super) owners: Option<FxHashMap<Partition, Arc<str>>>,
    /// The last known owners.
    pub(super) last_owners: FxHashMap<Partition, Arc<str>>,
    pub(super) unowned: Option<Vec<Partition>>,
    /// The highest known partition by topic.
    pub(super) highest: BTreeMap<Arc<str>, i32>,
    pub(super) committed: Committed,
    pub(super) has_known_owners: bool,
    pub(super) costs: OpenCosts,
    pub(super) problems: Problems,
    /// The last group records, if they could not be decoded.
    pub(super) unreadable: Option<Unreadable>,
    pub(super) commit_times: FxHashMap<Arc<str>, CommitTimes>,
    /// Commit times of members that own no partitions any more, until the next group record.
    pub(super) former_commits: FxHashMap<Arc<str>, CommitTimes>,
    /// Member ids by owner name; None if members changed since the map was computed. Not part of a snapshot.
    pub(super) member_of: Option<FxHashMap<Arc<str>, Arc<str>>>,
    /// Partitions of the members of a consumer group; None if they have to be computed. Not part of a snapshot.
    pub(super) current_owners: Option<CurrentOwners>,
    /// Lower bound of the deadlines; None without deadlines. Not part of a snapshot.
    pub(super) earliest: Option<i64>,
    /// The earliest entry of the group in the queue of deadlines. Not part of a snapshot.
    pub(super) queued: Option<i64>,
}

impl GroupState {
    pub(super) fn new(cluster: Arc<str>, group: Arc<str>) -> Self {
        Self { cluster, group, offset: -1, owners: Some(FxHashMap::default()), ..Self::default() }
    }

    /// Return the kind of the last group record; `Offsets` before the first one.
    pub(super) fn kind(&self) -> GroupKind {
        self.kinds.last().copied().unwrap_or(GroupKind::Offsets)
    }

    /// Return the consumer, share or streams group; None for a kind without epochs.
    pub(super) fn epoch_group(&self, kind: GroupKind) -> Option<&EpochGroup> {
        match kind {
            GroupKind::Consumer => Some(&self.consumer),
            GroupKind::Share => Some(&self.share),
            GroupKind::Streams => Some(&self.streams),
            GroupKind::Classic | GroupKind::Offsets => None,
        }
    }

    /// Return the generation or epoch in the current group record of a kind; None if there is no such record.
    pub(super) fn generation_of(&self, kind: GroupKind) -> Option<i32> {
        match kind {
            GroupKind::Classic => self.classic.as_ref().map(|classic| classic.generation),
            _ => self.epoch_group(kind).and_then(|group| group.epoch),
        }
    }

    /// Build an event of the group.
    pub(super) fn event(&self, at: i64, offset: i64, kind: Option<GroupKind>, details: EventDetails) -> Event {
        Event {
            cluster: Arc::clone(&self.cluster),
            group: Some(Arc::clone(&self.group)),
            kind: Some(kind.unwrap_or_else(|| self.kind())),
            at,
            offset,
            details,
        }
    }

    /// Lower `earliest` to a deadline, if there is one and it is earlier.
    pub(super) fn lower_deadline(&mut self, deadline: Option<i64>) {
        self.earliest = self.earliest.into_iter().chain(deadline).min();
    }

    /// Return the time from which the deadlines of the last record are counted: the clock, or `UNKNOWN`.
    pub(super) fn now(&self) -> i64 {
        if self.invalid.is_last { UNKNOWN } else { self.clock.unwrap_or(0) }
    }

    /// Note that the last record has no valid timestamp.
    #[cold]
    pub(super) fn note_invalid(&mut self, offset: i64) {
        let InvalidTimestamps { count, first, .. } = self.invalid;
        self.invalid = InvalidTimestamps { count: count + 1, first: first.or(Some(offset)), is_last: true };
    }

    /// Continue with a valid timestamp after records without one. Partitions that got an owner in between count from now on.
    #[cold]
    pub(super) fn resume(&mut self, at: i64) {
        self.invalid.is_last = false;
        self.committed.date_owners(self.clock.map_or(at, |clock| clock.max(at)));
        self.lower_deadline(Some(at));
    }

    /// Return true if the owner with this name is a current member.
    pub(super) fn is_owner(&mut self, owner: &str) -> bool {
        self.members_by_owner().contains_key(owner)
    }

    /// Return member ids by owner name; if several members share a name, the lowest id.
    pub(super) fn members_by_owner(&mut self) -> &FxHashMap<Arc<str>, Arc<str>> {
        let members = &self.members;
        self.member_of.get_or_insert_with(|| {
            let mut found = FxHashMap::with_capacity_and_hasher(members.len(), FxBuildHasher);
            for member in members.values() {
                found.entry(Arc::clone(&member.owner_name)).or_insert_with(|| Arc::clone(&member.id));
            }
            found
        })
    }

    /// Replace the members.
    pub(super) fn set_members(&mut self, members: Members) {
        self.members = members;
        self.member_of = None;
    }
}
