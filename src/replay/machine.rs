//! Incremental replay of the groups of one or more clusters, as events.
//!
//! `Replay` has no clock and no I/O: it takes records and times, and returns events. Events that depend on time, such as the end of a storm,
//! have a deadline and the time of that deadline, so the events do not depend on how the records are split into batches.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::commits::{apply_commit, commit_deadline, fire_commits, own};
use super::events::{Event, EventDetails, sorted};
use super::generations::{Owners, apply_classic, close_epoch, open_epoch, release, storm_event};
use super::holdings::own_current;
use super::known_member::with_topic;
use super::membership::{apply_member, delete_members, flush_pending};
use super::snapshot::{SnapshotError, read_snapshot, write_snapshot};
use super::state::{Context, GroupState};
use super::{GroupKind, History, LogRecord, RecordedMember, int, ints, text};
use crate::error::WireError;
use crate::history::Metadata;
use crate::offsets::commit::read_commit;
use crate::offsets::{self, DecodedRecord, FieldValue};

/// Epoch of a static member that has left and may return.
const PAUSED: i32 = -2;

/// Numbers of records of all groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records.
    pub records: u64,
    /// Records with an offset that is not higher than the last one of their group.
    pub duplicates: u64,
    /// Records that cannot be decoded.
    pub bad_records: u64,
    /// Records of an unknown type.
    pub unknown_types: u64,
    /// Records with a timestamp below the highest one of their group.
    pub time_backwards: u64,
}

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
    /// The member that owns the partition.
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
    /// State and members.
    pub state: History,
    /// Number of rebalances.
    pub rebalances: u64,
    /// Number of records without duplicates.
    pub records: u64,
    /// Number of duplicates.
    pub duplicates: u64,
    /// Number of records whose timestamp goes backwards.
    pub time_backwards: u64,
}

/// Replay of many groups, by cluster and group id.
#[derive(Debug, Default)]
pub struct Replay {
    context: Context,
    groups: Vec<GroupState>,
    /// Index of each group, by cluster and group id.
    index: FxHashMap<Arc<str>, FxHashMap<Arc<str>, usize>>,
    /// Deadlines of groups. An entry may be earlier than the deadline of its group, but not later.
    deadlines: BinaryHeap<Reverse<(i64, usize)>>,
    counts: Counts,
}

