"""Groups of a real broker end where our assignors say, computed from what each member had before.

The broker's assignors are compared with the targets that the coordinator describes; cooperative-sticky with what
consumers of Kafka's own Java client have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor import Subscription, TopicPartition, assign
from tests.broker.admin import RefusedError
from tests.broker.members import Members
from tests.member.simulation.hash_tables import TimelineTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker.scenario import Scenario

pytestmark = pytest.mark.broker

Targets = dict[str, frozenset[TopicPartition]]


class ComparedGroup:
    """A group of the consumer protocol whose targets are compared after each change.

    Attributes:
        compared: How many targets were compared.
        kept: How many partitions stayed with a member over all changes.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.members = Members(scenario)
        self.compared = 0
        self.kept = 0
        self._topics: dict[str, tuple[str, ...]] = {}
        self._targets: Targets = {}
        self._compared_epoch = 0
        self._table = TimelineTable()
        """Member ids in the order of the coordinator's table."""

    def join(self, name: str, *topics: str) -> None:
        """Let a member join, and compare."""
        client = self.members.join(name, *topics)
        self._table.add(client.member_id)
        self._topics[client.member_id] = tuple(map(self.scenario.topic, topics))
        self._compare()

    def leave(self, name: str) -> None:
        """Let a member leave, and compare."""
        client = self.members.clients[name]
        client.leave()
        self._table.remove(client.member_id)
        del self._topics[client.member_id]
        self._compare()

    def subscribe(self, name: str, *topics: str) -> None:
        """Let a member subscribe to other topics, and compare."""
        client = self.members.clients[name]
        names = tuple(map(self.scenario.topic, topics))
        client.subscribe(*names)
        self._topics[client.member_id] = names
        self._compare()

    def grow(self, topic: str, count: int) -> None:
        """Give a topic more partitions, and compare."""
        self.members.meanwhile(lambda: self.scenario.grow_topic(topic, count))
        self._compare()

    def _compare(self) -> None:
        """Wait until the coordinator has taken in the change, and compare its targets with our assignment."""
        self.members.until(lambda: self._epoch() > self._compared_epoch)
        self.members.settle()
        group = self.scenario.admin.describe(self.scenario.group)
        targets = {member: found.target for member, found in group.members.items()}
        before = self._targets

        expected = assign(
            self.scenario.counts,
            {
                member: Subscription(self._topics[member], owned_partitions=tuple(before.get(member, ())))
                for member in self._table
            },
            assignor=self.scenario.assignor,
            group_protocol="consumer",
            topic_ids=self.scenario.ids,
        )

        assert self.scenario.assignor == group.assignor
        assert {member: frozenset(partitions) for member, partitions in expected.items()} == targets
        self._compared_epoch = group.epoch
        self.compared += 1
        self.kept += sum(len(targets[member] & before.get(member, frozenset())) for member in targets)
        self._targets = targets

    def _epoch(self) -> int:
        """Return the epoch of the group; 0 before its first member has joined."""
        try:
            return self.scenario.admin.describe(self.scenario.group).epoch
        except RefusedError:
            return 0


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_targets_of_the_broker_are_ours(
    start_scenario: Callable[..., Scenario], assignor: str, record_property: Callable[[str, object], None]
) -> None:
    with start_scenario(f"targets-{assignor}", assignor, keep=None) as scenario:
        scenario.create_topics(orders=7, payments=4, refunds=2)
        group = ComparedGroup(scenario)
        everything = ("orders", "payments", "refunds")
        for name in "abcd":
            group.join(name, *everything)
        group.leave("b")
        group.subscribe("c", "orders")
        group.join("e", "payments", "refunds")
        group.grow("orders", 11)
        group.subscribe("c", *everything)
        group.subscribe("e", *everything)
        for name in "acde":
            group.leave(name)
            group.join(f"{name}2", *everything)
        record_property("targets compared", group.compared)

    assert group.compared == 18
    assert group.kept > 0
