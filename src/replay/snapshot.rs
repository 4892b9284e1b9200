//! Snapshots of a replay: the state of all groups as bytes, with a version and a checksum.
//!
//! The header is `assignor`, a byte for the engine, a u16 version, and the u32 length and CRC-32 of the body, all big-endian. The body
//! has the fields of the state one after another; a list begins with the number of its elements. The reader checks each length against
//! the remaining bytes, so a damaged snapshot causes an error, not a panic or a large allocation.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::busiest_minute::BusiestMinute;
use super::cadence::Cadence;
use super::classic::{ClassicGroup, ParsedMember, ParsedSubscription};
use super::committed::{Committed, Ownership, PartitionState};
use super::difference::GroupRecord;
use super::epochs::{CurrentMemberAssignment, EpochGroup, MemberMetadata};
use super::events::Cost;
use super::generation::{Generation, GenerationNumber, HeldGeneration};
use super::known_member::KnownMember;
use super::model::{Counts, GroupKind};
use super::open_costs::{OpenCost, OpenCosts};
use super::pauses::{Pause, PauseSums};
use super::problems::{AssignmentProblems, LastingProblem, Problems};
use super::share_target::ShareTargets;
use super::state::{
    GroupState, InvalidTimestamps, OpenEpoch, OpenRebalance, PendingDeletion, PendingLeave, Settings, StaticReturn,
    Unreadable,
};
use super::stored::{SnapshotError, Stored, read_text, write_text};
use super::storms::Storm;
use super::streams_target::{StreamsTarget, StreamsTargetLog, StreamsTargetMember, TaskLists};
use super::streams_topology::{Subtopology, Topology};
use super::stuck::CommitTimes;
use super::tally::{OutcomeCounts, Tally};
use super::target::{RecordedPartitions, TargetAssignment, TargetMember};
use super::target_log::TargetLog;
use super::tasks::{LastPlaces, LastTasks, MemberTasks, MovedTask, Task, TaskChanges};
use super::timeline_order::TimelineOrder;
use crate::wire::TopicPartitions;

const MAGIC: &[u8; 8] = b"assignor";
const ENGINE: u8 = b'R';
const VERSION: u16 = 10;
/// Number of bytes of the header.
pub(super) const HEADER: usize = 19;

/// Causes of rebalances and departures, which a snapshot stores by name.
const CAUSES: [&str; 22] = [
    "unknown",
    "protocol_upgraded",
    "protocol_downgraded",
    "leader_rejoined",
    "owned_partitions_changed",
    "consumer_closed",
    "consumer_dead",
    "application_crashed",
    "member_removed",
    "protocol_changed",
    "static_member_returned",
    "partitions_increased",
    "topic_created",
    "topic_deleted",
    "partitions_initialized",
    "subscription_changed",
    "consumer_subscribed",
    "sync_timed_out",
    "rejoin_timed_out",
    "poll_interval_exceeded",
    "coordinator_moved",
    "expired",
];

/// Write the state of groups.
pub(super) fn write_snapshot(
    settings: Settings,
    counts: Counts,
    groups: &[&GroupState],
) -> Result<Vec<u8>, SnapshotError> {
    let mut body = Vec::new();
    settings.write(&mut body);
    counts.write(&mut body);
    groups.len().write(&mut body);
    for group in groups {
        group.write(&mut body);
    }
    if u32::try_from(body.len()).is_err() {
        return Err(SnapshotError::new(format!("the state has {} bytes; a snapshot holds at most 4 GiB", body.len())));
    }
    Ok(sealed(&body))
}

/// Return the header of a body, followed by the body.
pub(super) fn sealed(body: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(HEADER + body.len());
    data.extend(MAGIC);
    data.push(ENGINE);
    data.extend(VERSION.to_be_bytes());
    data.extend((body.len() as u32).to_be_bytes());
    data.extend(crc32(body).to_be_bytes());
    data.extend(body);
    data
}

