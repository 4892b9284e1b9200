"""Tests of the conversion of three clients' metadata to `partitions_per_topic` with the racks of the replicas."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.cluster import ClusterMetadata as AiokafkaMetadata
from confluent_kafka import KafkaError, Node, TopicPartitionInfo, Uuid
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # documented, but not marked as exported
    BrokerMetadata,
    ClusterMetadata,
    DescribeClusterResult,
    PartitionMetadata,
    TopicDescription,
    TopicMetadata,
)
from kafka.cluster import ClusterMetadata as KafkaPythonMetadata

import assignor
from assignor import PartitionInfo, assign
from assignor.clients import aiokafka, kafka_python
from assignor.cluster import confluent
from assignor.errors import IllegalArgumentError, MissingDependencyError, NullArgumentError, WrongTypeError
from tests.clients import aiokafka_group, kafka_python_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Racks = dict[int, str | None]
Topics = dict[str, dict[int, list[int]]]

RACKS: Racks = {1: "r1", 2: "r2", 3: None}
TOPICS: Topics = {
    "payments": {1: [2, 3], 0: [1, 2], 2: [3, 1]},
    "orders": {0: [3]},
    "__consumer_offsets": {0: [1], 1: [2]},
}
ERRORS = {"fresh": 5}
PAYMENTS = [
    PartitionInfo(0, ("r1", "r2")),
    PartitionInfo(1, ("r2", None)),
    PartitionInfo(2, (None, "r1")),
]


def of_kafka_python(racks: Racks, topics: Topics, errors: Mapping[str, int]) -> dict[str, Any]:
    metadata = KafkaPythonMetadata()
    for name in errors:
        metadata.add_topic(name)  # the client drops errors of other topics
    metadata.update_metadata(kafka_python_group.metadata_response(racks, topics, errors))
    return {"metadata": metadata}


def of_kafka_python_admin(racks: Racks, topics: Topics, errors: Mapping[str, int]) -> dict[str, Any]:
    """Return the dicts of `describe_topics()` and `describe_cluster()`, made from a broker's response."""
    described: list[dict[str, Any]] = [
        {
            "error_code": 0,
            "name": name,
            "partitions": [{"partition_index": id, "replica_nodes": of} for id, of in partitions.items()],
        }
        for name, partitions in topics.items()
    ]
    described += [{"error_code": code, "name": name, "partitions": []} for name, code in errors.items()]
    return {
        "metadata": described,
        "cluster": {"brokers": [{"broker_id": id, "rack": rack} for id, rack in racks.items()]},
    }


def of_aiokafka(racks: Racks, topics: Topics, errors: Mapping[str, int]) -> dict[str, Any]:
    metadata = AiokafkaMetadata()
    metadata.update_metadata(aiokafka_group.metadata_response(racks, topics, errors))
    return {"metadata": metadata}


def of_aiokafka_admin(racks: Racks, topics: Topics, errors: Mapping[str, int]) -> dict[str, Any]:
    cluster = aiokafka_group.metadata_response(racks, topics, errors).to_object()
    return {"metadata": cluster.pop("topics"), "cluster": cluster}


def of_confluent(racks: Racks, topics: Topics, errors: Mapping[str, int]) -> dict[str, Any]:
    metadata = ClusterMetadata()
    for id in racks:
        metadata.brokers[id] = BrokerMetadata()
    for name, partitions in topics.items():
        topic = metadata.topics[name] = TopicMetadata()
        for id, replicas in partitions.items():
            partition = topic.partitions[id] = PartitionMetadata()
            partition.id, partition.replicas = id, replicas
    for name, code in errors.items():
        topic = metadata.topics[name] = TopicMetadata()
        topic.error = KafkaError(code)
    nodes = [Node(id, "h", 1, rack) for id, rack in racks.items()]
    return {"metadata": metadata, "cluster": DescribeClusterResult(nodes[0], nodes)}


