//! Rebalance of a group that has a plan: the members own the partitions of that plan.

use std::sync::Arc;

use super::cluster::{Changed, Cluster};
use super::owned::{owned_spans, reads_owned};
use super::roster::Roster;
use crate::assign::Assignor;
use crate::group::NameTable;
use crate::plan::Plan;

/// Largest number of rebalances after one change of a group; further rebalances are not simulated.
const MAX_REBALANCES: u64 = 4;

/// Plan after a rebalance and its follow-up rebalances, and the number of rebalances.
#[derive(Debug)]
pub struct Rebalanced {
    /// The last plan.
    pub plan: Arc<Plan>,
    /// The number of rebalances.
    pub rebalances: u64,
}

/// Rebalance a group whose members own the partitions of the plan `from`. Return None if the group cannot be computed.
///
/// With the cooperative assignor, members give up partitions and then rejoin. The partitions get their new owners in that next
/// rebalance.
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
        if is_last || found.rebalances == MAX_REBALANCES {
            return Some(found);
        }
    }
}

/// Return the initial plan of a scenario.
///
/// It is the plan after the next rebalance and its follow-up rebalances. If the group cannot be computed, it is the plan of the
/// owned partitions.
#[must_use]
pub fn starting_plan(roster: &Roster<'_>, cluster: &Cluster, plan: Option<Plan>) -> Arc<Plan> {
    let current = || roster.owned_plan(cluster, None, &roster.owned);
    let Some(plan) = plan else { return Arc::new(current()) };
    let follows = roster.computed == Some(Assignor::CooperativeSticky) && revokes(&current(), &plan);
    let plan = Arc::new(plan);
    let settled = if follows { rebalance(roster, cluster, None, &plan) } else { None };
    settled.map_or(plan, |settled| settled.plan)
}

/// Return true if a member of both plans has to give up a partition.
fn revokes(before: &Plan, after: &Plan) -> bool {
    let table = NameTable::of(after.members());
    let stays = |member: u32| table.number(after.members(), before.members().get(member as usize)).is_some();
    before.diff(after).revoked.iter().any(|lost| stays(lost.member))
}
