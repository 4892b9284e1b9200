//! Rack-aware range assignment (KIP-881): consumers get partitions with a replica on their rack first.
//!
//! It is used only if racks matter for some topic, and it does not change how many partitions a consumer gets. Topics with the
//! same consumers and the same number of partitions are co-partitioned: they get the same assignment, so they share one array
//! of owners. Position p is the p-th smallest partition id of each of these topics. Kafka takes p itself as the id. If ids have
//! gaps, Kafka therefore assigns partitions that do not exist; this defect is not reproduced.
//!
//! The algorithm is linear: an assigned partition is never reassigned and a consumer's capacity never grows, so an entry that a
//! queue has passed cannot become usable again. Each queue is read once.

use rustc_hash::FxHashMap;

use super::runs::Runs;
use crate::group::{ConsumerSets, Group, Lists, MemberRack, Partitions, Racks, Sets};

/// Marks a position without an owner, and a rack or set without a number.
const NO_OWNER: u32 = u32::MAX;

/// Solve the topics for which racks matter; return groups of topics with the runs of their common solution.
pub(super) fn solve(group: &Group, consumer_sets: &ConsumerSets, prefer_rack_aware: bool) -> Vec<(Vec<u32>, Runs)> {
    let mut solutions = Vec::new();
    if !group.has_members_with_replicas() {
        return solutions;
    }
    let (partitions, racks) = (group.topics().partitions(), group.topics().racks());
    let consumers = consumer_sets.consumers(group);
    let mut seen = vec![false; racks.len()];
    let consumer_racks: Vec<ConsumerRacks> =
        consumers.iter().map(|members| ConsumerRacks::of(group, members, &mut seen)).collect();
    let needed = |topic: usize| {
        let consumer_set = consumer_sets.of_topic(topic)?;
        Some(needs(&partitions[topic], &consumer_racks[consumer_set as usize], racks, prefer_rack_aware))
    };
    let needed: Vec<bool> = (0..partitions.len()).map(|topic| needed(topic).unwrap_or(false)).collect();
    if !needed.contains(&true) {
        return solutions;
    }

    let mut local = LocalRacks::new(racks);
    for (consumer_set, found) in consumer_racks.iter().enumerate() {
        if found.all_unset {
            continue; // Consumers without racks accept every partition: plain ranges give the same result.
        }
        let mut together: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
        for topic in consumer_sets.topics(consumer_set as u32) {
            together.entry(partitions[*topic as usize].ids.len()).or_default().push(*topic);
        }
        local.enter(&found.racks);
        let members = consumers.get(consumer_set);
        let of_consumers: Vec<Option<u32>> = members.iter().map(|member| local.of_member(group, *member)).collect();
        for (positions, topics) in together {
            if matches!(topics[..], [only] if !needed[only as usize]) {
                continue;
            }
            let mut solution = Solution::new(&of_consumers, positions);
            if let [only] = topics[..] {
                let column = local.of_positions(&partitions[only as usize]).unwrap_or_default();
                solution.give_matching(&column, &local);
            } else {
                let common = local.in_all(topics.iter().map(|topic| &partitions[*topic as usize]));
                solution.give_together(common.as_deref(), &local);
            }
            solution.give_rest();
            solutions.push((topics, Runs::of(&solution.owners, members.len())));
        }
    }
    solutions
}

/// Racks of the consumers of a consumer set.
struct ConsumerRacks {
    /// Racks that have both a consumer and a replica, ascending.
    racks: Vec<u32>,
    /// True if no consumer has a rack.
    all_unset: bool,
}

