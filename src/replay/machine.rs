//! Incremental replay of the groups of one or more clusters, as events.
//!
//! `Replay` has no clock and no I/O: it takes records and times, and returns events. An event that depends on time, such as the end
//! of a storm, occurs at a deadline and has the time of the deadline. So the events do not depend on how the records are split into
//! batches.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::apply::apply;
use super::broker_log::LoggedRebalance;
use super::commits::{Committing, apply_commit, set_owners};
use super::deadlines::{complete, deadline, fire};
use super::deletions::flush_deletion;
use super::events::{Event, EventDetails};
use super::generations::release;
use super::membership::flush_pending;
use super::metadata::Metadata;
use super::model::{Counts, GroupKind, LogRecord};
use super::owner_changes::name_topics;
use super::replayed_group::{Position, ReplayedGroup, positions, replayed};
use super::silences::Silence;
use super::snapshot::{read_snapshot, write_snapshot};
use super::state::{Context, GroupState, Unreadable};
use super::stored::SnapshotError;
use super::times::{applied_at, valid};
use crate::error::WireError;
use crate::offsets::commit::read_commit;
use crate::offsets::{self, DecodedRecord};

/// Replay of many groups, by cluster and group id.
#[derive(Debug, Default)]
pub struct Replay {
    context: Context,
    groups: Vec<GroupState>,
    /// Index of each group, by cluster and group id.
    index: FxHashMap<Arc<str>, FxHashMap<Arc<str>, usize>>,
    /// Index of the group of the last record, which is often that of the next one.
    last: usize,
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

    /// Apply a record, and add its events. The events of the group's deadlines up to the record's timestamp come first.
    pub fn push(&mut self, cluster: &str, entry: &LogRecord<'_>, events: &mut Vec<Event>) {
        let Some(commit) = read_commit(entry.key, entry.value) else {
            return self.push_decoded(cluster, entry, &offsets::decode_record(entry.key, entry.value), events);
        };
        self.counts.records += 1;
        let index = self.group_index(cluster, commit.group);
        if let Some(at) = self.begin(index, entry, events) {
            let state = &mut self.groups[index];
            let (place, partition) = ((at, entry.offset), (commit.topic, commit.partition));
            let committed = commit.offset.map(|offset| Committing { offset, expires: commit.expires });
            apply_commit(&self.context, state, place, partition, committed, events);
            self.queue(index);
        }
    }

    /// Apply a record that the caller has decoded, and add its events, as `push` does.
    pub fn push_decoded(
        &mut self,
        cluster: &str,
        entry: &LogRecord<'_>,
        decoded: &Result<DecodedRecord<'_>, WireError>,
        events: &mut Vec<Event>,
    ) {
        self.counts.records += 1;
        let (key, failure) = match decoded {
            Ok(_) => (None, None),
            Err(error) => (offsets::decode_key(entry.key).ok(), Some(error)),
        };
        let record = decoded.as_ref().ok().or(key.as_ref());
        let Some(group) = record.and_then(DecodedRecord::group) else {
            self.counts.invalid_timestamps += u64::from(valid(entry.timestamp).is_none());
            let place = (applied_at(entry.timestamp, None), entry.offset);
            events.push(self.bad(place, cluster.into(), None, record, failure));
            return;
        };
        let index = self.group_index(cluster, &group);
        let Some(at) = self.begin(index, entry, events) else { return };
        let place = (at, entry.offset);
        if failure.is_some() {
            self.groups[index].bad_records += 1;
            if let (Some(kind), Some(failure)) =
                (record.and_then(|found| GroupKind::of_group_record(found.record_type)), failure)
            {
                note_unreadable(&mut self.groups[index], place, kind, failure, events);
            }
            let event = self.bad(place, cluster.into(), Some(index), record, failure);
            events.push(event);
        } else if let Some(record) = record {
            apply(&self.context, &mut self.groups[index], place, record, events);
            if !is_of_member(record.record_type) {
                self.refresh(index);
            }
        }
        self.queue(index);
    }

