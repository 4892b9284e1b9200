//! A rebalance of a group that has a plan: its assignor starts from the partitions that members have in that plan.

use std::sync::Arc;

use super::cluster::{Changed, Cluster};
use super::owned::{owned_spans, reads_owned};
use super::roster::Roster;
use crate::assign::Assignor;
use crate::group::NameTable;
use crate::plan::Plan;

/// The largest number of rebalances after one change of a group; further rebalances are not computed.
const MOST_REBALANCES: u64 = 4;

/// Plan after a rebalance and the rebalances that follow from it, and the number of rebalances.
#[derive(Debug)]
pub struct Rebalanced {
    /// The last plan.
    pub plan: Arc<Plan>,
    /// The number of rebalances.
    pub rebalances: u64,
}

/// Rebalance a group whose members own what the plan says; None if the group is not computed.
///
/// Members of a cooperative assignor join again after they have given up partitions. The partitions then get their new owners.
#[must_use]
pub fn rebalance(
    roster: &Roster<'_>,
    cluster: &Cluster,
    changed: Option<&Changed>,
    from: &Arc<Plan>,
) -> Option<Rebalanced> {
    let assignor = roster.computed?;
    let mut found = Rebalanced { plan: Arc::clone(from), rebalances: 0 };
    loop {
        let owned = if reads_owned(assignor) { owned_spans(&found.plan) } else { Vec::new() };
        let plan = roster.plan(cluster, changed, &owned)?;
        let is_last = assignor != Assignor::CooperativeSticky || !revokes(&found.plan, &plan);
        found = Rebalanced { plan: Arc::new(plan), rebalances: found.rebalances + 1 };
        if is_last || found.rebalances == MOST_REBALANCES {
            return Some(found);
        }
    }
}

/// Return the plan that a scenario starts from: the plan after the next rebalance and the rebalances that follow from it, or
/// the plan of what the members have if the group is not computed.
#[must_use]
pub fn starting_plan(roster: &Roster<'_>, cluster: &Cluster, plan: Option<Plan>) -> Arc<Plan> {
    let standing = || roster.standing_plan(cluster, None, &roster.owned);
    let Some(plan) = plan else { return Arc::new(standing()) };
    let follows = roster.computed == Some(Assignor::CooperativeSticky) && revokes(&standing(), &plan);
    let plan = Arc::new(plan);
    let settled = if follows { rebalance(roster, cluster, None, &plan) } else { None };
    settled.map_or(plan, |settled| settled.plan)
}

/// True if a member that is in both plans has to give up a partition.
fn revokes(before: &Plan, after: &Plan) -> bool {
    let table = NameTable::of(after.members());
    let stays = |member: u32| table.number(after.members(), before.members().get(member as usize)).is_some();
    before.diff(after).revoked.iter().any(|lost| stays(lost.member))
}
