//! Uniform assignment of a group whose members all subscribe to the same topics.
//!
//! Every member gets total / members partitions, and the first ones one more as a bonus. A member keeps what it had, up to its quota.
//! What is left goes to the members below their quota, in turn, a quota at a time.

use super::target::Target;
use crate::assign::table_order::{DEFAULT_CAPACITY, presized_capacity, string_hash, table_order, uuid_hash};
use crate::group::{Group, MemberData, topic_id_of_name};
use crate::plan::NO_OWNER;

/// Change the target to a balanced one; all members have the same subscription.
pub(super) fn assign(group: &Group, target: &mut Target<'_>) {
    let mut free = Vec::new();
    let mut total = 0;
    for topic in topics_by_id(group, target.order[0] as usize) {
        let partitions = target.owners.starts[topic as usize]..target.owners.starts[topic as usize + 1];
        total += partitions.len();
        free.extend(partitions.filter(|partition| target.owners.members[*partition as usize] == NO_OWNER));
    }
    let members = target.order.len();
    let (low, mut extra) = ((total / members) as u32, total % members);
    let mut unfilled = Vec::new();
    for place in 0..members {
        let mut has_bonus = extra > 0;
        let mut quota = low + u32::from(has_bonus);
        let had = target.sizes[place];
        if had > quota {
            shed(group, target, place, quota, &mut free);
        }
        quota = quota.saturating_sub(had);
        if quota > 0 && has_bonus && members - place > extra {
            // A later member may have one more already: enough of them follow to take all bonuses.
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

/// Take from a member what is over its quota, and add it to the free partitions.
fn shed(group: &Group, target: &mut Target<'_>, place: usize, quota: u32, free: &mut Vec<u32>) {
    let Some(data) = target.data(place) else { return };
    let mut left = quota as usize;
    for topic in previous_topics_by_id(group, data) {
        let Some(partitions) = group.topics().partitions().get(topic as usize) else { continue };
        let start = target.owners.starts[topic as usize];
        let mut ids = Vec::new();
        for id in data.owned().filter(|(named, _)| *named == topic).flat_map(|(_, ids)| ids) {
            let is_held = |position| target.owners.members[start as usize + position] == place as u32;
            if partitions.ids.position(*id).is_some_and(is_held) && !ids.contains(id) {
                ids.push(*id);
            }
        }
        if ids.len() > left {
            // The hash code of an Integer is its value.
            for index in table_order(&ids, presized_capacity(ids.len())).into_iter().skip(left) {
                let Some(position) = partitions.ids.position(ids[index as usize]) else { continue };
                target.owners.members[start as usize + position] = NO_OWNER;
                free.push(start + position as u32);
            }
        }
        left = left.saturating_sub(ids.len());
    }
}

/// Return the topics of a member's previous target in the order of a table of their ids, absent ones included.
fn previous_topics_by_id(group: &Group, data: MemberData<'_>) -> Vec<u32> {
    let mut topics: Vec<u32> = Vec::new();
    for (topic, _) in data.owned() {
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    if topics.len() < 2 {
        return topics;
    }
    let exists = |topic: u32| (topic as usize) < group.topics().len();
    let id = |topic: u32| {
        if exists(topic) { group.topic_id(topic) } else { topic_id_of_name(group.owned_topic_name(topic)) }
    };
    let hashes: Vec<i32> = topics.iter().map(|topic| uuid_hash(id(*topic))).collect();
    table_order(&hashes, DEFAULT_CAPACITY).into_iter().map(|index| topics[index as usize]).collect()
}

/// Return the topics in the order of a set of their ids, which is made from a member's set of names.
fn topics_by_id(group: &Group, member: usize) -> Vec<u32> {
    let mut seen = vec![false; group.topics().len()];
    let mut names = Vec::new();
    let mut hashes = Vec::new();
    for topic in group.topics_as_given(member) {
        // Names that do not exist count for the capacity of both tables only.
        let Some(seen) = seen.get_mut(*topic as usize) else { continue };
        if !std::mem::replace(seen, true) {
            names.push(*topic);
            hashes.push(string_hash(group.topics().names().get(*topic as usize)));
        }
    }
    let capacity = presized_capacity(group.subscriptions().get(group.subscription_of(member)).len());
    let by_name = table_order(&hashes, capacity).into_iter().map(|index| names[index as usize]);
    let topics: Vec<u32> = by_name.collect();
    let hashes: Vec<i32> = topics.iter().map(|topic| uuid_hash(group.topic_id(*topic))).collect();
    table_order(&hashes, capacity).into_iter().map(|index| topics[index as usize]).collect()
}