impl Replay {
    /// Create a replay without groups.
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self { context, ..Self::default() }
    }

    /// Apply a record, and add its events after those of the deadlines of its group up to its timestamp.
    pub fn push(&mut self, cluster: &str, entry: &LogRecord<'_>, events: &mut Vec<Event>) {
        self.counts.records += 1;
        if let Some(commit) = read_commit(entry.key, entry.value) {
            let index = self.group_index(cluster, commit.group);
            if self.begin(index, entry, events) {
                let (state, settings) = (&mut self.groups[index], &self.context.settings);
                let place = (entry.timestamp, entry.offset);
                apply_commit(state, place, (commit.topic, commit.partition), commit.offset, settings, events);
                self.queue(index);
            }
            return;
        }
        let decoded = offsets::decode_record(entry.key, entry.value);
        let (record, failure) = match decoded {
            Ok(record) => (Some(record), None),
            Err(error) => (offsets::decode_key(entry.key).ok(), Some(error)),
        };
        let Some(group) = record.as_ref().and_then(DecodedRecord::group) else {
            events.push(self.bad(entry, cluster.into(), None, record.as_ref(), failure));
            return;
        };
        let index = self.group_index(cluster, &group);
        if !self.begin(index, entry, events) {
            return;
        }
        if let Some(failure) = failure {
            self.groups[index].bad_records += 1;
            let event = self.bad(entry, cluster.into(), Some(index), record.as_ref(), Some(failure));
            events.push(event);
        } else if let Some(record) = &record {
            apply(&self.context, &mut self.groups[index], (entry.timestamp, entry.offset), record, events);
            if !is_of_member(record.record_type) {
                self.refresh(index);
            }
        }
        self.queue(index);
    }

    /// Fire the deadlines of a group up to the timestamp of a record, and count the record; return false for a duplicate.
    fn begin(&mut self, index: usize, entry: &LogRecord<'_>, events: &mut Vec<Event>) -> bool {
        let state = &mut self.groups[index];
        let clock = state.clock.map_or(entry.timestamp, |clock| clock.max(entry.timestamp));
        if state.earliest.is_some_and(|earliest| earliest <= clock) {
            self.advance_group(index, clock, |_, found| events.append(found));
        }
        let state = &mut self.groups[index];
        if entry.offset <= state.offset {
            state.duplicates += 1;
            self.counts.duplicates += 1;
            self.queue(index);
            return false;
        }
        if state.clock.is_some_and(|clock| entry.timestamp < clock) {
            state.time_backwards += 1;
            self.counts.time_backwards += 1;
        }
        if state.pending.iter().any(|leave| leave.at != entry.timestamp) {
            events.extend(flush_pending(state));
        }
        (state.clock, state.offset) = (Some(clock), entry.offset);
        state.records += 1;
        true
    }

    /// Add the events of all deadlines up to a time, of one cluster or of all, in the order of the deadlines.
    pub fn advance(&mut self, now: i64, cluster: Option<&str>, events: &mut Vec<Event>) {
        let mut found: Vec<(i64, usize, Vec<Event>)> = Vec::new();
        let mut others = Vec::new();
        while let Some(Reverse((deadline, index))) = self.deadlines.peek().copied() {
            if deadline > now {
                break;
            }
            self.deadlines.pop();
            let state = &mut self.groups[index];
            if state.queued != Some(deadline) {
                continue;
            }
            if cluster.is_some_and(|cluster| cluster != &*state.cluster) {
                others.push(Reverse((deadline, index)));
                continue;
            }
            state.queued = None;
            self.advance_group(index, now, |deadline, fired| found.push((deadline, index, std::mem::take(fired))));
            self.queue(index);
        }
        self.deadlines.extend(others);
        let key = |(deadline, index, _): &(i64, usize, Vec<Event>)| {
            let state = &self.groups[*index];
            (*deadline, Arc::clone(&state.cluster), Arc::clone(&state.group))
        };
        found.sort_by_cached_key(key);
        events.extend(found.into_iter().flat_map(|(_, _, fired)| fired));
    }

    /// Return the earliest deadline of all groups.
    pub fn next_deadline(&mut self) -> Option<i64> {
        while let Some(Reverse((deadline, index))) = self.deadlines.peek().copied() {
            if self.groups[index].queued == Some(deadline) {
                self.refresh(index);
                if self.groups[index].earliest == Some(deadline) {
                    return Some(deadline);
                }
                self.groups[index].queued = None;
            }
            self.deadlines.pop();
            self.queue(index);
        }
        None
    }

    /// Return the events that the end of the log completes. The state does not change.
    ///
    /// These are epochs without a target assignment, generations that wait for topic metadata, members that left last, and the storms that
    /// last.
    #[must_use]
    pub fn finish(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for index in self.sorted_groups() {
            let state = &self.groups[index];
            let is_complete = state.pending.is_empty() && state.held.is_none() && state.open_epoch.is_none();
            if is_complete && state.storm.since.is_none() {
                continue;
            }
            let mut state = state.clone();
            events.extend(flush_pending(&mut state));
            release(&self.context, &mut state, &mut events);
            close_epoch(&self.context, &mut state, None, &mut events);
            release(&self.context, &mut state, &mut events);
            events.extend(storm_event(&state, state.clock.unwrap_or(0), state.offset, None));
        }
        events
    }

    /// Replace the topic metadata by a longer timeline; add the generations whose comparison waited for it.
    pub fn observe_topics(&mut self, metadata: Metadata, events: &mut Vec<Event>) {
        self.context.metadata = metadata;
        self.groups.iter_mut().for_each(|state| state.holdings = None);
        let Some(last) = self.context.metadata.snapshots.last().map(|snapshot| snapshot.time) else { return };
        for index in self.sorted_groups() {
            let state = &mut self.groups[index];
            if state.held.as_ref().is_some_and(|held| last > held.generation.timestamp) {
                release(&self.context, state, events);
            }
        }
    }

    /// Return the state of all groups as bytes.
    ///
    /// # Errors
    /// The state has 4 GiB or more.
    pub fn snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        let groups: Vec<&GroupState> = self.sorted_groups().into_iter().map(|index| &self.groups[index]).collect();
        write_snapshot(self.context.settings, self.counts, &groups)
    }

    /// Replace the state with that of a snapshot.
    ///
    /// # Errors
    /// The bytes are damaged, or of another engine, version or settings. The state does not change.
    pub fn restore(&mut self, data: &[u8]) -> Result<(), SnapshotError> {
        let (counts, groups) = read_snapshot(data, self.context.settings)?;
        (self.counts, self.groups) = (counts, groups);
        self.index.clear();
        self.deadlines.clear();
        for index in 0..self.groups.len() {
            let state = &self.groups[index];
            let (cluster, group) = (Arc::clone(&state.cluster), Arc::clone(&state.group));
            self.index.entry(cluster).or_default().insert(group, index);
            self.refresh(index);
            self.queue(index);
        }
        Ok(())
    }

    /// Return the numbers of records of all groups.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Return the topic metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.context.metadata
    }

    /// Return the groups as they are after the last record, in order of cluster and group id.
    #[must_use]
    pub fn states(&self) -> Vec<ReplayedGroup> {
        self.sorted_groups().into_iter().map(|index| replayed(&self.groups[index])).collect()
    }

    /// Return the partitions with a committed offset or an owner, in order of cluster, group id, topic and partition.
    #[must_use]
    pub fn positions(&self) -> Vec<Position> {
        self.sorted_groups().into_iter().flat_map(|index| positions(&self.groups[index])).collect()
    }

    fn sorted_groups(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.groups.len()).collect();
        all.sort_by_key(|index| (&self.groups[*index].cluster, &self.groups[*index].group));
        all
    }

    /// Return the index of a group; add the group if it is new.
    fn group_index(&mut self, cluster: &str, group: &str) -> usize {
        if let Some(index) = self.index.get(cluster).and_then(|groups| groups.get(group)) {
            return *index;
        }
        let index = self.groups.len();
        let (cluster, group): (Arc<str>, Arc<str>) = (cluster.into(), group.into());
        self.index.entry(Arc::clone(&cluster)).or_default().insert(Arc::clone(&group), index);
        self.groups.push(GroupState::new(cluster, group));
        index
    }

    /// Compute the deadline of a group.
    fn refresh(&mut self, index: usize) {
        let earliest = deadline(&self.groups[index], &self.context);
        self.groups[index].earliest = earliest;
    }

    /// Ensure that the queue has an entry that is not later than the deadline of a group.
    fn queue(&mut self, index: usize) {
        let state = &mut self.groups[index];
        let Some(earliest) = state.earliest else { return };
        if state.queued.is_none_or(|queued| queued > earliest) {
            state.queued = Some(earliest);
            self.deadlines.push(Reverse((earliest, index)));
        }
    }

    /// Fire the deadlines of a group up to a time.
    fn advance_group(&mut self, index: usize, now: i64, mut fired: impl FnMut(i64, &mut Vec<Event>)) {
        loop {
            self.refresh(index);
            let state = &mut self.groups[index];
            let Some(deadline) = state.earliest.filter(|deadline| *deadline <= now) else { return };
            let mut events = Vec::new();
            fire(state, &self.context, deadline, &mut events);
            fired(deadline, &mut events);
        }
    }

    fn bad(
        &mut self,
        entry: &LogRecord<'_>,
        cluster: Arc<str>,
        group: Option<usize>,
        record: Option<&DecodedRecord<'_>>,
        failure: Option<WireError>,
    ) -> Event {
        let record_type = record.map(|record| record.record_type);
        let error = if let Some(failure) = failure {
            self.counts.bad_records += 1;
            failure.to_string()
        } else {
            self.counts.unknown_types += 1;
            format!("unknown record type {}", record_type.unwrap_or(-1))
        };
        let group = group.map(|index| &self.groups[index]);
        Event {
            cluster,
            group: group.map(|state| Arc::clone(&state.group)),
            kind: group.map(GroupState::kind),
            at: entry.timestamp,
            offset: entry.offset,
            details: EventDetails::BadRecord { record_type, error },
        }
    }
}

