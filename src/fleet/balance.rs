//! Balance of a plan: loads of the members, idle members, and partitions that are placed badly.

use rustc_hash::FxHashMap;

use crate::assign::{Assignor, GroupProtocol};
use crate::group::{Group, Ids, MemberRack};
use crate::plan::ranges::{length, union};
use crate::plan::{Client, Plan, Span, WeightedBalance, Weights};

/// Balance of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupBalance {
    /// Number of members.
    pub members: usize,
    /// Number of existing topics that members subscribe to.
    pub topics: usize,
    /// Number of subscribed names of topics that do not exist.
    pub unknown_topics: usize,
    /// Number of partitions that have an owner, or several.
    pub partitions: i64,
    /// Number of partitions of subscribed topics that have no owner.
    pub unowned: i64,
    /// Number of members without partitions.
    pub idle_members: usize,
    /// Number of partitions of the least loaded member; None without members.
    pub least_loaded: Option<i64>,
    /// Number of partitions of the most loaded member; None without members.
    pub most_loaded: Option<i64>,
    /// Mean number of partitions per member; None without members.
    pub mean_load: Option<f64>,
    /// The first most loaded member, in Kafka's order.
    pub most_loaded_member: Option<String>,
    /// Number of partitions at which co-partitioned topics have different owners. Topics are co-partitioned if a member
    /// subscribes to all of them and they have the same number of partitions.
    pub co_partition_breaks: usize,
    /// Number of partitions without a replica on their owner's rack. A partition without racks, or with an owner
    /// without a rack, does not count.
    pub rack_misses: i64,
    /// Size in bytes of the group's record in `__consumer_offsets` (key and value), without client ids and hosts; None if the
    /// group has no such record, or its assignor is not known.
    pub record_bytes: Option<usize>,
    /// Number of partitions of subscribed topics whose weight is unknown; None if the cluster has no weights.
    pub unweighted: Option<usize>,
    /// Weighted balance; None if a weight is unknown.
    pub weighted: Option<WeightedBalance>,
    /// The first member with the highest weight, in Kafka's order; None if a weight is unknown.
    pub most_weight_member: Option<String>,
}

impl GroupBalance {
    /// Add the weighted balance of the same plan; `weights` is None if no weight is known.
    #[must_use]
    pub fn with_weights(self, plan: &Plan, weights: Option<&Weights>) -> Self {
        let group = plan.group();
        let unweighted = weights.map(|weights| weights.unknown(group));
        let weighted = weights.and_then(|weights| plan.weighted_balance(weights));
        let most_weight_member = weighted.as_ref().and_then(|found| {
            let mut order = group.order().iter().map(|member| *member as usize);
            let first = order.find(|member| found.loads[*member].total_cmp(&found.most).is_eq())?;
            Some(group.members().get(first).to_owned())
        });
        Self { unweighted, weighted, most_weight_member, ..self }
    }
}

/// Return the balance of the plan of an assignor.
#[must_use]
pub fn balance(plan: &Plan, group_id: &str, assignor: Option<Assignor>) -> GroupBalance {
    if plan.is_shared() {
        return shared_balance(plan, group_id, assignor);
    }
    let owned = plan.counts().iter().sum();
    measure(plan, plan.group(), owned, partitions_of(plan.group()) - owned, group_id, assignor)
}

/// Return the balance of a plan in which a partition may have several owners, also of partitions that do not exist.
fn shared_balance(plan: &Plan, group_id: &str, assignor: Option<Assignor>) -> GroupBalance {
    let (group, is_subscribed) = (plan.group(), plan.group().subscribed_topics());
    let (mut owned, mut unowned) = (0, 0);
    for (topic, partitions) in (0..).zip(group.topics().partitions()) {
        let ranges = plan.owners_of(topic).iter().map(|(span, _)| (i64::from(span.start), span.end()));
        let ranges = union(ranges.collect());
        owned += length(&ranges);
        if is_subscribed[topic as usize] {
            let ids = (0..partitions.ids.len()).map(|position| i64::from(partitions.ids.at(position)));
            let has_owner = |id: &i64| {
                let after = ranges.partition_point(|(start, _)| start <= id);
                after > 0 && ranges[after - 1].1 > *id
            };
            unowned += ids.filter(|id| !has_owner(id)).count() as i64;
        }
    }
    measure(plan, group, owned, unowned, group_id, assignor)
}

/// Return the balance of the current assignment (see `current_plan`); `subscribed` has the topics that members subscribe to.
#[must_use]
pub fn current_balance(plan: &Plan, subscribed: &Group, group_id: &str, assignor: Option<Assignor>) -> GroupBalance {
    let (mut owned, mut unowned) = (0, partitions_of(subscribed));
    for (number, topic) in (0..).zip(plan.topics().iter()) {
        let spans = plan.owners_of(number).iter().map(|(span, _)| (i64::from(span.start), span.end()));
        let count = covered(spans.collect());
        owned += count;
        if subscribed.topics().number(topic).is_some() {
            unowned -= count;
        }
    }
    measure(plan, subscribed, owned, unowned, group_id, assignor)
}

