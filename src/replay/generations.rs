//! Events of group records: generations, rebalances and the starts of storms.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::causes::{classic_causes, epoch_causes};
use super::classic::{ClassicGroup, ParsedMember};
use super::classic_tasks::classic_tasks;
use super::commits::set_owners;
use super::comparison::compare_generation;
use super::costs::{NewEpoch, begin_classic, begin_epoch, supersede_epoch};
use super::current_owners::Owners;
use super::difference::{Difference, GroupRecord, Members, difference};
use super::events::{Cost, Event, EventDetails, Partition, sorted};
use super::evidence::Evidence;
use super::fields::int;
use super::generation::{Generation, HeldGeneration};
use super::group_records::{
    HIGHEST_FIRST_EPOCH, HIGHEST_FIRST_GENERATION, Records, forget_former_commits, new_record, next_generation,
    raise_highest, record_before,
};
use super::known_member::{KnownMember, largest_ids};
use super::logged_causes::explain;
use super::membership::member_events;
use super::model::GroupKind;
use super::problem_events::set_assigned;
use super::problems::{AssignedMember, Assignment, AssignmentProblems};
use super::state::{Context, GroupState, OpenEpoch, OpenRebalance};
use super::streams_tasks::topic_problems;
use super::tasks::TaskAssignment;
use super::times::valid;
use super::topic_causes::{ended_topics, unowned};
use crate::assign::{Assignor, GroupProtocol};
use crate::offsets::FieldValue;

/// Apply the record of a classic group, and add its events. `place` is the timestamp and the offset of the record.
pub(super) fn apply_classic(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    value: FieldValue<'_>,
    events: &mut Vec<Event>,
) {
    release(context, state, events);
    close_epoch(context, state, None, events);
    let group = ClassicGroup::read(value, state.classic.as_ref());
    let is_consumer = group.is_consumer();
    let before = state.previous.as_ref().filter(|before| before.protocol_type.as_ref() == Some(&group.protocol_type));
    let known = group.members.iter().map(|member| {
        let found =
            before.and_then(|before| before.members.get(member.id.as_str())).filter(|found| found.is_of(member));
        found.map_or_else(|| Arc::new(KnownMember::of_classic(member, is_consumer)), Arc::clone)
    });
    let members: Members = known.map(|member| (Arc::clone(&member.id), member)).collect();
    let began =
        value.get("currentStateTimestamp").and_then(FieldValue::as_i64).and_then(valid).filter(|began| *began > 0);
    // A record that is written again, because a static member returned, does not begin the generation.
    let first = state.previous.as_ref().filter(|first| {
        state.ended.is_none() && (first.kind, first.generation) == (GroupKind::Classic, group.generation)
    });
    let (at, began) = match first {
        Some(first) => (first.at, first.began),
        None => (place.0, began.unwrap_or(place.0)),
    };
    let after = GroupRecord {
        began,
        protocol_type: Some(group.protocol_type.clone()),
        protocol: group.protocol.clone(),
        leader: group.leader.clone(),
        ..new_record(GroupKind::Classic, group.generation, at, members)
    };
    let Records { before, after, is_partial, deleted } = record_before(state, after, HIGHEST_FIRST_GENERATION);
    let members = &after.members;
    let mut present = state.members.clone();
    for leave in state.pending.drain(..) {
        present.insert(Arc::clone(&leave.member.id), leave.member);
    }
    let evidence = Evidence::until(context, state, after.began);
    let shown = member_events(&evidence, state, place, &difference(&present, members), before.as_deref(), &after);
    let changes = difference(before.as_ref().map_or(members, |before| &before.members), members);
    let causes = classic_causes(before.as_deref(), &after, &changes, &evidence, deleted);
    let owners = if is_consumer || group.protocol_type.is_empty() { after.assigned() } else { None };
    let is_new = after.generation > 0
        && state.last.is_none_or(|(last, _)| (last.kind, last.generation) != (after.kind, after.generation));
    let topics = after.topics();
    let cost = if is_new && owners.is_some() {
        begin_classic(state, place, (before.as_deref().filter(|_| !is_partial), &after), topics.as_ref(), events)
    } else {
        Cost::default()
    };
    set_owners(state, owners.as_ref(), Some(members), place, events);
    events.extend(shown);
    state.set_members(members.clone());
    forget_former_commits(state);
    let partitions = owners.as_ref().map_or_else(|| group.partitions(), FxHashMap::len);
    // No leader computed the assignment that the broker writes when it converts the group: it is the broker's target assignment.
    let is_copy = after.converted_from.is_some()
        && (after.leader.is_none() || before.as_ref().is_some_and(|before| before.generation == after.generation));
    let parsed = if context.is_compared && !is_copy { group.parsed_members() } else { None };
    let assigned = Arc::clone(&group.members);
    state.classic = Some(group);
    let (held, is_rebalance) = next_generation(state, place, &after, partitions);
    let tasks = classic_tasks(&mut state.tasks, &assigned, &after, (is_partial, is_rebalance));
    let problems = is_rebalance.then(|| {
        let count: usize = members.values().filter_map(|member| member.assigned.as_ref()).map(Vec::len).sum();
        let is_single = owners.as_ref().is_some_and(|owners| owners.len() == count);
        if is_consumer {
            classic_problems(context, &assigned, &after, is_single)
        } else {
            AssignmentProblems::default()
        }
    });
    let held = HeldGeneration {
        generation: Generation { parsed_members: parsed, tasks, problems, ..held.generation },
        ..held
    };
    let same_members = held.generation.same_members;
    generation_event(context, state, held, false, events);
    if is_rebalance {
        let topics = topics.map(|topics| topics.into_iter().map(Arc::from).collect());
        let (moved, free) = move_owners(context, state, owners, topics.as_ref(), (place.0, true)).unzip();
        let open = open_rebalance(&changes, causes.names.clone(), causes.evidence());
        let moved = if is_partial { None } else { moved };
        let owners = (moved, free.flatten());
        let open = OpenRebalance { cost, ..open };
        events.push(rebalance_event(context, state, place, (after.kind, after.generation), open, owners));
        storm_begin(context, state, place, same_members, events);
    }
    if let Some(before) = &before {
        for topic in ended_topics(state.highest.keys(), before, &after, &context.metadata) {
            state.highest.remove(&topic);
        }
    }
    for member in members.values() {
        for (topic, largest) in
            largest_ids(&member.owned).chain(member.assigned.iter().flat_map(|list| largest_ids(list)))
        {
            raise_highest(state, topic, largest);
        }
    }
}

