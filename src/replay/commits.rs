//! Events of committed offsets, and of members that stop committing.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::committed::{Committed, PartitionState};
use super::costs::{end_all, end_deleted, end_pause};
use super::deletions::{expiry, offset_deleted};
use super::difference::Members;
use super::durations::duration;
use super::events::{Event, EventDetails, Partition};
use super::pauses::Pause;
use super::state::{Context, GroupState};
use super::stuck::CommitTimes;
use super::times::deadline_after;

/// Offset that a record commits.
#[derive(Clone, Copy)]
pub(super) struct Committing {
    pub(super) offset: i64,
    /// The time at which it expires, if the record has one.
    pub(super) expires: Option<i64>,
}

/// Apply an offset commit, or its tombstone if `committed` is None, and add its events.
pub(super) fn apply_commit(
    context: &Context,
    state: &mut GroupState,
    (at, offset): (i64, i64),
    (topic, id): (&str, i32),
    committed: Option<Committing>,
    events: &mut Vec<Event>,
) {
    let settings = &context.settings;
    let (clock, now) = (state.clock.unwrap_or(0), state.now());
    let offsets = &mut state.committed.offsets;
    let partition = match state.committed.topics.get_mut(topic).and_then(|ids| ids.get_mut(&id)) {
        Some(partition) => partition,
        None if committed.is_none() => return,
        None => Committed::add(&mut state.committed.topics, topic.into(), id),
    };
    let before = std::mem::replace(&mut partition.offset, committed.map(|committed| committed.offset));
    let Some(Committing { offset: committed, expires }) = committed else {
        *offsets -= usize::from(before.is_some());
        partition.deleted = before.or(partition.deleted);
        partition.last_commit = None;
        let pause = partition.pause.take();
        let expires = partition.expires;
        if let Some(ownership) = &mut partition.ownership {
            (ownership.since, ownership.has_commit, ownership.is_reported) = (now, false, false);
            state.lower_deadline(deadline_after(now, settings.never_committed));
        } else if partition.is_empty() {
            state.committed.forget(topic, id);
        }
        if let Some(pause) = pause {
            end_deleted(state, (at, offset), &pause, events);
        }
        if before.is_some() {
            events.push(offset_deleted(&context.metadata, state, (at, offset), (topic, id), expires));
        }
        return;
    };
    partition.expires = expiry(at, expires);
    let deleted = partition.deleted.take().filter(|_| before.is_none());
    *offsets += usize::from(before.is_none());
    let (log_partition, lacks_time) = (state.log_partition, state.invalid.is_last);
    let pause = if partition.pause.is_some() { ended_pause(partition, clock) } else { None };
    partition.last_commit = Some(clock).filter(|_| !lacks_time);
    let owner = partition.ownership.as_mut().map(|ownership| {
        ownership.has_commit = true;
        let cadence = &mut ownership.cadence;
        if lacks_time || cadence.burst.is_some_and(|burst| context.silences.is_between(log_partition, burst, clock)) {
            cadence.interrupt();
        }
        if !lacks_time {
            cadence.add(clock, settings.stuck_interval);
        }
        Arc::clone(&ownership.owner)
    });
    if let Some(deleted) = deleted.filter(|deleted| committed < *deleted) {
        let evidence = format!(
            "The committed offset went back from {deleted} to {committed}: the earlier one was deleted, so the consumer began at its reset \
             position or at an older offset."
        );
        events.push(problem(state, (at, offset), "went_back", vec![(topic.into(), id)], evidence));
    }
    if let Some(before) = before.filter(|before| committed < *before) {
        let evidence = format!(
            "The committed offset went back from {before} to {committed}: a member or an administrator has reset it, or commits \
             arrived in another order. The log does not name who committed."
        );
        events.push(problem(state, (at, offset), "went_back", vec![(topic.into(), id)], evidence));
    }
    if let (Some(pause), Some(owner)) = (pause, &owner) {
        end_pause(context, state, (at, offset), &pause, owner, events);
    }
    if let Some(owner) = owner {
        note_commit(state, (at, offset), &owner, before != Some(committed), context, events);
    } else if state.has_known_owners && !state.members.is_empty() && is_stray(state, topic, id) {
        let evidence =
            "The group has members, but none of them owns the partition. The log does not name who committed.";
        events.push(problem(state, (at, offset), "not_owned", vec![(topic.into(), id)], evidence.to_owned()));
    }
}

