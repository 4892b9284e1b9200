//! Range assignment as in Kafka's `RangeAssignor`: each topic is split into ranges of consecutive partitions.
//!
//! Partitions are in ascending order, and the consumers of a topic in Kafka's order. Each consumer gets `quota` partitions, and
//! the first `extra` consumers get one more. Rack-aware assignment (KIP-881), used if racks matter for some topic, is in `rack`.
//!
//! Source: kafka-clients 4.4.0, `RangeAssignor` and `AbstractPartitionAssignor` (same behaviour since 3.5.0).

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use super::{Options, rack};
use crate::group::{Group, Ids, Lists, RankedConsumerSets};
use crate::plan::{Layout, Plan, Span};

/// Assign each topic in ranges, or by racks where they matter.
pub(super) fn assign(group: &Arc<Group>, options: Options) -> Plan {
    let sets = RankedConsumerSets::of(group);
    let mut shares = ranges(group, &sets);
    let (solved, solutions) = rack::solve(group, &sets, options.prefer_rack_aware);
    for (topic, solution) in solved {
        shares[topic as usize] = Share::Solved(solution);
    }
    Plan::compact(Arc::clone(group), RangeLayout::new(sets, shares, solutions))
}

/// Assign each topic in ranges, ignoring racks.
pub(super) fn assign_without_racks(group: &Arc<Group>) -> Plan {
    let sets = RankedConsumerSets::of(group);
    let shares = ranges(group, &sets);
    Plan::compact(Arc::clone(group), RangeLayout::new(sets, shares, Vec::new()))
}

/// Return the shares of all topics as plain ranges.
fn ranges(group: &Group, sets: &RankedConsumerSets) -> Vec<Share> {
    let partitions = group.topics().partitions();
    let mut shares = vec![Share::Nothing; partitions.len()];
    for set in 0..sets.len() as u32 {
        let consumers = sets.size(set) as u32;
        for topic in sets.topics(set) {
            let partitions = partitions[*topic as usize].ids.len() as u32;
            shares[*topic as usize] = Share::Ranges { quota: partitions / consumers, extra: partitions % consumers };
        }
    }
    shares
}

/// Share of each consumer rank in a topic.
#[derive(Debug, Clone, Copy)]
enum Share {
    /// The topic has no consumer.
    Nothing,
    /// Consecutive ranges: `quota` partitions for each rank, one more for ranks below `extra`.
    Ranges { quota: u32, extra: u32 },
    /// The positions of a rack-aware solution, by its number.
    Solved(u32),
}

/// Compact layout of a range assignment: the share of each consumer rank in each topic. O(members + topics) memory, and a number
/// per position of each rack-aware solution.
#[derive(Debug)]
struct RangeLayout {
    sets: RankedConsumerSets,
    /// Per topic.
    shares: Vec<Share>,
    /// Rack-aware solutions: positions by rank. Ranks after the last list have no positions.
    solutions: Vec<Lists>,
    /// Per consumer set, its topics with their limits (see `Entry`), highest limit first. Computed when the spans of a single
    /// member are read.
    by_limit: OnceLock<Vec<Vec<(u32, u32)>>>,
}

/// Topic of a subscription: the index of its consumer set among those of the subscription, and its limit, the first rank that has
/// no partition of the topic.
#[derive(Debug, Clone, Copy)]
struct Entry {
    topic: u32,
    set: u32,
    limit: u32,
}

impl RangeLayout {
    fn new(sets: RankedConsumerSets, shares: Vec<Share>, solutions: Vec<Lists>) -> Self {
        Self { sets, shares, solutions, by_limit: OnceLock::new() }
    }

    /// Return the topics of a subscription that have a consumer set, ascending.
    fn entries(&self, group: &Group, subscription: u32) -> Vec<Entry> {
        let sets = self.sets.of_subscription(subscription);
        let entry = |topic: u32, set: usize| Entry { topic, set: set as u32, limit: self.limit(topic) };
        if let [only] = sets {
            return self.sets.topics(*only).iter().map(|topic| entry(*topic, 0)).collect();
        }
        let place = |topic: u32| sets.binary_search(&self.sets.of_topic(topic as usize)?).ok();
        group.topics_of(subscription).iter().filter_map(|topic| Some(entry(*topic, place(*topic)?))).collect()
    }

    /// Return the first rank that has no partition of a topic; `u32::MAX` if every consumer has one.
    fn limit(&self, topic: u32) -> u32 {
        match self.shares[topic as usize] {
            Share::Nothing => 0,
            Share::Ranges { quota: 0, extra } => extra,
            Share::Ranges { .. } => u32::MAX,
            Share::Solved(solution) => {
                let mut lists = self.solutions[solution as usize].iter();
                lists.rposition(|positions| !positions.is_empty()).map_or(0, |last| last as u32 + 1)
            }
        }
    }

    /// Return the positions of a rank in a rack-aware solution.
    fn solved(&self, solution: u32, rank: u32) -> &[u32] {
        let (solution, rank) = (&self.solutions[solution as usize], rank as usize);
        if rank < solution.len() { solution.get(rank) } else { &[] }
    }

