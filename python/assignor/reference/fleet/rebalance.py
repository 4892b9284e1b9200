"""Rebalance of a group that has a plan: the members own the partitions of that plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.reference.fleet.owned import spans
from assignor.reference.fleet.roster import Plan

if TYPE_CHECKING:
    from assignor.reference.fleet.assignor import Assignor
    from assignor.reference.fleet.cluster import Cluster
    from assignor.reference.fleet.owned import Owned
    from assignor.reference.fleet.roster import Roster

COOPERATIVE = ("classic", "cooperative-sticky")
"""Assignor whose members rejoin after they have given up partitions."""

MAX_REBALANCES = 4
"""Largest number of rebalances after one change of a group; further rebalances are not simulated."""


class Rebalanced(NamedTuple):
    """Plan after a rebalance and its follow-up rebalances, and the number of rebalances."""

    plan: Plan
    rebalances: int


def owned_by(plan: Plan) -> Owned:
    """Return the partitions of a plan as spans by member."""
    return [(member, span) for member, partitions in plan.assignment.items() for span in spans(partitions)]


def rebalance(roster: Roster, cluster: Cluster, assignor: Assignor, before: Plan) -> Rebalanced:
    """Rebalance a group whose members own the partitions of the plan `before`.

    With the cooperative assignor, members rejoin after they have given up partitions. These partitions then
    get their new owners.
    """
    plan = Plan.of(roster, cluster, assignor, owned_by(before))
    rebalances = 1
    while assignor == COOPERATIVE and revokes(before, plan) and rebalances < MAX_REBALANCES:
        before, plan = plan, Plan.of(roster, cluster, assignor, owned_by(plan))
        rebalances += 1
    return Rebalanced(plan, rebalances)


def starting_plan(roster: Roster, cluster: Cluster, assignor: Assignor | None, owned: Owned) -> Plan:
    """Return the initial plan of a scenario.

    It is the plan after the next rebalance and its follow-up rebalances. If the group cannot be computed, it is the
    plan of the owned partitions.
    """
    standing = Plan.from_owned(roster, cluster, owned)
    if assignor is None:
        return standing
    plan = Plan.of(roster, cluster, assignor, owned)
    if assignor == COOPERATIVE and revokes(standing, plan):
        return rebalance(roster, cluster, assignor, plan).plan
    return plan


def revokes(before: Plan, after: Plan) -> bool:
    """Return True if a member of both plans has to give up a partition."""
    return any(set(before.assignment.get(member, ())) - set(has) for member, has in after.assignment.items())