/// Return the pause that a commit ends. Without an owner, the member that gave the partition up commits it for the last time, and the pause
/// begins with this commit.
#[cold]
fn ended_pause(partition: &mut PartitionState, clock: i64) -> Option<Box<Pause>> {
    if partition.ownership.is_some() {
        return partition.pause.take();
    }
    if let Some(pause) = &mut partition.pause {
        pause.since = pause.since.max(clock);
    }
    None
}

/// Return true for the first commit of a partition without an owner, unless its last owner is still a member.
fn is_stray(state: &mut GroupState, topic: &str, id: i32) -> bool {
    let Some(partition) = state.committed.partition(topic, id).filter(|partition| !partition.is_reported) else {
        return false;
    };
    if let Some(last) = partition.last_owner.clone()
        && state.is_owner(&last)
    {
        return false;
    }
    if let Some(partition) = state.committed.partition(topic, id) {
        partition.is_reported = true;
    }
    if let Some(current_owners) = &mut state.current_owners {
        current_owners.reported.push((topic.into(), id));
    }
    true
}

/// Add a commit to the commit times of the partition's owner; if that member was stuck, add the event for the end of that state.
fn note_commit(
    state: &mut GroupState,
    (at, offset): (i64, i64),
    owner: &str,
    advances: bool,
    context: &Context,
    events: &mut Vec<Event>,
) {
    let clock = state.clock.unwrap_or(0);
    let Some(member) = state.members_by_owner().get(owner).map(Arc::clone) else { return };
    let commit_times = if let Some(commit_times) = state.commit_times.get_mut(&member) {
        commit_times
    } else {
        let former = state.former_commits.remove(&member).unwrap_or_default();
        state.commit_times.entry(Arc::clone(&member)).or_insert(former)
    };
    if state.invalid.is_last {
        let since = commit_times.forget_last();
        if let Some(since) = since {
            events.extend(stuck(state, (at, offset), &member, since, Some(at)));
        }
        return;
    }
    if let Some(last) = commit_times.last
        && context.silences.is_between(state.log_partition, last, clock)
    {
        commit_times.cadence.interrupt();
    }
    let settings = &context.settings;
    let since = commit_times.add(clock, settings.stuck_interval, advances);
    if let Some((last, limit)) = commit_times.allowed_silence(settings.stuck_factor) {
        state.lower_deadline(deadline_after(last, limit));
    }
    if let Some(since) = since {
        events.extend(stuck(state, (at, offset), &member, since, Some(at)));
    }
}

/// Build an event of committed offsets.
fn problem(
    state: &GroupState,
    (at, offset): (i64, i64),
    problem: &'static str,
    partitions: Vec<Partition>,
    evidence: String,
) -> Event {
    state.event(at, offset, None, EventDetails::Offsets { problem, partitions, evidence, since: None, until: None })
}

/// Build an event of a stuck member, with its partitions for which an offset was committed while it owned them.
fn stuck(
    state: &GroupState,
    (at, offset): (i64, i64),
    member: &Arc<str>,
    since: i64,
    until: Option<i64>,
) -> Option<Event> {
    let owner = &state.members.get(member)?.owner_name;
    let found = state.committed.committed_by(owner).into_iter();
    let (partitions, partition_intervals) =
        found.map(|(partition, cadence)| (partition, cadence.is_known().then(|| cadence.usual()))).unzip();
    let details = EventDetails::Stuck {
        member: Arc::clone(member),
        partitions,
        since,
        until,
        usual_interval: state.commit_times.get(member)?.cadence.usual(),
        partition_intervals,
    };
    Some(state.event(at, offset, None, details))
}

