//! Range assignment as Kafka's `RangeAssignor` does it: every topic on its own, in ranges of consecutive partitions.
//!
//! Each topic's ids are laid out in order, and its consumers in Kafka's order. Everybody gets `quota` of them, and the
//! first `extra` consumers one more. The rack-aware way (KIP-881), taken when some topic needs it, is in `rack`.
//!
//! Source: kafka-clients 4.4.0, `RangeAssignor` and `AbstractPartitionAssignor` (unchanged in effect since 3.5.0).

use std::sync::Arc;

use crate::group::{Audiences, Group};
use crate::plan::{Plan, Ruled, Share};
use crate::rack;

/// Who gets which partition. `prefer_rack_aware` is Kafka's test flag: rack logic even where all is on every rack.
#[must_use]
pub fn assign(group: &Arc<Group>, prefer_rack_aware: bool) -> Plan {
    let audiences = Audiences::of(group);
    let partitions = group.topics().partitions().iter().enumerate();
    let mut shares: Vec<Share> = partitions
        .map(|(topic, partitions)| match audiences.of_topic(topic) {
            None => Share::Nothing,
            Some(audience) => {
                let (partitions, consumers) = (partitions.ids.len(), audiences.size(audience));
                Share::Ranges { quota: (partitions / consumers) as u32, extra: (partitions % consumers) as u32 }
            }
        })
        .collect();
    let solutions = rack::solve(group, &audiences, &mut shares, prefer_rack_aware);
    Plan::ruled(Arc::clone(group), Ruled::new(audiences, shares, solutions))
}
