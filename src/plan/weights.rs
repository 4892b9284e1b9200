//! Weighted load of a plan, such as records per second, and how even any assignment could be.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::group::Group;
use crate::plan::{Plan, Span};

/// Relative error that sums of weights may have.
const ROUNDING: f64 = 1e-9;

/// Weights of the partitions of a group's topics.
#[derive(Debug, Clone, Default)]
pub struct Weights {
    /// By topic, then by position in the topic's partitions. None, a list of another length, and NaN are unknown weights.
    of_topics: Vec<Option<Arc<[f64]>>>,
}

/// How evenly a plan distributes weight over members.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedBalance {
    /// Weight of the partitions of each member.
    pub loads: Vec<f64>,
    /// Lowest weight of a member.
    pub least: f64,
    /// Highest weight of a member.
    pub most: f64,
    /// Mean weight per member.
    pub mean: f64,
    /// Weight of the heaviest partition.
    pub heaviest: f64,
    /// No assignment of these partitions to these members has a lower `most`.
    pub bound: f64,
    /// Highest weight of a member after longest-processing-time packing.
    pub packed: f64,
}

impl WeightedBalance {
    /// Return true if the weights of two members differ by at most the weight of the heaviest partition, which no assignment can divide.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.most - self.least <= self.heaviest * (1.0 + ROUNDING)
    }
}

impl Weights {
    /// Create weights from a list per topic of a group, in the order of its topics.
    #[must_use]
    pub fn new(of_topics: Vec<Option<Arc<[f64]>>>) -> Self {
        Self { of_topics }
    }

    /// Return the weights of a topic; None if the list has not one weight per partition.
    fn of(&self, group: &Group, topic: u32) -> Option<&[f64]> {
        let count = group.topics().partitions()[topic as usize].ids.len();
        self.of_topics.get(topic as usize)?.as_deref().filter(|weights| weights.len() == count)
    }

    /// Count the partitions of subscribed topics whose weight is unknown.
    #[must_use]
    pub fn unknown(&self, group: &Group) -> usize {
        subscribed(group).map(|topic| self.unknown_of(group, topic).count()).sum()
    }

    /// Return the topic and the id of the first partition of a subscribed topic whose weight is unknown.
    #[must_use]
    pub fn first_unknown(&self, group: &Group) -> Option<(u32, i32)> {
        subscribed(group).find_map(|topic| {
            let position = self.unknown_of(group, topic).next()?;
            Some((topic, group.topics().partitions()[topic as usize].ids.at(position)))
        })
    }

    /// Return the positions of the partitions of a topic whose weight is unknown.
    fn unknown_of(&self, group: &Group, topic: u32) -> impl Iterator<Item = usize> {
        let of_topic = self.of(group, topic);
        let count = group.topics().partitions()[topic as usize].ids.len();
        (0..count).filter(move |position| of_topic.is_none_or(|weights| weights[*position].is_nan()))
    }
}

/// Return the topics that a member subscribes to.
fn subscribed(group: &Group) -> impl Iterator<Item = u32> {
    (0..).zip(group.subscribed_topics()).filter(|(_, is_subscribed)| *is_subscribed).map(|(topic, _)| topic)
}

impl Plan {
    /// Return the weighted balance of this plan.
    ///
    /// It is None for a plan without members, for a plan in which members share partitions, and if the weight of a partition of a subscribed
    /// topic is unknown.
    #[must_use]
    pub fn weighted_balance(&self, weights: &Weights) -> Option<WeightedBalance> {
        let group = self.group();
        if self.is_shared() || self.members().is_empty() || weights.unknown(group) > 0 {
            return None;
        }
        let mut loads = vec![0.0; self.members().len()];
        self.each_member(|member, spans| {
            let of_span = |span: &Span| -> f64 {
                let ids = &group.topics().partitions()[span.topic as usize].ids;
                let Some(of_topic) = weights.of(group, span.topic) else { return 0.0 };
                span.ids().filter_map(|id| of_topic.get(ids.position(id)?)).filter(|weight| !weight.is_nan()).sum()
            };
            // The sum of nothing is -0.0.
            loads[member as usize] = spans.iter().map(of_span).sum::<f64>() + 0.0;
        });
        let most = loads.iter().copied().fold(0.0, f64::max);
        let items = Items::of(group, weights);
        let packed = items.packed();
        #[allow(clippy::cast_precision_loss, reason = "the mean is a rounded value in any case")]
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        Some(WeightedBalance {
            least: loads.iter().copied().fold(most, f64::min),
            most,
            mean,
            heaviest: items.heaviest(),
            bound: items.bound(packed).min(if self.is_complete() { most } else { f64::INFINITY }),
            packed,
            loads,
        })
    }

    /// Return true if each partition of a subscribed topic has an owner.
    fn is_complete(&self) -> bool {
        let partitions = self.group.topics().partitions();
        let existing: i64 = subscribed(&self.group).map(|topic| partitions[topic as usize].ids.len() as i64).sum();
        existing <= self.total()
    }
}

