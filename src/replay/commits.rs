//! Events of committed offsets, and of members that stop committing.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::committed::Committed;
use super::difference::Members;
use super::events::{Event, EventDetails, Partition};
use super::state::{GroupState, Settings};

/// Apply an offset commit, or its tombstone if `committed` is None, and add its events.
pub(super) fn apply_commit(
    state: &mut GroupState,
    (at, offset): (i64, i64),
    (topic, id): (&str, i32),
    committed: Option<i64>,
    settings: &Settings,
    events: &mut Vec<Event>,
) {
    let clock = state.clock.unwrap_or(0);
    let offsets = &mut state.committed.offsets;
    let partition = match state.committed.topics.get_mut(topic).and_then(|ids| ids.get_mut(&id)) {
        Some(partition) => partition,
        None if committed.is_none() => return,
        None => Committed::add(&mut state.committed.topics, topic.into(), id),
    };
    let before = std::mem::replace(&mut partition.offset, committed);
    let Some(now) = committed else {
        *offsets -= usize::from(before.is_some());
        if let Some(tenure) = &mut partition.tenure {
            (tenure.since, tenure.has_commit, tenure.is_reported) = (clock, false, false);
            state.lower_deadline(clock.saturating_add(settings.never_committed));
        } else if partition.is_empty() {
            state.committed.forget(topic, id);
        }
        return;
    };
    *offsets += usize::from(before.is_none());
    let holder = partition.tenure.as_mut().map(|tenure| {
        tenure.has_commit = true;
        Arc::clone(&tenure.holder)
    });
    if let Some(before) = before.filter(|before| now < *before) {
        let evidence = format!(
            "The committed offset went back from {before} to {now}: a member or an administrator has reset it, or commits \
             arrived in another order. The log does not name who committed."
        );
        events.push(problem(state, (at, offset), "went_back", vec![(topic.into(), id)], evidence));
    }
    if let Some(holder) = holder {
        note_commit(state, (at, offset), &holder, settings, events);
    } else if state.holders_known && !state.members.is_empty() && is_stray(state, topic, id) {
        let evidence =
            "The group has members, but none of them owns the partition. The log does not name who committed.";
        events.push(problem(state, (at, offset), "not_owned", vec![(topic.into(), id)], evidence.to_owned()));
    }
}

/// Return true for the first commit of a partition without an owner, unless a member has just given it up.
fn is_stray(state: &mut GroupState, topic: &str, id: i32) -> bool {
    let Some(partition) = state.committed.partition(topic, id).filter(|partition| !partition.is_reported) else {
        return false;
    };
    if let Some(last) = partition.last_holder.clone()
        && state.is_holder(&last)
    {
        return false;
    }
    if let Some(partition) = state.committed.partition(topic, id) {
        partition.is_reported = true;
    }
    if let Some(holdings) = &mut state.holdings {
        holdings.reported.push((topic.into(), id));
    }
    true
}

/// Note a commit of a partition of a member, and add the end of the time in which the member was stuck, if it was.
fn note_commit(
    state: &mut GroupState,
    (at, offset): (i64, i64),
    holder: &str,
    settings: &Settings,
    events: &mut Vec<Event>,
) {
    let clock = state.clock.unwrap_or(0);
    let Some(member) = state.holder_table().get(holder).map(Arc::clone) else { return };
    let rhythm = match state.rhythms.get_mut(&member) {
        Some(rhythm) => rhythm,
        None => state.rhythms.entry(Arc::clone(&member)).or_default(),
    };
    let since = rhythm.add(clock, settings.stuck_interval);
    if let Some(deadline) = rhythm.deadline(settings.stuck_factor) {
        state.lower_deadline(deadline);
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
    state.event(at, offset, None, EventDetails::Offsets { problem, partitions, evidence })
}

/// Build an event of a stuck member, with its partitions that have a committed offset.
fn stuck(
    state: &GroupState,
    (at, offset): (i64, i64),
    member: &Arc<str>,
    since: i64,
    until: Option<i64>,
) -> Option<Event> {
    let holder = &state.members.get(member)?.holder;
    let details = EventDetails::Stuck {
        member: Arc::clone(member),
        partitions: state.committed.committed_by(holder),
        since,
        until,
        usual_interval: state.rhythms.get(member)?.usual(),
    };
    Some(state.event(at, offset, None, details))
}

/// Replace the owners of the partitions, and add the ends of stuck members that left or own no partition any more.
///
/// `state.members` must still have the previous members, and `staying` has those that remain; None if all remain. `holders` is None if
/// the owners are unknown.
pub(super) fn own(
    state: &mut GroupState,
    holders: Option<&FxHashMap<Partition, Arc<str>>>,
    staying: Option<&Members>,
    (at, offset): (i64, i64),
    events: &mut Vec<Event>,
) {
    let none = FxHashMap::default();
    let known = holders.unwrap_or(&none);
    if !state.rhythms.is_empty() {
        let active: FxHashSet<&Arc<str>> = known.values().collect();
        let mut ids: Vec<Arc<str>> = state.rhythms.keys().cloned().collect();
        ids.sort_unstable();
        for id in ids {
            let remains = staying.unwrap_or(&state.members).contains_key(&id);
            if !(remains && state.members.get(&id).is_some_and(|member| active.contains(&member.holder))) {
                forget_rhythm(state, &id, (at, offset), events);
            }
        }
    }
    state.holdings = None;
    state.holders_known = holders.is_some();
    state.committed.own(known, state.clock.unwrap_or(0));
}

/// Forget the commits of a member, and add the end of the time in which it was stuck, if it was.
pub(super) fn forget_rhythm(state: &mut GroupState, member: &Arc<str>, place: (i64, i64), events: &mut Vec<Event>) {
    if let Some(since) = state.rhythms.get(member).and_then(|rhythm| rhythm.stuck_since) {
        events.extend(stuck(state, place, member, since, Some(place.0)));
    }
    state.rhythms.remove(member);
}

/// Return the time at which the next member is stuck or the next partition was never committed.
pub(super) fn commit_deadline(state: &GroupState, settings: &Settings) -> Option<i64> {
    let stuck = state.rhythms.values().filter_map(|rhythm| rhythm.deadline(settings.stuck_factor)).min();
    let waiting = state.committed.first_waiting().map(|since| since.saturating_add(settings.never_committed));
    stuck.into_iter().chain(waiting).min()
}

/// Add the events of a deadline: members that become stuck, then partitions that were never committed.
pub(super) fn fire_commits(state: &mut GroupState, settings: &Settings, deadline: i64, events: &mut Vec<Event>) {
    let due = state.rhythms.iter().filter(|(_, rhythm)| rhythm.deadline(settings.stuck_factor) == Some(deadline));
    let mut due: Vec<Arc<str>> = due.map(|(id, _)| Arc::clone(id)).collect();
    due.sort_unstable();
    for id in due {
        let Some(rhythm) = state.rhythms.get_mut(&id) else { continue };
        let Some(last) = rhythm.last else { continue };
        rhythm.stuck_since = Some(last);
        events.extend(stuck(state, (deadline, state.offset), &id, last, None));
    }
    let partitions = state.committed.due(deadline.saturating_sub(settings.never_committed));
    if !partitions.is_empty() {
        let evidence = format!(
            "No offset was committed within {} ms of ownership: there may be no records to consume, or the application does \
             not commit. The log has only commits.",
            settings.never_committed
        );
        events.push(problem(state, (deadline, state.offset), "never_committed", partitions, evidence));
    }
}