/// Return the problems of a generation. `is_single` is true if no partition has several members.
fn classic_problems(
    context: &Context,
    members: &[Arc<ParsedMember>],
    record: &GroupRecord,
    is_single: bool,
) -> AssignmentProblems {
    let known = members.iter().filter_map(|member| {
        let topics = member.subscription.as_ref().ok().map(|subscription| subscription.topics.as_slice());
        Some(AssignedMember { id: &member.id, topics, assigned: member.assignment.as_ref().ok()? })
    });
    let is_kafkas =
        record.protocol.as_deref().is_some_and(|name| Assignor::named(GroupProtocol::Classic, name).is_some());
    let (metadata, time) = (&*context.metadata, record.at);
    let assignment = Assignment { metadata, time, has_ids: false, is_kafkas, is_single };
    assignment.problems(&known.collect::<Vec<_>>())
}

/// Add the event of a generation and those of its problems, or hold it if it needs later topic metadata.
fn generation_event(
    context: &Context,
    state: &mut GroupState,
    held: HeldGeneration,
    is_final: bool,
    events: &mut Vec<Event>,
) {
    let before = held.before.map(|before| before.generation);
    let (metadata, version) = (&context.metadata, context.broker_version);
    let comparison =
        if context.is_compared { compare_generation(&held.generation, before, metadata, version) } else { None };
    // Later topic metadata does not change a comparison without an assignor.
    let is_equal = comparison.as_ref().is_none_or(|found| found.class.is_none() || found.assignor.is_none());
    let task_problems = match (&held.generation.streams_target, &held.generation.tasks) {
        (Some(target), Some(changes)) => topic_problems(target, &changes.tasks, metadata),
        _ => Vec::new(),
    };
    let has_unknown = held.generation.problems.as_ref().is_some_and(|problems| !problems.unknown.is_empty())
        || !task_problems.is_empty();
    if context.is_open && !is_final && (!is_equal || has_unknown) {
        state.held = Some(held);
        return;
    }
    state.tally.add(&held.generation, comparison.as_ref());
    let mut found = held.generation;
    if let Some(tasks) = &mut found.tasks {
        tasks.problems.extend(task_problems);
    }
    if let Some(mut problems) = found.problems
        && !state.is_deleted
    {
        problems.settle(&context.metadata, found.timestamp);
        set_assigned(state, problems, (found.timestamp, found.offset), events);
    }
    let details = EventDetails::Generation {
        generation: found.number,
        protocol_type: found.protocol_type,
        protocol: found.protocol,
        leader: found.leader,
        members: found.members,
        partitions: found.partitions,
        duration: held.duration,
        same_members: found.same_members,
        comparison,
        tasks: found.tasks,
    };
    events.push(state.event(found.timestamp, found.offset, Some(found.kind), details));
}

