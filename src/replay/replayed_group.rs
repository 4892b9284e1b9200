//! Groups as they are after the last record: state, members, committed offsets and owners of partitions.

use std::sync::Arc;

use super::classic::ClassicGroup;
use super::epochs::EpochGroup;
use super::events::Partition;
use super::member::RecordedMember;
use super::model::GroupKind;
use super::state::{GroupState, Unreadable};
use super::tally::Tally;

/// Committed offset and owner of a partition of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The cluster.
    pub cluster: Arc<str>,
    /// The group id.
    pub group: Arc<str>,
    /// The topic.
    pub topic: Arc<str>,
    /// The partition id.
    pub partition: i32,
    /// Name of the owner: the member id, or `instance ` and the instance id of a static member.
    pub member: Option<Arc<str>>,
    /// The committed offset.
    pub committed: Option<i64>,
}

/// Group as it is after the last record.
#[derive(Debug, Clone)]
pub struct ReplayedGroup {
    /// The cluster.
    pub cluster: Arc<str>,
    /// The group id.
    pub group: Arc<str>,
    /// Kind of the group; the last kind known if the group is gone.
    pub kind: GroupKind,
    /// Kafka's name for the state; `gone`, or `Unknown` if the last group record cannot be decoded.
    pub state: &'static str,
    /// The last group records, if they cannot be decoded.
    pub unreadable: Option<Unreadable>,
    /// The assignor in use.
    pub protocol: Option<String>,
    /// The protocol type of a classic group, such as `consumer`; empty before its first generation.
    pub protocol_type: Option<String>,
    /// The last generation or group epoch.
    pub generation: Option<i32>,
    /// The members.
    pub members: Vec<RecordedMember>,
    /// Number of partitions with a committed offset.
    pub committed_offsets: usize,
    /// Sorted partitions with an owner and without a committed offset.
    pub never_committed: Vec<Partition>,
    /// Counts of the complete generations.
    pub tally: Tally,
    /// Number of rebalances: the group records with another generation or another kind of group than the record before.
    ///
    /// Generation 0, which belongs to a new group, does not count. A second record of the same generation does not count either; a
    /// restart of a static member causes such a record.
    pub rebalances: u64,
    /// Number of records, not counting duplicates.
    pub records: u64,
    /// Number of duplicates.
    pub duplicates: u64,
    /// Number of records that could not be decoded; they are ignored.
    pub bad_records: u64,
    /// Number of records whose timestamp goes backwards.
    pub time_backwards: u64,
    /// Number of records without a valid timestamp.
    pub invalid_timestamps: u64,
    /// Offset of the first of these records.
    pub first_invalid: Option<i64>,
}

/// Return the partitions of a group with a committed offset or an owner, in order of topic and partition.
pub(super) fn positions(state: &GroupState) -> Vec<Position> {
    let mut found = Vec::new();
    for (topic, ids) in &state.committed.topics {
        for (id, known) in ids {
            let member = known.ownership.as_ref().map(|ownership| Arc::clone(&ownership.owner));
            if member.is_some() || known.offset.is_some() {
                found.push(Position {
                    cluster: Arc::clone(&state.cluster),
                    group: Arc::clone(&state.group),
                    topic: Arc::clone(topic),
                    partition: *id,
                    member,
                    committed: known.offset,
                });
            }
        }
    }
    found.sort_unstable_by(|one, other| (&one.topic, one.partition).cmp(&(&other.topic, other.partition)));
    found
}

/// Return a group as it is after the last record.
pub(super) fn replayed(state: &GroupState) -> ReplayedGroup {
    let current = state.kinds.iter().rev().copied().find(|kind| state.generation_of(*kind).is_some());
    let current = if state.unreadable.is_some() { None } else { current };
    let is_gone = current.is_none() && state.unreadable.is_none() && state.is_deleted && state.committed.offsets == 0;
    let last = state.last.map(|(last, _)| last).filter(|_| is_gone);
    let unreadable = state.unreadable.as_ref().map(|found| found.kind);
    let classic = state.classic.as_ref();
    let (name, protocol, members): (_, _, Vec<RecordedMember>) = match current {
        Some(GroupKind::Classic) => (
            if classic.is_none_or(ClassicGroup::is_empty) { "Empty" } else { "Stable" },
            classic.and_then(|found| found.protocol.clone()),
            classic.map(|found| found.members(&state.group)).unwrap_or_default(),
        ),
        Some(kind) => {
            let group = state.epoch_group(kind);
            (
                group.map_or("Empty", |group| group.state(kind)),
                group.filter(|_| kind == GroupKind::Consumer).map(EpochGroup::assignor),
                group.map(EpochGroup::members).unwrap_or_default(),
            )
        }
        None if unreadable.is_some() => ("Unknown", None, Vec::new()),
        None => (if is_gone { "gone" } else { "Empty" }, None, Vec::new()),
    };
    ReplayedGroup {
        cluster: Arc::clone(&state.cluster),
        group: Arc::clone(&state.group),
        kind: current.or(unreadable).or(last.map(|last| last.kind)).unwrap_or(GroupKind::Offsets),
        state: name,
        unreadable: state.unreadable.clone(),
        protocol,
        protocol_type: classic.filter(|_| current == Some(GroupKind::Classic)).map(|found| found.protocol_type.clone()),
        generation: match current {
            Some(kind) => state.generation_of(kind),
            None => last.map(|last| last.generation),
        },
        members,
        committed_offsets: state.committed.offsets,
        never_committed: state.committed.never_committed(),
        tally: state.tally.clone(),
        rebalances: state.rebalances,
        records: state.records,
        duplicates: state.duplicates,
        bad_records: state.bad_records,
        time_backwards: state.time_backwards,
        invalid_timestamps: state.invalid.count,
        first_invalid: state.invalid.first,
    }
}
