//! Compact layout: the share of each consumer rank in each topic. O(members + topics) memory, whatever the number of partitions.

use std::convert::Infallible;
use std::sync::OnceLock;

use crate::group::{ConsumerSets, Group, Ids};
use crate::plan::Span;

/// What the consumers of a topic get of it, by rank.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Share {
    /// Nobody has any.
    Nothing,
    /// Ranges end to end: everybody `quota`, ranks below `extra` one more.
    Ranges { quota: u32, extra: u32 },
    /// What a solution says, by number.
    Solved(u32),
}

/// Runs of positions by rank: who gets what of all topics that were solved as one.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// First position and one past the last.
    bounds: Vec<(u32, u32)>,
    /// Per rank where its runs end.
    ends: Vec<u32>,
    /// Per rank how many positions it has.
    counts: Vec<u32>,
}

impl Runs {
    /// The runs of equal owners, given the rank of the owner of each position.
    pub(crate) fn of(owners: &[u32], ranks: usize) -> Self {
        let mut counts = vec![0; ranks];
        let mut ends = vec![0; ranks + 1];
        let mut before = u32::MAX;
        for owner in owners {
            counts[*owner as usize] += 1;
            ends[*owner as usize + 1] += u32::from(*owner != before);
            before = *owner;
        }
        for rank in 0..ranks {
            ends[rank + 1] += ends[rank];
        }
        // What is now where a rank's runs begin moves on to where they end.
        let mut bounds = vec![(0, 0); ends[ranks] as usize];
        before = u32::MAX;
        for (position, owner) in (0..).zip(owners) {
            let end = &mut ends[*owner as usize];
            if *owner == before {
                bounds[*end as usize - 1].1 = position + 1;
            } else {
                bounds[*end as usize] = (position, position + 1);
                *end += 1;
            }
            before = *owner;
        }
        ends.truncate(ranks);
        Self { bounds, ends, counts }
    }

    /// The runs of a rank.
    fn of_rank(&self, rank: u32) -> &[(u32, u32)] {
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.bounds[start as usize..self.ends[rank as usize] as usize]
    }

    /// One past the last rank that has something.
    fn limit(&self) -> u32 {
        self.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last as u32 + 1)
    }
}

/// Compact layout of a range assignment.
#[derive(Debug)]
pub(crate) struct Compact {
    sets: ConsumerSets,
    /// Per topic.
    shares: Vec<Share>,
    solutions: Vec<Runs>,
    /// Per consumer set its topics with their limits, the highest first; made when a single member is asked for.
    by_limit: OnceLock<Vec<Vec<(u32, u32)>>>,
}

/// A topic of a subscription: its consumer set, as index into the subscription's, and the first rank without a partition of it.
#[derive(Debug, Clone, Copy)]
struct Entry {
    topic: u32,
    set: u32,
    limit: u32,
}

impl Compact {
    pub(crate) fn new(sets: ConsumerSets, shares: Vec<Share>, solutions: Vec<Runs>) -> Self {
        Self { sets, shares, solutions, by_limit: OnceLock::new() }
    }

    /// The topics of a subscription, ascending, without those that have no consumer.
    fn entries(&self, group: &Group, subscription: u32) -> Vec<Entry> {
        let sets = self.sets.of_subscription(subscription);
        let entry = |topic: u32| {
            let set = self.sets.of_topic(topic as usize)?;
            let limit = self.limit(topic);
            let set = if sets.len() == 1 { 0 } else { sets.binary_search(&set).ok()? as u32 };
            Some(Entry { topic, set, limit })
        };
        match sets {
            [only] => self.sets.topics(*only).iter().filter_map(|topic| entry(*topic)).collect(),
            _ => group.topics_of(subscription).iter().filter_map(|topic| entry(*topic)).collect(),
        }
    }

    /// From which rank on nobody has anything of a topic.
    fn limit(&self, topic: u32) -> u32 {
        match self.shares[topic as usize] {
            Share::Nothing => 0,
            Share::Ranges { quota: 0, extra } => extra,
            Share::Ranges { .. } => u32::MAX,
            Share::Solved(solution) => self.solutions[solution as usize].limit(),
        }
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

    /// Adds what a rank gets of a topic.
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
                for (start, end) in self.solutions[solution as usize].of_rank(rank) {
                    push_run(spans, topic, ids, *start, *end);
                }
            }
        }
    }

    /// The spans of one member.
    pub(crate) fn spans_of(&self, group: &Group, member: usize) -> Vec<Span> {
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

    /// Calls `read` with every member and its spans, in Kafka's order.
    ///
    /// Ranks only grow that way: a topic of which a member has nothing any more is dropped for all of its subscription that follow,
    /// so that the cost is that of the spans, however many pairs of member and topic there are.
    pub(crate) fn try_each_member<E>(
        &self,
        group: &Group,
        mut read: impl FnMut(u32, &[Span]) -> Result<(), E>,
    ) -> Result<(), E> {
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
            read(*member, &spans)?;
        }
        Ok(())
    }

    /// The same for what cannot fail.
    pub(crate) fn each_member(&self, group: &Group, mut read: impl FnMut(u32, &[Span])) {
        let Ok(()) = self.try_each_member(group, |member, spans| {
            read(member, spans);
            Ok::<(), Infallible>(())
        });
    }

    /// How many partitions each member has.
    pub(crate) fn counts(&self, group: &Group) -> Vec<i64> {
        let totals: Vec<Total> = (0..self.sets.len() as u32).map(|set| self.total(set)).collect();
        let count = |member| {
            let sets = self.sets.of_subscription(group.subscription_of(member));
            let ranks = self.sets.ranks(group, member);
            sets.iter().zip(ranks).map(|(set, rank)| totals[*set as usize].of_rank(*rank, self)).sum()
        };
        (0..group.members().len()).map(count).collect()
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

/// What the consumers of a consumer set have of all its topics together.
#[derive(Default)]
struct Total {
    quota: i64,
    /// The extras of topics that are shared as ranges, ascending.
    extras: Vec<u32>,
    solved: Vec<u32>,
}

impl Total {
    fn of_rank(&self, rank: u32, compact: &Compact) -> i64 {
        let without = self.extras.partition_point(|extra| *extra <= rank);
        let solved = self.solved.iter().map(|solution| compact.solutions[*solution as usize].counts[rank as usize]);
        self.quota + (self.extras.len() - without) as i64 + solved.map(i64::from).sum::<i64>()
    }
}

/// Adds the positions `first..end` of a topic's ids, as one span per run of ids without holes.
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
    fn runs_are_those_of_equal_owners_by_rank() {
        let runs = Runs::of(&[1, 1, 0, 1, 3, 3], 5);

        let of_ranks: Vec<_> = (0..5).map(|rank| runs.of_rank(rank)).collect();

        assert_eq!(vec![&[(2, 3)][..], &[(0, 2), (3, 4)], &[], &[(4, 6)], &[]], of_ranks);
        assert_eq!((vec![1, 3, 0, 2, 0], 4), (runs.counts.clone(), runs.limit()));
    }

    #[test]
    fn a_hole_in_the_ids_ends_a_span() {
        let mut spans = Vec::new();

        push_run(&mut spans, 0, &Ids::Listed(vec![1, 2, 5, 7, 8]), 0, 5);
        push_run(&mut spans, 1, &Ids::Count(9), 2, 4);

        let found: Vec<_> = spans.iter().map(|span| (span.topic, span.start, span.count)).collect();
        assert_eq!(vec![(0, 1, 2), (0, 5, 1), (0, 7, 2), (1, 2, 2)], found);
    }
}
