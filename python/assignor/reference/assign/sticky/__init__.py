"""Sticky assignment as in Kafka's `StickyAssignor` and `CooperativeStickyAssignor`.

Both first settle conflicts between the partitions that members claim. If all members subscribe to the same topics, the
constrained algorithm assigns the group, otherwise the general one. `CooperativeStickyAssignor` then withholds
partitions that another member has to give up first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.assign.options import Options
from assignor.reference.assign.sticky import constrained, cooperative, general
from assignor.reference.assign.sticky.claims import Claims, Place, Source, settle
from assignor.reference.assign.sticky.racks import read_racks
from assignor.reference.group import Member, Partition


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, topic by topic."""
    claims = settle(topics, members, Source.USER_DATA)
    if have_equal_subscriptions(claims.members):
        assignment, _ = constrained.assign(claims, read_racks(claims, options.prefer_rack_aware))
    else:
        assignment = general.assign(claims, read_racks(claims, options.prefer_rack_aware))
    return _sorted(claims, members, assignment)


def assign_cooperatively(
    topics: Mapping[str, list[Partition]], members: list[Member], options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, topic by topic, without those that another member has to give up first."""
    claims = settle(topics, members, Source.SUBSCRIPTION)
    racks = read_racks(claims, options.prefer_rack_aware)
    if have_equal_subscriptions(claims.members):
        assignment, withheld = constrained.assign(claims, racks)
    else:
        assignment = general.assign(claims, racks)
        withheld = cooperative.transferring(claims, assignment)
    given = {id: [place for place in places if place not in withheld] for id, places in assignment.items()}
    return _sorted(claims, members, given)


def have_equal_subscriptions(members: list[Member]) -> bool:
    """Return True if all members, in table order, subscribe to the same topics, existing or not.

    As in Kafka, members without a subscription that come before the first member with one are not compared. Kafka then
    gives them partitions; here the constrained algorithm leaves them out.
    """
    compared = itertools.dropwhile(lambda member: not member.topics, members)
    return len({member.topics for member in compared}) <= 1


def _sorted(
    claims: Claims, members: list[Member], assignment: dict[str, list[Place]]
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member in Kafka's order of topics, with partition ids instead of positions."""
    order = {place: number for number, place in enumerate(claims.partitions)}
    return {
        member.info.member_id: [
            TopicPartition(place.topic, claims.partitions[place].id)
            for place in sorted(assignment[member.info.member_id], key=order.__getitem__)
        ]
        for member in members
    }