/// Return true for the record of one member of a group with an epoch. Such a record notes the deadlines that it adds.
const fn is_of_member(record_type: i16) -> bool {
    matches!(record_type, 5 | 7 | 8 | 10 | 13 | 14 | 19 | 21 | 22)
}

fn deadline(state: &GroupState, context: &Context) -> Option<i64> {
    let pending = state.pending.iter().map(|leave| leave.deadline).min();
    let storm = state.storm.deadline(context.settings.storm_window);
    let commits = commit_deadline(state, &context.settings);
    pending.into_iter().chain(storm).chain(commits).min()
}

/// Add the events of a deadline.
fn fire(state: &mut GroupState, context: &Context, deadline: i64, events: &mut Vec<Event>) {
    if state.pending.iter().any(|leave| leave.deadline == deadline) {
        events.extend(flush_pending(state));
    }
    if commit_deadline(state, &context.settings) == Some(deadline) {
        fire_commits(state, &context.settings, deadline, events);
    }
    if state.storm.deadline(context.settings.storm_window) == Some(deadline) {
        events.extend(storm_event(state, deadline, state.offset, state.storm.times.back().copied()));
        state.storm.end();
    }
}

/// Apply a record that is not an offset commit, and add its events. `place` is its timestamp and offset.
fn apply(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    record: &DecodedRecord<'_>,
    events: &mut Vec<Event>,
) {
    let value = record.value();
    let is_group_record = GroupKind::of_group_record(record.record_type).is_some();
    if is_group_record {
        state.is_deleted = value.is_none();
    }
    if is_group_record && value.is_none() {
        own(state, Some(&Owners::default()), Some(&BTreeMap::new()), place, events);
    }
    match (record.record_type, value) {
        (0 | 1, _) => {
            let topic = text(record.key(), "topic");
            let committed = value.and_then(|value| value.get("offset")).and_then(FieldValue::as_i64);
            let partition = int(record.key(), "partition", -1);
            apply_commit(state, place, (&topic, partition), committed, &context.settings, events);
        }
        (2, Some(value)) => apply_classic(context, state, place, value, events),
        (2, None) => {
            delete_members(state, place);
            state.classic = None;
        }
        (4, value) => {
            state.counts = value.map(|value| {
                let topics = value.get("topics").into_iter().flat_map(FieldValue::items);
                topics.map(|topic| (text(topic, "topicName"), int(topic, "numPartitions", 0))).collect()
            });
        }
        (15, value) => {
            let ready = value.and_then(|value| value.get("initializedTopics")).into_iter().flat_map(FieldValue::items);
            state.initialized = sorted(ready.flat_map(|topic| {
                let ids: Vec<i32> = ints(topic, "partitions").collect();
                with_topic(&text(topic, "topicName"), &ids).collect::<Vec<_>>()
            }));
        }
        _ => {}
    }
    let kind = match record.record_type {
        3 | 5..=8 | 16 => Some(GroupKind::Consumer),
        10..=14 => Some(GroupKind::Share),
        17 | 19..=23 => Some(GroupKind::Streams),
        _ => None,
    };
    if let Some(kind) = kind {
        apply_epoch(context, state, place, record, kind, events);
    }
    if is_group_record && value.is_none() {
        close_epoch(context, state, None, events);
        (state.ended, state.has_history) = (Some(place.0), true);
        (state.owners, state.unowned) = (Some(Owners::default()), None);
        state.last_owners.clear();
    }
}

