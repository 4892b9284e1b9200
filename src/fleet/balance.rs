//! What a plan is like: who has most, who has nothing, and what of it could surprise.

use rustc_hash::FxHashMap;

use crate::assign::Assignor;
use crate::group::{Group, Ids, MemberRack};
use crate::plan::{Client, Plan};

/// What a plan is like.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupBalance {
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
pub fn balance(plan: &Plan, group_id: &str) -> GroupBalance {
    let group = plan.group();
    let counts = plan.counts();
    let most_loaded = counts.iter().copied().max();
    let first = group.order().iter().find(|member| Some(counts[**member as usize]) == most_loaded);
    GroupBalance {
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
        record_bytes: plan.group_metadata_size(
            group_id,
            Assignor::default().name(),
            None,
            |_| Client::default(),
            |_| VERSION,
        ),
    }
}

/// The newest version of the subscription's bytes.
const VERSION: i16 = 3;

fn co_partition_breaks(plan: &Plan) -> usize {
    let group = plan.group();
    // Per number of partitions, where it is broken: first partition and one past the last.
    let mut broken: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
    for (subscription, _) in (0..).zip(group.members_per_subscription()).filter(|(_, members)| *members > 0) {
        for (count, topics) in by_count(group, subscription) {
            let broken = broken.entry(count).or_default();
            for pair in topics.windows(2) {
                differences(plan, pair[0], pair[1], broken);
            }
        }
    }
    broken.into_values().map(covered).sum::<i64>() as usize
}

/// The topics of a distinct subscription by how many partitions they have, where several have as many.
fn by_count(group: &Group, subscription: u32) -> Vec<(u32, Vec<u32>)> {
    let mut counted: Vec<(u32, u32)> = Vec::new();
    for topic in group.topics_of(subscription) {
        if let Ids::Count(count) = group.topics().partitions()[*topic as usize].ids {
            counted.push((count, *topic));
        }
    }
    counted.sort_unstable();
    let several = counted.chunk_by(|left, right| left.0 == right.0).filter(|chunk| chunk.len() > 1);
    several.map(|chunk| (chunk[0].0, chunk.iter().map(|(_, topic)| *topic).collect())).collect()
}

/// Adds where two topics, of as many partitions and with consumers, have other owners.
fn differences(plan: &Plan, left: u32, right: u32, found: &mut Vec<(i64, i64)>) {
    let (left, right) = (plan.owners_of(left), plan.owners_of(right));
    let (mut here, mut there, mut at) = (0, 0, 0);
    while let (Some((one, owner)), Some((other, other_owner))) = (left.get(here), right.get(there)) {
        let end = one.end().min(other.end());
        if owner != other_owner {
            found.push((at, end));
        }
        here += usize::from(one.end() == end);
        there += usize::from(other.end() == end);
        at = end;
    }
}

/// How many numbers are in some of these ranges.
fn covered(mut ranges: Vec<(i64, i64)>) -> i64 {
    ranges.sort_unstable();
    let (mut count, mut reached) = (0, 0);
    for (start, end) in ranges {
        count += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    count
}

fn rack_misses(plan: &Plan) -> i64 {
    let group = plan.group();
    let (topics, sets) = (group.topics(), group.topics().racks().sets());
    let mut misses = 0;
    if !group.has_racks() {
        return misses;
    }
    plan.each_member(|member, spans| {
        let rack = group.rack_of(member as usize);
        if rack == MemberRack::Unset {
            return;
        }
        for span in spans {
            let partitions = &topics.partitions()[span.topic as usize];
            let Some(racks) = &partitions.racks else { continue };
            for position in span.ids().filter_map(|id| partitions.ids.position(id)) {
                let on = sets.get(racks[position]);
                let meets = matches!(rack, MemberRack::WithReplicas(rack) if on.binary_search(&rack).is_ok());
                misses += i64::from(!on.is_empty() && !meets);
            }
        }
    });
    misses
}