def of_confluent_descriptions(racks: Racks, topics: Topics, errors: Mapping[str, int]) -> dict[str, Any]:
    del errors  # this client raises an exception for a topic with an error
    nodes = {id: Node(id, "h", 1, rack) for id, rack in racks.items()}
    return {
        "metadata": {
            name: TopicDescription(
                name,
                Uuid(0, 0),
                name.startswith("__"),
                [
                    TopicPartitionInfo(id, nodes[of[0]], [nodes[broker] for broker in of], [])
                    for id, of in partitions.items()
                ],
            )
            for name, partitions in topics.items()
        }
    }


Given = tuple["Callable[..., dict[str, Any]]", "Callable[[Racks, Topics, Mapping[str, int]], dict[str, Any]]"]

ORDERED: list[Given] = [
    (kafka_python.partitions_per_topic, of_kafka_python_admin),
    (aiokafka.partitions_per_topic, of_aiokafka),
    (aiokafka.partitions_per_topic, of_aiokafka_admin),
    (confluent.partitions_per_topic, of_confluent),
    (confluent.partitions_per_topic, of_confluent_descriptions),
]
"""Readers whose input preserves the order of replicas, each with the function that makes its input."""

ALL: list[Given] = [*ORDERED, (kafka_python.partitions_per_topic, of_kafka_python)]


def name_of(value: object) -> str:
    return getattr(value, "__name__", "") + " of " + getattr(value, "__module__", "").rpartition(".")[2]


@pytest.mark.parametrize(("read", "given"), ORDERED, ids=name_of)
def test_each_replica_has_its_rack(read: Any, given: Any) -> None:
    found = read(**given(RACKS, TOPICS, {}))

    assert PAYMENTS == found["payments"]
    assert [PartitionInfo(0, (None,))] == found["orders"]


def test_kafka_python_metadata_has_racks_in_broker_order() -> None:
    found = kafka_python.partitions_per_topic(**of_kafka_python(RACKS, TOPICS, {}))

    partitions = found["payments"]
    assert isinstance(partitions, list)
    assert [("r1", "r2"), ("r2", None), ("r1", None)] == [info.racks for info in partitions]


@pytest.mark.parametrize(("read", "given"), ALL, ids=name_of)
def test_topic_without_racks_is_a_count(read: Any, given: Any) -> None:
    found = read(**given(dict.fromkeys(RACKS), TOPICS, {}))

    assert [("__consumer_offsets", 2), ("orders", 1), ("payments", 3)] == list(found.items())


@pytest.mark.parametrize(("read", "given"), ALL, ids=name_of)
def test_ids_with_gaps_are_lists(read: Any, given: Any) -> None:
    found = read(**given({1: None}, {"orders": {4: [1], 0: [1]}}, {}))

    assert [0, 4] == [info.partition for info in found["orders"]]
    assert [("orders", 0), ("orders", 4)] == assign(found, {"m": ["orders"]})["m"]


@pytest.mark.parametrize(("read", "given"), ALL, ids=name_of)
def test_an_empty_rack_is_a_rack(read: Any, given: Any) -> None:
    found = read(**given({1: ""}, {"orders": {0: [1]}}, {}))

    assert [PartitionInfo(0, ("",))] == found["orders"]


@pytest.mark.parametrize(("read", "given"), ALL, ids=name_of)
def test_topics_keep_the_requested_order(read: Any, given: Any) -> None:
    found = read(**given(RACKS, TOPICS, {}), topics=iter(["payments", "orders", "payments"]))

    assert ["payments", "orders"] == list(found)


@pytest.mark.parametrize(("read", "given"), ALL, ids=name_of)
def test_missing_topic_raises(read: Any, given: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=r"^topic 'paymnets': the metadata has no such topic; omit it"):
        read(**given(RACKS, TOPICS, {}), topics=["orders", "paymnets"])


@pytest.mark.parametrize(("read", "given"), ALL, ids=name_of)
def test_topic_with_error_is_left_out_unless_requested(read: Any, given: Any) -> None:
    whole = given(RACKS, TOPICS, ERRORS)

    assert sorted(TOPICS) == list(read(**whole))
    with pytest.raises(IllegalArgumentError, match=r"^topic 'fresh': the"):
        read(**whole, topics=["fresh"])


