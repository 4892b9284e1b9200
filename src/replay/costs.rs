//! Costs of rebalances: partitions that members give up and get, their times without commits, and the times of epochs.
//!
//! What a rebalance takes is known with its record. How long its partitions had no commits is known with the first commits after it. So an
//! event `rebalance` has the first part, and a later event `cost` the second one if there is any. A pause counts once, for the first
//! rebalance in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::current_owners::Owners;
use super::difference::GroupRecord;
use super::events::{Cost, Event, MemberCost, Partition};
use super::evidence::longest_timeout;
use super::known_member::KnownMember;
use super::model::GroupKind;
use super::open_costs::OpenCost;
use super::pauses::{Pause, Paused, longest_gap};
use super::state::{Context, GroupState};
use super::stuck::CommitTimes;

/// Numbers of partitions that members gave up and got.
#[derive(Default)]
struct Exchanged {
    revoked: usize,
    assigned: usize,
    members: BTreeMap<Arc<str>, (usize, usize)>,
}

impl Exchanged {
    fn revoke(&mut self, member: &Arc<str>, count: usize) {
        if count > 0 {
            self.revoked += count;
            self.members.entry(Arc::clone(member)).or_default().0 += count;
        }
    }

    fn assign(&mut self, member: &Arc<str>, count: usize) {
        if count > 0 {
            self.assigned += count;
            self.members.entry(Arc::clone(member)).or_default().1 += count;
        }
    }

    fn cost(self) -> Cost {
        let member = |(id, (revoked, assigned)): (Arc<str>, (usize, usize))| MemberCost {
            revoked: Some(revoked as i64),
            assigned: Some(assigned as i64),
            ..MemberCost::new(id)
        };
        Cost {
            revoked: Some(self.revoked as i64),
            assigned: Some(self.assigned as i64),
            members: self.members.into_iter().map(member).collect(),
            ..Cost::default()
        }
    }
}

/// A member of a classic group before and after a rebalance.
struct Succession<'a> {
    before: Option<&'a KnownMember>,
    after: Option<&'a KnownMember>,
}

impl Succession<'_> {
    /// Return true if the member kept a partition that it had, and went on reading it.
    ///
    /// A member sends the partitions that it keeps during the join phase. With the eager protocol it gives up all of them before.
    fn keeps(&self, key: &Partition) -> bool {
        let (Some(before), Some(after)) = (self.before, self.after) else { return false };
        let has = |list: Option<&Vec<Partition>>| list.is_some_and(|list| list.binary_search(key).is_ok());
        after.owned.binary_search(key).is_ok() && has(before.assigned.as_ref()) && has(after.assigned.as_ref())
    }

    fn keeps_some(&self) -> bool {
        self.before.is_some() && self.after.is_some_and(|after| !after.owned.is_empty())
    }
}

