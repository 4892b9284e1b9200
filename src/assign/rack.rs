//! Rack-aware range assignment (KIP-881): consumers get partitions with a replica on their rack first.
//!
//! It is used only if racks matter for some topic. As in plain ranges, each consumer gets `quota` partitions and `extra`
//! consumers get one more, but these may be other consumers. Topics with the same consumers and the same number of partitions are
//! co-partitioned: they get the same assignment, so they share one solution. Position p is the p-th smallest partition id of each
//! of these topics. Kafka takes p itself as the id. If ids have gaps, Kafka therefore assigns partitions that do not exist; this
//! defect is not reproduced.
//!
//! The algorithm is linear: an assigned partition is never reassigned and a consumer's capacity never grows. So an
//! entry that is behind the read position of its queue cannot become usable again, and each queue is read once.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::group::{Group, Lists, MemberRack, Partitions, Racks, RankedConsumerSets, Sets};

/// Marks a position without an owner, and the end of a list of consumers.
const NO_OWNER: u32 = u32::MAX;

/// Solve the topics for which racks matter. If there is such a topic, also solve all co-partitioned topics that have a consumer with
/// a rack. Return each solved topic with the number of its solution, and the solutions: one list of positions per consumer rank.
/// Ranks after the last list have no positions.
pub(super) fn solve(
    group: &Group,
    consumer_sets: &RankedConsumerSets,
    prefer_rack_aware: bool,
) -> (Vec<(u32, u32)>, Vec<Lists>) {
    let mut solved = Vec::new();
    let mut solutions = Vec::new();
    if !group.has_members_with_replicas() {
        return (solved, solutions);
    }
    let (partitions, racks) = (group.topics().partitions(), group.topics().racks());
    let places = Places { racks: racks.len() };
    let consumers = consumer_sets.consumers(group, |member| places.of_member(group, member));
    let mut seen = vec![false; racks.len()];
    let consumer_racks: Vec<ConsumerRacks> =
        consumers.iter().map(|consumers| ConsumerRacks::of(consumers, &places, &mut seen)).collect();
    let mut needed = vec![false; partitions.len()];
    for (consumer_set, found) in consumer_racks.iter().enumerate() {
        for topic in consumer_sets.topics(consumer_set as u32) {
            needed[*topic as usize] = needs(&partitions[*topic as usize], found, racks, prefer_rack_aware);
        }
    }
    if !needed.contains(&true) {
        return (solved, solutions);
    }

    let mut queues = Queues::new(&places);
    // One buffer for all topics: the allocator is slow for memory that must be zero.
    let (mut is_given, mut given) = (Vec::new(), Lists::default());
    let mut sets = Cow::Borrowed(racks.sets());
    for (consumer_set, found) in consumer_racks.iter().enumerate() {
        if found.all_unset {
            continue; // Consumers without racks accept every partition: plain ranges give the same result.
        }
        let size = |topic: u32| partitions[topic as usize].ids.len();
        let mut topics = consumer_sets.topics(consumer_set as u32).to_vec();
        topics.sort_by_key(|topic| size(*topic));
        let consumers = consumers.get(consumer_set);
        for topics in topics.chunk_by(|left, right| size(*left) == size(*right)) {
            if matches!(topics, [only] if !needed[*only as usize]) {
                continue;
            }
            let mut assignment = Assignment::new(consumers, size(topics[0]), &mut is_given, &mut given);
            if let [only] = topics {
                queues.list(partitions[*only as usize].racks.as_deref().unwrap_or_default(), racks.sets());
                queues.restart(&found.racks);
                assignment.give_matching(&mut queues);
            } else {
                let common = in_all(topics.iter().map(|topic| &partitions[*topic as usize]), &mut sets);
                assignment.give_together(common.as_deref(), &sets, &mut queues);
            }
            assignment.give_rest();
            solved.extend(topics.iter().map(|topic| (*topic, solutions.len() as u32)));
            solutions.push(given.clone());
        }
    }
    (solved, solutions)
}

/// Places of consumers, as numbers. Each rack with replicas is one place, all other racks together are one place, and
/// consumers without a rack are at one more place.
struct Places {
    racks: usize,
}

impl Places {
    /// Return the place of consumers on racks without replicas.
    fn nowhere(&self) -> u32 {
        self.racks as u32
    }

    /// Return the place of consumers without a rack, which accept every partition.
    fn anywhere(&self) -> u32 {
        self.racks as u32 + 1
    }

    fn of_member(&self, group: &Group, member: u32) -> u32 {
        match group.rack_of(member as usize) {
            MemberRack::WithReplicas(rack) => rack,
            MemberRack::WithoutReplicas => self.nowhere(),
            MemberRack::Unset => self.anywhere(),
        }
    }
}

/// Racks of the consumers of a consumer set.
struct ConsumerRacks {
    /// Racks that have both a consumer and a replica, ascending.
    racks: Vec<u32>,
    /// True if no consumer has a rack.
    all_unset: bool,
}

