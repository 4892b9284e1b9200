//! The rack-aware way of range assignment (KIP-881): partitions go first to consumers that are where their replicas are.
//!
//! It is taken only when some topic needs it and never costs balance. Co-partitioned topics, those with the same consumers
//! and the same number of partitions, are solved as one: since all of them get the same gives, one array of owners serves
//! them all. In such a group step p means the p-th smallest real id of each topic. Kafka's own class takes p for an id
//! there, and where ids have holes it hands out partitions that do not exist; that one thing is not reproduced.
//!
//! What makes this linear: a partition once given is never taken back, counts only grow and `extra` only falls, so a
//! consumer's capacity only falls. Queues with a head that moves forward only are therefore exact: whatever lies before
//! the head stays unusable for good.

use rustc_hash::FxHashMap;

use crate::group::{Audiences, Group, Racks, Topic};

/// Marks a position that nobody has yet.
const NOBODY: u32 = u32::MAX;

/// Who has what in the topics that racks have a say in.
#[derive(Debug)]
pub(crate) struct Owners {
    /// Distinct solutions: a rank among the topic's consumers per position.
    solutions: Vec<Vec<u32>>,
    /// Per topic its solution; None where plain ranges are the answer.
    of_topic: Vec<Option<u32>>,
}

impl Owners {
    /// Per position the rank of its owner, or None where plain ranges are the answer.
    pub(crate) fn of_topic(&self, topic: usize) -> Option<&[u32]> {
        self.of_topic[topic].map(|solution| self.solutions[solution as usize].as_slice())
    }
}

/// Solves the topics that racks have a say in; None when no topic of the group needs it.
pub(crate) fn solve(group: &Group, audiences: &Audiences, prefer_rack_aware: bool) -> Option<Owners> {
    if group.racks.is_empty() {
        return None;
    }
    let consumer_racks = distinct_racks(group, audiences);
    let topics = group.topics.all();
    let needed = |topic: &Topic, audience: Option<u32>| {
        audience
            .is_some_and(|audience| needs(topic, &consumer_racks[audience as usize], &group.racks, prefer_rack_aware))
    };
    let needs: Vec<bool> =
        topics.iter().zip(&audiences.of_topic).map(|(topic, audience)| needed(topic, *audience)).collect();
    if !needs.contains(&true) {
        return None;
    }

    let mut together: FxHashMap<(u32, usize), Vec<usize>> = FxHashMap::default();
    for (number, audience) in audiences.of_topic.iter().enumerate() {
        // Without any rack among the consumers every partition suits everybody, which is what plain ranges are.
        if let Some(audience) = audience.filter(|audience| !consumer_racks[*audience as usize].is_empty()) {
            together.entry((audience, topics[number].ids.len())).or_default().push(number);
        }
    }
    let mut owners = Owners { solutions: Vec::new(), of_topic: vec![None; topics.len()] };
    for ((audience, positions), numbers) in together {
        let single = match numbers[..] {
            [only] if !needs[only] => continue,
            [only] => Some(&topics[only]),
            _ => None,
        };
        let local = LocalRacks { racks: &consumer_racks[audience as usize] };
        let members = &audiences.members[audience as usize];
        let mut solution = Solution::new(local.of_consumers(group, members), positions);
        if let Some(topic) = single {
            solution.give_matching(&local.of_replicas(topic, &group.racks), local.racks.len());
        } else {
            let common = local.in_all(numbers.iter().map(|number| &topics[*number]), &group.racks);
            solution.give_together(common.as_deref(), local.racks.len());
        }
        solution.give_rest();
        for number in numbers {
            owners.of_topic[number] = Some(owners.solutions.len() as u32);
        }
        owners.solutions.push(solution.owners);
    }
    Some(owners)
}