    /// Fire the deadlines of a group up to the timestamp of a record, and count the record. Return the time of the record; None for a
    /// duplicate.
    ///
    /// A record without a valid timestamp has the time of the group's clock, and 0 before the first valid timestamp.
    fn begin(&mut self, index: usize, entry: &LogRecord<'_>, events: &mut Vec<Event>) -> Option<i64> {
        let state = &mut self.groups[index];
        let is_new = entry.offset > state.offset;
        let time = valid(entry.timestamp);
        if let Some(time) = time.filter(|_| state.invalid.is_last && is_new) {
            state.resume(time);
        }
        let clock = state.clock.max(time);
        if state.earliest.is_some_and(|earliest| clock.is_some_and(|clock| earliest <= clock)) {
            self.advance_group(index, clock.unwrap_or(0), |_, found| events.append(found));
        }
        let state = &mut self.groups[index];
        if !is_new {
            state.duplicates += 1;
            self.counts.duplicates += 1;
            self.queue(index);
            return None;
        }
        let at = applied_at(entry.timestamp, clock);
        if state.clock.is_some_and(|clock| at < clock) {
            state.time_backwards += 1;
            self.counts.time_backwards += 1;
        }
        if state.pending.iter().any(|leave| leave.at != at) {
            events.extend(flush_pending(state));
        }
        if state.deletion.is_some_and(|deletion| deletion.at != at) {
            events.extend(flush_deletion(state));
        }
        if entry.partition.is_some() {
            state.log_partition = entry.partition;
        }
        (state.clock, state.offset) = (clock, entry.offset);
        state.records += 1;
        if time.is_none() {
            self.counts.invalid_timestamps += 1;
            events.extend(invalid_timestamp(state, at, entry));
        }
        Some(at)
    }

    /// Add the events of all deadlines up to a time, of one cluster or of all, in the order of the deadlines.
    pub fn advance(&mut self, now: i64, cluster: Option<&str>, events: &mut Vec<Event>) {
        let mut found: Vec<(i64, usize, Vec<Event>)> = Vec::new();
        let (mut others, mut advanced) = (Vec::new(), Vec::new());
        while let Some(Reverse((deadline, index))) = self.deadlines.peek().copied() {
            if deadline > now {
                break;
            }
            self.deadlines.pop();
            // A group that was forgotten leaves its entries.
            let Some(state) = self.groups.get_mut(index).filter(|state| state.queued == Some(deadline)) else {
                continue;
            };
            if cluster.is_some_and(|cluster| cluster != &*state.cluster) {
                others.push(Reverse((deadline, index)));
                continue;
            }
            state.queued = None;
            self.advance_group(index, now, |deadline, fired| found.push((deadline, index, std::mem::take(fired))));
            advanced.push(index);
        }
        self.deadlines.extend(others);
        for index in advanced {
            self.queue(index);
        }
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
            if self.groups.get(index).is_some_and(|state| state.queued == Some(deadline)) {
                self.refresh(index);
                if self.groups[index].earliest == Some(deadline) {
                    return Some(deadline);
                }
                self.groups[index].queued = None;
            }
            self.deadlines.pop();
            if index < self.groups.len() {
                self.queue(index);
            }
        }
        None
    }

    /// Return the events that the end of the log completes. The state does not change.
    ///
    /// These are epochs without a target assignment, generations that wait for topic metadata, pending leaves and deletions, and costs
    /// and storms that have not ended.
    #[must_use]
    pub fn finish(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for index in self.sorted_groups() {
            let state = &self.groups[index];
            let is_complete = state.pending.is_empty()
                && state.deletion.is_none()
                && state.held.is_none()
                && state.open_epoch.is_none()
                && state.costs.all.is_empty();
            if is_complete && state.storm.since.is_none() {
                continue;
            }
            complete(&self.context, &mut state.clone(), &mut events);
        }
        events
    }

    /// End the log of a group, and forget the group; return it as it is after its last record.
    ///
    /// Add the events of its deadlines up to `until`, if given, and those that the end of the log completes.
    pub fn end(&mut self, cluster: &str, group: &str, until: Option<i64>, events: &mut Vec<Event>) -> ReplayedGroup {
        let index = self.group_index(cluster, group);
        if let Some(until) = until {
            self.advance_group(index, until, |_, found| events.append(found));
        }
        complete(&self.context, &mut self.groups[index], events);
        let found = replayed(&self.groups[index]);
        self.forget(cluster, group);
        found
    }

    /// Forget a group; return false if there is no such group.
    pub fn forget(&mut self, cluster: &str, group: &str) -> bool {
        let Some(groups) = self.index.get_mut(cluster) else { return false };
        let Some(index) = groups.remove(group) else { return false };
        if groups.is_empty() {
            self.index.remove(cluster);
        }
        self.groups.swap_remove(index);
        if self.groups.is_empty() {
            self.deadlines.clear();
        } else if let Some(moved) = self.groups.get_mut(index) {
            if let Some(place) = self.index.get_mut(&moved.cluster).and_then(|groups| groups.get_mut(&moved.group)) {
                *place = index;
            }
            moved.queued = None;
            self.queue(index);
        }
        true
    }

    /// Replace the topic metadata by a longer timeline; add the generations whose comparison waited for it.
    pub fn observe_topics(&mut self, metadata: Metadata, events: &mut Vec<Event>) {
        self.context.metadata = Arc::new(metadata);
        self.groups.iter_mut().for_each(|state| state.current_owners = None);
        let Some(last) = self.context.metadata.snapshots.last().map(|snapshot| snapshot.time) else { return };
        for index in self.sorted_groups() {
            let state = &mut self.groups[index];
            if state.held.as_ref().is_some_and(|held| last > held.generation.timestamp) {
                release(&self.context, state, events);
            }
            name_topics(&self.context, state, events);
            self.queue(index);
        }
    }

    /// Add silences of the log. Only deadlines and departures after this call take them into account.
    pub fn observe_silences(&mut self, silences: impl IntoIterator<Item = Silence>) {
        self.context.silences.extend(silences);
    }

    /// Add rebalances of the groups of a cluster that brokers logged. Only records after this call take them into account.
    pub fn observe_broker_log(
        &mut self,
        cluster: &str,
        rebalances: impl IntoIterator<Item = (Arc<str>, LoggedRebalance)>,
    ) {
        self.context.broker_log.extend(cluster, rebalances);
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

    /// Return the record counts over all groups.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Return the topic metadata.
    #[must_use]
    pub fn metadata(&self) -> &Arc<Metadata> {
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
        if self.groups.get(self.last).is_some_and(|state| *state.group == *group && *state.cluster == *cluster) {
            return self.last;
        }
        if let Some(index) = self.index.get(cluster).and_then(|groups| groups.get(group)) {
            self.last = *index;
            return *index;
        }
        let index = self.groups.len();
        self.last = index;
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

    /// Fire the deadlines of a group up to a time. Each one is later than the one before it, so the loop ends.
    fn advance_group(&mut self, index: usize, now: i64, mut fired: impl FnMut(i64, &mut Vec<Event>)) {
        let mut last = None;
        loop {
            self.refresh(index);
            let state = &mut self.groups[index];
            let Some(deadline) = state.earliest.filter(|deadline| *deadline <= now) else { return };
            debug_assert!(last < Some(deadline), "the deadline {deadline} remains after it has fired");
            if last >= Some(deadline) {
                return;
            }
            last = Some(deadline);
            let mut events = Vec::new();
            fire(state, &self.context, deadline, &mut events);
            fired(deadline, &mut events);
        }
    }

    fn bad(
        &mut self,
        (at, offset): (i64, i64),
        cluster: Arc<str>,
        group: Option<usize>,
        record: Option<&DecodedRecord<'_>>,
        failure: Option<&WireError>,
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
            at,
            offset,
            details: EventDetails::BadRecord { record_type, error },
        }
    }
}

