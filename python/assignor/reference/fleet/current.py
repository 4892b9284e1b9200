"""Plan of a group's current assignment, in which a partition may have several owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.ordering import java_order
from assignor.reference.fleet.owned import READS_OWNED, claims
from assignor.reference.fleet.roster import Plan, RosterMember

if TYPE_CHECKING:
    from assignor.reference.fleet.owned import Owned
    from assignor.reference.fleet.reading import Group


def current_plan(group: Group, owned: Owned) -> Plan:
    """Return the plan of the current assignment, limited to existing partitions.

    An owner without a row counts as a member. Members count as subscribed to the topics of the partitions that they
    own.
    """
    rows = {member.id for member in group.roster}
    owners_without_row = sorted({member for member, _ in owned} - rows, key=java_order)
    roster = [
        *group.roster,
        *(RosterMember(id, None, None, frozenset(), is_subscribed=False) for id in owners_without_row),
    ]
    claimed = claims(owned, [member.id for member in roster], group.cluster.topics)
    roster = [member._replace(topics=member.topics | {topic for topic, _ in claimed[member.id]}) for member in roster]
    topics = Plan.from_owned(roster, group.cluster, [])
    sent = claimed if group.assignor in READS_OWNED else {}
    return Plan(roster, topics.topics, topics.unknown, claimed, group.assignor, sent)
