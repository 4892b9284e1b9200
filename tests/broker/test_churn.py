"""Random sequences of joins, leaves, crashes, slow callbacks and new subscriptions in groups of a real broker."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from assignor.member import MemberState
from tests.broker.members import Members, side_by_side
from tests.broker.scripted_member import ScriptedMember

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker.member_client import MemberClient
    from tests.broker.scenario import Scenario

pytestmark = pytest.mark.broker

STEPS = 25
TOPICS = ["orders", "payments", "refunds"]


def test_after_random_changes_each_partition_has_one_owner(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("churn-range", "range") as one, start_scenario("churn-uniform", "uniform") as other:
        groups = [Churn(one, seed=1), Churn(other, seed=2)]
        side_by_side(*(group.members for group in groups))
        for _ in range(STEPS):
            for group in groups:
                group.change()
        for group in groups:
            group.calm_down()
        for group in groups:
            group.members.assert_shared()


class Churn:
    """Group with random changes, generated from a seed."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        scenario.create_topics(orders=7, payments=4, refunds=1)
        self.members = Members(scenario)
        self.draw = random.Random(seed)
        self.joined = 0
        self.join()

    def change(self) -> None:
        """Make a random change, and run for a short time."""
        clients = list(self.members.clients.values())
        client = self.draw.choice(clients)
        changes: list[Callable[[], object]] = [
            client.leave,
            lambda: client.subscribe(*map(self.scenario.topic, self.topics())),
            lambda: setattr(client, "holds_callbacks", True),
            client.release_callbacks,
            lambda: self.remove_by_other_process(client),
            lambda: self.kill(client),
            self.grow,
        ]
        if self.draw.random() < 0.3 or len(clients) < 3:
            self.join()
        else:
            self.draw.choice(changes)()
        self.members.run(self.draw.choice([0, 0.02, 0.1, 0.3]))

    def calm_down(self) -> None:
        """Complete all callbacks, and add a member that subscribes to every topic."""
        for client in self.members.clients.values():
            client.release_callbacks()
        self.join()

    def topics(self) -> list[str]:
        return self.draw.sample(TOPICS, self.draw.randint(1, 3))

    def join(self) -> None:
        """Add a member that subscribes to every topic; every third member is static.

        It sends heartbeats during slow callbacks. Otherwise the coordinator would reassign partitions that it owns.
        """
        self.joined += 1
        self.members.join(
            f"m{self.joined}",
            *TOPICS,
            instance_id=f"static-{self.joined}" if self.joined % 3 == 0 else None,
            auto_commit=self.draw.random() < 0.3,
            heartbeat_while_preparing_to_leave=True,
        )

    def remove_by_other_process(self, client: MemberClient) -> None:
        """Send a leave request with the member's id from another connection."""
        if client.member.state in (MemberState.STABLE, MemberState.RECONCILING) and client.instance_id is None:
            client.doubted = True
            self.members.meanwhile(lambda: ScriptedMember(self.scenario, client.member_id).leave())

    def kill(self, client: MemberClient) -> None:
        if len(self.members.clients) > 2:
            self.members.kill(client.name)

    def grow(self) -> None:
        name = self.draw.choice(TOPICS)
        count = self.scenario.counts[self.scenario.topic(name)] + 1
        self.members.meanwhile(lambda: self.scenario.grow_topic(name, count))
