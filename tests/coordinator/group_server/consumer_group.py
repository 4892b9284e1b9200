"""A group of real consumers and what they and the coordinator say of it, side by side."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor import Subscription, assign
from assignor.coordinator import (
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
)
from assignor.wire import decode_assignment, decode_subscription
from tests.coordinator.group_server.clients import Settings
from tests.coordinator.group_server.members import Member

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.coordinator import GroupDescription, Rebalance, RebalanceCause
    from tests.coordinator.group_server.clients import Partitions
    from tests.coordinator.group_server.connection import Exchange
    from tests.coordinator.group_server.server import GroupServer

__all__ = ["ConsumerGroup", "GroupSnapshot"]


class GroupSnapshot(NamedTuple):
    """A group that has settled.

    Attributes:
        generation: The last one that a member was told.
        owned: What each member says that it owns, by member id.
        described: What the coordinator describes, by member id.
        expected: What `assign` gives for the subscriptions that the coordinator describes.
    """

    generation: int
    owned: dict[str, Partitions]
    described: dict[str, Partitions]
    expected: dict[str, Partitions]


class ConsumerGroup:
    """The members of one group; `with` ends those that are left.

    Args:
        server: Where they meet.
        group_id: The group.
        topics: What they subscribe to.

    Attributes:
        members: Those that live, in the order in which they came.
    """

    def __init__(self, server: GroupServer, group_id: str, topics: Iterable[str]) -> None:
        self.server, self.group_id, self.topics = server, group_id, tuple(topics)
        self.members: list[Member] = []
        self._numbers = itertools.count()
        self._seen = 0

    def __enter__(self) -> ConsumerGroup:
        return self

    def __exit__(self, *error: object) -> None:
        for member in self.members:
            member.kill()

    def join(self, kind: str, **settings: Any) -> Member:
        """Start a member of a library with these settings; it is not awaited."""
        name = f"{self.group_id}-{next(self._numbers)}"
        member = Member(
            kind, Settings(self.server.address, self.group_id, name, self.topics, **settings), self.server.notifier
        )
        self.members.append(member)
        return member

    def close(self, member: Member) -> None:
        """Have a member leave as an application does that ends."""
        self.members.remove(member)
        member.close()

    def kill(self, member: Member) -> None:
        """Have a member die."""
        self.members.remove(member)
        member.kill()

    def settle(self, *, generation: int | None = None) -> GroupSnapshot:
        """Wait until all members own what the coordinator says that they own.

        Args:
            generation: The group has to be in a later one.
        """
        least = -1 if generation is None else generation
        return self.server.notifier.until(lambda: self._look(least), lambda: f"not settled:\n{self}")

    def generation(self) -> int:
        """The last generation that a member of the group was told."""
        return max(
            (
                exchange.response.generation_id
                for exchange in self.exchanges()
                if isinstance(exchange.response, JoinGroupResponse) and exchange.response.error_code is ErrorCode.NONE
            ),
            default=0,
        )

    def exchanges(self, after: int = 0) -> list[Exchange]:
        """What the group asked and was answered, after so many exchanges of the server."""
        return [each for each in self.server.exchanges[after:] if each.request.group_id == self.group_id]

    def await_heartbeats(self, after: int) -> None:
        """Wait until each member's heartbeat was answered without an error, after so many exchanges of the server."""
        ids = {member.report.member_id for member in self.members}
        self.server.notifier.until(lambda: ids <= self._alive(after), lambda: f"not alive:\n{self}")

    def waiting(self) -> int:
        """How many members' joins wait for an answer."""
        return self.server.waiting(self.group_id)

    def rebalances(self) -> list[Rebalance]:
        """The rebalances of the group since this was asked last."""
        found = [rebalance for rebalance in tuple(self.server.rebalances) if rebalance.group_id == self.group_id]
        new, self._seen = found[self._seen :], len(found)
        return new

    def causes(self) -> list[RebalanceCause]:
        """Their causes."""
        return [rebalance.cause for rebalance in self.rebalances()]

    def _look(self, generation: int) -> GroupSnapshot | None:
        """What everybody says now, if it agrees."""
        description = self.server.describe(self.group_id)
        if description.state is not GroupState.STABLE:
            return None
        described = _assignments(description)
        owned = {member.report.member_id: member.report.assignment for member in self.members}
        if owned != described or (now := self.generation()) <= generation:
            return None
        subscriptions = {
            each.member_id: Subscription(decode_subscription(each.metadata).topics, each.group_instance_id)
            for each in description.members
        }
        expected = {
            member_id: tuple(sorted((*at,) for at in given))
            for member_id, given in assign(self.server.topics, subscriptions).items()
        }
        return GroupSnapshot(now, owned, described, expected)

    def _alive(self, after: int) -> set[str]:
        """Whose heartbeats were answered without an error."""
        return {
            exchange.request.member_id
            for exchange in self.exchanges(after)
            if isinstance(exchange.request, HeartbeatRequest) and exchange.response == HeartbeatResponse(ErrorCode.NONE)
        }

    def __str__(self) -> str:
        description = self.server.describe(self.group_id)
        told = [f"{rebalance.at} {rebalance.cause.name} {rebalance.reason}" for rebalance in self.server.rebalances]
        return "\n".join(
            [
                f"{self.group_id} is {description.state.value}, {_assignments(description)}",
                *map(repr, self.members),
                *told,
                *self.server.problems,
                *self.server.failures,
            ]
        )


def _assignments(description: GroupDescription) -> dict[str, Partitions]:
    return {
        member.member_id: tuple(sorted((*at,) for at in decode_assignment(member.assignment).partitions))
        if member.assignment
        else ()
        for member in description.members
    }
