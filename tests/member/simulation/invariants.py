"""Invariants of a simulation, checked after every event of a member and at the end.

In the members' own view, no partition has two owners, unless the coordinator has removed one of them from the group. A
member whose session expired, or that did not revoke in time, does not know immediately that it was removed. Members of
Kafka do not know it either, and KIP-848 guarantees no more. A member that has sent its leave heartbeat and still
releases its partitions does not count as their owner; this happens if its application did not poll in time.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from assignor.member import MemberState, effects, events
from assignor.member.messages import LEAVE_STATIC_EPOCH

if TYPE_CHECKING:
    from assignor.member import Member
    from assignor.model import TopicPartition
    from tests.member.simulation.client import Client
    from tests.member.simulation.simulator import Simulator

__all__ = ["InvariantChecker", "InvariantError"]

TICKS = 40
"""Largest number of ticks at one time; more mean that a member asks to be woken endlessly."""


class InvariantError(AssertionError):
    """A violated invariant; the message has the time and the latest events."""


class InvariantChecker:
    """Checks of all members of a simulation."""

    def __init__(self, world: Simulator) -> None:
        self._world = world
        self._owned: dict[int, frozenset[TopicPartition]] = {}
        self._owners: dict[TopicPartition, set[int]] = defaultdict(set)
        self._epochs: dict[str, int] = {}
        self._given: dict[str, set[int]] = defaultdict(set)
        self._numbers: dict[str, int] = {}
        self._ticks: dict[int, tuple[int, int]] = {}
        self._trail: deque[tuple[int, int, Any, Any, MemberState, int]] = deque(maxlen=25)
        self.events = 0

    def member_created(self, member: Member) -> None:
        """Check every transition of a new member."""
        machine: Any = member._machine
        go = machine._go

        def watched(trigger: Any) -> None:
            before = machine.state
            go(trigger)
            after = machine.state
            if before is not after and before not in after.previous_valid_states:
                raise self.violated(f"{member!r} went from {before.name} to {after.name} by {trigger.name}")

        machine._go = watched

    def process_ended(self, client: Client) -> None:
        """Remove the partitions of a process that has ended."""
        self._own(client, frozenset())

    def before_event(self, client: Client, event: events.Event) -> None:
        """Check and count an event before it is handled."""
        self.events += 1
        if isinstance(event, events.ResponseReceived) and not event.response.error_code:
            self._given[client.member_id].add(event.response.member_epoch)
        if isinstance(event, events.Tick):
            at, count = self._ticks.get(client.index, (-1, 0))
            count = count + 1 if at == self._world.now else 1
            self._ticks[client.index] = self._world.now, count
            if count > TICKS:
                raise self.violated(f"{client} asks to be woken endlessly")

    def after_event(self, client: Client, event: events.Event, found: tuple[effects.Effect, ...]) -> None:
        """Check the member and the effects after an event."""
        member = client.member
        assert member is not None
        self._trail.append((self._world.now, client.index, event, found, member.state, member.epoch))
        self._check_epoch(client, member)
        looks = False
        for effect in found:
            match effect:
                case effects.SendHeartbeat() | effects.WakeAt():
                    pass
                case effects.LeaveCompleted() if not client.awaits_leave:
                    raise self.violated(f"{client} completed a leave that the application did not request")
                case effects.CallPartitionsRevoked(_, partitions) | effects.CallPartitionsLost(_, partitions):
                    if not partitions or not self._owned.get(client.index, frozenset()).issuperset(partitions):
                        raise self.violated(f"{client} gives up partitions that it does not own: {partitions}")
                case effects.CallPartitionsAssigned(_, partitions, assignment):
                    if not set(partitions) <= set(assignment):
                        raise self.violated(f"{client} adds partitions that are not assigned to it: {partitions}")
                    looks = True
                case _:
                    looks = True
        if looks:
            self._own(client, frozenset(member.assignment))

    def check_assignments(self) -> None:
        """Check that each member has exactly the assignment of its effects."""
        for client in self._world.clients:
            owned = frozenset(client.member.assignment) if client.member else frozenset()
            if owned != self._owned.get(client.index, frozenset()):
                raise self.violated(f"{client} changed its assignment without an effect: {sorted(owned)}")

    def violated(self, what: str) -> InvariantError:
        """Return the error for a violated invariant, with the latest events."""
        lines = [f"at {self._world.now}: {what}"]
        for at, index, event, found, state, epoch in self._trail:
            shown = [effect for effect in found if not isinstance(effect, effects.WakeAt)]
            lines.append(f"  {at} client {index}: {event} -> {state.name} {epoch}: {shown}")
        lines.append(f"  group: {self._world.coordinator.describe(self._world.group_id)}")
        return InvariantError("\n".join(lines))

    def _check_epoch(self, client: Client, member: Member) -> None:
        epoch, before = member.epoch, self._epochs.get(client.member_id, 0)
        self._epochs[client.member_id] = epoch
        if epoch <= 0:
            if epoch not in (0, -1, -2):
                raise self.violated(f"{client} has an invalid epoch: {epoch}")
            return
        if epoch < before:
            raise self.violated(f"the epoch of {client} fell from {before} to {epoch}")
        if epoch not in self._given[client.member_id]:
            raise self.violated(f"{client} has an epoch that was in no answer: {epoch}")
        known = self._world.coordinator.member(self._world.group_id, client.member_id)
        if known and epoch > known.epoch >= 0:
            raise self.violated(f"{client} is ahead of the coordinator, whose epoch for it is {known.epoch}")

    def _own(self, client: Client, owned: frozenset[TopicPartition]) -> None:
        before = self._owned.get(client.index, frozenset())
        self._owned[client.index] = owned
        for partition in before - owned:
            self._owners[partition].discard(client.index)
        for partition in owned - before:
            for other in self._owners[partition]:
                self._check_pair(partition, client, self._world.clients[other])
            self._owners[partition].add(client.index)

    def _check_pair(self, partition: TopicPartition, one: Client, two: Client) -> None:
        world = self._world
        if partition.topic in world.recreated:
            return  # two topics had the same name, so owners by name are ambiguous
        if self._counts(one) and self._counts(two):
            raise self.violated(f"{partition.topic}-{partition.partition} is owned by {one} and by {two}")
        world.count("two owners, one of them removed")

    def _counts(self, client: Client) -> bool:
        """Return True if the coordinator has the member in the group, and the member may rely on it."""
        known = self._world.coordinator.member(self._world.group_id, client.member_id)
        if known is None or known.epoch == LEAVE_STATIC_EPOCH:
            return False
        assert client.member is not None
        if client.member.state is MemberState.FENCED and client.option("heartbeat_while_fenced"):
            # As in Kafka 3.7, it joins again without partitions while it still releases the old ones.
            self._world.count("two owners, because heartbeats continue in FENCED")
            return False
        return True