impl ConsumerRacks {
    /// Collect the racks of consumers, given by place. All entries of `seen` are false before and after the call.
    fn of(consumers: &[u32], places: &Places, seen: &mut [bool]) -> Self {
        let mut found = Self { racks: Vec::new(), all_unset: true };
        for place in consumers {
            found.all_unset &= *place == places.anywhere();
            if let Some(seen) = seen.get_mut(*place as usize)
                && !std::mem::replace(seen, true)
            {
                found.racks.push(*place);
            }
        }
        found.racks.iter().for_each(|rack| seen[*rack as usize] = false);
        found.racks.sort_unstable();
        found
    }
}

/// Return true if some rack has both a consumer and a replica, and partitions are on different racks or `prefer_rack_aware` is set.
fn needs(partitions: &Partitions, consumers: &ConsumerRacks, racks: &Racks, prefer_rack_aware: bool) -> bool {
    let Some(column) = &partitions.racks else { return false };
    let meet = |set: u32| racks.sets().get(set).iter().any(|rack| consumers.racks.binary_search(rack).is_ok());
    // Kafka tests whether each rack set equals the union of all. Two sets that differ cannot both equal it.
    let differ = prefer_rack_aware || column.iter().any(|set| *set != column[0]);
    let mut last = NO_OWNER;
    differ && column.iter().any(|set| std::mem::replace(&mut last, *set) != *set && meet(*set))
}

/// Return the set of racks that each position has in all topics; None if a topic has no racks. New sets are added to `sets`.
fn in_all<'p>(mut topics: impl Iterator<Item = &'p Partitions>, sets: &mut Cow<'_, Sets>) -> Option<Cow<'p, [u32]>> {
    let mut last = topics.next()?.racks.as_deref()?;
    let mut common = Cow::Borrowed(last);
    let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for topic in topics {
        let column = topic.racks.as_deref()?;
        if column == last {
            continue; // The same racks do not change the intersection.
        }
        last = column;
        for (common, set) in common.to_mut().iter_mut().zip(column) {
            let (left, right) = (*common, *set);
            if left != right {
                *common = *known.entry((left, right)).or_insert_with(|| {
                    let right = sets.get(right);
                    let mut both = sets.get(left).iter().copied().filter(|rack| right.contains(rack)).collect();
                    sets.to_mut().number(&mut both)
                });
            }
        }
    }
    Some(common)
}

/// Queues by place. They are kept from topic to topic, and only entries that were used are reset.
struct Queues<'a> {
    /// Sets of racks of the positions in `positions`.
    column: &'a [u32],
    /// By place, its queue of positions. Topics often repeat the same racks and differ only in size: such a topic uses the positions
    /// of a larger one, or adds to those of a smaller one.
    positions: Vec<PositionQueue>,
    /// Racks that have positions.
    listed: Vec<u32>,
    /// By place, the first consumer that may have capacity.
    consumers: Vec<u32>,
}

/// Positions on a rack; none for places that are not racks.
#[derive(Clone, Default)]
struct PositionQueue {
    entries: Vec<u32>,
    /// Number of entries that were read. The queue of consumers without a rack has no entries: there it is the number
    /// of positions of the topic that were read.
    head: usize,
}

impl<'a> Queues<'a> {
    fn new(places: &Places) -> Self {
        let count = places.racks + 2;
        Self {
            column: &[],
            positions: vec![PositionQueue::default(); count],
            listed: Vec::new(),
            consumers: vec![NO_OWNER; count],
        }
    }

    /// List the positions of a topic by rack. Lists that were made for a larger topic also have positions beyond the end of this one.
    fn list(&mut self, column: &'a [u32], sets: &Sets) {
        if self.column.starts_with(column) {
            return;
        }
        if !column.starts_with(self.column) {
            self.listed.drain(..).for_each(|rack| self.positions[rack as usize].entries.clear());
            self.column = &[];
        }
        for (position, set) in (0..).zip(column).skip(self.column.len()) {
            for rack in sets.get(*set) {
                let list = &mut self.positions[*rack as usize].entries;
                if list.is_empty() {
                    self.listed.push(*rack);
                }
                list.push(position);
            }
        }
        self.column = column;
    }

    /// Read the positions on these racks, and those of consumers without a rack, from the start again.
    fn restart(&mut self, racks: &[u32]) {
        let anywhere = self.positions.len() - 1;
        self.positions[anywhere].head = 0;
        for rack in racks {
            self.positions[*rack as usize].head = 0;
        }
    }
}

/// Assignment in progress of one topic, or of co-partitioned topics.
struct Assignment<'a> {
    /// Place of each consumer, in Kafka's order.
    consumers: &'a [u32],
    /// Minimum number of positions of each consumer.
    quota: usize,
    /// Number of consumers that may still exceed the quota.
    extra: usize,
    /// True for each position that is given.
    is_given: &'a mut Vec<bool>,
    /// Positions of each consumer; consumers after the last list have none.
    given: &'a mut Lists,
}

