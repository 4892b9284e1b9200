//! Uniform assignment of a group whose members subscribe to different topics.
//!
//! Members keep the partitions of topics that they still subscribe to. Each free partition goes to the subscriber with the fewest
//! partitions. Several rounds over the topics then move partitions from subscribers with the most partitions to those with the
//! fewest.

use std::cmp::Ordering;

use super::balancer::Balancer;
use super::target::Target;
use crate::assign::table_order::uuid_order;
use crate::cancellation;
use crate::group::{ConsumerSets, Group, Lists};
use crate::plan::NO_OWNER;

/// The largest number of rounds over all topics.
const ROUNDS: usize = 16;

/// Change the target to a balanced one.
pub(super) fn assign(group: &Group, target: &mut Target<'_>) {
    let sets = ConsumerSets::of(group);
    let pairs = (0..).zip(target.order).flat_map(|(place, member)| {
        sets.of_subscription(group.subscription_of(*member as usize)).iter().map(move |set| (*set, place))
    });
    let subscribers = Lists::by_key(sets.len(), pairs);
    let topics = by_priority(group, &sets, &subscribers);
    for (place, _) in std::mem::take(&mut target.lost) {
        target.sizes[place as usize] += 1;
    }
    let mut balancer = Balancer::default();
    for (topic, set) in &topics {
        give_free(target, *topic, subscribers.get(*set as usize), &mut balancer);
    }
    balance(target, &topics, &subscribers, &mut balancer);
}

/// Return the topics that have partitions and subscribers, each with its consumer set. They are sorted by partitions per subscriber,
/// most first, then by number of subscribers, fewest first, then by id.
fn by_priority(group: &Group, sets: &ConsumerSets, subscribers: &Lists) -> Vec<(u32, u32)> {
    struct Key {
        partitions: f64,
        subscribers: usize,
        id: u128,
    }
    let mut keyed: Vec<(Key, u32, u32)> = Vec::new();
    for (topic, partitions) in (0..).zip(group.topics().partitions()) {
        let Some(set) = sets.of_topic(topic as usize) else { continue };
        let subscribers = subscribers.get(set as usize).len();
        #[allow(clippy::cast_precision_loss, reason = "both counts are below 2^32")]
        let partitions = partitions.ids.len() as f64 / subscribers as f64;
        keyed.push((Key { partitions, subscribers, id: group.topic_id(topic) }, topic, set));
    }
    keyed.sort_by(|(left, ..), (right, ..)| {
        let by_partitions = right.partitions.partial_cmp(&left.partitions).unwrap_or(Ordering::Equal);
        by_partitions.then(left.subscribers.cmp(&right.subscribers)).then_with(|| uuid_order(left.id, right.id))
    });
    keyed.into_iter().map(|(_, topic, set)| (topic, set)).collect()
}

/// Give each partition without an owner to the next taker.
fn give_free(target: &mut Target<'_>, topic: u32, subscribers: &[u32], balancer: &mut Balancer) {
    let Target { owners, sizes, .. } = target;
    let partitions = owners.starts[topic as usize] as usize..owners.starts[topic as usize + 1] as usize;
    let owners = &mut owners.members[partitions];
    let free = owners.iter().filter(|owner| **owner == NO_OWNER).count();
    if free == 0 {
        return;
    }
    balancer.start_takers(subscribers, sizes, bounds(subscribers, sizes), free);
    for owner in owners.iter_mut().filter(|owner| **owner == NO_OWNER) {
        *owner = balancer.next_taker(sizes);
        sizes[*owner as usize] += 1;
    }
}

