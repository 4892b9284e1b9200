//! Round-robin assignment as in Kafka's `RoundRobinAssignor`: partitions go to the members in turn.
//!
//! Members form a ring in Kafka's order. For each partition, a pointer moves to the next member that subscribes to the topic.
//! That member gets the partition. Kafka asks one member after another whether it subscribes. Here each topic has a sorted list
//! of its consumers' places in the ring. A binary search finds the first consumer, and the others follow in the list. The cost
//! is O(partitions + members x consumer sets + topics x log members).
//!
//! Source: kafka-clients 4.4.0, `RoundRobinAssignor`.

use std::sync::Arc;

use super::Options;
use crate::group::{ConsumerSets, Group, Lists};
use crate::plan::{Owners, Plan};

/// Assign partitions to the members in turn.
pub(in crate::assign) fn assign(group: &Arc<Group>, _options: Options) -> Plan {
    let mut owners = Owners::new(group);
    let sets = ConsumerSets::of(group);
    let ring = group.order();
    let consumers = places(group, &sets);
    let mut pointer = 0;
    for topic in 0..group.topics().len() {
        let Some(set) = sets.of_topic(topic) else { continue };
        let consumers = consumers.get(set as usize);
        let mut next = consumers.partition_point(|place| *place < pointer);
        for partition in owners.starts[topic]..owners.starts[topic + 1] {
            if next == consumers.len() {
                next = 0;
            }
            owners.members[partition as usize] = ring[consumers[next] as usize];
            next += 1;
        }
        pointer = consumers[next - 1] + 1;
    }
    Plan::from_owners(group, owners)
}

/// Return the places of the consumers of each consumer set in the ring, ascending.
fn places(group: &Group, sets: &ConsumerSets) -> Lists {
    let pairs = (0..).zip(group.order()).flat_map(|(place, member)| {
        sets.of_subscription(group.subscription_of(*member as usize)).iter().map(move |set| (*set, place))
    });
    Lists::by_key(sets.len(), pairs)
}
