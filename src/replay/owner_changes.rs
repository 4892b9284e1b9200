//! Updates of the owners of a consumer group's partitions after the record of a member's current assignment.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::commits::{forget_commits, set_owners};
use super::costs::begin_losses;
use super::current_owners::{CurrentOwners, OwnerPartitions, Owners};
use super::events::{Event, Partition};
use super::known_member::{INSTANCE, with_topic};
use super::problem_events::set_current;
use super::problems::{Found, several_owners};
use super::state::{Context, GroupState};
use super::times::deadline_after;

/// Changes of the owners.
struct Changes {
    /// New partitions of each changed member; None for a member without partitions.
    now: Vec<(Arc<str>, Option<OwnerPartitions>)>,
    /// Partitions that changed members have lost.
    lost: FxHashSet<Partition>,
}

/// Return the changes caused by these members; None if a partition would have two owners.
fn changes_of(
    current_owners: &CurrentOwners,
    context: &Context,
    state: &mut GroupState,
    ids: BTreeSet<Arc<str>>,
) -> Option<Changes> {
    let now: Vec<_> = ids.into_iter().map(|id| (Arc::clone(&id), current_partitions(context, state, &id))).collect();
    let partitions = |found: Option<&OwnerPartitions>| found.map_or_else(Vec::new, |(_, found)| found.clone());
    let (mut lost, mut gained) = (FxHashSet::default(), Vec::new());
    for (id, new) in &now {
        let (old, new) = (partitions(current_owners.members.get(id)), partitions(new.as_ref()));
        gained.extend(new.iter().filter(|key| old.binary_search(key).is_err()).cloned());
        lost.extend(old.into_iter().filter(|key| new.binary_search(key).is_err()));
    }
    let mut seen = FxHashSet::default();
    let mut is_free = |(topic, id): &Partition| {
        state.committed.partition(topic, *id).is_none_or(|partition| partition.ownership.is_none())
    };
    let is_single = gained.iter().all(|key| seen.insert(key) && (lost.contains(key) || is_free(key)));
    is_single.then_some(Changes { now, lost })
}

/// Return the partitions of a member's current assignment; None if it has none.
fn current_partitions(context: &Context, state: &GroupState, id: &str) -> Option<OwnerPartitions> {
    let (member, now) = (state.members.get(id)?, state.consumer.current.get(id)?);
    let names = now.partitions.iter().map(|(topic, ids)| (context.metadata.name(topic), ids));
    let mut partitions: Vec<Partition> = names.flat_map(|(topic, ids)| with_topic(topic, ids)).collect();
    partitions.sort_unstable();
    partitions.dedup();
    (!partitions.is_empty()).then(|| (Arc::clone(&member.owner_name), partitions))
}

/// Update the owners after the record of a member's current assignment, which a member that has left no longer has.
pub(super) fn update_owners(
    context: &Context,
    state: &mut GroupState,
    (id, has_left): (&str, bool),
    place: (i64, i64),
    events: &mut Vec<Event>,
) {
    let Some(mut current_owners) = state.current_owners.take() else {
        return compute_owners(context, state, has_left, place, events);
    };
    let mut ids = mem::take(&mut current_owners.changed);
    ids.insert(id.into());
    let Some(changes) = changes_of(&current_owners, context, state, ids) else {
        return compute_owners(context, state, has_left, place, events);
    };
    begin_losses(context, state, changes.lost.iter(), has_left);
    let before: Vec<_> = changes
        .now
        .iter()
        .filter_map(|(id, _)| Some((Arc::clone(id), current_owners.members.get(id)?.0.clone())))
        .collect();
    for (id, now) in &changes.now {
        current_owners.replace(id, now.clone());
        note_unnamed(context, state, &mut current_owners, id);
    }
    if current_owners.counts.is_empty() {
        // `set_owners` also forgets the last owners.
        return compute_owners(context, state, has_left, place, events);
    }
    forget_inactive(state, &current_owners, &changes, &before, place, events);
    apply_changes(state, &mut current_owners, changes, context.settings.never_committed);
    state.has_known_owners = current_owners.unnamed.is_empty();
    state.current_owners = Some(current_owners);
}

