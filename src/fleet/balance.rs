//! What a plan is like: who has most, who has nothing, and what of it could surprise.

use rustc_hash::FxHashMap;

use crate::group::{Group, Ids, Place};
use crate::plan::{Client, Plan};

/// What a plan is like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Balance {
    /// How many members there are.
    pub members: usize,
    /// How many topics they subscribe to that exist.
    pub topics: usize,
    /// How many names they subscribe to that are no topics.
    pub unknown_topics: usize,
    /// How many partitions members have.
    pub partitions: i64,
    /// How many members have nothing.
    pub idle_members: usize,
    /// The fewest partitions that a member has; None without members.
    pub least_loaded: Option<i64>,
    /// The most.
    pub most_loaded: Option<i64>,
    /// The first member, in Kafka's order, that has the most.
    pub most_loaded_member: Option<String>,
    /// Partition numbers of which members have one of several topics that somebody subscribes to together and that have
    /// equally many partitions, and not all of them the same member.
    pub co_partition_breaks: usize,
    /// Partitions of which no replica is on the rack of the member that has them, though it is on one, and so are they.
    pub rack_misses: i64,
    /// Bytes of key and value of the group's record in `__consumer_offsets`, but for client ids and hosts.
    pub record_bytes: usize,
}

/// Looks at a plan.
#[must_use]
pub fn balance(plan: &Plan, group_id: &str) -> Balance {
    let group = plan.group();
    let counts = plan.counts();
    let most_loaded = counts.iter().copied().max();
    let first = group.order().iter().find(|member| Some(counts[**member as usize]) == most_loaded);
    Balance {
        members: counts.len(),
        topics: group.topics().len(),
        unknown_topics: group.absent().len(),
        partitions: counts.iter().sum(),
        idle_members: counts.iter().filter(|count| **count == 0).count(),
        least_loaded: counts.iter().copied().min(),
        most_loaded,
        most_loaded_member: first.map(|member| group.members().get(*member as usize).to_owned()),
        co_partition_breaks: co_partition_breaks(plan),
        rack_misses: rack_misses(plan),
        record_bytes: plan.group_metadata_size(group_id, None, |_| Client::default(), |_| VERSION),
    }
}

/// The newest version of the subscription's bytes.
const VERSION: i16 = 3;

fn co_partition_breaks(plan: &Plan) -> usize {
    let group = plan.group();
    // Per number of partitions, which partition is broken somewhere.
    let mut broken: FxHashMap<u32, Vec<bool>> = FxHashMap::default();
    let mut is_in_use = vec![false; group.classes().len()];
    for member in 0..group.members().len() {
        is_in_use[group.class_of(member) as usize] = true;
    }
    for class in (0..).zip(&is_in_use).filter(|(_, in_use)| **in_use).map(|(class, _)| class) {
        for (count, topics) in by_count(group, class) {
            let owners: Vec<Vec<u32>> = topics.iter().map(|topic| owners(plan, *topic, count)).collect();
            let broken = broken.entry(count).or_insert_with(|| vec![false; count as usize]);
            for pair in owners.windows(2) {
                for (partition, broken) in broken.iter_mut().enumerate() {
                    *broken |= pair[0][partition] != pair[1][partition];
                }
            }
        }
    }
    broken.values().flatten().filter(|broken| **broken).count()
}

/// The topics of a class by how many partitions they have, where several have as many.
fn by_count(group: &Group, class: u32) -> Vec<(u32, Vec<u32>)> {
    let mut counted: Vec<(u32, u32)> = Vec::new();
    for topic in group.topics_of(class) {
        if let Ids::Count(count) = group.topics().partitions()[*topic as usize].ids {
            counted.push((count, *topic));
        }
    }
    counted.sort_unstable();
    let several = counted.chunk_by(|left, right| left.0 == right.0).filter(|chunk| chunk.len() > 1);
    several.map(|chunk| (chunk[0].0, chunk.iter().map(|(_, topic)| *topic).collect())).collect()
}

/// Who has each partition of a topic; `u32::MAX` is nobody.
fn owners(plan: &Plan, topic: u32, count: u32) -> Vec<u32> {
    let mut found = vec![u32::MAX; count as usize];
    for (span, member) in plan.owners_of(topic) {
        for id in span.ids() {
            found[id as usize] = *member;
        }
    }
    found
}

fn rack_misses(plan: &Plan) -> i64 {
    let group = plan.group();
    let (topics, sets) = (group.topics(), group.topics().racks().sets());
    let mut misses = 0;
    if !group.has_racks() {
        return misses;
    }
    plan.each_member(|member, spans| {
        let place = group.place(member as usize);
        if place == Place::Anywhere {
            return;
        }
        for span in spans {
            let partitions = &topics.partitions()[span.topic as usize];
            let Some(racks) = &partitions.racks else { continue };
            for position in span.ids().filter_map(|id| partitions.ids.position(id)) {
                let on = sets.get(racks[position]);
                let meets = matches!(place, Place::On(rack) if on.binary_search(&rack).is_ok());
                misses += i64::from(!on.is_empty() && !meets);
            }
        }
    });
    misses
}
