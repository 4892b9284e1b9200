"""Members that come, go, vanish, take their time and change their minds in any order, in groups of a real broker."""

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


def test_whatever_members_do_each_partition_ends_with_one_owner(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("churn-range", "range") as one, start_scenario("churn-uniform", "uniform") as other:
        groups = [Churn(one, seed=1), Churn(other, seed=2)]
        side_by_side(*(group.members for group in groups))
        for _ in range(STEPS):
            for group in groups:
                group.change()
        for group in groups:
            group.calm_down()
        for group in groups:
            assert group.members.settle() == group.members.view()
            assert group.members.partitions() == group.members.owned()


class Churn:
    """A group in which something changes all the time, drawn from a seed."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        scenario.create_topics(orders=7, payments=4, refunds=1)
        self.members = Members(scenario)
        self.draw = random.Random(seed)
        self.joined = 0
        self.join()

    def change(self) -> None:
        """Let something change, and a little time pass."""
        clients = list(self.members.clients.values())
        some = self.draw.choice(clients)
        changes: list[Callable[[], object]] = [
            some.leave,
            lambda: some.subscribe(*map(self.scenario.topic, self.topics())),
            lambda: setattr(some, "holds_callbacks", True),
            some.release_callbacks,
            lambda: self.disown(some),
            lambda: self.kill(some),
            self.grow,
        ]
        if self.draw.random() < 0.3 or len(clients) < 3:
            self.join()
        else:
            self.draw.choice(changes)()
        self.members.run(self.draw.choice([0, 0.02, 0.1, 0.3]))

    def calm_down(self) -> None:
        """Let all callbacks come back, and have somebody who takes every topic."""
        for client in self.members.clients.values():
            client.release_callbacks()
        self.join()

    def topics(self) -> list[str]:
        return self.draw.sample(TOPICS, self.draw.randint(1, 3))

    def join(self) -> None:
        """Let one more come, static every third time; it takes every topic for a start.

        Its heartbeats go on while its callbacks are slow, or the coordinator would give away what it still has.
        """
        self.joined += 1
        self.members.join(
            f"m{self.joined}",
            *TOPICS,
            instance_id=f"static-{self.joined}" if self.joined % 3 == 0 else None,
            auto_commit=self.draw.random() < 0.3,
            heartbeat_while_preparing_to_leave=True,
        )

    def disown(self, client: MemberClient) -> None:
        """Let somebody say goodbye in a member's name."""
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
