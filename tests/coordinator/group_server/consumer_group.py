"""A group of real consumers: what its members report, and what the coordinator describes."""

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
    """A settled group.

    Attributes:
        generation: Latest generation in an answer to a member.
        owned: Partitions that each member reports, by member id.
        described: Partitions that the coordinator describes, by member id.
        expected: Answer of `assign` for the subscriptions that the coordinator describes.
    """

    generation: int
    owned: dict[str, Partitions]
    described: dict[str, Partitions]
    expected: dict[str, Partitions]


class ConsumerGroup:
    """The members of one group; the context manager ends all members that are left.

    Args:
        server: Server of the group.
        group_id: Id of the group.
        topics: Topics that the members subscribe to.

    Attributes:
        members: Running members, in the order in which they started.
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
        """Start a member of a library with these settings, without waiting for it."""
        name = f"{self.group_id}-{next(self._numbers)}"
        member = Member(
            kind, Settings(self.server.address, self.group_id, name, self.topics, **settings), self.server.notifier
        )
        self.members.append(member)
        return member

    def close(self, member: Member) -> None:
        """Close a member as an application does when it ends."""
        self.members.remove(member)
        member.close()

    def kill(self, member: Member) -> None:
        """Kill a member."""
        self.members.remove(member)
        member.kill()

    def crash(self, member: Member) -> None:
        """Kill a member, and move the clock past its session when the server has lost its connection.

        The sessions of the other members must be longer.
        """
        member_id = member.report.member_id
        self.kill(member)
        self.server.notifier.until(
            lambda: not self.server.is_connected(self.group_id, member_id), lambda: f"still connected:\n{self}"
        )
        self.server.advance(member.settings.session_ms)

    def settle(self, *, generation: int | None = None) -> GroupSnapshot:
        """Wait until all members own the partitions that the coordinator describes.

        Args:
            generation: Wait for a later generation than this.
        """
        least = -1 if generation is None else generation
        return self.server.notifier.until(lambda: self._take_snapshot(least), lambda: f"not settled:\n{self}")

    def generation(self) -> int:
        """Return the latest generation in an answer to a member of the group."""
        return max(
            (
                exchange.response.generation_id
                for exchange in self.exchanges()
                if isinstance(exchange.response, JoinGroupResponse) and exchange.response.error_code is ErrorCode.NONE
            ),
            default=0,
        )

    def exchanges(self, after: int = 0) -> list[Exchange]:
        """Return the group's requests and answers after the first `after` exchanges of the server."""
        return [each for each in self.server.exchanges[after:] if each.request.group_id == self.group_id]

    def await_heartbeats(self, after: int) -> None:
        """Wait until each member's heartbeat succeeds, after the first `after` exchanges of the server."""
        ids = {member.report.member_id for member in self.members}
        self.server.notifier.until(lambda: ids <= self._members_with_heartbeats(after), lambda: f"not alive:\n{self}")

    def waiting(self) -> int:
        """Return the number of joins that wait for an answer."""
        return self.server.waiting(self.group_id)

    def rebalances(self) -> list[Rebalance]:
        """Return the rebalances of the group since the previous call."""
        found = [rebalance for rebalance in tuple(self.server.rebalances) if rebalance.group_id == self.group_id]
        new, self._seen = found[self._seen :], len(found)
        return new

    def causes(self) -> list[RebalanceCause]:
        """Return the causes of the rebalances since the previous call of `rebalances` or `causes`."""
        return [rebalance.cause for rebalance in self.rebalances()]

    def _take_snapshot(self, generation: int) -> GroupSnapshot | None:
        """Return a snapshot if the members and the coordinator agree, else None."""
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

    def _members_with_heartbeats(self, after: int) -> set[str]:
        """Return the ids of members whose heartbeats were answered without an error."""
        return {
            exchange.request.member_id
            for exchange in self.exchanges(after)
            if isinstance(exchange.request, HeartbeatRequest) and exchange.response == HeartbeatResponse(ErrorCode.NONE)
        }

    def __str__(self) -> str:
        description = self.server.describe(self.group_id)
        lines = [f"{rebalance.at} {rebalance.cause.name} {rebalance.reason}" for rebalance in self.server.rebalances]
        return "\n".join(
            [
                f"{self.group_id} is {description.state.value}, {_assignments(description)}",
                *map(repr, self.members),
                *lines,
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
