//! How the partitions of a group are placed: loads of the members, members without partitions, racks and equal partition numbers.

use super::balance::{co_partition_breaks, rack_misses};
use crate::plan::{Plan, WeightedBalance, Weights};

/// Placement of the partitions of a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Placement {
    /// Number of owned partitions; a partition with several owners counts for each of them.
    pub partitions: i64,
    /// Members without partitions, in Kafka's order.
    pub idle: Vec<String>,
    /// Number of partitions of the least loaded member; None without members.
    pub least_loaded: Option<i64>,
    /// Number of partitions of the most loaded member; None without members.
    pub most_loaded: Option<i64>,
    /// As in `GroupBalance`.
    pub rack_misses: i64,
    /// As in `GroupBalance`.
    pub co_partition_breaks: i64,
    /// Number of partitions of subscribed topics whose weight is unknown; None if no weight is known.
    pub unweighted: Option<usize>,
    /// Weighted balance; None if a weight is unknown.
    pub weighted: Option<WeightedBalance>,
}

impl Placement {
    /// Return the placement of a plan; `weights` is None if no weight is known.
    #[must_use]
    pub fn of(plan: &Plan, weights: Option<&Weights>) -> Self {
        let (counts, group) = (plan.counts(), plan.group());
        let idle = group.order().iter().filter(|member| counts[**member as usize] == 0);
        Self {
            partitions: counts.iter().sum(),
            idle: idle.map(|member| group.members().get(*member as usize).to_owned()).collect(),
            least_loaded: counts.iter().copied().min(),
            most_loaded: counts.iter().copied().max(),
            rack_misses: rack_misses(plan),
            co_partition_breaks: co_partition_breaks(plan) as i64,
            unweighted: weights.map(|weights| weights.unknown(group)),
            weighted: weights.and_then(|weights| plan.weighted_balance(weights)),
        }
    }
}
