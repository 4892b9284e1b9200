//! Plans of a group by its number of members: load, idle members, and moves from today.

use std::sync::Arc;

use super::balance::rack_misses;
use super::cluster::Cluster;
use super::membership::{NewIds, add_members, remove_members};
use super::owned::OwnedSpan;
use super::rebalance::starting_plan;
use super::roster::{Roster, check_owners};
use crate::assign::{Assignor, check_size};
use crate::cancellation;
use crate::error::GroupError;
use crate::group::Group;
use crate::plan::ranges::{length, union};
use crate::plan::{Plan, WeightedBalance};

/// Largest difference of the loads of two members, in partitions, of a good number of members.
const STEP: i64 = 1;

/// Plan of a group with a number of members.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledGroup {
    /// Number of members.
    pub members: usize,
    /// True if the group has this number of members today.
    pub is_today: bool,
    /// What the plan is like; None if the assignor has no answer.
    pub load: Option<ScaledLoad>,
}

/// Load of the members of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledLoad {
    /// True if no member is idle, the loads of two members differ by at most one partition, and the members subscribe to all topics of today.
    pub is_good: bool,
    /// The same by weight: the loads of two members differ by at most the weight of the heaviest partition. None if a weight is unknown.
    pub is_good_by_weight: Option<bool>,
    /// Number of members without partitions.
    pub idle_members: usize,
    /// Number of partitions of the least loaded member.
    pub least_loaded: i64,
    /// Number of partitions of the most loaded member.
    pub most_loaded: i64,
    /// Mean number of partitions per member.
    pub mean_load: f64,
    /// Number of partitions whose owner is not that of today; partitions without an owner then or today do not count.
    pub moved: i64,
    /// Number of partitions without an owner, of topics that a member subscribes to today.
    pub unowned: i64,
    /// Number of partitions without a replica on their owner's rack.
    pub rack_misses: i64,
    /// Number of partitions whose weight is unknown; None if no weight is known.
    pub unweighted: Option<usize>,
    /// Weighted balance; None if a weight is unknown.
    pub weighted: Option<WeightedBalance>,
}

/// Compute the plan of a group for 1 to `most` members.
///
/// Members are removed and added as the steps `RemoveMembers` and `AddMembers` of scenarios do. Each plan is that of the group's next
/// rebalance and of the rebalances that follow it, starting from what members own today. `today` has the owned partitions; if it is
/// empty, the moves start from the plan for today's members. A group without members, or whose plan is not computed, has no plans.
///
/// # Errors
/// The topics have more partitions than the assignor supports, or than owners can be listed for.
pub fn scale(
    roster: &Roster<'_>,
    cluster: &Cluster,
    group_id: &str,
    most: usize,
    today: &[OwnedSpan<'_>],
) -> Result<Vec<ScaledGroup>, GroupError> {
    let Some(assignor) = roster.computed else { return Ok(Vec::new()) };
    let group = roster.group(cluster, None, &[]);
    check_size(&group, assignor)?;
    let members = roster.members.len();
    let before = if today.is_empty() {
        starting_plan(roster, cluster, roster.plan(cluster, None, &roster.owned))
    } else {
        check_owners(&group)?;
        Arc::new(roster.owned_plan(cluster, None, today))
    };
    let mut largest = roster.clone();
    let added = u32::try_from(most.saturating_sub(members)).unwrap_or(u32::MAX);
    add_members(&mut largest, &group, added, &mut NewIds::new(group_id));
    let mut found = Vec::with_capacity(most);
    for count in 1..=most {
        cancellation::check();
        let mut scaled = Roster { members: Vec::new(), ..roster.clone() };
        if count < members {
            scaled.members.clone_from(&roster.members);
            remove_members(&mut scaled, &group, (members - count) as u32);
        } else {
            scaled.members.extend_from_slice(&largest.members[..count]);
        }
        let plan = scaled.plan(cluster, None, &scaled.owned);
        let load = plan.map(|plan| {
            let plan = starting_plan(&scaled, cluster, Some(plan));
            load(&plan, cluster, &before, &group, assignor)
        });
        found.push(ScaledGroup { members: count, is_today: count == members, load });
    }
    Ok(found)
}

fn load(plan: &Plan, cluster: &Cluster, before: &Plan, today: &Group, assignor: Assignor) -> ScaledLoad {
    let counts = plan.counts();
    let total: i64 = counts.iter().sum();
    let (least, most) =
        (counts.iter().copied().min().unwrap_or_default(), counts.iter().copied().max().unwrap_or_default());
    let idle_members = counts.iter().filter(|count| **count == 0).count();
    let existing: i64 = today.topics().partitions().iter().map(|partitions| partitions.ids.len() as i64).sum();
    let unowned = (existing - if assignor == Assignor::ServerSimple { owned(plan, today) } else { total }).max(0);
    let weights = cluster.weights(plan.group());
    let weighted = weights.as_ref().and_then(|weights| plan.weighted_balance(weights));
    let can_be_good = idle_members == 0 && unowned == 0;
    #[allow(clippy::cast_precision_loss, reason = "the mean is a rounded value in any case")]
    let mean_load = total as f64 / counts.len() as f64;
    ScaledLoad {
        is_good: can_be_good && most - least <= STEP,
        is_good_by_weight: weighted.as_ref().map(|found| can_be_good && found.is_even()),
        idle_members,
        least_loaded: least,
        most_loaded: most,
        mean_load,
        moved: before.diff(plan).moved,
        unowned,
        rack_misses: rack_misses(plan),
        unweighted: weights.map(|weights| weights.unknown(plan.group())),
        weighted,
    }
}

/// Count the existing partitions of a group's topics that have an owner, or several.
fn owned(plan: &Plan, today: &Group) -> i64 {
    let of_topic = |(number, topic): (u32, &str)| {
        let Some(known) = today.topics().number(topic) else { return 0 };
        let end = today.topics().partitions()[known as usize].ids.len() as i64;
        let spans = plan.owners_of(number).iter().map(|(span, _)| (i64::from(span.start), span.end().min(end)));
        length(&union(spans.filter(|(start, end)| start < end).collect()))
    };
    (0..).zip(plan.topics().iter()).map(of_topic).sum()
}