impl ConsumerRacks {
    /// Collect the racks of consumers. All entries of `seen` are false before and after the call.
    fn of(group: &Group, members: &[u32], seen: &mut [bool]) -> Self {
        let mut found = Self { racks: Vec::new(), all_unset: true };
        for member in members {
            let rack = group.rack_of(*member as usize);
            found.all_unset &= rack == MemberRack::Unset;
            if let MemberRack::WithReplicas(rack) = rack
                && !std::mem::replace(&mut seen[rack as usize], true)
            {
                found.racks.push(rack);
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
    // If two rack sets differ, at least one of them is not the union of all.
    let differ = prefer_rack_aware || column.iter().any(|set| *set != column[0]);
    let mut last = NO_OWNER;
    differ && column.iter().any(|set| std::mem::replace(&mut last, *set) != *set && meet(*set))
}

/// Racks of one consumer set, numbered from 0. Other racks match no consumer.
struct LocalRacks<'a> {
    racks: &'a Racks,
    /// For each rack, its number in the consumer set.
    numbers: Vec<u32>,
    /// Number of racks.
    count: u32,
    /// Rack sets of positions, restricted to the racks of the consumer set.
    sets: Sets,
    /// For each rack set, the index in `sets` of its intersection with the racks of the consumer set.
    restricted: Vec<u32>,
    /// Racks that have an entry in `numbers`: `enter` clears only these.
    numbered: Vec<u32>,
    /// Rack sets that have an entry in `restricted`: `enter` clears only these.
    reduced: Vec<u32>,
}

impl<'a> LocalRacks<'a> {
    fn new(racks: &'a Racks) -> Self {
        Self {
            racks,
            numbers: vec![NO_OWNER; racks.len()],
            count: 0,
            sets: Sets::default(),
            restricted: vec![NO_OWNER; racks.sets().len()],
            numbered: Vec::new(),
            reduced: Vec::new(),
        }
    }

    /// Switch to another consumer set.
    fn enter(&mut self, racks: &[u32]) {
        self.numbered.drain(..).for_each(|rack| self.numbers[rack as usize] = NO_OWNER);
        self.reduced.drain(..).for_each(|set| self.restricted[set as usize] = NO_OWNER);
        self.numbered.extend_from_slice(racks);
        self.sets = Sets::default();
        self.count = racks.len() as u32;
        for (number, rack) in racks.iter().enumerate() {
            self.numbers[*rack as usize] = number as u32;
        }
    }

    /// Return the rack of a consumer. A rack without replicas gets the number `count`.
    fn of_member(&self, group: &Group, member: u32) -> Option<u32> {
        match group.rack_of(member as usize) {
            MemberRack::Unset => None,
            MemberRack::WithReplicas(rack) => Some(self.numbers[rack as usize]),
            MemberRack::WithoutReplicas => Some(self.count),
        }
    }

    /// Return the set of racks of each position of a topic; None for a topic without racks.
    fn of_positions(&mut self, partitions: &Partitions) -> Option<Vec<u32>> {
        let column = partitions.racks.as_ref()?;
        Some(column.iter().map(|set| self.restrict(*set)).collect())
    }

    /// Return the index in `sets` of the intersection of a rack set with the racks of the consumer set.
    fn restrict(&mut self, set: u32) -> u32 {
        if self.restricted[set as usize] == NO_OWNER {
            let racks = self.racks.sets().get(set).iter().map(|rack| self.numbers[*rack as usize]);
            self.reduced.push(set);
            self.restricted[set as usize] = self.sets.number(&mut racks.filter(|number| *number != NO_OWNER).collect());
        }
        self.restricted[set as usize]
    }

    /// Return the racks that each position has in all topics; None if a topic has no racks.
    fn in_all<'t>(&mut self, mut topics: impl Iterator<Item = &'t Partitions>) -> Option<Vec<u32>> {
        let first = topics.next()?;
        let mut common = self.of_positions(first)?;
        let mut last = first.racks.as_ref()?;
        let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        for topic in topics {
            let column = topic.racks.as_ref()?;
            if column == last {
                continue; // The same racks do not change the intersection.
            }
            last = column;
            for (common, set) in common.iter_mut().zip(column) {
                let (left, right) = (*common, self.restrict(*set));
                if left != right {
                    *common = *known.entry((left, right)).or_insert_with(|| {
                        let right = self.sets.get(right);
                        let both = self.sets.get(left).iter().copied().filter(|rack| right.contains(rack));
                        let mut both = both.collect();
                        self.sets.number(&mut both)
                    });
                }
            }
        }
        Some(common)
    }
}

/// Lists of numbers by rack, each with a head that only moves forward.
struct Queues {
    lists: Lists,
    heads: Vec<usize>,
}

impl Queues {
    fn new(lists: Lists) -> Self {
        Self { heads: vec![0; lists.len()], lists }
    }