/// Read the state of groups.
pub(super) fn read_snapshot(data: &[u8], wanted: Settings) -> Result<(Counts, Vec<GroupState>), SnapshotError> {
    let Some((header, body)) = data.split_at_checked(HEADER).filter(|(header, _)| header.starts_with(MAGIC)) else {
        return Err(SnapshotError::new("the bytes are not a snapshot of a replay"));
    };
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let version = u16::from_be_bytes([header[9], header[10]]);
    if header[8] != ENGINE {
        return Err(SnapshotError::new("the snapshot is of another engine"));
    }
    if version != VERSION {
        let text = format!("the snapshot has version {version}; this package reads version {VERSION}");
        return Err(SnapshotError::new(text));
    }
    if body.len() as u64 != u64::from(number(11)) || crc32(body) != number(15) {
        return Err(SnapshotError::new("the snapshot is damaged: its length or checksum is wrong"));
    }
    let mut rest = body;
    let settings = Settings::read(&mut rest)?;
    if settings != wanted {
        let text = format!("the snapshot has the settings {settings}; this replay has {wanted}");
        return Err(SnapshotError::new(text));
    }
    let counts = Counts::read(&mut rest)?;
    let groups = Vec::<GroupState>::read(&mut rest)?;
    if !rest.is_empty() {
        return Err(SnapshotError::damaged());
    }
    Ok((counts, groups))
}

impl std::fmt::Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { storm_rebalances, storm_window, stuck_factor, stuck_interval, never_committed, session_timeout } =
            self;
        write!(
            f,
            "storm_rebalances={storm_rebalances}, storm_window_ms={storm_window}, stuck_factor={stuck_factor}, \
             stuck_interval_ms={stuck_interval}, never_committed_ms={never_committed}, session_timeout_ms={session_timeout}"
        )
    }
}

/// Return the CRC-32 of bytes, with the polynomial of zlib.
fn crc32(data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !data.iter().fold(!0, |crc, byte| (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

impl Stored for &'static str {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(self, out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let name = read_text(data)?;
        CAUSES.into_iter().find(|cause| *cause == name).ok_or_else(SnapshotError::damaged)
    }
}

macro_rules! stored_behind_arc {
    ($($kind:ty),*) => {$(
        impl Stored for Arc<$kind> {
            fn write(&self, out: &mut Vec<u8>) {
                (**self).write(out);
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                <$kind>::read(data).map(Self::new)
            }
        }
    )*};
}

stored_behind_arc!(KnownMember, GroupRecord, ParsedMember, Topology);

impl Stored for Box<Pause> {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Pause::read(data).map(Self::new)
    }
}

impl Stored for GroupKind {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let number = u8::read(data)?;
        let kinds = [Self::Classic, Self::Consumer, Self::Share, Self::Streams, Self::Offsets];
        kinds.into_iter().find(|kind| *kind as u8 == number).ok_or_else(SnapshotError::damaged)
    }
}

impl Stored for TimelineOrder {
    fn write(&self, out: &mut Vec<u8>) {
        self.slots().to_vec().write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Self::of_slots(Vec::read(data)?).ok_or_else(SnapshotError::damaged)
    }
}

impl Stored for BusiestMinute {
    fn write(&self, out: &mut Vec<u8>) {
        self.times.write(out);
        self.most.write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Self::of_times(Stored::read(data)?, Stored::read(data)?).ok_or_else(SnapshotError::damaged)
    }
}

macro_rules! stored_structs {
    ($($name:ident { $($field:ident),* $(; $($transient:ident: $default:expr),*)? })*) => {$(
        impl Stored for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                Ok(Self { $($field: Stored::read(data)?,)* $($($transient: $default,)*)? })
            }
        }
    )*};
}

/// Targets of a consumer group.
type ConsumerTargets = TargetLog<RecordedPartitions>;
/// Targets of a streams group.
type StreamsTargets = TargetLog<TaskLists>;

