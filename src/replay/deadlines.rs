//! Deadlines of a group: events that time or the end of the log completes, not a record.

use super::commits::{commit_deadline, fire_commits};
use super::costs::report_open;
use super::deletions::flush_deletion;
use super::events::Event;
use super::generations::{close_epoch, release, storm_event};
use super::membership::flush_pending;
use super::state::{Context, GroupState};

/// Add the events that the end of the log of a group completes.
pub(super) fn complete(context: &Context, state: &mut GroupState, events: &mut Vec<Event>) {
    events.extend(flush_pending(state));
    events.extend(flush_deletion(state));
    release(context, state, events);
    close_epoch(context, state, None, events);
    release(context, state, events);
    report_open(state, events);
    events.extend(storm_event(state, state.clock.unwrap_or(0), state.offset, None));
}

/// Return the earliest deadline of a group.
pub(super) fn deadline(state: &GroupState, context: &Context) -> Option<i64> {
    let pending = state.pending.iter().map(|leave| leave.deadline).min();
    let deletion = state.deletion.map(|deletion| deletion.deadline);
    let storm = state.storm.deadline(context.settings.storm_window);
    let commits = commit_deadline(context, state);
    pending.into_iter().chain(deletion).chain(storm).chain(commits).min()
}

/// Add the events of a deadline.
pub(super) fn fire(state: &mut GroupState, context: &Context, deadline: i64, events: &mut Vec<Event>) {
    if state.pending.iter().any(|leave| leave.deadline == deadline) {
        events.extend(flush_pending(state));
    }
    if state.deletion.is_some_and(|deletion| deletion.deadline == deadline) {
        events.extend(flush_deletion(state));
    }
    if commit_deadline(context, state) == Some(deadline) {
        fire_commits(context, state, deadline, events);
    }
    if state.storm.deadline(context.settings.storm_window) == Some(deadline) {
        events.extend(storm_event(state, deadline, state.offset, state.storm.times.back().copied()));
        state.storm.end();
    }
}
