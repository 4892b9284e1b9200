//! Range assignment as Kafka's `RangeAssignor` does it: every topic on its own, in ranges of consecutive partitions.
//!
//! Each topic's ids are laid out in order, and its consumers in Kafka's order. Each gets `quota` of them, and the
//! first `extra` consumers one more. The rack-aware way (KIP-881), taken when some topic needs it, is in `rack`.
//!
//! Source: kafka-clients 4.4.0, `RangeAssignor` and `AbstractPartitionAssignor` (unchanged in effect since 3.5.0).

use std::sync::Arc;

use super::{Options, rack};
use crate::group::{ConsumerSets, Group};
use crate::plan::{Compact, Plan, Share};

/// Assign every topic in ranges.
pub(super) fn assign(group: &Arc<Group>, options: Options) -> Plan {
    let sets = ConsumerSets::of(group);
    let partitions = group.topics().partitions().iter().enumerate();
    let mut shares: Vec<Share> = partitions
        .map(|(topic, partitions)| match sets.of_topic(topic) {
            None => Share::Nothing,
            Some(set) => {
                let (partitions, consumers) = (partitions.ids.len(), sets.size(set));
                Share::Ranges { quota: (partitions / consumers) as u32, extra: (partitions % consumers) as u32 }
            }
        })
        .collect();
    let solutions = rack::solve(group, &sets, &mut shares, options.prefer_rack_aware);
    Plan::compact(Arc::clone(group), Compact::new(sets, shares, solutions))
}