stored_structs! {
    Settings { storm_rebalances, storm_window, stuck_factor, stuck_interval, never_committed, session_timeout }
    Counts { records, duplicates, bad_records, unknown_types, time_backwards, invalid_timestamps }
    TopicPartitions { topic, partitions }
    ParsedSubscription { version, topics, rack, owned, generation, user_data, strict_error }
    ParsedMember {
        id, instance_id, client_id, client_host, session_timeout, rebalance_timeout, metadata, subscription, assignment,
        assigned
    }
    ClassicGroup { protocol_type, generation, protocol, leader, members }
    MemberMetadata { instance_id, client_id, client_host, rack, assignor, topics, pattern, process, topology_epoch }
    CurrentMemberAssignment { epoch, state, partitions }
    Topology { epoch, subtopologies }
    Subtopology { sources, has_pattern, has_state }
    TargetMember { id, instance_id, rack, topics, owned, assigned }
    TargetAssignment { kind, timestamp, assignors, is_homogeneous, has_predecessor, initialized, members }
    ConsumerTargets { targets, replaced, order, joined, joined_at, is_known }
    ShareTargets { log, initialized }
    StreamsTargets { targets, replaced, order, joined, joined_at, is_known }
    TaskLists { active, standby, warmup }
    StreamsTargetLog { log, standby_replicas }
    StreamsTargetMember { id, process, topology_epoch, before, after }
    StreamsTarget {
        timestamp, topology, is_ready, standby_replicas, has_predecessor, members
    }
    GenerationNumber { kind, generation, members }
    OutcomeCounts { equal, different, unknown }
    Tally { busiest_minute, range, all }
    Generation {
        offset, timestamp, has_time, kind, number, protocol_type, protocol, leader, members, partitions, same_members,
        parsed_members, target, streams_target, tasks, problems
    }
    Task { name, has_state }
    MemberTasks { member, process, active, standby, warmup }
    MovedTask { task, process }
    LastPlaces { active, copies, missing, is_revoked }
    LastTasks { places }
    TaskChanges { tasks, moved_tasks, moved_state, problems }
    KnownMember {
        id, instance_id, owner_name, client_id, client_host, topics, pattern, metadata, owned, assigned, session_timeout,
        rebalance_timeout, has_paused
    }
    GroupRecord {
        kind, generation, at, began, protocol_type, protocol, leader, members, metadata_hash, resolved, counts, sources,
        initialized, converted_from
    }
    Storm { times, since, count, changed }
    CommitTimes { last, cadence, stuck_since, has_advanced, since_pause, is_idle_committer, active_since, quiet }
    Cadence { burst, intervals }
    Ownership { owner, since, has_commit, is_reported, cadence }
    PartitionState { offset, expires, deleted, ownership, last_owner, is_reported, last_commit, usual, pause }
    Pause { rebalance, since, usual, assigned }
    PauseSums { paused, duration, compared, lost }
    OpenCost { offset, at, kind, generation, causes, open, unknown, between, sums, members, waiting, epochs }
    OpenCosts { all, empty_since, last_epoch }
    PendingLeave { member, at, deadline, offset, kind, generation, has_expired, causes }
    PendingDeletion { at, deadline, offset, kind, generation }
    StaticReturn { at, previous, member }
    Unreadable { since, kind, reason }
    InvalidTimestamps { count, first, is_last }
    HeldGeneration { generation, before, duration }
    OpenRebalance { causes, evidence, joined, left, replaced; cost: Cost::default() }
    OpenEpoch { held, rebalance, topics, is_partial, has_all_names }
    AssignmentProblems { several, not_subscribed, unknown, grown }
    LastingProblem { since, found }
    Problems { assigned, current, lasting }
    GroupState {
        cluster, group, storm, log_partition, offset, clock, records, duplicates, bad_records, time_backwards, invalid,
        rebalances, tally, classic, consumer, share, streams, targets, share_targets, streams_targets, targets_of, tasks, counts, initialized, kinds, members, pending, deletion, offsets_deleted, departed, returned, previous, ended,
        has_history, is_deleted, last, last_members, open_epoch, held, owners, last_owners, unowned, highest, committed,
        has_known_owners, costs, problems, unreadable, commit_times, former_commits;
        member_of: None, current_owners: None, earliest: None, queued: None
    }
}

impl Stored for Committed {
    fn write(&self, out: &mut Vec<u8>) {
        self.topics.write(out);
        self.unnamed.write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let topics = FxHashMap::<Arc<str>, FxHashMap<i32, PartitionState>>::read(data)?;
        let offsets = topics.values().flat_map(FxHashMap::values).filter(|found| found.offset.is_some()).count();
        Ok(Self { topics, unnamed: Stored::read(data)?, offsets })
    }
}

impl Stored for EpochGroup {
    fn write(&self, out: &mut Vec<u8>) {
        self.epoch.write(out);
        self.target_epoch.write(out);
        self.validated_topology.write(out);
        self.topology.write(out);
        self.members.write(out);
        self.current.write(out);
        self.resolved.write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let mut group = Self {
            epoch: Stored::read(data)?,
            target_epoch: Stored::read(data)?,
            validated_topology: Stored::read(data)?,
            topology: Stored::read(data)?,
            members: Stored::read(data)?,
            current: Stored::read(data)?,
            resolved: Stored::read(data)?,
            ..Self::default()
        };
        group.count_all_owners();
        Ok(group)
    }
}
