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
    let racks_of_audience: Vec<Vec<Option<u32>>> = audiences
        .members
        .iter()
        .map(|members| members.iter().map(|member| group.members[*member as usize].rack).collect())
        .collect();
    let consumer_racks: Vec<Vec<bool>> =
        racks_of_audience.iter().map(|racks| rack_flags(racks, &group.racks)).collect();
    let topics = group.topics.all();
    let needs: Vec<bool> = topics
        .iter()
        .zip(&audiences.of_topic)
        .map(|(topic, audience)| {
            audience.is_some_and(|audience| {
                needs(topic, &consumer_racks[audience as usize], &group.racks, prefer_rack_aware)
            })
        })
        .collect();
    if !needs.contains(&true) {
        return None;
    }

    let mut together: FxHashMap<(u32, usize), Vec<usize>> = FxHashMap::default();
    for (number, audience) in audiences.of_topic.iter().enumerate() {
        // Without any rack among the consumers every partition suits everybody, which is what plain ranges are.
        if let Some(audience) = audience.filter(|audience| consumer_racks[*audience as usize].contains(&true)) {
            together.entry((audience, topics[number].ids.len())).or_default().push(number);
        }
    }
    let mut owners = Owners { solutions: Vec::new(), of_topic: vec![None; topics.len()] };
    for ((audience, positions), members) in together {
        let consumers = &racks_of_audience[audience as usize];
        let mut solution = Solution::new(consumers, positions);
        match members[..] {
            [only] if !needs[only] => continue,
            [only] => solution.give_matching(&replica_racks(&topics[only], &group.racks), group.racks.len()),
            _ => {
                let common = common_racks(members.iter().map(|number| &topics[*number]), &group.racks, positions);
                solution.give_together(&common, group.racks.len());
            }
        }
        solution.give_rest();
        for number in members {
            owners.of_topic[number] = Some(owners.solutions.len() as u32);
        }
        owners.solutions.push(solution.owners);
    }
    Some(owners)
}

/// Per rack whether some consumer is on it.
fn rack_flags(consumers: &[Option<u32>], racks: &Racks) -> Vec<bool> {
    let mut flags = vec![false; racks.len()];
    for rack in consumers.iter().flatten() {
        flags[*rack as usize] = true;
    }
    flags
}

/// Whether racks can make a difference: consumers and replicas meet on some, and not every partition is on all.
fn needs(topic: &Topic, consumer_racks: &[bool], racks: &Racks, prefer_rack_aware: bool) -> bool {
    let Some(sets) = &topic.racks else { return false };
    let mut distinct = sets.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let meet = distinct.iter().flat_map(|set| racks.racks_of(*set)).any(|rack| consumer_racks[*rack as usize]);
    // Two different sets cannot both be the union of all.
    meet && (prefer_rack_aware || distinct.len() > 1)
}

/// The racks of each position of a topic.
fn replica_racks<'a>(topic: &Topic, racks: &'a Racks) -> Vec<&'a [u32]> {
    let sets = topic.racks.as_deref().unwrap_or_default();
    sets.iter().map(|set| racks.racks_of(*set)).collect()
}

/// The racks that each position has in every one of the topics.
fn common_racks<'a>(topics: impl Iterator<Item = &'a Topic>, racks: &Racks, positions: usize) -> Vec<Vec<u32>> {
    let mut common: Option<Vec<Vec<u32>>> = None;
    for topic in topics {
        let Some(sets) = &topic.racks else { return vec![Vec::new(); positions] };
        let found = sets.iter().map(|set| racks.racks_of(*set));
        match &mut common {
            None => common = Some(found.map(<[u32]>::to_vec).collect()),
            Some(common) => {
                for (left, right) in common.iter_mut().zip(found) {
                    left.retain(|rack| right.binary_search(rack).is_ok());
                }
            }
        }
    }
    common.unwrap_or_default()
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
struct Solution<'a> {
    /// Per consumer, in order, its rack.
    consumers: &'a [Option<u32>],
    /// Per consumer how many positions it has.
    counts: Vec<usize>,
    /// What everybody gets.
    quota: usize,
    /// How many consumers may still go over the quota.
    extra: usize,
    /// Per position who has it.
    owners: Vec<u32>,
}

impl<'a> Solution<'a> {
    fn new(consumers: &'a [Option<u32>], positions: usize) -> Self {
        Self {
            consumers,
            counts: vec![0; consumers.len()],
            quota: positions / consumers.len(),
            extra: positions % consumers.len(),
            owners: vec![NOBODY; positions],
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
    fn give_matching(&mut self, replica_racks: &[&[u32]], racks: usize) {
        let pairs = replica_racks
            .iter()
            .enumerate()
            .flat_map(|(position, on)| on.iter().map(move |rack| (*rack, position as u32)));
        let mut queues = Queues::new(pairs, racks);
        let mut anywhere = 0;
        for (consumer, rack) in self.consumers.iter().enumerate() {
            match rack {
                None => self.take_next(consumer, &mut anywhere),
                Some(rack) => {
                    let capacity = self.capacity(consumer);
                    let mut taken = 0;
                    while taken < capacity {
                        let free = queues.first(*rack, |position| self.owners[position as usize] == NOBODY);
                        let Some(position) = free else { break };
                        self.owners[position as usize] = consumer as u32;
                        taken += 1;
                    }
                    self.took(consumer, taken);
                }
            }
        }
    }

    /// Each position in order goes to the first consumer with capacity that is on one of its racks or has none.
    fn give_together(&mut self, common_racks: &[Vec<u32>], racks: usize) {
        let nowhere = racks as u32;
        let consumers = self.consumers;
        let pairs = consumers.iter().enumerate().map(|(consumer, rack)| (rack.unwrap_or(nowhere), consumer as u32));
        let mut queues = Queues::new(pairs, racks + 1);
        for (position, on) in common_racks.iter().enumerate() {
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
