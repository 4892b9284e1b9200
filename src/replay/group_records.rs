//! Group records one after another: what came before a new one, and the generation that it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::difference::{GroupRecord, Members};
use super::generation::{Generation, GenerationNumber, HeldGeneration};
use super::model::GroupKind;
use super::state::GroupState;

/// Highest generation that the first record of a new group can have. If the log of a group begins with a higher generation, the log
/// lacks its earlier records.
pub(super) const HIGHEST_FIRST_GENERATION: i32 = 1;
/// Highest epoch that the first record of a new group can have.
pub(super) const HIGHEST_FIRST_EPOCH: i32 = 2;

/// Raise the highest known partition of a topic to an id.
pub(super) fn raise_highest(state: &mut GroupState, topic: &Arc<str>, id: i32) {
    match state.highest.get_mut(topic) {
        Some(highest) => *highest = (*highest).max(id),
        None => _ = state.highest.insert(Arc::clone(topic), id.max(0)),
    }
}

pub(super) fn new_record(kind: GroupKind, generation: i32, at: i64, members: Members) -> GroupRecord {
    GroupRecord {
        kind,
        generation,
        at,
        began: at,
        protocol_type: None,
        protocol: None,
        leader: None,
        members,
        metadata_hash: None,
        resolved: BTreeMap::new(),
        counts: None,
        sources: None,
        initialized: Vec::new(),
        converted_from: None,
    }
}

/// Forget the commits of members that are no longer in the group.
pub(super) fn forget_former_commits(state: &mut GroupState) {
    let (members, commit_times) = (&state.members, &state.commit_times);
    state.former_commits.retain(|id, _| members.contains_key(id) && !commit_times.contains_key(id));
}

/// A new group record, and what came before it.
pub(super) struct Records {
    /// The previous group record.
    pub(super) before: Option<Arc<GroupRecord>>,
    pub(super) after: Arc<GroupRecord>,
    /// True if the log lacks the previous one.
    pub(super) is_partial: bool,
    /// Time at which the group was deleted, if the new record is the first one after it.
    pub(super) deleted: Option<i64>,
}

/// Return a new group record and the previous one.
///
/// If a group record of another kind was deleted at the same time, the group was converted. A new group is compared with an empty group.
/// If a static member returned before the time of the new record, its old member id in the previous record is replaced, so that it does
/// not count as a change.
pub(super) fn record_before(state: &mut GroupState, mut after: GroupRecord, highest_first: i32) -> Records {
    let (ended, had_history) = (state.ended.take(), state.has_history);
    state.has_history = true;
    for returned in state.returned.drain(..).filter(|returned| returned.at < after.at) {
        if let Some(before) = &mut state.previous
            && before.members.contains_key(&returned.previous)
        {
            let members = &mut Arc::make_mut(before).members;
            members.remove(&returned.previous);
            members.insert(Arc::clone(&returned.member.id), returned.member);
        }
    }
    let before =
        state.previous.take().filter(|before| ended.is_none_or(|ended| ended == after.at && before.kind != after.kind));
    let (before, is_partial) = if let Some(before) = before {
        after.converted_from = (before.kind != after.kind).then_some(before.kind);
        (Some(before), false)
    } else if !had_history && after.generation > highest_first {
        (None, true)
    } else {
        let empty = GroupRecord {
            began: after.began,
            protocol_type: after.protocol_type.clone(),
            ..new_record(after.kind, 0, after.at, Members::new())
        };
        (Some(Arc::new(empty)), false)
    };
    let deleted = ended.filter(|_| after.converted_from.is_none());
    let after = Arc::new(after);
    state.previous = Some(Arc::clone(&after));
    Records { before, after, is_partial, deleted }
}

/// Return the generation of a group record, and true if its number differs from that of the previous record. Update the state.
pub(super) fn next_generation(
    state: &mut GroupState,
    (at, offset): (i64, i64),
    after: &GroupRecord,
    partitions: usize,
) -> (HeldGeneration, bool) {
    let ids: BTreeSet<Arc<str>> = after.members.keys().cloned().collect();
    let generation = Generation {
        offset,
        timestamp: at,
        has_time: !state.invalid.is_last,
        kind: after.kind,
        number: after.generation,
        protocol_type: after.protocol_type.clone(),
        protocol: after.protocol.clone(),
        leader: after.leader.clone(),
        members: ids.len(),
        partitions,
        same_members: !ids.is_empty() && ids == state.last_members,
        parsed_members: None,
        target: None,
        streams_target: None,
        tasks: None,
        problems: None,
    };
    let time = Some(at).filter(|_| !state.invalid.is_last);
    let before = state.last.replace((GenerationNumber::of(&generation), time));
    let is_same = |(before, _): &(GenerationNumber, Option<i64>)| {
        (before.kind, before.generation) == (generation.kind, generation.number)
    };
    let is_rebalance = generation.number > 0 && !before.as_ref().is_some_and(is_same);
    state.last_members = ids;
    state.rebalances += u64::from(is_rebalance);
    state.kinds.retain(|kind| *kind != after.kind);
    state.kinds.push(after.kind);
    let duration = before.and_then(|(_, before)| Some(time?.saturating_sub(before?).max(0)));
    (HeldGeneration { generation, before: before.map(|(before, _)| before), duration }, is_rebalance)
}
