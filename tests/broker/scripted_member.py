"""Member that a test controls heartbeat by heartbeat. It only keeps its epoch and its assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.member import HeartbeatRequest, HeartbeatResponse
from assignor.member.messages import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH, Assignment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.broker.scenario import Scenario


class ScriptedMember:
    """Member of a scenario's group.

    Attributes:
        epoch: Last epoch of the coordinator.
        given: Last assignment of the coordinator, by topic id.
    """

    def __init__(
        self, scenario: Scenario, member_id: str, *, instance_id: str | None = None, rebalance_timeout_ms: int = 5000
    ) -> None:
        self._scenario = scenario
        self.member_id = member_id
        self.instance_id = instance_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.epoch = JOIN_EPOCH
        self.given: Assignment = {}

    def join(self, *topics: str, pattern: str | None = None, assignor: str | None = None) -> HeartbeatResponse:
        """Join the group without owned partitions."""
        return self.send(
            HeartbeatRequest(
                self._scenario.group,
                self.member_id,
                JOIN_EPOCH,
                instance_id=self.instance_id,
                rebalance_timeout_ms=self.rebalance_timeout_ms,
                subscribed_topic_names=tuple(sorted(map(self._scenario.topic, topics))),
                subscribed_topic_regex=pattern,
                server_assignor=assignor or self._scenario.assignor,
                topic_partitions={},
            )
        )

    def heartbeat(
        self,
        *,
        owned: Assignment | None = None,
        epoch: int | None = None,
        topics: Iterable[str] | None = None,
        pattern: str | None = None,
        assignor: str | None = None,
    ) -> HeartbeatResponse:
        """Send a heartbeat with the given fields."""
        return self.send(
            HeartbeatRequest(
                self._scenario.group,
                self.member_id,
                self.epoch if epoch is None else epoch,
                instance_id=self.instance_id,
                subscribed_topic_names=None if topics is None else tuple(sorted(map(self._scenario.topic, topics))),
                subscribed_topic_regex=pattern,
                server_assignor=assignor,
                topic_partitions=owned,
            )
        )

    def acknowledge(self) -> HeartbeatResponse:
        """Send a heartbeat that owns exactly the last assignment."""
        return self.heartbeat(owned=self.given)

    def leave(self) -> HeartbeatResponse:
        """Leave the group."""
        return self.heartbeat(epoch=LEAVE_EPOCH)

    def leave_for_now(self) -> HeartbeatResponse:
        """Leave the group temporarily, as a static member."""
        return self.heartbeat(epoch=LEAVE_STATIC_EPOCH)

    def send(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Send a heartbeat, and keep epoch and assignment of the response."""
        response = self._scenario.heartbeat(request)
        if response.error_code == 0 and response.member_epoch > 0:
            self.epoch = response.member_epoch
        if response.assignment is not None:
            self.given = {topic_id: tuple(ids) for topic_id, ids in response.assignment.items()}
        return response

    def has(self) -> dict[str, list[int]]:
        """Return the last assignment by topic name, without the prefix of the scenario."""
        names = {topic_id: name.removeprefix(self._scenario.topic("")) for name, topic_id in self._scenario.ids.items()}
        return {names[topic_id]: list(ids) for topic_id, ids in self.given.items() if ids}
