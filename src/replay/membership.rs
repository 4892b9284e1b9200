//! Events of members: joined, left, expired, replaced, and changed subscription.

use std::mem;
use std::sync::Arc;

use super::causes::{EXPIRED, departure_causes};
use super::commits::forget_commits;
use super::difference::Difference;
use super::events::{Event, EventDetails};
use super::known_member::KnownMember;
use super::model::GroupKind;
use super::state::{GroupState, PendingLeave, StaticReturn};
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

/// Return the time of the last commit for a partition of a member; None without one.
pub(super) fn last_commit(state: &GroupState, member: &KnownMember) -> Option<i64> {
    state.commit_times.get(&member.id).and_then(|commit_times| commit_times.last)
}

/// Return the events of the members of a classic group, from the difference to its previous record.
///
/// `began` and `until` are the times at which the previous and the new generation began, which are the ends of their join phases.
pub(super) fn member_events(
    state: &GroupState,
    place: (i64, i64),
    changes: &Difference,
    generation: i32,
    began: Option<i64>,
    until: i64,
) -> Vec<Event> {
    let mut events = Vec::new();
    let (generation, kind) = (Some(generation), Some(GroupKind::Classic));
    for old in &changes.left {
        let causes = departure_causes(old, began, until, last_commit(state, old)).0;
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
            let deadline = state.clock.unwrap_or(0).saturating_add(1);
            let (at, offset) = place;
            state.pending.push(PendingLeave { member, at, deadline, offset, kind, generation: epoch });
            state.lower_deadline(deadline);
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

/// Move all members to the pending leaves, because the record of their classic group was deleted.
pub(super) fn delete_members(state: &mut GroupState, (at, offset): (i64, i64)) {
    let generation = state.last.map(|(last, _)| last.generation);
    let (kind, deadline) = (GroupKind::Classic, state.clock.unwrap_or(0).saturating_add(1));
    let left = mem::take(&mut state.members).into_values();
    state.pending.extend(left.map(|member| PendingLeave { member, at, deadline, offset, kind, generation }));
    state.member_of = None;
}

/// Return the events of pending leaves, and forget them.
pub(super) fn flush_pending(state: &mut GroupState) -> Vec<Event> {
    let mut pending = mem::take(&mut state.pending);
    pending.sort_by(|left, right| (left.offset, &left.member.id).cmp(&(right.offset, &right.member.id)));
    let event = |leave: &PendingLeave| {
        let (action, causes) = if leave.member.has_paused {
            ("expired", EXPIRED.to_vec())
        } else {
            ("left", departure_causes(&leave.member, None, leave.at, None).0)
        };
        let change = Change { causes, ..Change::new(action, &leave.member, leave.generation) };
        change.event(state, (leave.at, leave.offset), Some(leave.kind))
    };
    pending.iter().map(event).collect()
}