@pytest.mark.parametrize(
    ("read", "given"), [each for each in ORDERED if each[1] not in (of_aiokafka, of_confluent_descriptions)]
)
def test_topic_error_is_in_the_message(read: Any, given: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=r"^topic 'fresh': the broker answered .*(LEADER|[Ll]eader)"):
        read(**given(RACKS, TOPICS, ERRORS), topics=["fresh"])


@pytest.mark.parametrize(("read", "given"), ALL[2:5], ids=name_of)
def test_topic_without_known_partition_raises(read: Any, given: Any) -> None:
    whole = given(RACKS, {"orders": {}}, {})

    assert {} == read(**whole)
    with pytest.raises(IllegalArgumentError, match=r"^topic 'orders': it has no known partitions"):
        read(**whole, topics=["orders"])


@pytest.mark.parametrize(("read", "given"), [ALL[1], ALL[5]], ids=name_of)
def test_unauthorized_topic_raises(read: Any, given: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=r"^topic 'secret': the broker answered TOPIC_AUTHORIZATION_FAILED"):
        read(**given(RACKS, TOPICS, {"secret": 29}), topics=["secret"])


@pytest.mark.parametrize(("read", "given"), [ALL[0], *ALL[2:4]], ids=name_of)
def test_rack_of_unknown_broker_is_none(read: Any, given: Any) -> None:
    found = read(**given({1: "r1"}, {"orders": {0: [9, 1]}}, {}))

    assert [PartitionInfo(0, (None, "r1"))] == found["orders"]


@pytest.mark.parametrize(("read", "given"), [ALL[0], *ALL[2:4]], ids=name_of)
def test_metadata_without_brokers_has_no_racks(read: Any, given: Any) -> None:
    assert 3 == read(given(RACKS, TOPICS, {})["metadata"])["payments"]


@pytest.mark.parametrize("read", [each.partitions_per_topic for each in (kafka_python, aiokafka, confluent)])
@pytest.mark.parametrize("wrong", [None, 7, "orders", {"orders": 3}, object()])
def test_invalid_metadata_raises(read: Any, wrong: object) -> None:
    with pytest.raises(
        WrongTypeError, match=r"^metadata must be (kafka-python|aiokafka|confluent-kafka)'s ClusterMeta"
    ):
        read(wrong)


KAFKA_PYTHON_TOPIC = {"error_code": 0, "name": "t", "partitions": [{"partition_index": 0, "replica_nodes": [1]}]}
AIOKAFKA_TOPIC = {"error_code": 0, "topic": "t", "partitions": [{"partition": 0, "replicas": [1]}]}


@pytest.mark.parametrize(
    ("read", "admin", "topic", "other"),
    [
        (kafka_python.partitions_per_topic, "KafkaAdminClient", KAFKA_PYTHON_TOPIC, AIOKAFKA_TOPIC),
        (aiokafka.partitions_per_topic, "AIOKafkaAdminClient", AIOKAFKA_TOPIC, KAFKA_PYTHON_TOPIC),
    ],
)
def test_invalid_description_of_a_topic_is_named(read: Any, admin: str, topic: Any, other: Any) -> None:
    message = rf"^metadata\[1\] must be a topic from {admin}\.describe_topics\(\), not "
    assert {"t": 1} == read([topic])
    ids = [{"partition_index": "0", "partition": "0", "replica_nodes": [], "replicas": []}]
    changes: list[dict[str, object]] = [
        {"partitions": None},
        {"topic": 5, "name": 5},
        {"topic_id": "x"},
        {"partitions": ids},
    ]
    for wrong in ("t", 5, None, {}, other, *(topic | change for change in changes)):
        with pytest.raises(WrongTypeError, match=message + type(wrong).__name__.removesuffix("Type")):
            read([topic, wrong])


