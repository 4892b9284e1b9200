"""One step of a member towards its target assignment, decided by the coordinator.

A member gets a partition only if no other member holds it, and a member that must revoke partitions gets no new ones
before it has done so. This is why a partition never has two owners.

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
    """Target of a member.

    Attributes:
        epoch: Epoch of the target assignment.
        partitions: The member's part of the target assignment.
        subscribed: Ids of the existing topics that the member subscribes to; it gets no partitions of others.
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
    """Return the member after its heartbeat; the same object if it cannot proceed.

    Args:
        member: The member before the heartbeat.
        target: Target of the member.
        held: Partitions that any member holds.
        owned: Partitions that the member reports; None if it reports none.
        subscription_changed: True if this heartbeat changed the member's subscription.
    """
    if member.state is STABLE:
        waits = member.epoch == target.epoch
    else:
        waits = member.state is UNREVOKED and _still_owns(owned, member.pending_revocation)
    if not waits:
        return _towards(member, target, held, owned)
    return _without_unsubscribed(member, target.subscribed, owned) if subscription_changed else member


def _still_owns(owned: Partitions | None, revoked: Partitions) -> bool:
    """Return True if a partition is not revoked yet; a member without a report has revoked nothing."""
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
    """Remove partitions of topics that are no longer subscribed, before there is a new target."""
    kept = frozenset(partition for partition in member.assigned if partition[0] in subscribed)
    if kept == member.assigned:
        return member
    revoked = member.pending_revocation | (member.assigned - kept)
    if _still_owns(owned, revoked):
        return member.moved_to(member.epoch, UNREVOKED, kept, revoked)
    return dataclasses.replace(member, assigned=kept, previous_epoch=member.epoch)
