"""Comparison of assignments of a real broker with our answers for the partitions that members owned before.

For the broker's assignors, the target assignments in the coordinator's description are compared; for client assignors,
the assignments of Kafka's Java consumers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from uuid import uuid4

import pytest

from assignor import Group, Subscription, TopicPartition, assign
from assignor.names import AssignorName
from assignor.ordering import DEFAULT_CAPACITY, string_hash
from tests.broker import java_consumers, topic_buckets
from tests.broker.admin import RequestError
from tests.broker.java_consumers import Consumer, JavaConsumers
from tests.broker.members import Members
from tests.member.simulation.hash_tables import TimelineTable, folded
from tests.support.kafka_program import OracleMissingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker.cluster import Cluster
    from tests.broker.scenario import Scenario

pytestmark = pytest.mark.broker

Targets = dict[str, tuple[TopicPartition, ...]]
"""Partitions by member id, in the order of the coordinator's hash tables.

The uniform assignor takes surplus partitions in this order. The order of two topics whose ids share a bucket depends on
all earlier assignments of the member.
"""

EVERYTHING = ("orders", "payments", "refunds")


class ComparedGroup:
    """A group of the consumer protocol whose targets are compared after each change.

    Attributes:
        compared: Number of compared targets.
        kept: Number of partitions that stayed with their member, over all changes.
    """

    def __init__(self, scenario: Scenario, new_id: Callable[[], str]) -> None:
        self.scenario = scenario
        self.members = Members(scenario)
        self.compared = 0
        self.kept = 0
        self._topics: dict[str, tuple[str, ...]] = {}
        self._targets: Targets = {}
        self._compared_epoch = 0
        self._new_id = new_id
        self._table = TimelineTable()
        """Member ids in the order of the coordinator's table."""

    def join(self, name: str, *topics: str) -> None:
        """Let a member join, and compare."""
        client = self.members.join(name, *topics, member_id=self._new_id())
        self._topics[client.member_id] = tuple(map(self.scenario.topic, topics))
        # The coordinator computes the targets before it puts the member into its table.
        self._compare([*self._table, client.member_id])
        put_new_member(self._table, client.member_id)

    def leave(self, name: str) -> None:
        """Let a member leave, and compare."""
        client = self.members.clients[name]
        client.leave()
        self._table.remove(client.member_id)
        del self._topics[client.member_id]
        self._compare(list(self._table))

    def subscribe(self, name: str, *topics: str) -> None:
        """Let a member subscribe to other topics, and compare."""
        client = self.members.clients[name]
        names = tuple(map(self.scenario.topic, topics))
        client.subscribe(*names)
        self._topics[client.member_id] = names
        self._compare(list(self._table))

    def grow(self, topic: str, count: int) -> None:
        """Grow a topic, and compare."""
        self.members.meanwhile(lambda: self.scenario.grow_topic(topic, count))
        self._compare(list(self._table))

    def _compare(self, members: list[str]) -> None:
        """Wait until the coordinator has applied the change, and compare its targets with our assignment.

        Args:
            members: Member ids in the order in which the coordinator gives them to the assignor.
        """
        self.members.until(lambda: self._epoch() > self._compared_epoch)
        self.members.settle()
        group = self.scenario.admin.describe(self.scenario.group)
        targets = {member: found.ordered_target for member, found in group.members.items()}
        before = self._targets

        expected = assign(
            self.scenario.counts,
            {member: Subscription(self._topics[member], owned_partitions=before.get(member, ())) for member in members},
            assignor=cast(AssignorName, self.scenario.assignor),
            group_protocol="consumer",
            topic_ids=self.scenario.ids,
        )

        assert self.scenario.assignor == group.assignor
        # Ids are random, so the message has all that is needed to compute the assignment again.
        assert {member: sorted(partitions) for member, partitions in expected.items()} == {
            member: sorted(partitions) for member, partitions in targets.items()
        }, (
            f"epoch {group.epoch} after {self._compared_epoch}, topic ids {self.scenario.ids}, members "
            f"{members}, their topics {self._topics}, targets before {before}, targets now {targets}"
        )
        self._compared_epoch = group.epoch
        self.compared += 1
        self.kept += sum(len({*targets[member]} & {*before.get(member, ())}) for member in targets)
        self._targets = targets

    def _epoch(self) -> int:
        """Return the epoch of the group; 0 before its first member has joined."""
        try:
            return self.scenario.admin.describe(self.scenario.group).epoch
        except RequestError:
            return 0