/// Move partitions, topic by topic, until a round over all topics moves nothing or the last round is over.
fn balance(target: &mut Target<'_>, topics: &[(u32, u32)], subscribers: &Lists, balancer: &mut Balancer) {
    let is_shared = |(_, set): &&(u32, u32)| subscribers.get(*set as usize).len() > 1;
    let shared: Vec<(u32, u32)> = topics.iter().filter(is_shared).copied().collect();
    let mut last_changed = None;
    let mut changes = 0;
    // Per consumer set, the number of changes when it was last found balanced: topics with the same subscribers are balanced
    // until the next change.
    let mut balanced_at = vec![None; subscribers.len()];
    for _ in 0..ROUNDS {
        for (topic, set) in &shared {
            if last_changed == Some(*topic) {
                return;
            }
            let set = *set as usize;
            let mut has_moved = false;
            if balanced_at[set] != Some(changes) {
                let subscribers = subscribers.get(set);
                let (least, most) = bounds(subscribers, &target.sizes);
                if most - least > 1 {
                    cancellation::check();
                    has_moved = balance_topic(target, *topic, subscribers, (least, most), balancer);
                    changes += usize::from(has_moved);
                } else {
                    balanced_at[set] = Some(changes);
                }
            }
            if has_moved || last_changed.is_none() {
                last_changed = Some(*topic);
            }
        }
    }
}

/// Move partitions of one topic; return true if any partition moved. The subscribers have at least `least` and at most `most`
/// partitions.
fn balance_topic(
    target: &mut Target<'_>,
    topic: u32,
    subscribers: &[u32],
    (least, most): (u32, u32),
    balancer: &mut Balancer,
) -> bool {
    let Target { owners, sizes, .. } = target;
    let partitions = owners.starts[topic as usize] as usize..owners.starts[topic as usize + 1] as usize;
    let owners = &mut owners.members[partitions];
    let mut movable = Movable::of(owners);
    balancer.start(subscribers, sizes, (least, most));
    let mut has_moved = false;
    while !balancer.is_balanced() {
        let Some(position) = next_movable(balancer, &mut movable, sizes) else { break };
        let taker = balancer.next_taker(sizes);
        if balancer.is_balanced() {
            break;
        }
        let owner = &mut owners[position as usize];
        sizes[*owner as usize] -= 1;
        sizes[taker as usize] += 1;
        *owner = taker;
        has_moved = true;
    }
    has_moved
}

/// Return the partition of the next giver that has one.
fn next_movable(balancer: &mut Balancer, movable: &mut Movable, sizes: &[u32]) -> Option<u32> {
    loop {
        let giver = balancer.next_giver(sizes)?;
        if let Some(position) = movable.pop(giver) {
            return Some(position);
        }
        balancer.exclude_giver();
    }
}

/// Return the fewest and the most partitions that a subscriber has.
fn bounds(subscribers: &[u32], sizes: &[u32]) -> (u32, u32) {
    subscribers.iter().fold((u32::MAX, 0), |(least, most), place| {
        let size = sizes[*place as usize];
        (least.min(size), most.max(size))
    })
}

/// The positions that each owner had before the topic was balanced; they are given up from the last to the first.
struct Movable {
    /// (Owner, position), sorted.
    owned: Vec<(u32, u32)>,
    /// Per owner, its range in `owned`; sorted by owner.
    ranges: Vec<(u32, usize, usize)>,
}

impl Movable {
    fn of(owners: &[u32]) -> Self {
        let mut owned: Vec<(u32, u32)> = owners.iter().copied().zip(0..).collect();
        owned.sort_unstable();
        let mut ranges: Vec<(u32, usize, usize)> = Vec::new();
        for (index, (owner, _)) in owned.iter().enumerate() {
            match ranges.last_mut() {
                Some((last, _, end)) if last == owner => *end = index + 1,
                _ => ranges.push((*owner, index, index + 1)),
            }
        }
        Self { owned, ranges }
    }

    /// Take the last position of an owner.
    fn pop(&mut self, owner: u32) -> Option<u32> {
        let found = self.ranges.binary_search_by_key(&owner, |(owner, ..)| *owner).ok()?;
        let (_, start, end) = &mut self.ranges[found];
        if start == end {
            return None;
        }
        *end -= 1;
        Some(self.owned[*end].1)
    }
}