/// Note a record without a valid timestamp; return an event for the first one of the group.
#[cold]
fn invalid_timestamp(state: &mut GroupState, at: i64, entry: &LogRecord<'_>) -> Option<Event> {
    let is_first = state.invalid.first.is_none();
    state.note_invalid(entry.offset);
    let record_type = entry.key.and_then(<[u8]>::first_chunk).copied().map(i16::from_be_bytes);
    let details = EventDetails::InvalidTimestamp { record_type, timestamp: entry.timestamp };
    is_first.then(|| state.event(at, entry.offset, None, details))
}

/// Note that the last group record of a group could not be decoded. The members, and so the owners of a classic group, are not known then.
fn note_unreadable(
    state: &mut GroupState,
    place: (i64, i64),
    kind: GroupKind,
    failure: &WireError,
    events: &mut Vec<Event>,
) {
    let since = state.unreadable.take().map_or(place.0, |found| found.since);
    state.unreadable = Some(Unreadable { since, kind, reason: failure.to_string() });
    if kind == GroupKind::Classic {
        set_owners(state, None, None, place, events);
    }
}

/// Return true for the record of one member of a group with an epoch. Applying such a record updates `GroupState::earliest` itself.
const fn is_of_member(record_type: i16) -> bool {
    matches!(record_type, 5 | 7 | 8 | 10 | 13 | 14 | 19 | 21 | 22)
}
