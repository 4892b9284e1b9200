"""Server-side assignment with assignors whose members keep partitions: sticky and cooperative-sticky."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from assignor import (
    CooperativeStickyAssignor,
    PartitionAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    Subscription,
    TopicPartition,
)
from assignor.coordinator import RebalanceCause
from assignor.wire import decode_assignment, encode_subscription
from tests.coordinator.driver import GroupDriver

if TYPE_CHECKING:
    from assignor.names import Engine

TOPICS = {"t": 6, "u": 3}
ALL = {TopicPartition(topic, id) for topic, count in TOPICS.items() for id in range(count)}


@dataclass
class Consumer:
    """A member of a group: its assignor and its owned partitions."""

    name: str
    assignor: PartitionAssignor
    owned: list[TopicPartition] = field(default_factory=list)
    generation: int = -1

    @property
    def is_cooperative(self) -> bool:
        """True if the member keeps its partitions while it joins."""
        return self.assignor.name == "cooperative-sticky"

    def subscription(self) -> bytes:
        """Return the subscription for the next join."""
        subscription = Subscription(
            tuple(TOPICS),
            owned_partitions=tuple(self.owned) if self.is_cooperative else (),
            generation=self.generation if self.generation >= 0 else None,
            user_data=self.assignor.subscription_user_data(TOPICS),
        )
        return encode_subscription(subscription)

    def receive(self, assignment: bytes, generation: int) -> list[TopicPartition]:
        """Store an assignment; return the partitions that the member gives up."""
        received = list(decode_assignment(assignment).partitions)
        self.assignor.on_assignment(received, generation)
        revoked = [partition for partition in self.owned if partition not in received]
        self.owned, self.generation = received, generation
        return revoked


class Consumers:
    """The members of a group with server-side assignment.

    Adding a member starts a rebalance. A cooperative member that gave up partitions joins again.
    """

    def __init__(self, assignor: type[StickyAssignor | CooperativeStickyAssignor], engine: Engine) -> None:
        self.assignor = assignor
        self.driver = GroupDriver.begin(assignor=assignor(engine=engine), partitions_per_topic=TOPICS)
        self.members: dict[str, Consumer] = {}
        self.rounds: list[dict[str, list[TopicPartition]]] = []

    def add(self, name: str) -> None:
        """Add a member."""
        self.members[name] = Consumer(name, self.assignor())
        self.rebalance(name)

    def remove(self, name: str) -> None:
        """Remove a member."""
        del self.members[name]
        self.driver.leave(name)
        self.rebalance(next(iter(self.members)))

    def rebalance(self, first: str) -> None:
        """Rebalance until no member must join again; `first` joins first."""
        order = [first, *(name for name in self.members if name != first)]
        for name in order:
            member = self.members[name]
            self.driver.join(name, protocols=((member.assignor.name, member.subscription()),))
        revoked = {}
        for name, member in self.members.items():
            answer = self.driver.sync(name)
            assert answer is not None
            revoked[name] = member.receive(answer.assignment, self.driver.generations[name])
        self.rounds.append({name: member.owned for name, member in self.members.items()})
        again = [name for name in revoked if revoked[name] and self.members[name].is_cooperative]
        if again:
            self.rebalance(again[0])

    def sizes(self) -> list[int]:
        """Return the number of partitions of each member."""
        return [len(member.owned) for member in self.members.values()]

    def check(self) -> None:
        """Check that every partition has one owner and that sizes differ by at most one."""
        owned = [partition for member in self.members.values() for partition in member.owned]
        assert sorted(ALL) == sorted(owned)
        assert max(self.sizes()) - min(self.sizes()) <= 1
        assert [] == self.driver.problems
        assert "Stable" == self.driver.state()


@pytest.mark.parametrize("assignor", [StickyAssignor, CooperativeStickyAssignor])
def test_members_keep_partitions_and_the_group_ends_balanced(
    assignor: type[StickyAssignor | CooperativeStickyAssignor], engine: Engine
) -> None:
    group = Consumers(assignor, engine)
    for name in "abc":
        before = {member: set(consumer.owned) for member, consumer in group.members.items()}
        group.add(name)
        group.check()
        assert all(set(group.members[member].owned) < before[member] for member in before), "old members gained none"
    before = {member: set(consumer.owned) for member, consumer in group.members.items()}
    group.remove("b")

    group.check()
    assert [5, 4] == sorted(group.sizes(), reverse=True)
    assert before["a"] < set(group.members["a"].owned)
    assert before["c"] < set(group.members["c"].owned)


def test_a_sticky_group_moves_partitions_in_one_rebalance(engine: Engine) -> None:
    group = Consumers(StickyAssignor, engine)
    for name in "abc":
        group.add(name)

    assert 3 == len(group.rounds)
    assert [len(ALL)] * 3 == [sum(map(len, owned.values())) for owned in group.rounds]


def test_a_cooperative_group_withholds_partitions_and_rebalances_again(engine: Engine) -> None:
    group = Consumers(CooperativeStickyAssignor, engine)
    group.add("a")
    group.add("b")
    first, withheld, complete = group.rounds

    assert 9 == len(first["a"])
    assert (5, 0) == (len(withheld["a"]), len(withheld["b"]))
    assert (5, 4) == (len(complete["a"]), len(complete["b"]))
    assert set(first["a"]) - set(withheld["a"]) == set(complete["b"])
    subscribed, changed = RebalanceCause.CONSUMER_SUBSCRIBED, RebalanceCause.OWNED_PARTITIONS_CHANGED
    assert [subscribed, subscribed, changed] == group.driver.causes
    group.check()


def test_loading_a_cooperative_group_detects_no_changed_topics(engine: Engine) -> None:
    group = Consumers(CooperativeStickyAssignor, engine)
    group.add("a")
    group.members["b"] = Consumer("b", CooperativeStickyAssignor())
    for name in "ba":
        member = group.members[name]
        group.driver.join(name, protocols=((member.assignor.name, member.subscription()),))
    assert 5 == sum(
        len(decode_assignment(member.assignment).partitions)
        for member in group.driver.coordinator.describe("orders").members
    ), "four partitions are withheld"

    again = GroupDriver.begin(assignor=CooperativeStickyAssignor(engine=engine), partitions_per_topic=TOPICS)
    again.collect(again.coordinator.load(group.driver.log, 0))

    assert [] == again.rebalances


def test_round_robin_members_get_partitions_in_turn(engine: Engine) -> None:
    driver = GroupDriver.begin(assignor=RoundRobinAssignor(engine=engine), partitions_per_topic=TOPICS)
    protocols = (("roundrobin", encode_subscription(Subscription(tuple(TOPICS)))),)
    for name in ("a", "b", "a"):
        driver.join(name, protocols=protocols)

    owned = {
        member.member_id: decode_assignment(member.assignment).partitions
        for member in driver.coordinator.describe("orders").members
    }
    assert {"a-1": ["t0", "t2", "t4", "u0", "u2"], "b-2": ["t1", "t3", "t5", "u1"]} == {
        member: [f"{topic}{id}" for topic, id in partitions] for member, partitions in owned.items()
    }