/// Forget the commit times of members that left or no longer have partitions.
fn forget_inactive(
    state: &mut GroupState,
    current_owners: &CurrentOwners,
    changes: &Changes,
    before: &[(Arc<str>, Arc<str>)],
    place: (i64, i64),
    events: &mut Vec<Event>,
) {
    let mut ids: BTreeSet<Arc<str>> = changes.now.iter().map(|(id, _)| Arc::clone(id)).collect();
    // Several members can share an instance id, and so an owner name.
    let is_shared = |(_, owner): &(Arc<str>, Arc<str>)| owner.starts_with(INSTANCE);
    if before.iter().filter(|found| is_shared(found)).any(|(_, owner)| !current_owners.counts.contains_key(owner)) {
        ids.extend(state.commit_times.keys().cloned());
    }
    for id in ids {
        let is_active =
            state.members.get(&id).is_some_and(|member| current_owners.counts.contains_key(&member.owner_name));
        if !is_active {
            forget_commits(state, &id, place, events);
        }
    }
}

/// Change the owners of the partitions.
fn apply_changes(state: &mut GroupState, current_owners: &mut CurrentOwners, changes: Changes, never_committed: i64) {
    let now = state.now();
    state.committed.forget_reports(mem::take(&mut current_owners.reported));
    let Changes { now: of_members, mut lost } = changes;
    let mut is_waiting = false;
    for (owner, partitions) in of_members.iter().filter_map(|(_, found)| found.as_ref()) {
        for key in partitions {
            lost.remove(key);
            is_waiting |= state.committed.set_owner(key, owner, now);
        }
    }
    for key in &lost {
        state.committed.remove_owner(key);
    }
    if is_waiting {
        state.lower_deadline(deadline_after(now, never_committed));
    }
}

/// Compute the owners again if topic ids now have a name.
pub(super) fn name_topics(context: &Context, state: &mut GroupState, events: &mut Vec<Event>) {
    if state.committed.unnamed.iter().any(|id| context.metadata.names.contains_key(&**id)) {
        let place = (state.clock.unwrap_or(0), state.offset);
        compute_owners(context, state, false, place, events);
    }
}

/// Note the topic ids of a member that have no name, and whether there are any.
fn note_unnamed(context: &Context, state: &mut GroupState, current_owners: &mut CurrentOwners, id: &Arc<str>) {
    let current = state.consumer.current.get(&**id).filter(|_| state.members.contains_key(id));
    let mut has_unnamed = false;
    for topic in current.into_iter().flat_map(|now| now.partitions.keys()) {
        if !context.metadata.names.contains_key(topic) {
            has_unnamed = true;
            state.committed.unnamed.insert(topic.as_str().into());
        }
    }
    if has_unnamed {
        current_owners.unnamed.insert(Arc::clone(id));
    } else {
        current_owners.unnamed.remove(id);
    }
}

/// Compute the owners of all partitions.
fn compute_owners(
    context: &Context,
    state: &mut GroupState,
    has_left: bool,
    place: (i64, i64),
    events: &mut Vec<Event>,
) {
    let mut current_owners = CurrentOwners::default();
    let mut owners = Owners::default();
    state.committed.unnamed.clear();
    let mut total = 0;
    let ids: Vec<Arc<str>> = state.members.keys().cloned().collect();
    for id in &ids {
        let found = current_partitions(context, state, id);
        if let Some((owner, partitions)) = &found {
            total += partitions.len();
            owners.extend(partitions.iter().map(|key| (key.clone(), Arc::clone(owner))));
        }
        current_owners.replace(id, found);
        note_unnamed(context, state, &mut current_owners, id);
    }
    let lost = state.committed.lost(&owners);
    begin_losses(context, state, lost.iter(), has_left);
    set_owners(state, Some(&owners), None, place, events);
    // A commit names its topic, which can be one without a known id: then the owner of its partition is not known.
    state.has_known_owners = current_owners.unnamed.is_empty();
    let several = if total == owners.len() {
        Found::new()
    } else {
        several_owners(current_owners.members.iter().map(|(id, (_, partitions))| (id, partitions.as_slice())))
    };
    set_current(state, several, place, events);
    state.lower_deadline(deadline_after(state.now(), context.settings.never_committed));
    state.current_owners = (total == owners.len()).then_some(current_owners);
}
