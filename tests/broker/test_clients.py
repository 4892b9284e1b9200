"""Snapshots of a live cluster by the admin clients, compared with the state of the members."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from assignor import PartitionInfo, Subscription, TopicPartition, assign
from assignor.clients import kafka_python
from assignor.cluster import confluent
from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.broker.cluster import Cluster
from tests.broker.groups import TOPICS, Groups
from tests.broker.running import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from assignor.cluster.snapshot import ClusterSnapshot
    from tests.broker.groups import Owned

pytestmark = pytest.mark.broker

KINDS = {
    "apart": "consumer",
    "garbage": "classic",
    "idle": "classic",
    "newer-header": "classic",
    "next-generation": "consumer",
    "of-kafka-python": "classic",
    "of-librdkafka": "classic",
    "offsets-only": "classic",
    "rebalancing": "classic",
    "shared": "share",
    "works": "connect",
}
"""Kind of each group."""

LONG_SHARE_SESSIONS = {
    "group.share.max.session.timeout.ms": "600000",
    "group.share.session.timeout.ms": "600000",
}
"""Broker settings with which the member of the share group stays without heartbeats."""

READS = {
    "confluent": [
        "describe_cluster",
        "describe_consumer_groups",
        "describe_topics",
        "list_consumer_groups",
        "list_groups",
        "list_topics",
    ],
    "kafka_python": ["describe_cluster", "describe_groups", "describe_topics", "list_groups"],
}
"""Methods that are called on each admin client; none of them changes a cluster."""


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Groups]:
    """Start groups on their own broker, which has a rack."""
    settings = {"broker.rack": "r1", **LONG_SHARE_SESSIONS}
    with running(Cluster, tmp_path_factory.mktemp("racked"), settings) as cluster:
        found = Groups(cluster)
        try:
            found.start()
            yield found
        finally:
            found.end()


@pytest.fixture(scope="module")
def by_confluent(groups: Groups) -> ClusterSnapshot:
    return confluent.read_cluster(AdminClient({"bootstrap.servers": groups.address}), "main", batch=3)


@pytest.fixture(scope="module")
def by_kafka_python(groups: Groups) -> ClusterSnapshot:
    return kafka_python.read_cluster({"bootstrap_servers": groups.address}, "main", batch=3)


@pytest.fixture(params=["by_confluent", "by_kafka_python"])
def snapshot(request: pytest.FixtureRequest) -> ClusterSnapshot:
    found: ClusterSnapshot = request.getfixturevalue(request.param)
    return found


def owned(snapshot: ClusterSnapshot, group: str) -> Owned:
    """Return the partitions of each member of a group in the rows."""
    found: Owned = {row.member_id: [] for row in snapshot.members if row.group_id == group}
    for row in snapshot.current:
        if row.group_id == group:
            found[row.member_id] += [TopicPartition(row.topic, id) for id in range(row.start, row.start + row.count)]
    return found


def subscriptions(snapshot: ClusterSnapshot, group: str) -> dict[str, Subscription]:
    return {
        row.member_id: Subscription(row.topics, row.group_instance_id, row.rack)
        for row in snapshot.members
        if row.group_id == group
    }


def reason(snapshot: ClusterSnapshot, name: str) -> str:
    """Return the reason of the problem with this name."""
    (found,) = [problem.reason for problem in snapshot.problems if problem.name == name]
    return found


def test_topics_have_their_partitions_and_racks(snapshot: ClusterSnapshot) -> None:
    found = {row.topic: (row.partitions, row.racks) for row in snapshot.topics}
    found.pop("__share_group_state", None)  # the broker creates it at some time after the first share member joins

    assert {name: (count, (("r1",),) * count) for name, count in [*TOPICS.items(), ("__consumer_offsets", 2)]} == found
    assert {"main"} == {row.cluster for row in snapshot.topics}


def test_every_group_is_listed(by_kafka_python: ClusterSnapshot, by_confluent: ClusterSnapshot) -> None:
    assert list(KINDS.items()) == [(row.group_id, row.kind) for row in by_kafka_python.groups]
    # confluent-kafka does not return the kind of share groups.
    assert list({**KINDS, "shared": ""}.items()) == [(row.group_id, row.kind) for row in by_confluent.groups]


def test_a_group_that_is_not_read_has_a_reason(snapshot: ClusterSnapshot) -> None:
    unread = {row.group_id for row in snapshot.groups if not row.read}

    assert unread == {problem.name for problem in snapshot.problems if problem.what == "group"}
    assert {"shared", "works", "rebalancing"} <= unread
    assert "not a group of consumers" in reason(snapshot, "works")
    assert "not a group of consumers" in reason(snapshot, "shared")
    assert reason(snapshot, "rebalancing").startswith("the group is in state CompletingRebalance")
    assert not unread & {row.group_id for row in snapshot.members}


def test_groups_have_their_state_and_assignor(snapshot: ClusterSnapshot) -> None:
    rows = {row.group_id: (row.state, row.protocol, row.members) for row in snapshot.groups}

    assert ("Stable", "range", 3) == rows["of-librdkafka"]
    assert ("Empty", "", 0) == rows["offsets-only"]
    assert "CompletingRebalance" == rows["rebalancing"][0]
    assert rows["shared"][0] in ("", "Stable")


@pytest.mark.parametrize("group", ["of-librdkafka", "of-kafka-python"])
def test_current_equals_the_partitions_of_classic_members(
    groups: Groups, snapshot: ClusterSnapshot, group: str
) -> None:
    assert groups.owned[group] == owned(snapshot, group)


@pytest.mark.parametrize("group", ["next-generation", "apart"])
def test_current_equals_the_partitions_of_kip_848_members(
    groups: Groups, by_confluent: ClusterSnapshot, group: str
) -> None:
    assert groups.owned[group] == owned(by_confluent, group)


@pytest.mark.parametrize("group", ["of-librdkafka", "of-kafka-python"])
def test_range_groups_own_the_answer_of_assign(snapshot: ClusterSnapshot, group: str) -> None:
    topics = {row.topic: [PartitionInfo(*each) for each in enumerate(row.racks or ())] for row in snapshot.topics}

    found = assign(topics, subscriptions(snapshot, group))

    assert owned(snapshot, group) == {member: sorted(partitions) for member, partitions in found.items()}


def test_the_subscriptions_of_classic_members_are_exact(snapshot: ClusterSnapshot) -> None:
    rows = {
        (row.topics, row.group_instance_id, row.rack) for row in snapshot.members if row.group_id == "of-librdkafka"
    }

    assert {
        (("orders", "payments"), None, None),
        (("orders",), "a-static-one", "r1"),
        (("orders", "quiet"), None, None),
    } == rows
    assert not [guess for guess in snapshot.guessed if guess.group_id in ("of-librdkafka", "of-kafka-python")]


def test_an_idle_member_keeps_its_subscription(snapshot: ClusterSnapshot) -> None:
    (row,) = [row for row in snapshot.members if row.group_id == "idle"]

    assert (("orders",), "only", "r9") == (row.topics, row.group_instance_id, row.rack)
    assert {row.member_id: []} == owned(snapshot, "idle")


def test_a_subscription_under_a_newer_header_is_read(snapshot: ClusterSnapshot) -> None:
    (row,) = [row for row in snapshot.members if row.group_id == "newer-header"]

    assert ("orders", "quiet") == row.topics
    assert {row.member_id: [("payments", 2)]} == owned(snapshot, "newer-header")


def test_undecodable_subscriptions_are_guessed(by_confluent: ClusterSnapshot) -> None:
    (row,) = [row for row in by_confluent.members if row.group_id == "garbage"]
    (guess,) = [guess for guess in by_confluent.guessed if guess.group_id == "garbage"]

    assert ("payments",) == row.topics
    assert (row.member_id, True) == (guess.member_id, "cannot be decoded" in guess.reason)


def test_undecodable_bytes_are_a_problem_of_their_group_only(by_kafka_python: ClusterSnapshot) -> None:
    assert reason(by_kafka_python, "garbage").startswith("kafka-python cannot describe the group: ")
    assert ["garbage"] == [p.name for p in by_kafka_python.problems if "cannot describe the group" in p.reason]


def test_subscriptions_of_kip_848_members_are_guessed(groups: Groups, by_confluent: ClusterSnapshot) -> None:
    marked = {(guess.group_id, guess.member_id) for guess in by_confluent.guessed}
    topics = {row.topics for row in by_confluent.members if row.group_id == "next-generation"}

    assert {(group, member) for group in ("next-generation", "apart") for member in groups.owned[group]} == {
        each for each in marked if each[0] != "garbage"
    }
    assert {("payments",)} == topics, "also for the member without partitions"
    assert 1 == list(owned(by_confluent, "next-generation").values()).count([])
    assert {("orders", "payments", "quiet")} == {row.topics for row in by_confluent.members if row.group_id == "apart"}
    assert {None, "static-2"} == {row.group_instance_id for row in by_confluent.members if row.group_id == "apart"}


def test_kafka_python_refers_to_confluent_for_kip_848_groups(by_kafka_python: ClusterSnapshot) -> None:
    assert "assignor.cluster.confluent reads them" in reason(by_kafka_python, "apart")


def test_both_clients_return_the_same_rows_of_classic_groups(
    by_confluent: ClusterSnapshot, by_kafka_python: ClusterSnapshot
) -> None:
    both = {group for group, kind in KINDS.items() if kind == "classic"} - {"garbage", "rebalancing"}

    for rows in ("members", "current", "groups"):
        first, second = (
            [row for row in getattr(snapshot, rows) if row.group_id in both]
            for snapshot in (by_confluent, by_kafka_python)
        )
        if rows == "members":
            # kafka-python decodes the bytes that show the library, and does not return them.
            unseen = dict.fromkeys(("library", "library_version", "conversion_problem"))
            first = [row._replace(**unseen) for row in first]
        assert first == second
        assert first


def test_groups_can_be_read_by_id(groups: Groups) -> None:
    admin = AdminClient({"bootstrap.servers": groups.address})
    other = KafkaAdminClient(bootstrap_servers=groups.address)
    wanted = ["works", "idle", "missing"]
    read: list[Callable[[], ClusterSnapshot]] = [
        lambda: confluent.read_cluster(admin, groups=wanted),
        lambda: confluent.read_cluster(admin, groups=wanted + [f"missing-{number}" for number in range(20)]),
        lambda: kafka_python.read_cluster(other, groups=wanted),
    ]
    for each in read:
        found = each()
        assert ["idle", "works"] == [row.group_id for row in found.groups]
        assert "the group does not exist, or this client may not describe it" == reason(found, "missing")
        assert 1 == len(found.members)
        assert found.cluster == admin.list_topics(timeout=10).cluster_id
    other.close()


def test_a_client_without_list_groups_is_a_problem_and_subscriptions_are_guessed(groups: Groups) -> None:
    class Newer(AdminClient):
        @property
        def list_groups(self) -> Any:
            raise AttributeError("no list_groups")

    found = confluent.read_cluster(Newer({"bootstrap.servers": groups.address}), groups=["of-librdkafka"])

    assert groups.owned["of-librdkafka"] == owned(found, "of-librdkafka")
    assert {("orders", "payments", "quiet")} == {row.topics for row in found.members}
    assert 3 == len(found.guessed)
    assert "no list_groups; subscriptions are guessed" == reason(found, "list_groups")


def test_rows_become_tables(by_confluent: ClusterSnapshot) -> None:
    tables = by_confluent.to_arrow()

    for name, table in tables.items():
        assert [row._asdict() for row in getattr(by_confluent, name)] == [
            {key: as_rows(value) for key, value in row.items()} for row in table.to_pylist()
        ]
    assert {"topics", "members", "current", "groups", "guessed", "problems"} == set(tables)


@pytest.mark.spark
def test_a_fleet_of_a_live_cluster_is_planned(groups: Groups, spark: SparkSession) -> None:
    from assignor.spark import Fleet, Scenario

    found = Fleet.from_admin({"bootstrap.servers": groups.address}, cluster="main", spark=spark)
    balance = {row["group_id"]: row for row in found.balance().collect()}
    moving = {row["group_id"] for row in found.moves().collect()}
    two_more = found.what_if(Scenario("two more", frozenset({"of-librdkafka"})).add_members(2)).collect()
    problems = {(row["table"], row["name"]) for row in found.problems().collect()}

    assert found.snapshot is not None
    assert {row.group_id for row in found.snapshot.members} == set(balance)
    assert not {"of-librdkafka", "of-kafka-python"} & moving
    assert [("of-librdkafka", 5)] == [(row["group_id"], row["members"]) for row in two_more]
    assert {("group", "works"), ("group", "rebalancing"), ("member", "next-generation")} <= problems


def as_rows(value: Any) -> Any:
    """Return nested lists as tuples."""
    return tuple(map(as_rows, value)) if isinstance(value, list) else value


def test_invalid_arguments_are_errors(groups: Groups) -> None:
    with pytest.raises(WrongTypeError, match=r"^groups must be an iterable of group ids, not str: 'idle'"):
        confluent.read_cluster({"bootstrap.servers": groups.address}, groups="idle")
    with pytest.raises(IllegalArgumentError, match=r"^batch must be a positive int, not 0"):
        kafka_python.read_cluster({"bootstrap_servers": groups.address}, batch=0)
    assert groups.owned


@pytest.mark.parametrize("client", READS)
def test_only_reading_methods_are_called(groups: Groups, client: str) -> None:
    confluent_admin, kafka_python_admin = AdminClient({"bootstrap.servers": groups.address}), None
    if client == "kafka_python":
        kafka_python_admin = KafkaAdminClient(bootstrap_servers=groups.address)
    called: set[str] = set()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            called.add(name)
            return getattr(kafka_python_admin or confluent_admin, name)

    read = confluent.read_cluster if client == "confluent" else kafka_python.read_cluster

    assert len(KINDS) == len(read(Watched()).groups)
    assert READS[client] == sorted(called)
    if kafka_python_admin:
        kafka_python_admin.close()


def test_denied_requests_are_problems(groups: Groups) -> None:
    denied = confluent_kafka.KafkaException(
        confluent_kafka.KafkaError(confluent_kafka.KafkaError.GROUP_AUTHORIZATION_FAILED)
    )

    class Partial(AdminClient):
        def list_consumer_groups(self, **settings: Any) -> Future[Any]:  # type: ignore[override]  # untyped
            found = super().list_consumer_groups(**settings).result()
            found.errors.append(denied)
            return completed(found)

        def describe_consumer_groups(self, group_ids: list[str], **settings: Any) -> dict[str, Future[Any]]:  # type: ignore[override]  # untyped
            failed: Future[Any] = Future()
            failed.set_exception(denied)
            return {**super().describe_consumer_groups(group_ids, **settings), "idle": failed}

    found = confluent.read_cluster(Partial({"bootstrap.servers": groups.address}), groups=["idle", "apart"])

    assert "Broker: Group authorization failed" == reason(found, "list_consumer_groups") == reason(found, "idle")
    assert [False] == [row.read for row in found.groups if row.group_id == "idle"]
    assert "idle" not in {row.group_id for row in found.members}
    assert {"apart"} == {row.group_id for row in found.members}


def completed(result: Any) -> Future[Any]:
    """Return a completed future."""
    future: Future[Any] = Future()
    future.set_result(result)
    return future