/// Begin the pauses of a rebalance of a classic group, before its owners are replaced; return what is known of its cost. `topics` are
/// those that the members subscribe to; None if they are not known.
pub(super) fn begin_classic(
    state: &mut GroupState,
    place: (i64, i64),
    (before, after): (Option<&GroupRecord>, &GroupRecord),
    topics: Option<&BTreeSet<&str>>,
    events: &mut Vec<Event>,
) -> Cost {
    let is_subscribed = |topic: &str| after.members.is_empty() || topics.is_none_or(|topics| topics.contains(topic));
    note_members(state, !after.members.is_empty());
    end_unsubscribed(state, place, &is_subscribed, events);
    let is_readable = |record: &GroupRecord| {
        record.members.values().all(|member| member.assigned.is_some() && member.topics.is_some())
    };
    let Some(before) = before.filter(|before| is_readable(before) && is_readable(after)) else {
        return Cost::default();
    };
    let clock = state.clock.unwrap_or(0);
    let join = longest_timeout(before).max(longest_timeout(after));
    let mut exchanged = Exchanged::default();
    let mut cost = OpenCost::new(GroupKind::Classic, after.generation, place);
    for member in before.members.values() {
        let successor = same_member(member, after);
        let pair = Succession { before: Some(member), after: successor };
        let keeps_some = pair.keeps_some();
        let of_owner = state.commit_times.get(&member.id).or_else(|| state.former_commits.get(&member.id));
        let session = if successor.is_none() { i64::from(member.session_timeout.unwrap_or(0)) } else { 0 };
        let latest = Latest { clock, of_owner, wait: join.saturating_add(session) };
        let mut count = 0;
        for entries in by_topic(member) {
            let topic = &entries[0].0;
            let is_wanted = is_subscribed(topic);
            let mut ids = state.committed.topics.get_mut(topic);
            for key in entries.iter().filter(|key| !(keeps_some && pair.keeps(key))) {
                count += 1;
                let Some(partition) = ids.as_mut().and_then(|ids| ids.get_mut(&key.1)) else {
                    cost.unknown += 1;
                    continue;
                };
                if partition.pause.is_some() {
                    continue;
                }
                let may_count = is_wanted && !latest.is_idle(partition.last_commit, partition.usual_interval());
                if may_count && partition.begin_pause(Some(place.1)) {
                    cost.open += 1;
                } else {
                    cost.unknown += 1;
                }
                if let Some(ownership) = &mut partition.ownership {
                    ownership.cadence.interrupt();
                }
            }
        }
        exchanged.revoke(&member.id, count);
    }
    let now = state.now();
    for member in after.members.values() {
        let pair = Succession { before: same_member(member, before), after: Some(member) };
        let keeps_some = pair.keeps_some();
        let mut count = 0;
        for entries in by_topic(member) {
            let mut ids = state.committed.topics.get_mut(&entries[0].0);
            for key in entries.iter().filter(|key| !(keeps_some && pair.keeps(key))) {
                count += 1;
                let partition = ids.as_mut().and_then(|ids| ids.get_mut(&key.1));
                match partition {
                    Some(partition) => match &mut partition.pause {
                        Some(pause) => pause.assigned = Some(now),
                        None => cost.unknown += usize::from(partition.ownership.is_none()),
                    },
                    None => cost.unknown += 1,
                }
            }
        }
        if count > 0 {
            for times in [&mut state.commit_times, &mut state.former_commits] {
                if let Some(times) = times.get_mut(&member.id) {
                    times.active_since = None;
                }
            }
        }
        exchanged.assign(&member.id, count);
    }
    begun(state, exchanged.cost(), cost)
}

/// Add an open cost, unless it is complete; return the cost at the time of the rebalance.
fn begun(state: &mut GroupState, exchanged: Cost, open: OpenCost) -> Cost {
    if open.is_complete() {
        let unknown = exchanged.revoked.map(|_| open.unknown as i64);
        return Cost { unknown, open: Some(0), ..exchanged };
    }
    state.costs.all.push(open);
    Cost { is_open: true, ..exchanged }
}

/// Return the partitions of a member, by topic.
fn by_topic(member: &KnownMember) -> impl Iterator<Item = &[Partition]> {
    member.assigned.as_deref().unwrap_or_default().chunk_by(|left, right| left.0 == right.0)
}

/// Return the member of another record that a member continues, or that continues it: with its id, or with its instance id.
fn same_member<'a>(member: &KnownMember, record: &'a GroupRecord) -> Option<&'a KnownMember> {
    if let Some(found) = record.members.get(&member.id) {
        return Some(found);
    }
    member.instance_id.as_ref()?;
    record.members.values().map(|found| &**found).find(|found| found.owner_name == member.owner_name)
}

/// Times at a rebalance that show whether a partition had commits until shortly before.
struct Latest<'a> {
    clock: i64,
    /// The commits of the owner, of any partition.
    of_owner: Option<&'a CommitTimes>,
    /// Longest time in which the owner can have been unable to commit before the record of the rebalance.
    wait: i64,
}

impl Latest<'_> {
    fn is_idle(&self, last: Option<i64>, usual: Option<i64>) -> bool {
        let (Some(last), gap) = (last, longest_gap(usual)) else { return true };
        self.of_owner.and_then(|times| times.committing_since(last)).is_some_and(|without_it| without_it > gap)
            || self.clock.saturating_sub(last) > gap.saturating_add(self.wait)
    }
}

/// Note whether the group has members. The time without members does not count as a pause.
fn note_members(state: &mut GroupState, has_members: bool) {
    let clock = state.clock.unwrap_or(0);
    if !has_members {
        state.costs.empty_since = state.costs.empty_since.or(Some(clock));
    } else if let Some(empty) = state.costs.empty_since.take() {
        let absence = clock.saturating_sub(empty);
        for partition in state.committed.topics.values_mut().flat_map(|ids| ids.values_mut()) {
            if let Some(pause) = &mut partition.pause {
                pause.since = pause.since.saturating_add(absence);
            }
        }
    }
}

/// End the pauses of topics to which no member subscribes any more.
fn end_unsubscribed(
    state: &mut GroupState,
    place: (i64, i64),
    is_subscribed: &dyn Fn(&str) -> bool,
    events: &mut Vec<Event>,
) {
    if state.costs.all.is_empty() {
        return;
    }
    for (_, ids) in state.committed.topics.iter_mut().filter(|(topic, _)| !is_subscribed(topic)) {
        for pause in ids.values_mut().filter_map(|partition| partition.pause.take()) {
            if let Some(rebalance) = pause.rebalance {
                state.costs.end(rebalance, None);
            }
        }
    }
    report(state, place, events);
}