/// Per audience the racks of its consumers, ascending.
fn distinct_racks(group: &Group, audiences: &Audiences) -> Vec<Vec<u32>> {
    let mut seen_by = vec![NOBODY; group.racks.len()];
    let mut found = Vec::with_capacity(audiences.members.len());
    for (audience, members) in audiences.members.iter().enumerate() {
        let mut racks = Vec::new();
        for rack in members.iter().filter_map(|member| group.members[*member as usize].rack) {
            if seen_by[rack as usize] != audience as u32 {
                seen_by[rack as usize] = audience as u32;
                racks.push(rack);
            }
        }
        racks.sort_unstable();
        found.push(racks);
    }
    found
}

/// Whether racks can make a difference: consumers and replicas meet on some, and not every partition is on all.
fn needs(topic: &Topic, consumer_racks: &[u32], racks: &Racks, prefer_rack_aware: bool) -> bool {
    let Some(sets) = &topic.racks else { return false };
    let mut distinct = sets.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let mut replica_racks = distinct.iter().flat_map(|set| racks.racks_of(*set));
    let meet = replica_racks.any(|rack| consumer_racks.binary_search(rack).is_ok());
    // Two different sets cannot both be the union of all.
    meet && (prefer_rack_aware || distinct.len() > 1)
}

/// The racks of one audience, numbered from 0 among themselves: no other rack can match anybody.
struct LocalRacks<'a> {
    racks: &'a [u32],
}

impl LocalRacks<'_> {
    fn number(&self, rack: u32) -> Option<u32> {
        self.racks.binary_search(&rack).ok().map(|number| number as u32)
    }

    /// Per consumer its rack.
    fn of_consumers(&self, group: &Group, members: &[u32]) -> Vec<Option<u32>> {
        let rack = |member: &u32| group.members[*member as usize].rack.and_then(|rack| self.number(rack));
        members.iter().map(rack).collect()
    }

    /// Per position of a topic the racks of its replicas; nothing for a topic without racks.
    fn of_replicas(&self, topic: &Topic, racks: &Racks) -> Vec<Vec<u32>> {
        let numbers = |set: &u32| racks.racks_of(*set).iter().filter_map(|rack| self.number(*rack)).collect();
        topic.racks.as_deref().unwrap_or_default().iter().map(numbers).collect()
    }

    /// Per position the racks that it has in every one of the topics; None when some topic has no racks at all.
    fn in_all<'t>(&self, topics: impl Iterator<Item = &'t Topic>, racks: &Racks) -> Option<Vec<Vec<u32>>> {
        let mut common: Option<Vec<Vec<u32>>> = None;
        for topic in topics {
            let sets = topic.racks.as_ref()?;
            match &mut common {
                None => common = Some(self.of_replicas(topic, racks)),
                Some(common) => {
                    for (left, set) in common.iter_mut().zip(sets) {
                        let right = racks.racks_of(*set);
                        left.retain(|number| right.binary_search(&self.racks[*number as usize]).is_ok());
                    }
                }
            }
        }
        common
    }
}

/// Lists of numbers by rack, in one allocation, each with a head that only moves forward.
struct Queues {
    entries: Vec<u32>,
    heads: Vec<usize>,
    ends: Vec<usize>,
}

impl Queues {
    /// Sorts (rack, number) pairs into queues, keeping their order inside a queue.
    fn new(pairs: impl Iterator<Item = (u32, u32)> + Clone, racks: usize) -> Self {
        let mut ends = vec![0; racks + 1];
        for (rack, _) in pairs.clone() {
            ends[rack as usize + 1] += 1;
        }
        for rack in 0..racks {
            ends[rack + 1] += ends[rack];
        }
        let heads = ends[..racks].to_vec();
        let mut next = heads.clone();
        let mut entries = vec![0; ends[racks]];
        for (rack, number) in pairs {
            entries[next[rack as usize]] = number;
            next[rack as usize] += 1;
        }
        ends.remove(0);
        Self { entries, heads, ends }
    }

    /// The first entry of a queue that is still usable; what comes before it is dropped for good.
    fn first(&mut self, rack: u32, usable: impl Fn(u32) -> bool) -> Option<u32> {
        let (head, end) = (&mut self.heads[rack as usize], self.ends[rack as usize]);
        while *head < end && !usable(self.entries[*head]) {
            *head += 1;
        }
        (*head < end).then(|| self.entries[*head])
    }
}