/// Add the event of a held generation, compared with the topic metadata that is known now.
pub(super) fn release(context: &Context, state: &mut GroupState, events: &mut Vec<Event>) {
    if let Some(held) = state.held.take() {
        generation_event(context, state, held, true, events);
    }
}

fn open_rebalance(changes: &Difference, causes: Vec<&'static str>, evidence: String) -> OpenRebalance {
    let ids = |members: &[Arc<KnownMember>]| members.iter().map(|member| Arc::clone(&member.id)).collect();
    let mut replaced: Vec<Arc<str>> = changes.replaced.iter().map(|(_, new)| Arc::clone(&new.id)).collect();
    replaced.sort_unstable();
    let (joined, left) = (ids(&changes.joined), ids(&changes.left));
    OpenRebalance { causes, evidence, joined, left, replaced, cost: Cost::default() }
}

/// Build the event of a rebalance; its causes come from the log of a broker if that has a line about it. `place` is the time and the offset
/// of its record.
fn rebalance_event(
    context: &Context,
    state: &mut GroupState,
    (at, offset): (i64, i64),
    (kind, generation): (GroupKind, i32),
    mut open: OpenRebalance,
    (moved, unowned): (Option<Vec<Partition>>, Option<Vec<Partition>>),
) -> Event {
    let logged = explain(context, state, (kind, generation, at), &mut open).map(Box::new);
    let OpenRebalance { causes, evidence, joined, left, replaced, cost } = open;
    if let Some(found) = state.costs.get(offset) {
        found.causes.clone_from(&causes);
    }
    let cost = Box::new(cost);
    let details =
        EventDetails::Rebalance { generation, causes, evidence, joined, left, replaced, moved, unowned, logged, cost };
    state.event(at, offset, Some(kind), details)
}

/// Partitions that moved from their last known owner, and those without an owner.
type Moved = (Vec<Partition>, Option<Vec<Partition>>);

/// Replace the owners; return the partitions that moved and those without an owner, or None if the owners are not known.
///
/// `has_all_names` is false if a topic id of the owners has no name.
fn move_owners(
    context: &Context,
    state: &mut GroupState,
    owners: Option<Owners>,
    topics: Option<&BTreeSet<Arc<str>>>,
    (at, has_all_names): (i64, bool),
) -> Option<Moved> {
    let Some(owners) = owners else {
        (state.owners, state.unowned) = (None, None);
        return None;
    };
    let has_moved =
        |(key, owner): &(&Partition, &Arc<str>)| state.last_owners.get(*key).is_some_and(|before| before != *owner);
    let moved = sorted(owners.iter().filter(has_moved).map(|(key, _)| key.clone()));
    let free = unowned(&owners, topics, at, has_all_names, &context.metadata);
    let are_first = state.last_owners.is_empty();
    let known = if are_first {
        owners.clone()
    } else {
        let mut known = std::mem::take(&mut state.last_owners);
        known.extend(owners.iter().map(|(key, owner)| (key.clone(), Arc::clone(owner))));
        if let Some(topics) = topics {
            known.retain(|key, _| topics.contains(&key.0) || owners.contains_key(key));
        }
        known
    };
    let before = state.owners.take().unwrap_or_default();
    let clock = state.clock.unwrap_or(0);
    state.storm.change(clock, known.keys().filter(|key| before.get(*key) != owners.get(*key)).cloned());
    match &free {
        Some(free) => state.storm.change(clock, free.iter().cloned()),
        None if are_first => {} // all known partitions have owners
        None => state.storm.change(clock, known.keys().filter(|key| !owners.contains_key(*key)).cloned()),
    }
    state.owners = Some(owners);
    state.last_owners = if state.members.is_empty() { Owners::default() } else { known };
    state.unowned.clone_from(&free);
    Some((moved, free))
}

/// Count a rebalance for the storm; if a storm starts with it, add its event.
fn storm_begin(
    context: &Context,
    state: &mut GroupState,
    (at, offset): (i64, i64),
    same_members: bool,
    events: &mut Vec<Event>,
) {
    let Some(clock) = state.clock.filter(|_| !state.invalid.is_last) else { return };
    let (threshold, window) = (context.settings.storm_rebalances, context.settings.storm_window);
    if same_members && state.storm.add(clock, threshold as usize, window) {
        events.extend(storm_event(state, at, offset, None));
    }
}