@pytest.mark.parametrize(
    ("assignor", "share_bucket"),
    [("uniform", False), ("uniform", True), ("range", False)],
    ids=["uniform", "uniform-with-ids-in-one-bucket", "range"],
)
def test_targets_of_the_broker_equal_ours(
    patient_broker: Cluster, assignor: str, share_bucket: bool, record_property: Callable[[str, object], None]
) -> None:
    from tests.broker.scenario import Scenario

    with Scenario(patient_broker, f"targets-{assignor}-{share_bucket}", assignor) as scenario:
        topic_buckets.create_topics(scenario, {"orders": 7, "payments": 4, "refunds": 2}, share_bucket=share_bucket)
        group = ComparedGroup(scenario, id_in_first_bucket if share_bucket else random_id)
        change_members(group)
        group.subscribe("e", *EVERYTHING)
        for name in "acde":
            group.leave(name)
            group.join(f"{name}2", *EVERYTHING)

    record_property("targets compared", group.compared)
    assert group.compared == 18
    assert group.kept > 0


@pytest.mark.parametrize(
    "counts",
    [{"orders": 4}, {"orders": 4, "payments": 4}],
    ids=["the-table-grew", "the-new-member-is-last"],
)
def test_members_of_one_bucket_come_in_the_order_of_the_table_and_a_new_one_last(
    patient_broker: Cluster, counts: dict[str, int]
) -> None:
    from tests.broker.scenario import Scenario

    # The first case depends on the order of the first two members, the second on the place of the third member.
    with Scenario(patient_broker, f"one-bucket-{len(counts)}", "uniform") as scenario:
        scenario.create_topics(**counts)
        group = ComparedGroup(scenario, iter(ids_in_one_bucket()).__next__)
        group.join("a", *counts)
        group.join("b", "orders")
        group.join("c", *counts)

    assert group.compared == 3


def put_new_member(table: TimelineTable, member_id: str) -> None:
    """Put a new member into the coordinator's table: once with its subscription, and again with its assignment.

    The second time can add buckets to the table, although the member is in it already.
    """
    table.add(member_id)
    table.add(member_id)


def ids_in_one_bucket() -> tuple[str, str, str]:
    """Return three ids in one bucket of a `HashMap`; each wrong order of the table puts another id first.

    The table has the first id before the second id. If members were put only once, the second id would be first. If a
    new member were listed at its place in the table instead of last, the third id would be first.
    """
    while True:
        first, second, third = ids = id_in_first_bucket(), id_in_first_bucket(), id_in_first_bucket()
        once, table = TimelineTable(), TimelineTable()
        for each in ids[:2]:
            once.add(each)
            put_new_member(table, each)
        before = list(table)
        put_new_member(table, third)
        if (first, second, third) == (before[0], next(iter(once)), next(iter(table))):
            return ids


def id_in_first_bucket() -> str:
    """Return a random member id in the first bucket of a `HashMap`."""
    while folded(string_hash(found := random_id())) % DEFAULT_CAPACITY:
        pass
    return found


def random_id() -> str:
    """Return a random member id."""
    return str(uuid4())


