//! Events of members: joined, left, expired, replaced, and changed subscription.

use std::mem;
use std::sync::Arc;

use super::commits::forget_commits;
use super::departures::{Departure, EXPIRED, Shown};
use super::difference::{Difference, GroupRecord};
use super::events::{Event, EventDetails};
use super::evidence::Evidence;
use super::known_member::KnownMember;
use super::logged_causes::explain_departure;
use super::model::GroupKind;
use super::state::{Context, GroupState, PendingLeave, StaticReturn};
use crate::offsets::FieldValue;

/// Change of a member.
struct Change<'a> {
    action: &'static str,
    member: &'a KnownMember,
    generation: Option<i32>,
    previous: Option<Arc<str>>,
    causes: Vec<&'static str>,
}

impl<'a> Change<'a> {
    const fn new(action: &'static str, member: &'a KnownMember, generation: Option<i32>) -> Self {
        Self { action, member, generation, previous: None, causes: Vec::new() }
    }

    /// Build an event of a member.
    fn event(self, state: &GroupState, (at, offset): (i64, i64), kind: Option<GroupKind>) -> Event {
        let member = self.member;
        let details = EventDetails::Member {
            action: self.action,
            member: Arc::clone(&member.id),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            previous: self.previous,
            generation: self.generation,
            causes: self.causes,
        };
        state.event(at, offset, kind, details)
    }
}

/// Highest number of departed members whose return is recognized.
const DEPARTED: usize = 100;

/// Return the events of the members of a classic group, from the difference to its previous record.
pub(super) fn member_events(
    evidence: &Evidence<'_>,
    state: &GroupState,
    place: (i64, i64),
    changes: &Difference,
    before: Option<&GroupRecord>,
    after: &GroupRecord,
) -> Vec<Event> {
    let mut events = Vec::new();
    let (generation, kind) = (Some(after.generation), Some(GroupKind::Classic));
    for old in &changes.left {
        let line = (after.kind, generation, place.0);
        let found = evidence.departure(old, before, after);
        let causes = explain_departure(evidence.context, state, line, &old.id, found).names;
        events.push(Change { causes, ..Change::new("left", old, generation) }.event(state, place, kind));
    }
    for (old, new) in &changes.replaced {
        let previous = Some(Arc::clone(&old.id));
        events.push(Change { previous, ..Change::new("replaced", new, generation) }.event(state, place, kind));
    }
    for new in &changes.joined {
        events.push(Change::new("joined", new, generation).event(state, place, kind));
    }
    let mut pairs = changes.changed();
    pairs.sort_by(|left, right| left.1.id.cmp(&right.1.id));
    for (_, new) in pairs {
        events.push(Change::new("subscription_changed", new, generation).event(state, place, kind));
    }
    events
}

/// Apply a record of a member of a group with an epoch; add its events.
pub(super) fn apply_member(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    id: &str,
    value: Option<FieldValue<'_>>,
    kind: GroupKind,
    events: &mut Vec<Event>,
) {
    let epoch = state.generation_of(kind);
    state.member_of = None;
    if let Some(current_owners) = &mut state.current_owners {
        current_owners.changed.insert(id.into());
    }
    let Some(value) = value else {
        forget_commits(state, &id.into(), place, events);
        if let Some(member) = state.members.remove(id) {
            let found = Evidence::until(context, state, place.0).epoch_departure(&member, place.0);
            let found = explain_departure(context, state, (kind, None, place.0), &member.id, found);
            let leave = pending_leave(state, member, place, (kind, epoch), found);
            state.departed.insert(Arc::clone(&leave.member.id), place.0);
            if state.departed.len() > DEPARTED {
                let oldest = state.departed.iter().min_by_key(|(id, at)| (**at, Arc::clone(id)));
                if let Some(oldest) = oldest.map(|(id, _)| Arc::clone(id)) {
                    state.departed.remove(&oldest);
                }
            }
            state.lower_deadline(Some(leave.deadline));
            state.pending.push(leave);
        }
        return;
    };
    let new = Arc::new(KnownMember::of_epoch(id, value));
    let old = state.members.get(id).map(Arc::clone).or_else(|| take_pending(state, |member| &*member.id == id));
    state.members.insert(Arc::clone(&new.id), Arc::clone(&new));
    if let Some(old) = old {
        if !new.subscribes_like(&old) {
            events.push(Change::new("subscription_changed", &new, epoch).event(state, place, Some(kind)));
        }
        return;
    }
    if new.instance_id.is_some()
        && let Some(old) = take_pending(state, |member| member.instance_id == new.instance_id)
    {
        let previous = Some(Arc::clone(&old.id));
        let change = Change { previous, ..Change::new("replaced", &new, epoch) };
        events.push(change.event(state, place, Some(kind)));
        state.returned.push(StaticReturn { at: place.0, previous: Arc::clone(&old.id), member: new });
        return;
    }
    events.push(Change::new("joined", &new, epoch).event(state, place, Some(kind)));
}

/// Remove the first pending leave whose member satisfies a predicate; return the member.
fn take_pending(state: &mut GroupState, is_wanted: impl Fn(&KnownMember) -> bool) -> Option<Arc<KnownMember>> {
    let found = state.pending.iter().position(|leave| is_wanted(&leave.member))?;
    Some(state.pending.remove(found).member)
}

/// Return the pending leave of a member whose record was deleted.
fn pending_leave(
    state: &GroupState,
    member: Arc<KnownMember>,
    (at, offset): (i64, i64),
    (kind, generation): (GroupKind, Option<i32>),
    found: Departure,
) -> PendingLeave {
    let deadline = state.now().saturating_add(1);
    let is_expiry = matches!(found.shown, Shown::Expiry | Shown::Silence);
    let has_expired = member.has_paused || (kind != GroupKind::Classic && is_expiry);
    let causes = if member.has_paused { EXPIRED.to_vec() } else { found.names };
    PendingLeave { member, at, deadline, offset, kind, generation, has_expired, causes }
}

/// Move all members to the pending leaves, because the record of their classic group was deleted.
pub(super) fn delete_members(context: &Context, state: &mut GroupState, place: (i64, i64)) {
    let kind = (GroupKind::Classic, state.last.map(|(last, _)| last.generation));
    for member in mem::take(&mut state.members).into_values() {
        let found = Evidence::until(context, state, place.0).epoch_departure(&member, place.0);
        let leave = pending_leave(state, member, place, kind, found);
        state.pending.push(leave);
    }
    state.member_of = None;
}

/// Return the events of pending leaves, and forget them.
pub(super) fn flush_pending(state: &mut GroupState) -> Vec<Event> {
    let mut pending = mem::take(&mut state.pending);
    pending.sort_by(|left, right| (left.offset, &left.member.id).cmp(&(right.offset, &right.member.id)));
    let event = |leave: PendingLeave| {
        let action = if leave.has_expired { "expired" } else { "left" };
        let change = Change { causes: leave.causes, ..Change::new(action, &leave.member, leave.generation) };
        change.event(state, (leave.at, leave.offset), Some(leave.kind))
    };
    pending.into_iter().map(event).collect()
}