/// Apply a record of a group with an epoch, and add its events.
fn apply_epoch(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    record: &DecodedRecord<'_>,
    kind: GroupKind,
    events: &mut Vec<Event>,
) {
    let value = record.value();
    let mut target = None;
    if let (6 | 12 | 20, Some(value)) = (record.record_type, value) {
        let epoch = int(value, "assignmentEpoch", 0);
        let opened = state.open_epoch.as_ref().map(|opened| &opened.held.generation);
        if opened.is_some_and(|opened| opened.kind == kind && epoch >= opened.generation) {
            target = Some(complete_target(context, state, place.0, epoch, kind));
        }
    }
    match kind {
        GroupKind::Share => state.share.apply(record),
        GroupKind::Streams => state.streams.apply(record),
        _ => {
            state.consumer.apply(record);
            state.targets.apply(place.0, record);
        }
    }
    if let 7 | 13 | 21 = record.record_type {
        let member = text(record.key(), "memberId");
        match value {
            Some(value) => {
                let target = super::epochs::owned_by_topic(value, &["topicPartitions", "activeTasks"]);
                state.targets_of.insert(member, target);
            }
            None => _ = state.targets_of.remove(&member),
        }
    }
    if target.is_some() {
        close_epoch(context, state, target, events);
        return;
    }
    match (record.record_type, value) {
        (5 | 10 | 19, value) => {
            apply_member(state, place, &text(record.key(), "memberId"), value, kind, events);
        }
        (8 | 14 | 22, value) => {
            apply_current(context, state, place, &text(record.key(), "memberId"), value, kind, events);
        }
        (3 | 11 | 17, Some(value)) => open_epoch(context, state, place, value, kind, events),
        _ => {}
    }
}

