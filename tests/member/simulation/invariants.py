"""What has to be true whatever happens: checked after every event that a member takes, and once all has calmed down.

No partition has two owners by the members' own view, unless the coordinator has removed one of them from the group: a
member whose session ended, or that did not revoke in time, cannot know it at once, in Kafka neither, and KIP-848
guarantees no more. Nor is one counted that has said goodbye and is still releasing, which happens to a member whose
application did not poll in time.
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

__all__ = ["InvariantError", "Watch"]

TICKS = 40
"""More ticks than that at one time mean that a member asks to be woken without end."""


class InvariantError(AssertionError):
    """Something is not as it has to be; the message says what, when, and what led to it."""


class Watch:
    """Looks at all members of a simulation."""

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

    def member_made(self, member: Member) -> None:
        """Follows each step from one state to another."""
        machine: Any = member._machine
        go = machine._go

        def watched(trigger: Any) -> None:
            before = machine.state
            go(trigger)
            after = machine.state
            if before is not after and before not in after.previous_valid_states:
                raise self.violated(f"{member!r} went from {before.name} to {after.name} by {trigger.name}")

        machine._go = watched

    def gone(self, client: Client) -> None:
        """A process is gone, and what it owned with it."""
        self._own(client, frozenset())

    def before(self, client: Client, event: events.Event) -> None:
        """An event is about to be handled."""
        self.events += 1
        if isinstance(event, events.ResponseReceived) and not event.response.error_code:
            self._given[client.member_id].add(event.response.member_epoch)
        if isinstance(event, events.Tick):
            at, count = self._ticks.get(client.index, (-1, 0))
            count = count + 1 if at == self._world.now else 1
            self._ticks[client.index] = self._world.now, count
            if count > TICKS:
                raise self.violated(f"{client} wants to be woken without end")

    def after(self, client: Client, event: events.Event, found: tuple[effects.Effect, ...]) -> None:
        """An event was handled."""
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
                    raise self.violated(f"{client} completed a leave that nobody asked for")
                case effects.CallPartitionsRevoked(_, partitions) | effects.CallPartitionsLost(_, partitions):
                    if not partitions or not self._owned.get(client.index, frozenset()).issuperset(partitions):
                        raise self.violated(f"{client} gives up what it does not have: {partitions}")
                case effects.CallPartitionsAssigned(_, partitions, assignment):
                    if not set(partitions) <= set(assignment):
                        raise self.violated(f"{client} adds what it does not get: {partitions}")
                    looks = True
                case _:
                    looks = True
        if looks:
            self._own(client, frozenset(member.assignment))

    def look(self) -> None:
        """Every member has what its effects said, and nothing else."""
        for client in self._world.clients:
            owned = frozenset(client.member.assignment) if client.member else frozenset()
            if owned != self._owned.get(client.index, frozenset()):
                raise self.violated(f"{client} has another assignment without having said so: {sorted(owned)}")

    def violated(self, what: str) -> InvariantError:
        """The error to raise, with the last things that happened."""
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
                raise self.violated(f"{client} has an epoch that there is not")
            return
        if epoch < before:
            raise self.violated(f"the epoch of {client} fell from {before} to {epoch}")
        if epoch not in self._given[client.member_id]:
            raise self.violated(f"{client} has an epoch that nobody gave it")
        known = self._world.coordinator.member(self._world.group_id, client.member_id)
        if known and epoch > known.epoch >= 0:
            raise self.violated(f"{client} is ahead of the coordinator, which has it at {known.epoch}")

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
        if partition.topic in world.reborn:
            return  # two topics of one name, one after the other: who owns which cannot be seen by name
        if self._counts(one) and self._counts(two):
            raise self.violated(f"{partition.topic}-{partition.partition} is owned by {one} and by {two}")
        world.count("two owners, one of them removed")

    def _counts(self, client: Client) -> bool:
        """Whether the coordinator counts a member in, and the member may rely on that."""
        known = self._world.coordinator.member(self._world.group_id, client.member_id)
        if known is None or known.epoch == LEAVE_STATIC_EPOCH:
            return False
        assert client.member is not None
        if client.member.state is MemberState.FENCED and client.option("heartbeat_while_fenced"):
            # As in Kafka 3.7: it asks to be let in again, owning nothing, while it still releases what it had.
            self._world.count("two owners, as heartbeats go on in FENCED")
            return False
        return True