impl<'a> Assignment<'a> {
    fn new(consumers: &'a [u32], positions: usize, is_given: &'a mut Vec<bool>, given: &'a mut Lists) -> Self {
        is_given.clear();
        is_given.resize(positions, false);
        given.clear();
        Self { quota: positions / consumers.len(), extra: positions % consumers.len(), is_given, given, consumers }
    }

    /// Give each consumer in turn the first positions on its rack, up to its capacity; a consumer without a rack takes any.
    fn give_matching(&mut self, queues: &mut Queues<'_>) {
        let anywhere = queues.positions.len() as u32 - 1;
        let (entries, ends) = self.given.parts();
        // One more entry than positions: the loop writes a position before it checks whether the position is free, and the next
        // write replaces a position that is not.
        entries.resize(self.is_given.len() + 1, 0);
        let mut end = 0;
        for place in self.consumers {
            let limit = self.quota + usize::from(self.extra > 0);
            if limit == 0 {
                break;
            }
            let queue = &mut queues.positions[*place as usize];
            let (start, mut head) = (end, queue.head);
            while end - start < limit {
                let next = if *place == anywhere { Some(head as u32) } else { queue.entries.get(head).copied() };
                let Some(position) = next else { break };
                let Some(is_given) = self.is_given.get_mut(position as usize) else { break };
                head += 1;
                entries[end] = position;
                end += usize::from(!std::mem::replace(is_given, true));
            }
            queue.head = head;
            ends.push(end);
            self.extra -= usize::from(end - start > self.quota);
        }
        entries.truncate(end);
    }

    /// Give each position in turn to the first consumer with capacity that is on one of its racks or has no rack. If the
    /// topics have no common racks, only consumers without a rack are eligible.
    fn give_together(&mut self, common: Option<&[u32]>, sets: &Sets, queues: &mut Queues<'_>) {
        let first = &mut queues.consumers[..];
        let anywhere = first.len() - 1;
        // The consumer after each consumer at the same place.
        let mut next = vec![NO_OWNER; self.consumers.len()];
        for (consumer, place) in self.consumers.iter().enumerate().rev() {
            next[consumer] = std::mem::replace(&mut first[*place as usize], consumer as u32);
        }
        let mut counts = vec![0; self.consumers.len()];
        let mut owners = vec![NO_OWNER; self.is_given.len()];
        for (position, (owner, is_given)) in owners.iter_mut().zip(self.is_given.iter_mut()).enumerate() {
            let on = common.map_or(&[][..], |common| sets.get(common[position]));
            *owner = on.iter().fold(first[anywhere], |owner, rack| owner.min(first[*rack as usize]));
            let consumer = *owner as usize;
            let Some(count) = counts.get_mut(consumer) else { continue };
            *is_given = true;
            *count += 1;
            let exceeds = *count > self.quota;
            self.extra -= usize::from(exceeds);
            if *count >= self.quota + usize::from(self.extra > 0) {
                first[self.consumers[consumer] as usize] = next[consumer];
            }
            if exceeds && self.extra == 0 {
                // From now on consumers with `quota` positions are full. The next consumer at the same place has none yet.
                for place in self.consumers {
                    let first = &mut first[*place as usize];
                    if counts.get(*first as usize).is_some_and(|count| *count >= self.quota) {
                        *first = next[*first as usize];
                    }
                }
                if self.quota == 0 {
                    break;
                }
            }
        }
        self.consumers.iter().for_each(|place| first[*place as usize] = NO_OWNER);
        let owned = owners.iter().zip(0..).filter(|(owner, _)| **owner != NO_OWNER);
        *self.given = Lists::by_key(self.consumers.len(), owned.map(|(owner, position)| (*owner, position)));
    }

    /// Give each consumer in turn the first free positions, up to its capacity.
    fn give_rest(self) {
        let Self { consumers, quota, mut extra, is_given, given } = self;
        if given.total() == is_given.len() {
            return;
        }
        let mut free =
            (0..).zip(is_given).filter_map(|(position, is_given)| (!*is_given).then_some(position)).peekable();
        // Consumers before the first one with capacity keep what they have.
        let has_capacity = |list: &[u32]| list.len() < quota + usize::from(extra > 0);
        let first = given.iter().position(has_capacity).unwrap_or(given.len());
        let rest = given.split_off(first);
        let mut positions = Vec::new();
        for consumer in 0..consumers.len() - first {
            positions.clear();
            if consumer < rest.len() {
                positions.extend_from_slice(rest.get(consumer));
            } else if free.peek().is_none() {
                break;
            }
            let capacity = (quota + usize::from(extra > 0)).saturating_sub(positions.len());
            if capacity > 0 {
                positions.extend(free.by_ref().take(capacity));
                extra -= usize::from(positions.len() > quota);
                positions.sort_unstable();
            }
            given.push(&positions);
        }
    }
}