/// Partitions with a weight, and the members that may get them. Members with the same subscription form a class.
struct Items {
    /// Weight and topic, the heaviest partition first.
    sorted: Vec<(f64, u32)>,
    /// Classes that subscribe to a topic, by topic.
    classes_of: Vec<Vec<u32>>,
    /// Number of members of each class; 0 for a class that subscribes to no partition.
    members: Vec<u32>,
}

impl Items {
    fn of(group: &Group, weights: &Weights) -> Self {
        let mut members = group.members_per_subscription();
        let mut classes_of = vec![Vec::new(); group.topics().partitions().len()];
        for (class, members) in (0..).zip(&mut members) {
            let topics = group.topics_of(class);
            if topics.iter().all(|topic| group.topics().partitions()[*topic as usize].ids.is_empty()) {
                *members = 0;
            }
            if *members > 0 {
                for topic in topics {
                    classes_of[*topic as usize].push(class);
                }
            }
        }
        let mut sorted = Vec::new();
        for (topic, classes) in (0..).zip(&classes_of) {
            if !classes.is_empty() {
                let known = weights.of(group, topic).unwrap_or_default();
                sorted.extend(known.iter().filter(|weight| **weight > 0.0).map(|weight| (*weight, topic)));
            }
        }
        sorted.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        Self { sorted, classes_of, members }
    }

    fn heaviest(&self) -> f64 {
        self.sorted.first().map_or(0.0, |(weight, _)| *weight)
    }

    /// Return the highest weight of a member after longest-processing-time packing: each partition, the heaviest first, goes to the
    /// subscriber with the lowest weight.
    fn packed(&self) -> f64 {
        pack(&self.members, self.sorted.iter().map(|(weight, topic)| (*weight, &*self.classes_of[*topic as usize])))
    }

    /// Return a weight that the heaviest member has in every assignment; `packed` is the result of that function.
    ///
    /// It is the highest of these:
    /// * the weight of the heaviest partition,
    /// * the mean weight per member, and per subscriber of the topics that have the same subscribers,
    /// * of any `k` × members + 1 heaviest partitions, the `k` + 1 lightest together, because a member gets at least `k` + 1 of them,
    /// * what longest-processing-time packing reaches if every member may get every partition, divided by Graham's factor
    ///   4/3 - 1/(3 × members), by which packing exceeds the best assignment at most.
    #[allow(clippy::cast_precision_loss, reason = "numbers of members are far below 2^52")]
    fn bound(&self, packed: f64) -> f64 {
        let members: u32 = self.members.iter().sum();
        if members == 0 {
            return 0.0;
        }
        let mut of_sets: FxHashMap<&[u32], f64> = FxHashMap::default();
        for (weight, topic) in &self.sorted {
            *of_sets.entry(&self.classes_of[*topic as usize]).or_default() += weight;
        }
        let is_uniform = of_sets.len() < 2 && self.members.iter().filter(|members| **members > 0).count() < 2;
        let mean = self.sorted.iter().map(|(weight, _)| weight).sum::<f64>() / f64::from(members);
        let mut found = mean.max(self.heaviest());
        for (classes, weight) in &of_sets {
            let subscribers: u32 = classes.iter().map(|class| self.members[*class as usize]).sum();
            found = found.max(weight / f64::from(subscribers));
        }
        let all = members as usize;
        let rounds = (1..).map(|round| (round, round * all)).take_while(|(_, last)| *last < self.sorted.len());
        for (round, last) in rounds {
            found = found.max(self.sorted[last - round..=last].iter().map(|(weight, _)| weight).sum());
        }
        let free = if is_uniform {
            packed
        } else {
            pack(&[members], self.sorted.iter().map(|(weight, _)| (*weight, &[0][..])))
        };
        let graham = 4.0 / 3.0 - 1.0 / (3.0 * f64::from(members));
        // The sums above are rounded; no bound can exceed what a packing reaches.
        found.max(free / graham).min(packed)
    }
}

/// Load of a member, with a total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Load(f64);

impl Eq for Load {}

impl Ord for Load {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Give each item to the least loaded member of its classes, in the given order; return the highest load.
fn pack<'a>(members: &[u32], items: impl Iterator<Item = (f64, &'a [u32])>) -> f64 {
    let new = |count: &u32| BinaryHeap::from(vec![Reverse(Load(0.0)); *count as usize]);
    let mut loads: Vec<BinaryHeap<Reverse<Load>>> = members.iter().map(new).collect();
    let mut most = 0.0_f64;
    for (weight, classes) in items {
        let lowest = |class: &u32| loads[*class as usize].peek().map_or(Load(f64::INFINITY), |load| load.0);
        let Some(class) = classes.iter().copied().min_by_key(lowest) else { continue };
        if let Some(mut load) = loads[class as usize].peek_mut() {
            load.0.0 += weight;
            most = most.max(load.0.0);
        }
    }
    most
}