/// Epoch of a group whose target assignment is complete.
pub(super) struct NewEpoch<'a> {
    /// Time and offset of its record.
    pub(super) place: (i64, i64),
    pub(super) kind: GroupKind,
    pub(super) number: i32,
    /// Time of the target assignment; None for a group without members.
    pub(super) target_at: Option<i64>,
    /// False if the log lacks the previous target assignment.
    pub(super) is_known: bool,
    pub(super) owners: &'a Owners,
    pub(super) topics: Option<&'a BTreeSet<Arc<str>>>,
}

/// Begin the cost of an epoch, before its owners replace those of the previous one; return what is known of it.
pub(super) fn begin_epoch(state: &mut GroupState, epoch: &NewEpoch<'_>, events: &mut Vec<Event>) -> Cost {
    let (at, offset) = epoch.place;
    let here = (epoch.target_at.unwrap_or(at), state.offset);
    note_members(state, !state.members.is_empty());
    if let (Some(topics), false) = (epoch.topics, state.members.is_empty()) {
        end_unsubscribed(state, here, &|topic| topics.contains(topic), events);
    }
    let mut cost = OpenCost::new(epoch.kind, epoch.number, epoch.place);
    let exchanged =
        if epoch.is_known && epoch.kind != GroupKind::Share { exchange(state, epoch.owners, &mut cost) } else { None };
    if let Some(group) = state.epoch_group(epoch.kind) {
        let has_reached = |id: &str| group.current.get(id).is_some_and(|now| now.epoch >= epoch.number);
        cost.waiting = state.members.keys().filter(|id| !has_reached(id)).cloned().collect();
    }
    for partition in state.committed.topics.values_mut().flat_map(|ids| ids.values_mut()) {
        if let Some(pause) = partition.pause.as_mut().filter(|pause| pause.rebalance.is_none()) {
            pause.rebalance = Some(offset);
            cost.open += 1;
        }
    }
    let target = epoch.target_at.map(|time| time.saturating_sub(at).max(0));
    state.costs.last_epoch = Some(offset);
    let found = exchanged.map_or_else(Cost::default, Exchanged::cost);
    Cost { target, ..begun(state, found, cost) }
}

/// Count the partitions that the owners of a target assignment gain and lose; None if the previous owners are not known.
fn exchange(state: &mut GroupState, owners: &Owners, cost: &mut OpenCost) -> Option<Exchanged> {
    let before = state.owners.take()?;
    let mut exchanged = Exchanged::default();
    // The owners of a streams group are tasks: the log does not show when a partition changes hands.
    let has_times = cost.kind == GroupKind::Consumer;
    let mut has_commit = |(topic, id): &Partition| {
        let found =
            state.committed.partition(topic, *id).filter(|partition| has_times && partition.last_commit.is_some());
        found.is_some_and(|partition| partition.ownership.is_some() || partition.pause.is_some())
    };
    let (mut lost, mut gained) = (BTreeMap::new(), BTreeMap::new());
    for (key, owner) in &before {
        let now = owners.get(key);
        if now != Some(owner) {
            *lost.entry(Arc::clone(owner)).or_insert(0) += 1;
            cost.unknown += usize::from(now.is_none() && !has_commit(key));
        }
    }
    for (key, owner) in owners {
        if before.get(key) != Some(owner) {
            *gained.entry(Arc::clone(owner)).or_insert(0) += 1;
            cost.unknown += usize::from(!has_commit(key));
        }
    }
    state.owners = Some(before);
    let ids = state.members_by_owner();
    let id = |owner: &Arc<str>| Arc::clone(ids.get(owner).unwrap_or(owner));
    for (owner, count) in &lost {
        exchanged.revoke(&id(owner), *count);
    }
    for (owner, count) in &gained {
        exchanged.assign(&id(owner), *count);
    }
    Some(exchanged)
}

/// Note that members no longer wait for an epoch, because the next one begins.
pub(super) fn supersede_epoch(state: &mut GroupState, place: (i64, i64), events: &mut Vec<Event>) {
    for cost in &mut state.costs.all {
        let left_out = std::mem::take(&mut cost.waiting).into_iter().map(|id| (id, None));
        cost.epochs.extend(left_out);
    }
    report(state, place, events);
}