    /// Return the first usable entry of a queue; the entries before it are skipped in later calls.
    fn first(&mut self, rack: u32, usable: impl Fn(u32) -> bool) -> Option<u32> {
        let (list, head) = (self.lists.get(rack as usize), &mut self.heads[rack as usize]);
        while *head < list.len() && !usable(list[*head]) {
            *head += 1;
        }
        list.get(*head).copied()
    }
}

/// Assignment in progress of one topic, or of co-partitioned topics.
struct Solution<'a> {
    /// Rack of each consumer, in Kafka's order.
    consumers: &'a [Option<u32>],
    /// Number of positions of each consumer.
    counts: Vec<usize>,
    /// Positions that each consumer gets at least.
    quota: usize,
    /// Number of consumers that may still exceed the quota.
    extra: usize,
    /// Owner of each position.
    owners: Vec<u32>,
}

impl<'a> Solution<'a> {
    fn new(consumers: &'a [Option<u32>], positions: usize) -> Self {
        Self {
            counts: vec![0; consumers.len()],
            quota: positions / consumers.len(),
            extra: positions % consumers.len(),
            owners: vec![NO_OWNER; positions],
            consumers,
        }
    }

    /// Return how many more positions a consumer may take now.
    fn capacity(&self, consumer: usize) -> usize {
        (self.quota + usize::from(self.extra > 0)).saturating_sub(self.counts[consumer])
    }

    /// Record the positions that a consumer took. Exceeding the quota uses up one `extra`.
    fn took(&mut self, consumer: usize, taken: usize) {
        self.counts[consumer] += taken;
        if taken > 0 && self.counts[consumer] > self.quota {
            self.extra -= 1;
        }
    }

    /// Give each consumer in turn the first positions on its rack, up to its capacity; a consumer without a rack takes any.
    fn give_matching(&mut self, column: &[u32], local: &LocalRacks<'_>) {
        let racks = local.count as usize + 1;
        let mut queues = Queues::new(Lists::by_member(racks, column, &local.sets));
        let mut anywhere = 0;
        for consumer in 0..self.consumers.len() {
            if self.quota == 0 && self.extra == 0 {
                return;
            }
            match self.consumers[consumer] {
                None => self.take_next(consumer, &mut anywhere),
                Some(rack) => {
                    let capacity = self.capacity(consumer);
                    let mut taken = 0;
                    while taken < capacity {
                        let free = queues.first(rack, |position| self.owners[position as usize] == NO_OWNER);
                        let Some(position) = free else { break };
                        self.owners[position as usize] = consumer as u32;
                        taken += 1;
                    }
                    self.took(consumer, taken);
                }
            }
        }
    }

    /// Give each position in turn to the first consumer with capacity that is on one of its racks or has no rack. If the
    /// topics have no common racks, only consumers without a rack are eligible.
    fn give_together(&mut self, common: Option<&[u32]>, local: &LocalRacks<'_>) {
        let anywhere = local.count + 1;
        let pairs =
            self.consumers.iter().enumerate().map(|(consumer, rack)| (rack.unwrap_or(anywhere), consumer as u32));
        let mut queues = Queues::new(Lists::by_key(anywhere as usize + 1, pairs));
        for position in 0..self.owners.len() {
            let on = common.map_or(&[][..], |common| local.sets.get(common[position]));
            let first = on
                .iter()
                .chain([&anywhere])
                .filter_map(|rack| queues.first(*rack, |consumer| self.capacity(consumer as usize) > 0))
                .min();
            if let Some(consumer) = first {
                self.owners[position] = consumer;
                self.took(consumer as usize, 1);
            }
        }
    }

    /// Give each consumer in turn the first free positions, up to its capacity.
    fn give_rest(&mut self) {
        let mut anywhere = 0;
        for consumer in 0..self.consumers.len() {
            self.take_next(consumer, &mut anywhere);
        }
    }

    /// Give a consumer the next free positions from `head`, up to its capacity.
    fn take_next(&mut self, consumer: usize, head: &mut usize) {
        let capacity = self.capacity(consumer);
        let mut taken = 0;
        while taken < capacity && *head < self.owners.len() {
            if self.owners[*head] == NO_OWNER {
                self.owners[*head] = consumer as u32;
                taken += 1;
            }
            *head += 1;
        }
        self.took(consumer, taken);
    }
}