/// Build the event of the current storm.
pub(super) fn storm_event(state: &GroupState, at: i64, offset: i64, until: Option<i64>) -> Option<Event> {
    let details = EventDetails::Storm {
        since: state.storm.since?,
        until,
        rebalances: state.storm.count,
        partitions: state.storm.partitions(),
        unowned: state.unowned.clone(),
    };
    Some(state.event(at, offset, None, details))
}

/// Apply the group record of a consumer, share or streams group, and add the pending events of earlier records. The events of the
/// new epoch follow with its target assignment, or at once if the group has no members.
pub(super) fn open_epoch(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    value: FieldValue<'_>,
    kind: GroupKind,
    events: &mut Vec<Event>,
) {
    release(context, state, events);
    close_epoch(context, state, None, events);
    supersede_epoch(state, place, events);
    let Some(group) = state.epoch_group(kind) else { return };
    let partitions = group.partitions();
    let after = GroupRecord {
        metadata_hash: value.get("metadataHash").and_then(FieldValue::as_i64),
        resolved: group.resolved_topics(),
        counts: state.counts.clone(),
        sources: (kind == GroupKind::Streams).then(|| group.source_topics()),
        initialized: if kind == GroupKind::Share { state.initialized.clone() } else { Vec::new() },
        ..new_record(kind, int(value, "epoch", 0), place.0, state.members.clone())
    };
    let Records { before, after, is_partial, deleted } = record_before(state, after, HIGHEST_FIRST_EPOCH);
    let changes = difference(before.as_ref().map_or(&after.members, |before| &before.members), &after.members);
    let evidence = Evidence::until(context, state, after.at);
    let causes = epoch_causes(before.as_deref(), &after, &changes, &evidence, deleted, is_partial);
    forget_former_commits(state);
    for new in &changes.joined {
        state.departed.remove(&new.id);
    }
    let (mut held, is_rebalance) = next_generation(state, place, &after, partitions);
    let rebalance = is_rebalance.then(|| open_rebalance(&changes, causes.names.clone(), causes.evidence()));
    if after.members.is_empty() && kind == GroupKind::Streams {
        held.generation.tasks = Some(state.tasks.replace(&TaskAssignment::default(), is_partial));
    }
    // A group without members subscribes to no topics; a streams group still has its topology.
    let topics = if after.members.is_empty() { Some(BTreeSet::new()) } else { after.topics() };
    let topics = topics.map(|topics| topics.into_iter().map(Arc::from).collect());
    let problems = after.members.is_empty().then(AssignmentProblems::default);
    let held = HeldGeneration { generation: Generation { problems, ..held.generation }, ..held };
    let has_all_names = true;
    state.open_epoch = Some(OpenEpoch { held, rebalance, topics, is_partial, has_all_names });
    if after.members.is_empty() {
        // A broker computes no target assignment for a group without members.
        close_epoch(context, state, Some((Owners::default(), None)), events);
    }
}

/// Add the events of the open epoch, with the owners of its target assignment and the time of the target assignment; None if it was not
/// computed. A group without members has no time.
pub(super) fn close_epoch(
    context: &Context,
    state: &mut GroupState,
    target: Option<(Owners, Option<i64>)>,
    events: &mut Vec<Event>,
) {
    let Some(found) = state.open_epoch.take() else { return };
    let generation = &found.held.generation;
    let (at, offset, kind, number) = (generation.timestamp, generation.offset, generation.kind, generation.number);
    let same_members = generation.same_members;
    generation_event(context, state, found.held, false, events);
    let Some(mut rebalance) = found.rebalance else { return };
    let (mut moved, mut free) = (None, None);
    if let Some((owners, target_at)) = target {
        let epoch = NewEpoch {
            place: (at, offset),
            kind,
            number,
            target_at,
            is_known: !found.is_partial,
            owners: &owners,
            topics: found.topics.as_ref(),
        };
        rebalance.cost = begin_epoch(state, &epoch, events);
        (moved, free) =
            move_owners(context, state, Some(owners), found.topics.as_ref(), (at, found.has_all_names)).unzip();
        if kind == GroupKind::Share || found.is_partial {
            moved = None;
        }
    }
    let owners = (moved, free.flatten());
    events.push(rebalance_event(context, state, (at, offset), (kind, number), rebalance, owners));
    storm_begin(context, state, (at, offset), same_members, events);
}
