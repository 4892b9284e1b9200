"""One step of a member towards its target assignment, as the coordinator decides it.

A partition is given to a member only when nobody holds it, and a member that has to give something up is given nothing
new before it has. That is what keeps a partition from having two owners.

Source: org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder, Kafka 4.3.1.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.member.simulation.group_member import ReconciliationState

if TYPE_CHECKING:
    from collections.abc import Container
    from uuid import UUID

    from tests.member.simulation.group_member import GroupMember, Partitions

__all__ = ["Target", "next_step"]

STABLE, UNREVOKED, UNRELEASED = ReconciliationState


@dataclass(frozen=True, slots=True)
class Target:
    """Where a member has to get.

    Attributes:
        epoch: The epoch of the target assignment.
        partitions: The member's part of it.
        subscribed: Ids of the topics that the member subscribes to and that exist; of others it gets nothing.
    """

    epoch: int
    partitions: Partitions
    subscribed: frozenset[UUID]


def next_step(
    member: GroupMember,
    target: Target,
    held: Container[tuple[UUID, int]],
    owned: Partitions | None,
    *,
    subscription_changed: bool = False,
) -> GroupMember:
    """The member after its heartbeat; the same object if it cannot move.

    Args:
        member: The member before.
        target: Where it has to get.
        held: What some member holds, this one or another.
        owned: What the member says it owns; None if it said nothing.
        subscription_changed: Whether this heartbeat changed what the member subscribes to.
    """
    if member.state is STABLE:
        waits = member.epoch == target.epoch
    else:
        waits = member.state is UNREVOKED and _still_owns(owned, member.pending_revocation)
    if not waits:
        return _towards(member, target, held, owned)
    return _without_unsubscribed(member, target.subscribed, owned) if subscription_changed else member


def _still_owns(owned: Partitions | None, revoked: Partitions) -> bool:
    """Whether any of them is not given up yet; a member that says nothing has given up nothing."""
    return owned is None or not owned.isdisjoint(revoked)


def _towards(
    member: GroupMember, target: Target, held: Container[tuple[UUID, int]], owned: Partitions | None
) -> GroupMember:
    wanted = frozenset(partition for partition in target.partitions if partition[0] in target.subscribed)
    kept = member.assigned & wanted
    revoked = member.assigned - kept
    missing = wanted - kept
    unreleased = frozenset(
        partition for partition in missing if partition in held and partition not in member.pending_revocation
    )
    if revoked and _still_owns(owned, revoked):
        return member.moved_to(member.epoch, UNREVOKED, kept, revoked)
    return member.moved_to(target.epoch, UNRELEASED if unreleased else STABLE, kept | (missing - unreleased))


def _without_unsubscribed(member: GroupMember, subscribed: frozenset[UUID], owned: Partitions | None) -> GroupMember:
    """What is no longer subscribed to goes at once, before there is a new target."""
    kept = frozenset(partition for partition in member.assigned if partition[0] in subscribed)
    if kept == member.assigned:
        return member
    revoked = member.pending_revocation | (member.assigned - kept)
    if _still_owns(owned, revoked):
        return member.moved_to(member.epoch, UNREVOKED, kept, revoked)
    return dataclasses.replace(member, assigned=kept, previous_epoch=member.epoch)