@pytest.mark.parametrize(
    ("read", "admin", "topic"),
    [
        (kafka_python.partitions_per_topic, "KafkaAdminClient", KAFKA_PYTHON_TOPIC),
        (aiokafka.partitions_per_topic, "AIOKafkaAdminClient", AIOKAFKA_TOPIC),
    ],
)
@pytest.mark.parametrize("wrong", ["x", 5, [], [1], {}, {"brokers": None}, {"brokers": [{}]}, {"brokers": [1]}])
def test_invalid_description_of_a_cluster_is_named(read: Any, admin: str, topic: Any, wrong: object) -> None:
    message = f"cluster must be the result of {admin}.describe_cluster(), not {type(wrong).__name__}: {wrong!r}"
    with pytest.raises(WrongTypeError, match=f"^{re.escape(message)}$"):
        read([topic], cluster=wrong)


def test_metadata_of_kafka_python_is_not_aiokafkas() -> None:
    with pytest.raises(
        WrongTypeError, match=r"^metadata must be aiokafka's ClusterMetadata or .*, not ClusterMetadata: "
    ):
        aiokafka.partitions_per_topic(**of_kafka_python(RACKS, TOPICS, {}))


def test_future_instead_of_result_raises() -> None:
    whole = of_confluent(RACKS, TOPICS, {})

    with pytest.raises(WrongTypeError, match=r"^cluster must be a DescribeClusterResult, the result of"):
        confluent.partitions_per_topic(whole["metadata"], cluster=object())


@pytest.mark.parametrize(("read", "given"), ALL, ids=name_of)
def test_str_instead_of_topics_raises(read: Any, given: Any) -> None:
    with pytest.raises(WrongTypeError, match=r"^partitions_per_topic: topics must be an iterable of topic names"):
        read(**given(RACKS, TOPICS, {}), topics="orders")


def test_importing_adapters_imports_no_client() -> None:
    code = (
        "import sys; from assignor.clients import aiokafka, kafka_python; "
        "from assignor.cluster import confluent, snapshot; "
        "print([name for name in ('kafka', 'aiokafka', 'confluent_kafka', 'pyarrow') if name in sys.modules])"
    )
    path = str(Path(assignor.__file__).parents[1])

    answer = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "[]\n" == answer.stdout


@pytest.mark.parametrize(
    ("read", "module", "package"),
    [
        (confluent.read_cluster, "confluent_kafka", "confluent-kafka"),
        (kafka_python.read_cluster, "kafka", "kafka-python"),
    ],
)
def test_missing_client_raises_with_its_package(
    monkeypatch: pytest.MonkeyPatch, read: Any, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingDependencyError, match=rf"^{package} is not installed: pip install '{package}>=[\d.]+'$"):
        read({"bootstrap.servers": "127.0.0.1:1"})


@pytest.mark.parametrize("client", [confluent, kafka_python])
def test_snapshot_rejects_other_admin_objects(client: Any) -> None:
    message = r"^admin must be \S+ (AdminClient|KafkaAdminClient \(3.0 or newer\)) or its configuration, not "

    assert client.read_cluster
    with pytest.raises(WrongTypeError, match=message + "str: 'localhost:9092'$"):
        client.read_cluster("localhost:9092")
    with pytest.raises(NullArgumentError, match=message + "None$"):
        client.read_cluster(None)
    with pytest.raises(WrongTypeError, match=message + "module: "):
        client.read_cluster(kafka_python if client is confluent else confluent)


def test_each_missing_group_is_one_problem() -> None:
    class Admin:
        """Admin client of a cluster without topics and groups."""

        def describe_cluster(self) -> dict[str, Any]:
            return {"cluster_id": "c", "brokers": []}

        def describe_topics(self) -> list[Any]:
            return []

        def list_groups(self) -> list[Any]:
            return []

        def describe_groups(self, group_ids: list[str]) -> dict[str, Any]:
            raise AssertionError(group_ids)

    found = kafka_python.read_cluster(Admin(), groups=["g1", "g2", "g3"])

    assert ["g1", "g2", "g3"] == [problem.name for problem in found.problems]


def test_topic_ids_of_librdkafka_have_kafkas_format() -> None:
    assert confluent._url_safe("M5MMipraSf+y9ebycBa/EQ") == "M5MMipraSf-y9ebycBa_EQ"