class ComparedConsumers:
    """A group of Java consumers whose assignment is compared after each change.

    Attributes:
        compared: Number of assignments compared with our answer for the leader's input.
        followed: Number of assignments that equal our answer computed from the assignment before the change.
        rebalances: Number of rebalances of all changes, in our computation.
    """

    def __init__(self, scenario: Scenario, consumers: JavaConsumers) -> None:
        self.scenario = scenario
        self.consumers = consumers
        self.compared = 0
        self.followed = 0
        self.rebalances = 0
        self._is_eager = scenario.assignor != "cooperative-sticky"
        self._before: dict[str, Consumer] = {}

    def join(self, name: str, *topics: str) -> None:
        """Let a consumer join, and compare."""
        self.consumers.join(name, map(self.scenario.topic, topics))
        self._compare()

    def leave(self, name: str) -> None:
        """Close a consumer, and compare."""
        self.consumers.leave(name)
        self._compare()

    def subscribe(self, name: str, *topics: str) -> None:
        """Change the subscription of a consumer, and compare."""
        self.consumers.subscribe(name, map(self.scenario.topic, topics))
        self._compare()

    def grow(self, topic: str, count: int) -> None:
        """Grow a topic, and compare."""
        self.scenario.grow_topic(topic, count)
        self._compare(follows=False)

    def _compare(self, *, follows: bool = True) -> None:
        """Compare the assignment that the group reaches with ours, for the subscriptions that the leader received.

        An eager assignment that the group reached in one rebalance is also compared with our answer computed from the
        assignment before the change. If a slow member misses a rebalance, the group needs two rebalances. The steps of
        a cooperative group always depend on time, because a slow member reports older partitions.

        Args:
            follows: False if the leader may see the change in several steps.
        """
        before = self._before
        generation = max((consumer.generation for consumer in before.values()), default=0)
        found, joined = self.consumers.settle(self.scenario.counts, generation, self.scenario.admin)
        reached = {consumer.member_id: consumer.partitions for consumer in found.values()}
        members = {consumer.member_id: self._subscription(name) for name, consumer in found.items()}

        given = Group.from_wire(self.scenario.counts, joined).assign(
            assignor=cast(AssignorName, self.scenario.assignor)
        )
        assert reached == {member: frozenset(partitions) for member, partitions in given.items()}
        self.compared += 1
        expected, rebalances = java_consumers.reached(self.scenario.assignor, self.scenario.counts, members)
        once = {consumer.generation for consumer in found.values()} == {generation + 1}
        assert expected == reached or not (follows and once and self._is_eager)
        self.followed += expected == reached
        self.rebalances += rebalances
        self._before = found

    def _subscription(self, name: str) -> Subscription:
        """Return the subscription of a consumer: its topics, and the partitions of these topics that it owned."""
        topics, before = self.consumers.topics[name], self._before.get(name)
        if before is None:
            return Subscription(topics)
        owned = tuple(sorted(each for each in before.partitions if each.topic in topics))
        return Subscription(topics, owned_partitions=owned, generation=before.generation)


def start_consumers(scenario: Scenario) -> JavaConsumers:
    """Return consumers in the group of a scenario; skip the test if they cannot be compiled."""
    try:
        return JavaConsumers(scenario.cluster.address, scenario.group, scenario.assignor)
    except OracleMissingError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("assignor", ["roundrobin", "sticky", "cooperative-sticky"])
def test_java_consumers_reach_our_assignment(
    start_scenario: Callable[..., Scenario], assignor: str, record_property: Callable[[str, object], None]
) -> None:
    with start_scenario(f"java-{assignor}", assignor, keep=None) as scenario, start_consumers(scenario) as consumers:
        scenario.create_topics(orders=7, payments=4, refunds=2)
        group = ComparedConsumers(scenario, consumers)
        change_members(group)
        for name in "ac":
            group.leave(name)
            group.join(f"{name}2", *EVERYTHING)
        record_property("assignments compared", group.compared)
        record_property("assignments that follow from the one before", group.followed)
        record_property("rebalances", group.rebalances)

    assert group.compared == 13
    assert group.followed > 0
    assert (group.rebalances > group.compared) == (assignor == "cooperative-sticky")


def change_members(group: ComparedGroup | ComparedConsumers) -> None:
    """Let members join, leave and change their topics, and grow a topic."""
    for name in "abcd":
        group.join(name, *EVERYTHING)
    group.leave("b")
    group.subscribe("c", "orders")
    group.join("e", "payments", "refunds")
    group.grow("orders", 11)
    group.subscribe("c", *EVERYTHING)