    fn by_limit(&self) -> &[Vec<(u32, u32)>] {
        self.by_limit.get_or_init(|| {
            let of_set = |set| {
                let topics = self.sets.topics(set).iter();
                let mut limits: Vec<(u32, u32)> = topics.map(|topic| (self.limit(*topic), *topic)).collect();
                limits.sort_by_key(|(limit, _)| std::cmp::Reverse(*limit));
                limits
            };
            (0..self.sets.len() as u32).map(of_set).collect()
        })
    }

    /// Append the spans of a rank in a topic.
    #[inline]
    fn push(&self, group: &Group, topic: u32, rank: u32, spans: &mut Vec<Span>) {
        let ids = &group.topics().partitions()[topic as usize].ids;
        match self.shares[topic as usize] {
            Share::Nothing => (),
            Share::Ranges { quota, extra } => {
                let start = quota * rank + rank.min(extra);
                push_run(spans, topic, ids, start, start + quota + u32::from(rank < extra));
            }
            Share::Solved(solution) => {
                for run in self.solved(solution, rank).chunk_by(|left, right| left + 1 == *right) {
                    push_run(spans, topic, ids, run[0], run[0] + run.len() as u32);
                }
            }
        }
    }

    fn total(&self, set: u32) -> Total {
        let mut total = Total::default();
        for topic in self.sets.topics(set) {
            match self.shares[*topic as usize] {
                Share::Nothing => (),
                Share::Ranges { quota, extra } => {
                    total.quota += i64::from(quota);
                    total.extras.push(extra);
                }
                Share::Solved(solution) => total.solved.push(solution),
            }
        }
        total.extras.sort_unstable();
        total
    }
}

impl Layout for RangeLayout {
    fn spans_of(&self, group: &Group, member: usize) -> Vec<Span> {
        let ranks = self.sets.ranks(group, member);
        let mut topics: Vec<(u32, u32)> = Vec::new();
        for (set, rank) in self.sets.of_subscription(group.subscription_of(member)).iter().zip(ranks) {
            let within = self.by_limit()[*set as usize].iter().take_while(|(limit, _)| rank < limit);
            topics.extend(within.map(|(_, topic)| (*topic, *rank)));
        }
        topics.sort_unstable();
        let mut spans = Vec::new();
        for (topic, rank) in topics {
            self.push(group, topic, rank, &mut spans);
        }
        spans
    }

    /// Visit members in the order of their ranks. A topic is dropped at its limit: no later member has a partition of it.
    /// The cost depends on the number of spans, not on members x topics.
    fn each_member(&self, group: &Group, read: &mut dyn FnMut(u32, &[Span]) -> ControlFlow<()>) {
        let mut active: Vec<Option<Vec<Entry>>> = vec![None; group.subscriptions().len()];
        let mut spans = Vec::new();
        for member in group.order() {
            let subscription = group.subscription_of(*member as usize);
            let ranks = self.sets.ranks(group, *member as usize);
            let entries = active[subscription as usize].get_or_insert_with(|| self.entries(group, subscription));
            spans.clear();
            entries.retain(|entry| {
                let rank = ranks[entry.set as usize];
                if rank < entry.limit {
                    self.push(group, entry.topic, rank, &mut spans);
                }
                rank < entry.limit
            });
            if read(*member, &spans).is_break() {
                return;
            }
        }
    }

    fn counts(&self, group: &Group) -> Vec<i64> {
        let totals: Vec<Total> = (0..self.sets.len() as u32).map(|set| self.total(set)).collect();
        let count = |member| {
            let sets = self.sets.of_subscription(group.subscription_of(member));
            let ranks = self.sets.ranks(group, member);
            sets.iter().zip(ranks).map(|(set, rank)| totals[*set as usize].of_rank(*rank, self)).sum()
        };
        (0..group.members().len()).map(count).collect()
    }
}

/// Number of partitions that each consumer of a consumer set gets from all topics of the set.
#[derive(Default)]
struct Total {
    quota: i64,
    /// The `extra` of each topic that is split into plain ranges, ascending.
    extras: Vec<u32>,
    solved: Vec<u32>,
}

impl Total {
    fn of_rank(&self, rank: u32, layout: &RangeLayout) -> i64 {
        let without = self.extras.partition_point(|extra| *extra <= rank);
        let solved = self.solved.iter().map(|solution| layout.solved(*solution, rank).len() as i64);
        self.quota + (self.extras.len() - without) as i64 + solved.sum::<i64>()
    }
}

/// Append the positions `first..end` of a topic as spans of consecutive ids.
#[inline]
fn push_run(spans: &mut Vec<Span>, topic: u32, ids: &Ids, first: u32, end: u32) {
    match ids {
        Ids::Count(_) => spans.push(Span { topic, start: first as i32, count: (end - first) as i32 }),
        Ids::Listed(_) => {
            let (mut first, end) = (first as usize, end as usize);
            while first < end {
                let stop = ids.end_of_run(first, end);
                spans.push(Span { topic, start: ids.at(first), count: (stop - first) as i32 });
                first = stop;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_the_ids_ends_a_span() {
        let mut spans = Vec::new();

        push_run(&mut spans, 0, &Ids::Listed(vec![1, 2, 5, 7, 8]), 0, 5);
        push_run(&mut spans, 1, &Ids::Count(9), 2, 4);

        let found: Vec<_> = spans.iter().map(|span| (span.topic, span.start, span.count)).collect();
        assert_eq!(vec![(0, 1, 2), (0, 5, 1), (0, 7, 2), (1, 2, 2)], found);
    }
}
