//! Application of one record to the state of its group, by record type.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::commits::{Committing, apply_commit, set_owners};
use super::costs::{end_all, note_epoch};
use super::current_owners::Owners;
use super::deletions::{delete_group, flush_deletion, note_conversion};
use super::epochs::owned_by_topic;
use super::events::{Event, sorted};
use super::fields::{int, ints, text};
use super::generations::{apply_classic, close_epoch, open_epoch};
use super::group_records::raise_highest;
use super::known_member::with_topic;
use super::membership::{apply_member, delete_members};
use super::model::GroupKind;
use super::owner_changes::update_owners;
use super::problem_events::end_problems;
use super::problems::{AssignedMember, Assignment, AssignmentProblems};
use super::state::{Context, GroupState};
use super::streams_tasks::task_assignment;
use super::target::in_recorded_order;
use super::tasks::LastTasks;
use crate::offsets::{DecodedRecord, FieldValue};

/// Epoch of a static member that has left and may return.
const PAUSED: i32 = -2;

/// Apply a record, and add its events. `place` is its timestamp and offset.
pub(super) fn apply(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    record: &DecodedRecord<'_>,
    events: &mut Vec<Event>,
) {
    let value = record.value();
    let group_record = GroupKind::of_group_record(record.record_type);
    let is_group_record = group_record.is_some();
    if let Some(kind) = group_record {
        note_conversion(state, place.0, kind);
        events.extend(flush_deletion(state));
        if value.is_none() && !state.is_deleted {
            delete_group(state, place, kind);
        }
        state.is_deleted = value.is_none();
        state.unreadable = None;
    }
    if is_group_record && value.is_none() {
        end_all(state, place, events);
        end_problems(state, place, events);
        set_owners(state, None, Some(&BTreeMap::new()), place, events);
    }
    match (record.record_type, value) {
        (0 | 1, _) => {
            let topic = text(record.key(), "topic");
            let number = |name| value.and_then(|value| value.get(name)).and_then(FieldValue::as_i64);
            let expires = number("expireTimestamp").filter(|time| *time > 0);
            let committed = number("offset").map(|offset| Committing { offset, expires });
            let partition = int(record.key(), "partition", -1);
            apply_commit(context, state, place, (&topic, partition), committed, events);
        }
        (2, Some(value)) => apply_classic(context, state, place, value, events),
        (2, None) => {
            delete_members(context, state, place);
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
            state.share_targets.apply(place.0, record);
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
        state.tasks = LastTasks::default();
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
        if opened.is_some_and(|opened| opened.kind == kind && epoch >= opened.number) {
            target = Some(complete_target(context, state, place.0, epoch, kind));
        }
    }
    match kind {
        GroupKind::Share => {
            state.share.apply(record);
            state.share_targets.apply(place.0, record);
        }
        GroupKind::Streams => {
            state.streams.apply(record);
            state.streams_targets.apply(place.0, record);
        }
        _ => {
            state.consumer.apply(record);
            state.targets.apply(place.0, record, in_recorded_order);
        }
    }
    if let 7 | 13 | 21 = record.record_type {
        let member = text(record.key(), "memberId");
        match value {
            Some(value) => {
                let target = owned_by_topic(value, &["topicPartitions", "activeTasks"]);
                state.targets_of.insert(member, target);
            }
            None => _ = state.targets_of.remove(&member),
        }
    }
    if target.is_some() {
        close_epoch(context, state, target.map(|owners| (owners, Some(place.0))), events);
        return;
    }
    match (record.record_type, value) {
        (5 | 10 | 19, value) => {
            apply_member(context, state, place, &text(record.key(), "memberId"), value, kind, events);
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
    if kind == GroupKind::Streams
        && let Some(opened) = &state.open_epoch
        && opened.held.generation.number == epoch
    {
        let is_partial = opened.is_partial;
        let target = state.streams_targets.target(&state.streams, at);
        let tasks = state.tasks.replace(&task_assignment(&target), is_partial);
        if let Some(opened) = &mut state.open_epoch {
            let generation = &mut opened.held.generation;
            (generation.tasks, generation.streams_target) = (Some(tasks), Some(target));
        }
    }
    if let Some(opened) = &mut state.open_epoch
        && let GroupKind::Consumer | GroupKind::Share = kind
        && opened.held.generation.number == epoch
    {
        let is_copy = opened.held.before.is_some_and(|before| {
            before.kind == GroupKind::Classic && before.generation == epoch && before.members > 0
        });
        if !is_copy {
            opened.held.generation.target = Some(match kind {
                GroupKind::Share => state.share_targets.assignment(&state.share, at),
                _ => state.targets.assignment(&state.consumer, at),
            });
        }
    }
    let (mut owners, mut largest) = (Owners::default(), Vec::new());
    let (mut count, mut has_all_names) = (0, true);
    let Some(group) = state.epoch_group(kind) else { return owners };
    for (id, target) in &state.targets_of {
        let owner =
            state.members.get(id.as_str()).map_or_else(|| id.as_str().into(), |found| Arc::clone(&found.owner_name));
        for (topic, ids) in group.by_source(target) {
            count += ids.len();
            let name = context.metadata.names.get(&topic);
            has_all_names &= kind == GroupKind::Streams || name.is_some();
            let topic: Arc<str> = name.unwrap_or(&topic).as_str().into();
            largest.extend(ids.iter().max().map(|id| (Arc::clone(&topic), *id)));
            owners.extend(ids.into_iter().map(|id| ((Arc::clone(&topic), id), Arc::clone(&owner))));
        }
    }
    let problems = target_problems(context, state, at, kind, owners.len() == count);
    if let Some(opened) = &mut state.open_epoch {
        opened.held.generation.problems = Some(problems);
        opened.has_all_names = has_all_names;
    }
    for (topic, id) in largest {
        raise_highest(state, &topic, id);
    }
    owners
}

/// Return the problems of a target assignment. `is_single` is true if no partition has several members.
///
/// Members of a share group share partitions. Tasks of a streams group can have numbers beyond the partitions of some of their topics, and its
/// members subscribe to the topics of its topology, so only the owners of tasks are checked.
fn target_problems(
    context: &Context,
    state: &GroupState,
    time: i64,
    kind: GroupKind,
    is_single: bool,
) -> AssignmentProblems {
    let metadata = &*context.metadata;
    let assignment = Assignment { metadata, time, has_ids: kind == GroupKind::Consumer, is_kafkas: true, is_single };
    let known = || state.targets_of.iter().filter(|(id, _)| state.members.contains_key(id.as_str()));
    if kind == GroupKind::Streams && !is_single {
        let read: Vec<_> = known().map(|(id, tasks)| (id, state.streams.by_source(tasks))).collect();
        let members = read.iter().map(|(id, assigned)| AssignedMember { id, topics: None, assigned });
        return AssignmentProblems { several: assignment.several(&members.collect::<Vec<_>>()), ..Default::default() };
    }
    let target = state.open_epoch.as_ref().and_then(|opened| opened.held.generation.target.as_ref());
    let members: Vec<AssignedMember<'_>> = match target {
        _ if kind != GroupKind::Consumer => return AssignmentProblems::default(),
        Some(target) => target
            .members
            .iter()
            .map(|member| {
                let topics = state.consumer.has_resolved(&member.id).then_some(member.topics.as_slice());
                AssignedMember { id: &member.id, topics, assigned: &member.assigned }
            })
            .collect(),
        None => known().map(|(id, assigned)| AssignedMember { id, topics: None, assigned }).collect(),
    };
    assignment.problems(&members)
}

/// Apply the current assignment of a member, and add an event for each stuck member that now owns no partition.
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
    if kind == GroupKind::Consumer {
        update_owners(context, state, (id, value.is_none()), place, events);
    }
    note_epoch(state, place, (id, value.map(|value| int(value, "memberEpoch", 0))), events);
}
