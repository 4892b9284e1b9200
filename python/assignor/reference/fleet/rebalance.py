"""A rebalance of a group that has a plan: its assignor starts from the partitions that members have in that plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.reference.fleet.owned import runs
from assignor.reference.fleet.roster import Plan

if TYPE_CHECKING:
    from assignor.reference.fleet.assignor import Assignor
    from assignor.reference.fleet.cluster import Cluster
    from assignor.reference.fleet.owned import Owned
    from assignor.reference.fleet.roster import Roster

COOPERATIVE = ("classic", "cooperative-sticky")
"""The assignor whose members join again once they have given up partitions."""

MOST_REBALANCES = 4
"""The largest number of rebalances after one change of a group; further rebalances are not computed."""


class Rebalanced(NamedTuple):
    """Plan after a rebalance and the rebalances that follow from it, and the number of rebalances."""

    plan: Plan
    rebalances: int


def owned_by(plan: Plan) -> Owned:
    """Return the runs that the members have in a plan."""
    return [(member, run) for member, partitions in plan.assignment.items() for run in runs(partitions)]


def rebalance(roster: Roster, cluster: Cluster, assignor: Assignor, before: Plan) -> Rebalanced:
    """Rebalance a group whose members own what the plan says.

    Members of a cooperative assignor join again after they have given up partitions. The partitions then get their new
    owners.
    """
    plan = Plan.of(roster, cluster, assignor, owned_by(before))
    rebalances = 1
    while assignor == COOPERATIVE and revokes(before, plan) and rebalances < MOST_REBALANCES:
        before, plan = plan, Plan.of(roster, cluster, assignor, owned_by(plan))
        rebalances += 1
    return Rebalanced(plan, rebalances)


def starting_plan(roster: Roster, cluster: Cluster, assignor: Assignor | None, owned: Owned) -> Plan:
    """Return the plan that a scenario starts from.

    It is the plan after the next rebalance and the rebalances that follow from it. If the group is not computed, it is
    the plan of what the members have.
    """
    standing = Plan.standing(roster, cluster, owned)
    if assignor is None:
        return standing
    plan = Plan.of(roster, cluster, assignor, owned)
    if assignor == COOPERATIVE and revokes(standing, plan):
        return rebalance(roster, cluster, assignor, plan).plan
    return plan


def revokes(before: Plan, after: Plan) -> bool:
    """Return whether a member that is in both plans has to give up a partition."""
    return any(set(before.assignment.get(member, ())) - set(has) for member, has in after.assignment.items())