/// Note the epoch of a member; None if the member left.
pub(super) fn note_epoch(
    state: &mut GroupState,
    place: (i64, i64),
    (id, epoch): (&str, Option<i32>),
    events: &mut Vec<Event>,
) {
    let Some(cost) = state.costs.all.last_mut().filter(|cost| !cost.waiting.is_empty()) else { return };
    if epoch.is_some_and(|epoch| epoch < cost.generation) {
        return;
    }
    if let Some(member) = cost.waiting.take(id) {
        cost.epochs.insert(member, epoch.map(|_| place.0.saturating_sub(cost.at).max(0)));
        report(state, place, events);
    }
}

/// Begin the pauses of partitions that members of a consumer group no longer own. `has_left` is true if they were taken from a member that
/// left, so that the next epoch is the reason.
pub(super) fn begin_losses<'a>(
    context: &Context,
    state: &mut GroupState,
    lost: impl Iterator<Item = &'a Partition>,
    has_left: bool,
) {
    let (clock, wait) = (state.clock.unwrap_or(0), context.settings.session_timeout);
    let rebalance = state.costs.last_epoch.filter(|_| !has_left);
    for (topic, id) in lost {
        let owner = state.committed.partition(topic, *id).and_then(|partition| partition.ownership.as_ref());
        let Some(owner) = owner.map(|ownership| Arc::clone(&ownership.owner)) else { continue };
        let member = state.members_by_owner().get(&owner).map(Arc::clone);
        let of_owner = member.and_then(|member| state.commit_times.get(&member));
        let Some(partition) = state.committed.partition(topic, *id) else { continue };
        let is_idle = Latest { clock, of_owner, wait }.is_idle(partition.last_commit, partition.usual_interval());
        let has_commit = partition.last_commit.is_some() && partition.pause.is_none();
        let begins = !is_idle && partition.begin_pause(rebalance);
        if let Some(cost) = rebalance.and_then(|offset| state.costs.get(offset)) {
            cost.open += usize::from(begins);
            cost.unknown += usize::from(is_idle && has_commit);
        } else if begins && rebalance.is_some() {
            // The rebalance is complete: its members had already given up everything else.
            partition.pause = None;
        }
    }
}

/// End the pause of a partition with a commit of its owner, and add the event of a cost that is now complete.
pub(super) fn end_pause(
    context: &Context,
    state: &mut GroupState,
    place: (i64, i64),
    pause: &Pause,
    owner: &Arc<str>,
    events: &mut Vec<Event>,
) {
    let Some(rebalance) = pause.rebalance else { return };
    let until = state.clock.unwrap_or(0);
    let member = state.members_by_owner().get(owner).map(Arc::clone);
    let times = member.as_ref().and_then(|id| state.commit_times.get(id));
    let may_be_idle =
        pause.may_be_idle(times.and_then(|times| times.active_since), times.and_then(|times| times.last), until);
    let is_silent = context.silences.is_between(state.log_partition, pause.since, until);
    let is_known = !state.invalid.is_last && !may_be_idle && !is_silent;
    let found = is_known.then_some((Paused { since: pause.since, until, usual: pause.usual }, member));
    state.costs.end(rebalance, found);
    report(state, place, events);
}

/// End a pause whose duration is not known: the committed offset of the partition was deleted.
pub(super) fn end_deleted(state: &mut GroupState, place: (i64, i64), pause: &Pause, events: &mut Vec<Event>) {
    if let Some(rebalance) = pause.rebalance {
        state.costs.end(rebalance, None);
        report(state, place, events);
    }
}

/// End all pauses, because the group is gone or its owners are no longer known.
pub(super) fn end_all(state: &mut GroupState, place: (i64, i64), events: &mut Vec<Event>) {
    state.costs.empty_since = None;
    for partition in state.committed.topics.values_mut().flat_map(|ids| ids.values_mut()) {
        if let Some(rebalance) = partition.pause.take().and_then(|pause| pause.rebalance) {
            state.costs.end(rebalance, None);
        }
    }
    supersede_epoch(state, place, events);
}

/// Add the events of the costs that are complete.
fn report(state: &mut GroupState, (at, offset): (i64, i64), events: &mut Vec<Event>) {
    for cost in state.costs.take_complete() {
        events.push(state.event(at, offset, Some(cost.kind), cost.details()));
    }
}

/// Add the events of the costs that are not complete at the end of the log.
pub(super) fn report_open(state: &mut GroupState, events: &mut Vec<Event>) {
    let (at, offset) = (state.clock.unwrap_or(0), state.offset);
    for cost in std::mem::take(&mut state.costs.all) {
        events.push(state.event(at, offset, Some(cost.kind), cost.details()));
    }
}
