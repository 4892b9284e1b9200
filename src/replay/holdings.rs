//! Current owners of the partitions of a consumer group, updated for the members that records change.
//!
//! `commits::own` replaces all owners, so its cost depends on the size of the group. `Holdings` keeps what each member has, so the cost of
//! a record depends on the partitions of its member only.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::commits::{forget_rhythm, own};
use super::events::{Event, Partition};
use super::generations::Owners;
use super::known_member::{INSTANCE, with_topic};
use super::state::{Context, GroupState};

/// Name of an owner, and its partitions in order.
type Holding = (Arc<str>, Vec<Partition>);

/// Partitions that the members have, each with one owner.
#[derive(Debug, Clone, Default)]
pub(super) struct Holdings {
    /// What members have, by member id.
    members: FxHashMap<Arc<str>, Holding>,
    /// Number of partitions of each owner; owners without partitions are left out.
    counts: FxHashMap<Arc<str>, usize>,
    /// Members whose records changed since the owners were updated.
    pub(super) changed: BTreeSet<Arc<str>>,
    /// Partitions without an owner whose commits were reported since then.
    pub(super) reported: Vec<Partition>,
}

/// Changes of the owners.
struct Changes {
    /// What each changed member has now; None for a member without partitions.
    now: Vec<(Arc<str>, Option<Holding>)>,
    /// Partitions that changed members do not have any more.
    lost: FxHashSet<Partition>,
}

impl Holdings {
    /// Add the partitions of a member, or remove them.
    fn replace(&mut self, id: &Arc<str>, now: Option<Holding>) {
        if let Some((holder, partitions)) = self.members.remove(id)
            && let Some(count) = self.counts.get_mut(&holder)
        {
            *count -= partitions.len();
            if *count == 0 {
                self.counts.remove(&holder);
            }
        }
        if let Some((holder, partitions)) = now {
            *self.counts.entry(Arc::clone(&holder)).or_default() += partitions.len();
            self.members.insert(Arc::clone(id), (holder, partitions));
        }
    }

    /// Return what changes with some members; None if a partition would have two owners.
    fn changes(&self, context: &Context, state: &mut GroupState, ids: BTreeSet<Arc<str>>) -> Option<Changes> {
        let now: Vec<_> = ids.into_iter().map(|id| (Arc::clone(&id), holding(context, state, &id))).collect();
        let partitions = |found: Option<&Holding>| found.map_or_else(Vec::new, |(_, found)| found.clone());
        let (mut lost, mut gained) = (FxHashSet::default(), Vec::new());
        for (id, new) in &now {
            let (old, new) = (partitions(self.members.get(id)), partitions(new.as_ref()));
            gained.extend(new.iter().filter(|key| old.binary_search(key).is_err()).cloned());
            lost.extend(old.into_iter().filter(|key| new.binary_search(key).is_err()));
        }
        let mut seen = FxHashSet::default();
        let mut is_free = |(topic, id): &Partition| {
            state.committed.partition(topic, *id).is_none_or(|partition| partition.tenure.is_none())
        };
        let is_single = gained.iter().all(|key| seen.insert(key) && (lost.contains(key) || is_free(key)));
        is_single.then_some(Changes { now, lost })
    }
}

/// Return what a member has; None if it has no partitions.
fn holding(context: &Context, state: &GroupState, id: &str) -> Option<Holding> {
    let (member, now) = (state.members.get(id)?, state.consumer.current.get(id)?);
    let names = now.partitions.iter().map(|(topic, ids)| (context.metadata.name(topic), ids));
    let mut partitions: Vec<Partition> = names.flat_map(|(topic, ids)| with_topic(topic, ids)).collect();
    partitions.sort_unstable();
    partitions.dedup();
    (!partitions.is_empty()).then(|| (Arc::clone(&member.holder), partitions))
}

/// Update the owners after the record of a member's current assignment.
pub(super) fn own_current(
    context: &Context,
    state: &mut GroupState,
    id: &str,
    place: (i64, i64),
    events: &mut Vec<Event>,
) {
    let Some(mut holdings) = state.holdings.take() else { return own_all(context, state, place, events) };
    let mut ids = mem::take(&mut holdings.changed);
    ids.insert(id.into());
    let Some(changes) = holdings.changes(context, state, ids) else {
        return own_all(context, state, place, events);
    };
    let before: Vec<_> =
        changes.now.iter().filter_map(|(id, _)| Some((Arc::clone(id), holdings.members.get(id)?.0.clone()))).collect();
    for (id, now) in &changes.now {
        holdings.replace(id, now.clone());
    }
    if holdings.counts.is_empty() {
        // Then the last owners are forgotten, too.
        return own_all(context, state, place, events);
    }
    forget_inactive(state, &holdings, &changes, &before, place, events);
    give(state, &mut holdings, changes, context.settings.never_committed);
    state.holders_known = true;
    state.holdings = Some(holdings);
}

/// Forget the commits of members that left or have no partitions any more.
fn forget_inactive(
    state: &mut GroupState,
    holdings: &Holdings,
    changes: &Changes,
    before: &[(Arc<str>, Arc<str>)],
    place: (i64, i64),
    events: &mut Vec<Event>,
) {
    let mut ids: BTreeSet<Arc<str>> = changes.now.iter().map(|(id, _)| Arc::clone(id)).collect();
    // Several members can have the instance id of an owner.
    let is_shared = |(_, holder): &(Arc<str>, Arc<str>)| holder.starts_with(INSTANCE);
    if before.iter().filter(|found| is_shared(found)).any(|(_, holder)| !holdings.counts.contains_key(holder)) {
        ids.extend(state.rhythms.keys().cloned());
    }
    for id in ids {
        let is_active = state.members.get(&id).is_some_and(|member| holdings.counts.contains_key(&member.holder));
        if !is_active {
            forget_rhythm(state, &id, place, events);
        }
    }
}

/// Change the owners of the partitions.
fn give(state: &mut GroupState, holdings: &mut Holdings, changes: Changes, never_committed: i64) {
    let clock = state.clock.unwrap_or(0);
    state.committed.forget_reports(mem::take(&mut holdings.reported));
    let Changes { now, mut lost } = changes;
    let mut is_waiting = false;
    for (holder, partitions) in now.iter().filter_map(|(_, now)| now.as_ref()) {
        for key in partitions {
            lost.remove(key);
            is_waiting |= state.committed.give(key, holder, clock);
        }
    }
    for key in &lost {
        state.committed.release(key);
    }
    if is_waiting {
        state.lower_deadline(clock.saturating_add(never_committed));
    }
}

/// Compute the owners of all partitions.
fn own_all(context: &Context, state: &mut GroupState, place: (i64, i64), events: &mut Vec<Event>) {
    let mut holdings = Holdings::default();
    let mut holders = Owners::default();
    let mut total = 0;
    let ids: Vec<Arc<str>> = state.members.keys().cloned().collect();
    for id in &ids {
        let found = holding(context, state, id);
        if let Some((holder, partitions)) = &found {
            total += partitions.len();
            holders.extend(partitions.iter().map(|key| (key.clone(), Arc::clone(holder))));
        }
        holdings.replace(id, found);
    }
    own(state, Some(&holders), None, place, events);
    state.lower_deadline(state.clock.unwrap_or(0).saturating_add(context.settings.never_committed));
    state.holdings = (total == holders.len()).then_some(holdings);
}