/// Complete the open epoch with its target assignment; return the owners of the target assignment.
fn complete_target(context: &Context, state: &mut GroupState, at: i64, epoch: i32, kind: GroupKind) -> Owners {
    if let Some(opened) = &mut state.open_epoch
        && kind == GroupKind::Consumer
        && opened.held.generation.generation == epoch
    {
        let is_copy = opened.held.before.is_some_and(|before| {
            before.kind == GroupKind::Classic && before.generation == epoch && before.members > 0
        });
        if !is_copy {
            opened.held.generation.target = Some(state.targets.assignment(&state.consumer, at));
        }
    }
    let mut owners = Owners::default();
    let Some(group) = state.epoch_group(kind) else { return owners };
    for (id, target) in &state.targets_of {
        let holder =
            state.members.get(id.as_str()).map_or_else(|| id.as_str().into(), |found| Arc::clone(&found.holder));
        for (topic, ids) in group.by_source(target) {
            let partitions = with_topic(context.metadata.name(&topic), &ids);
            owners.extend(partitions.map(|partition| (partition, Arc::clone(&holder))));
        }
    }
    owners
}

/// Apply the current assignment of a member, and add the events of the owners that it changes.
fn apply_current(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    id: &str,
    value: Option<FieldValue<'_>>,
    kind: GroupKind,
    events: &mut Vec<Event>,
) {
    if let (Some(member), Some(value)) = (state.members.get_mut(id), value) {
        let has_paused = int(value, "memberEpoch", 0) == PAUSED;
        if member.has_paused != has_paused {
            Arc::make_mut(member).has_paused = has_paused;
        }
    }
    if kind != GroupKind::Consumer {
        return;
    }
    own_current(context, state, id, place, events);
}

/// Return the partitions of a group with a committed offset or an owner, in order of topic and partition.
fn positions(state: &GroupState) -> Vec<Position> {
    let mut found = Vec::new();
    for (topic, ids) in &state.committed.topics {
        for (id, known) in ids {
            let member = known.tenure.as_ref().map(|tenure| Arc::clone(&tenure.holder));
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

fn replayed(state: &GroupState) -> ReplayedGroup {
    let current = state.kinds.iter().rev().copied().find(|kind| state.generation_of(*kind).is_some());
    let is_gone = current.is_none() && state.is_deleted && state.committed.offsets == 0;
    let last = state.last.map(|(last, _)| last).filter(|_| is_gone);
    let classic = state.classic.as_ref();
    let (name, protocol, members): (_, _, Vec<RecordedMember>) = match current {
        Some(GroupKind::Classic) => (
            if classic.is_none_or(super::ClassicGroup::is_empty) { "Empty" } else { "Stable" },
            classic.and_then(|found| found.protocol.clone()),
            classic.map(super::ClassicGroup::members).unwrap_or_default(),
        ),
        Some(kind) => {
            let group = state.epoch_group(kind);
            (
                group.map_or("Empty", |group| group.state(kind)),
                group.filter(|_| kind == GroupKind::Consumer).map(super::EpochGroup::assignor),
                group.map(super::EpochGroup::members).unwrap_or_default(),
            )
        }
        None => (if is_gone { "gone" } else { "Empty" }, None, Vec::new()),
    };
    ReplayedGroup {
        cluster: Arc::clone(&state.cluster),
        group: Arc::clone(&state.group),
        state: History {
            kind: current.or(last.map(|last| last.kind)).unwrap_or(GroupKind::Offsets),
            state: name,
            protocol,
            generation: match current {
                Some(kind) => state.generation_of(kind),
                None => last.map(|last| last.generation),
            },
            members,
            committed_offsets: state.committed.offsets,
            bad_records: state.bad_records as usize,
        },
        rebalances: state.rebalances,
        records: state.records,
        duplicates: state.duplicates,
        time_backwards: state.time_backwards,
    }
}