/// Replace the owners of the partitions. Add an event for each stuck member that left or no longer owns any partition.
///
/// `state.members` must still have the previous members, and `staying` has those that remain; None if all remain. `owners` is None if
/// the owners are unknown.
pub(super) fn set_owners(
    state: &mut GroupState,
    owners: Option<&FxHashMap<Partition, Arc<str>>>,
    staying: Option<&Members>,
    (at, offset): (i64, i64),
    events: &mut Vec<Event>,
) {
    let none = FxHashMap::default();
    let known = owners.unwrap_or(&none);
    if !state.commit_times.is_empty() {
        let active: FxHashSet<&Arc<str>> = known.values().collect();
        let mut ids: Vec<Arc<str>> = state.commit_times.keys().cloned().collect();
        ids.sort_unstable();
        for id in ids {
            let remains = staying.unwrap_or(&state.members).contains_key(&id);
            if !(remains && state.members.get(&id).is_some_and(|member| active.contains(&member.owner_name))) {
                forget_commits(state, &id, (at, offset), events);
            }
        }
    }
    if owners.is_none() {
        end_all(state, (at, offset), events);
    }
    state.current_owners = None;
    state.has_known_owners = owners.is_some();
    state.committed.set_owners(known, state.now());
}

/// Forget the commit times of a member that owns nothing any more; if it was stuck, add the event for the end of that state.
pub(super) fn forget_commits(state: &mut GroupState, member: &Arc<str>, place: (i64, i64), events: &mut Vec<Event>) {
    if let Some(since) = state.commit_times.get(member).and_then(|commit_times| commit_times.stuck_since) {
        events.extend(stuck(state, place, member, since, Some(place.0)));
    }
    if let Some(mut former) = state.commit_times.remove(member) {
        former.stuck_since = None;
        former.cadence.interrupt();
        former.active_since = None;
        state.former_commits.insert(Arc::clone(member), former);
    }
}

/// Return the time at which a member becomes stuck; silences of the log do not count.
fn stuck_deadline(context: &Context, state: &GroupState, commit_times: &CommitTimes) -> Option<i64> {
    let (last, limit) = commit_times.allowed_silence(context.settings.stuck_factor)?;
    context.silences.after(state.log_partition, last, limit)
}

/// Return the earliest time at which a member becomes stuck or a partition is reported as never committed, or None.
pub(super) fn commit_deadline(context: &Context, state: &GroupState) -> Option<i64> {
    let stuck = state.commit_times.values().filter_map(|times| stuck_deadline(context, state, times)).min();
    let never_committed = context.settings.never_committed;
    let waiting = state.committed.first_waiting().and_then(|since| deadline_after(since, never_committed));
    stuck.into_iter().chain(waiting).min()
}

/// Add the events of a deadline: members that become stuck, then partitions that were never committed.
pub(super) fn fire_commits(context: &Context, state: &mut GroupState, deadline: i64, events: &mut Vec<Event>) {
    let settings = &context.settings;
    let due = state.commit_times.iter().filter(|(_, times)| stuck_deadline(context, state, times) == Some(deadline));
    let mut due: Vec<Arc<str>> = due.map(|(id, _)| Arc::clone(id)).collect();
    due.sort_unstable();
    for id in due {
        let Some(commit_times) = state.commit_times.get_mut(&id) else { continue };
        let Some(last) = commit_times.last else { continue };
        commit_times.stuck_since = Some(last);
        events.extend(stuck(state, (deadline, state.offset), &id, last, None));
        if let Some(member) = state.members.get(&id) {
            state.committed.interrupt(&member.owner_name);
        }
    }
    let since = deadline.checked_sub(settings.never_committed);
    let partitions = since.map_or_else(Vec::new, |since| state.committed.due(since));
    if !partitions.is_empty() {
        let evidence = format!(
            "The partitions had no committed offset during {} of ownership: there may be no records to consume, or the application does \
             not commit. The log does not show which.",
            duration(settings.never_committed)
        );
        events.push(problem(state, (deadline, state.offset), "never_committed", partitions, evidence));
    }
}