fn measure(
    plan: &Plan,
    subscribed: &Group,
    partitions: i64,
    unowned: i64,
    group_id: &str,
    assignor: Option<Assignor>,
) -> GroupBalance {
    let group = plan.group();
    let counts = plan.counts();
    let most_loaded = counts.iter().copied().max();
    let first = group.order().iter().find(|member| Some(counts[**member as usize]) == most_loaded);
    #[allow(clippy::cast_precision_loss, reason = "the mean is a rounded value in any case")]
    let mean_load = (!counts.is_empty()).then(|| counts.iter().sum::<i64>() as f64 / counts.len() as f64);
    GroupBalance {
        members: counts.len(),
        topics: subscribed.existing_topics(),
        unknown_topics: subscribed.unknown_topics(),
        partitions,
        unowned,
        idle_members: counts.iter().filter(|count| **count == 0).count(),
        least_loaded: counts.iter().copied().min(),
        most_loaded,
        mean_load,
        most_loaded_member: first.map(|member| group.members().get(*member as usize).to_owned()),
        co_partition_breaks: co_partition_breaks(plan),
        rack_misses: rack_misses(plan),
        record_bytes: record_bytes(plan, group_id, assignor),
        unweighted: None,
        weighted: None,
        most_weight_member: None,
    }
}

/// Return the number of partitions of a group's topics.
fn partitions_of(group: &Group) -> i64 {
    group.topics().partitions().iter().map(|partitions| partitions.ids.len() as i64).sum()
}

fn record_bytes(plan: &Plan, group_id: &str, assignor: Option<Assignor>) -> Option<usize> {
    let name = match assignor.filter(|assignor| assignor.protocol() == GroupProtocol::Classic) {
        Some(assignor) => assignor.name(),
        None if plan.members().is_empty() => "",
        None => return None,
    };
    Some(plan.group_metadata_size(group_id, name, None, |_| Client::default(), |_| VERSION))
}

/// Newest version of `ConsumerProtocol` subscriptions.
const VERSION: i16 = 3;

/// Return the number of partitions at which co-partitioned topics have different owners.
pub(super) fn co_partition_breaks(plan: &Plan) -> usize {
    let group = plan.group();
    let mut sets = OwnerSets::default();
    // By the number of partitions of co-partitioned topics: the ranges of ids at which their owners differ (first id, one past the last).
    let mut broken: FxHashMap<u32, Vec<(i64, i64)>> = FxHashMap::default();
    for (subscription, _) in (0..).zip(group.members_per_subscription()).filter(|(_, members)| *members > 0) {
        for (count, topics) in by_count(group, subscription) {
            let broken = broken.entry(count).or_default();
            let mut before = sets.runs(plan, topics[0]);
            for topic in &topics[1..] {
                let runs = sets.runs(plan, *topic);
                differences(&before, &runs, broken);
                before = runs;
            }
        }
    }
    broken.into_values().map(covered).sum::<i64>() as usize
}

/// Return the topics of a subscription by their number of partitions; a topic is left out if no other one has the same number.
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

/// Run of partitions with the same owners: first id, one past the last, and the number of the set of owners.
type Run = (i64, i64, u32);

/// Distinct sets of owners, numbered; the number of a set with one owner is the index of that member.
#[derive(Default)]
struct OwnerSets {
    numbers: FxHashMap<Vec<u32>, u32>,
}

impl OwnerSets {
    fn number(&mut self, mut owners: Vec<u32>, members: usize) -> u32 {
        owners.sort_unstable();
        owners.dedup();
        if let [owner] = owners[..] {
            return owner;
        }
        let next = (members + self.numbers.len()) as u32;
        *self.numbers.entry(owners).or_insert(next)
    }

    /// Return the owners of a topic's partitions as runs that do not overlap; partitions without an owner are left out.
    fn runs(&mut self, plan: &Plan, topic: u32) -> Vec<Run> {
        let spans = plan.owners_of(topic);
        let run = |(span, owner): &(Span, u32)| (i64::from(span.start), span.end(), *owner);
        if spans.windows(2).all(|pair| pair[0].0.end() <= i64::from(pair[1].0.start)) {
            return spans.iter().map(run).collect();
        }
        let mut edges: Vec<i64> = spans.iter().flat_map(|(span, _)| [i64::from(span.start), span.end()]).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut found = Vec::new();
        for edge in edges.windows(2) {
            let here = spans.iter().filter(|(span, _)| i64::from(span.start) <= edge[0] && span.end() >= edge[1]);
            let owners: Vec<u32> = here.map(|(_, owner)| *owner).collect();
            if !owners.is_empty() {
                found.push((edge[0], edge[1], self.number(owners, plan.members().len())));
            }
        }
        found
    }
}

/// Add the runs in which two topics with the same number of partitions have different owners.
fn differences(left: &[Run], right: &[Run], found: &mut Vec<(i64, i64)>) {
    let (mut here, mut there, mut at) = (left.iter().peekable(), right.iter().peekable(), 0);
    loop {
        while here.next_if(|(_, end, _)| *end <= at).is_some() {}
        while there.next_if(|(_, end, _)| *end <= at).is_some() {}
        let edge = |run: Option<&&Run>| run.map(|(start, end, _)| if *start <= at { *end } else { *start });
        let Some(end) = [edge(here.peek()), edge(there.peek())].into_iter().flatten().min() else { return };
        let owner = |run: Option<&&Run>| run.filter(|(start, ..)| *start <= at).map(|(.., owner)| *owner);
        if owner(here.peek()) != owner(there.peek()) {
            found.push((at, end));
        }
        at = end;
    }
}

/// Count the numbers that are in at least one range.
fn covered(ranges: Vec<(i64, i64)>) -> i64 {
    length(&union(ranges))
}

/// Return the number of partitions without a replica on their owner's rack.
pub(super) fn rack_misses(plan: &Plan) -> i64 {
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