/// One topic, or topics solved as one, on the way to being given away.
struct Solution {
    /// Per consumer, in order, its rack.
    consumers: Vec<Option<u32>>,
    /// Per consumer how many positions it has.
    counts: Vec<usize>,
    /// What everybody gets.
    quota: usize,
    /// How many consumers may still go over the quota.
    extra: usize,
    /// Per position who has it.
    owners: Vec<u32>,
}

impl Solution {
    fn new(consumers: Vec<Option<u32>>, positions: usize) -> Self {
        Self {
            counts: vec![0; consumers.len()],
            quota: positions / consumers.len(),
            extra: positions % consumers.len(),
            owners: vec![NOBODY; positions],
            consumers,
        }
    }

    /// How many more positions a consumer may take as things stand.
    fn capacity(&self, consumer: usize) -> usize {
        (self.quota + usize::from(self.extra > 0)).saturating_sub(self.counts[consumer])
    }

    /// Notes that a consumer took some; going over the quota uses up one of the extra ones.
    fn took(&mut self, consumer: usize, taken: usize) {
        self.counts[consumer] += taken;
        if taken > 0 && self.counts[consumer] > self.quota {
            self.extra -= 1;
        }
    }

    /// Each consumer in order takes the first positions on its rack (without a rack: any), up to its capacity.
    fn give_matching(&mut self, replica_racks: &[Vec<u32>], racks: usize) {
        let pairs = replica_racks
            .iter()
            .enumerate()
            .flat_map(|(position, on)| on.iter().map(move |rack| (*rack, position as u32)));
        let mut queues = Queues::new(pairs, racks);
        let mut anywhere = 0;
        for consumer in 0..self.consumers.len() {
            match self.consumers[consumer] {
                None => self.take_next(consumer, &mut anywhere),
                Some(rack) => {
                    let capacity = self.capacity(consumer);
                    let mut taken = 0;
                    while taken < capacity {
                        let free = queues.first(rack, |position| self.owners[position as usize] == NOBODY);
                        let Some(position) = free else { break };
                        self.owners[position as usize] = consumer as u32;
                        taken += 1;
                    }
                    self.took(consumer, taken);
                }
            }
        }
    }

    /// Each position in order goes to the first consumer with capacity that is on one of its racks or has none;
    /// without common racks only the latter will do.
    fn give_together(&mut self, common_racks: Option<&[Vec<u32>]>, racks: usize) {
        let nowhere = racks as u32;
        let pairs =
            self.consumers.iter().enumerate().map(|(consumer, rack)| (rack.unwrap_or(nowhere), consumer as u32));
        let mut queues = Queues::new(pairs, racks + 1);
        for position in 0..self.owners.len() {
            let on = common_racks.map_or(&[][..], |common| &common[position]);
            let first = on
                .iter()
                .chain([&nowhere])
                .filter_map(|rack| queues.first(*rack, |consumer| self.capacity(consumer as usize) > 0))
                .min();
            if let Some(consumer) = first {
                self.owners[position] = consumer;
                self.took(consumer as usize, 1);
            }
        }
    }

    /// Each consumer in order takes the first positions that are left, up to its capacity.
    fn give_rest(&mut self) {
        let mut anywhere = 0;
        for consumer in 0..self.consumers.len() {
            self.take_next(consumer, &mut anywhere);
        }
    }

    /// A consumer takes the next free positions from `head` on, up to its capacity.
    fn take_next(&mut self, consumer: usize, head: &mut usize) {
        let capacity = self.capacity(consumer);
        let mut taken = 0;
        while taken < capacity && *head < self.owners.len() {
            if self.owners[*head] == NOBODY {
                self.owners[*head] = consumer as u32;
                taken += 1;
            }
            *head += 1;
        }
        self.took(consumer, taken);
    }
}
