//! Uniform assignment of a group whose members all subscribe to the same topics.
//!
//! The quota of a member is the total number of partitions divided by the number of members, rounded down. Until the remainder is
//! used up, members get a bonus of one partition. A member keeps its partitions up to its quota. The other partitions go to the
//! members below their quota. A member gets all its missing partitions before the next member gets any.

use super::target::Target;
use crate::assign::server::topic_order::{TopicsByName, order_of_ids, previous_topics_by_id, topics_by_name};
use crate::assign::table_order::{presized_capacity, table_order};
use crate::group::Group;
use crate::plan::NO_OWNER;

/// Change the target to a balanced one; all members have the same subscription.
pub(super) fn assign(group: &Group, target: &mut Target<'_>) {
    let first = target.order[0] as usize;
    let partitions = group.topics().partitions();
    let subscribed = group.topics_of(group.subscription_of(first));
    let total: usize = subscribed.iter().map(|topic| partitions[*topic as usize].ids.len()).sum();
    let owned: usize = target.sizes.iter().map(|size| *size as usize).sum();
    let mut free = Vec::new();
    if owned < total {
        for topic in group.topic_table_order(|| topics_by_id(group, first)) {
            let partitions = target.owners.starts[*topic as usize]..target.owners.starts[*topic as usize + 1];
            free.extend(partitions.filter(|partition| target.owners.members[*partition as usize] == NO_OWNER));
        }
    }
    let members = target.order.len();
    let (low, mut extra) = ((total / members) as u32, total % members);
    let mut unfilled = Vec::new();
    for place in 0..members {
        let mut has_bonus = extra > 0;
        let mut quota = low + u32::from(has_bonus);
        let had = target.sizes[place];
        if had > quota {
            revoke_excess(group, target, place, quota, &mut free);
        }
        quota = quota.saturating_sub(had);
        if quota > 0 && has_bonus && members - place > extra {
            // The member does not own a partition for its bonus. Leave the bonus to a later member, which may already own one more.
            // There are enough later members for all bonuses.
            quota -= 1;
            has_bonus = false;
        }
        if quota > 0 {
            unfilled.push((place as u32, quota));
        }
        extra -= usize::from(has_bonus);
    }
    let mut free = free.into_iter();
    for (place, quota) in unfilled {
        for partition in free.by_ref().take(quota as usize) {
            target.owners.members[partition as usize] = place;
        }
    }
}

/// Marks a partition of a member that is about to keep it or lose it.
const PENDING: u32 = NO_OWNER - 1;

/// Revoke a member's partitions above its quota, and add them to the free partitions.
fn revoke_excess(group: &Group, target: &mut Target<'_>, place: usize, quota: u32, free: &mut Vec<u32>) {
    let Some(data) = group.member_data(target.order[place] as usize) else { return };
    let mut left = quota as usize;
    let mut runs = Vec::new();
    previous_topics_by_id(group, data, &mut runs);
    for of_topic in runs.chunk_by(|left, right| left.0 == right.0) {
        let topic = of_topic[0].0;
        let Some(partitions) = group.topics().partitions().get(topic as usize) else { continue };
        let start = target.owners.starts[topic as usize] as usize;
        let mut ids = Vec::new();
        let mut held = Vec::new();
        for id in of_topic.iter().flat_map(|(_, ids)| *ids) {
            let Some(position) = partitions.ids.position(*id) else { continue };
            let owner = &mut target.owners.members[start + position];
            if *owner == place as u32 {
                *owner = PENDING;
                ids.push(*id);
                held.push(start + position);
            }
        }
        let kept = left.min(ids.len());
        // The hash code of an Integer is its value.
        let order = if kept < ids.len() { table_order(&ids, presized_capacity(ids.len())) } else { Vec::new() };
        for index in order.into_iter().skip(kept) {
            target.owners.members[held[index as usize]] = NO_OWNER;
            free.push(held[index as usize] as u32);
        }
        for partition in held {
            let owner = &mut target.owners.members[partition];
            if *owner == PENDING {
                *owner = place as u32;
            }
        }
        left -= kept;
    }
}

/// Return the topics in the order of a set of their ids, which is made from a member's set of names.
fn topics_by_id(group: &Group, member: usize) -> Vec<u32> {
    let TopicsByName { topics, capacity } = topics_by_name(group, member);
    // Names of topics that do not exist have no ids, but count in the size of the set of ids.
    let ids: Vec<u128> = topics.iter().map(|topic| group.topic_id(*topic)).collect();
    order_of_ids(&ids, capacity).into_iter().map(|index| topics[index as usize]).collect()
}
