"""Tests of the assignors that plug into kafka-python and aiokafka, compared with the clients' own assignors."""

from __future__ import annotations

import copy
import logging
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRoundRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as AiokafkaSticky
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as KafkaPythonCooperative
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as KafkaPythonRoundRobin
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as KafkaPythonSticky

from assignor import StickyAssignor, Subscription, TopicPartition, assign
from assignor.clients import aiokafka, kafka_python
from assignor.errors import WrongTypeError
from assignor.wire import decode_assignment, encode_assignment, encode_subscription
from tests.clients import aiokafka_group, kafka_python_group
from tests.clients.kafka_python_group import Leader
from tests.conformance import assignor_vectors, range_vectors
from tests.support import vector_files

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENTS = [kafka_python_group, aiokafka_group]
DOORS: dict[Any, Any] = {kafka_python_group: kafka_python, aiokafka_group: aiokafka}
OWN: dict[Any, dict[str, Any]] = {
    kafka_python_group: {
        "RangeAssignor": KafkaPythonRange,
        "RoundRobinAssignor": KafkaPythonRoundRobin,
        "StickyAssignor": KafkaPythonSticky,
        "CooperativeStickyAssignor": KafkaPythonCooperative,
    },
    aiokafka_group: {
        "RangeAssignor": AiokafkaRange,
        "RoundRobinAssignor": AiokafkaRoundRobin,
        "StickyAssignor": AiokafkaSticky,
    },
}
CLASS_OF = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
NAMES = [(client, name) for client in CLIENTS for name in OWN[client]]

INTERLEAVED = {
    "m1": Subscription(("t",), group_instance_id="i1"),
    "m2": ("t",),
    "m3": Subscription(("t",), group_instance_id="i3"),
}
TWICE = {"m1": ("t", "t"), "m2": ("t", "t")}


def ids(client: Any, assignor: Any, topics: Any, subscriptions: Mapping[str, Any]) -> dict[str, list[int]]:
    return {
        member: sorted(id for _, id in found)
        for member, found in client.answer(assignor, topics, subscriptions).items()
    }


def own_answer(client: Any, name: str, topics: Any, subscriptions: Mapping[str, Any]) -> dict[str, set[Any]]:
    """Return what the client's own assignor gives; topics in which a member has no partitions are left out."""
    own = OWN[client][name]()
    return {member: set(found) for member, found in client.answer(own, topics, subscriptions).items()}


def ours(client: Any, name: str, **options: Any) -> Any:
    return getattr(DOORS[client], name)(**options)


@pytest.mark.parametrize("name", ["RangeAssignor", "RoundRobinAssignor"])
def test_interleaved_static_members_keep_their_share(name: str) -> None:
    theirs = ids(kafka_python_group, OWN[kafka_python_group][name](), {"t": 6}, INTERLEAVED)
    found = ids(kafka_python_group, ours(kafka_python_group, name), {"t": 6}, INTERLEAVED)

    assert [] == theirs["m1"]
    expected = {"m1": [0, 1], "m2": [4, 5], "m3": [2, 3]} if name == "RangeAssignor" else None
    assert found == (expected or {"m1": [0, 3], "m2": [2, 5], "m3": [1, 4]})


def test_five_alternating_members_all_get_partitions() -> None:
    members = {
        f"m{number}": Subscription(("t",), group_instance_id=f"i{number}" if number % 2 == 0 else None)
        for number in range(1, 6)
    }

    theirs = ids(kafka_python_group, KafkaPythonRange, {"t": 10}, members)
    found = ids(kafka_python_group, kafka_python.RangeAssignor(), {"t": 10}, members)

    assert ["m1", "m2", "m3"] == [member for member, of in theirs.items() if not of]
    assert {"m2": [0, 1], "m4": [2, 3], "m1": [4, 5], "m3": [6, 7], "m5": [8, 9]} == found


@pytest.mark.parametrize("client", CLIENTS)
def test_topic_listed_twice_loses_no_partition(client: Any) -> None:
    theirs = ids(client, OWN[client]["RangeAssignor"], {"t": 6}, TWICE)
    found = ids(client, ours(client, "RangeAssignor"), {"t": 6}, TWICE)

    assert [2, 3, 5] == sorted(id for of in theirs.values() for id in of)
    assert {"m1": [0, 1, 2], "m2": [3, 4, 5]} == found


@pytest.mark.parametrize("members", [{"c1": ("t1",), "c2": ("t1", "t2")}, {"c1": ("t1",), "c2": ("t2",)}])
def test_roundrobin_with_unequal_subscriptions_has_an_answer(members: dict[str, Any]) -> None:
    topics = {"t1": 3, "t2": 2}

    with pytest.raises(KeyError):
        kafka_python_group.answer(KafkaPythonRoundRobin, topics, members)
    expected = {member: set(found) for member, found in assign(topics, members, assignor="roundrobin").items()}
    assert expected == kafka_python_group.answer(kafka_python.RoundRobinAssignor(), topics, members)


@pytest.mark.parametrize("client", CLIENTS)
def test_topics_in_which_a_member_has_no_partitions_take_no_bytes(client: Any) -> None:
    topics = {f"topic-{number:02}": 2 for number in range(20)}
    members = {f"m{number:02}": tuple(topics) for number in range(10)}

    def size(assignor: Any) -> int:
        given = assignor.assign(client.cluster(topics), client.joined(members))
        return sum(len(assignment.encode()) for assignment in given.values())

    expected = assign(topics, members)
    assert sum(len(encode_assignment(of)) for of in expected.values()) == size(ours(client, "RangeAssignor"))
    assert 3 * size(ours(client, "RangeAssignor")) < size(OWN[client]["RangeAssignor"])


@pytest.mark.parametrize(("client", "name"), NAMES)
def test_bytes_are_those_of_kafkas_leader(client: Any, name: str) -> None:
    topics = {"b": 5, "a": 3}
    members = {"m2": ("a", "b"), "m1": ("b", "a")}
    assignor = ours(client, name)

    given = assignor.assign(client.cluster(topics), client.joined(members))

    expected = assign(topics, members, assignor=assignor.name)
    for member, assignment in given.items():
        data = assignment.encode()
        assert encode_assignment(sorted(expected[member]), 3) == data
        assert len(encode_assignment(expected[member], 0)) == len(data)


@pytest.mark.parametrize("client", CLIENTS)
def test_assignment_is_decoded_when_it_is_read(client: Any) -> None:
    def fresh() -> Any:
        found = ours(client, "RangeAssignor").assign(client.cluster({"t": 3}), client.joined({"m": ("t",)}))
        return found["m"]

    field = "assigned_partitions" if client is kafka_python_group else "assignment"
    assignment, data = fresh(), fresh().encode()

    assert [("t", 0), ("t", 1), ("t", 2)] == [tuple(partition) for partition in assignment.partitions()]
    assert [("t", [0, 1, 2])] == [(topic, list(of)) for topic, of in getattr(fresh(), field)]
    assert (3, None) == (fresh().version, fresh().user_data)
    assert "'t'" in repr(fresh())
    assert assignment == fresh()
    assert data == assignment.encode()
    with pytest.raises(AttributeError, match="absent"):
        _ = fresh().absent
    getattr(assignment, field).clear()
    assert (3, ()) == (
        decode_assignment(assignment.encode()).version,
        decode_assignment(assignment.encode()).partitions,
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_assignment_that_is_written_before_it_is_read_is_encoded_again(client: Any) -> None:
    given = ours(client, "RangeAssignor").assign(client.cluster({"t": 2}), client.joined({"m": ("t",)}))
    given["m"].user_data = b"mine"

    found = decode_assignment(given["m"].encode())
    assert ((("t", 0), ("t", 1)), b"mine") == (found.partitions, found.user_data)
    assert found == decode_assignment(copy.copy(given["m"]).encode())


@pytest.mark.parametrize(("client", "name"), NAMES)
def test_unknown_topics_are_skipped_with_one_warning(client: Any, name: str, caplog: pytest.LogCaptureFixture) -> None:
    members = {"m1": ("t", "gone", "later"), "m2": ("later",)}

    found = client.answer(ours(client, name), {"t": 2, "other": 1}, members)

    assert {"m1": {("t", 0), ("t", 1)}, "m2": set()} == found
    (record,) = caplog.records
    assert "2 subscribed topics have no known partitions" in record.getMessage()
    assert "gone, later" in record.getMessage()


@pytest.mark.parametrize(("client", "name"), NAMES)
def test_without_metadata_every_member_gets_an_empty_assignment(client: Any, name: str) -> None:
    assert {"m1": set(), "m2": set()} == client.answer(ours(client, name), {}, {"m1": ("t",), "m2": ("t",)})
    assert {} == ours(client, name).assign(client.cluster({"t": 1}), client.joined({}))


@pytest.mark.parametrize(("client", "name"), NAMES)
def test_ids_with_gaps_are_assigned(client: Any, name: str) -> None:
    found = client.answer(ours(client, name), {"t": [1, 4, 7]}, {"m": ("t",)})

    assert {"m": {("t", 1), ("t", 4), ("t", 7)}} == found


@pytest.mark.parametrize(("client", "name"), NAMES)
def test_members_of_all_versions_are_in_one_group(client: Any, name: str) -> None:
    topics = {"t": 9}
    members = {f"m{version}": Subscription(("t",)) for version in range(4)}
    joined = {member: client.joined({member: of}, int(member[1])) for member, of in members.items()}
    given: Any = (
        {member: one[member] for member, one in joined.items()}
        if client is aiokafka_group
        else [one[0] for one in joined.values()]
    )

    answered = ours(client, name).assign(client.cluster(topics), given)

    expected = assign(topics, members, assignor=ours(client, name).name)
    found = {member: set(decode_assignment(of.encode()).partitions) for member, of in answered.items()}
    assert {member: set(of) for member, of in expected.items()} == found


def test_member_with_a_null_topic_is_named() -> None:
    (member,) = kafka_python_group.joined({"m1": ("t",)})
    member.metadata.topics = ["t", None]

    with pytest.raises(WrongTypeError, match=r"^member 'm1': a topic must be a str, not None"):
        kafka_python.RangeAssignor().assign(kafka_python_group.cluster({"t": 1}), [member])


def test_metadata_that_no_client_can_decode_fails_before_the_assignor() -> None:
    with pytest.raises(struct.error):
        kafka_python_group.joined({"m": b"\0\3\0\0"})
    with pytest.raises(ValueError, match="unpack requires a buffer"):
        aiokafka_group.joined({"m": b"\0\3\0\0"})


@pytest.mark.parametrize(("client", "name"), NAMES)
def test_shadow_answers_as_the_client_and_logs_the_difference(
    client: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "assignor.clients")
    topics, shadow = {"t": 6}, ours(client, name, shadow=True)

    assert OWN[client][name].name == shadow.name
    assert own_answer(client, name, topics, INTERLEAVED) == client.answer(shadow, topics, INTERLEAVED)
    mine, own = shadow.metadata({"t"}), OWN[client][name]().metadata({"t"})
    assert own.encode() == mine.encode()
    (record,) = caplog.records
    differs = own_answer(client, name, topics, INTERLEAVED) != client.answer(ours(client, name), topics, INTERLEAVED)
    assert (logging.WARNING if differs else logging.INFO) == record.levelno
    assert record.getMessage().startswith(f"{shadow.name}: {client.CLIENT}'s answer")


def test_shadow_names_the_first_members_that_differ(caplog: pytest.LogCaptureFixture) -> None:
    kafka_python_group.answer(kafka_python.RangeAssignor(shadow=True), {"t": 6}, INTERLEAVED)

    (record,) = caplog.records
    assert (
        "range: kafka-python's answer differs from Kafka's for 3 of 3 members and 3 partitions. "
        "Kafka's answer for m1 adds t-0, t-1 and removes nothing; for m2 adds nothing and removes t-3; "
        "for m3 adds t-3 and removes t-0, t-1"
    ) == record.getMessage()


@pytest.mark.parametrize(("client", "name"), NAMES)
def test_shadow_of_a_group_without_members_logs_nothing(
    client: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert {} == ours(client, name, shadow=True).assign(client.cluster({"t": 1}), client.joined({}))
    assert [] == caplog.records


def test_shadow_raises_the_error_of_the_client(caplog: pytest.LogCaptureFixture) -> None:
    shadow = kafka_python.RoundRobinAssignor(shadow=True)

    with pytest.raises(KeyError):
        kafka_python_group.answer(shadow, {"t1": 3, "t2": 1}, {"c1": ("t1",), "c2": ("t2",)})
    assert ["roundrobin: kafka-python's assignor fails in this rebalance; shadow mode raises its error"] == [
        record.getMessage() for record in caplog.records
    ]


def test_shadow_says_once_that_kafka_cannot_read_the_user_data_of_kafka_pythons_sticky(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shadow = kafka_python.StickyAssignor(shadow=True)
    leader = Leader({"t": 4}, shadow, "t")
    other = {"other-2": (None, encode_subscription(Subscription(("t",))))}
    caplog.set_level(logging.INFO, "assignor.clients")
    for _ in range(4):
        leader.rebalance(other)

    levels, lines = zip(*((each.levelname, each.getMessage()) for each in caplog.records), strict=True)
    assert ("INFO", "WARNING") == levels
    assert "sticky: kafka-python's answer for 2 members equals Kafka's" == lines[0]
    assert lines[1].startswith("sticky: Kafka's class cannot read the user data that kafka-python's own class writes")


def test_shadow_compares_user_data_that_kafka_can_read(caplog: pytest.LogCaptureFixture) -> None:
    rules = StickyAssignor()
    rules.on_assignment([TopicPartition("t", 0), TopicPartition("t", 2)], 7)
    members = {"a": ("t",), "b": Subscription(("t",), user_data=rules.subscription_user_data(["t"]))}
    caplog.set_level(logging.INFO, "assignor.clients")

    aiokafka_group.answer(aiokafka.StickyAssignor(shadow=True), {"t": 4}, members)

    assert ["sticky: aiokafka's answer for 2 members equals Kafka's"] == [each.getMessage() for each in caplog.records]


def test_shadow_survives_an_error_of_the_comparison(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no plan")

    shadow = kafka_python.RangeAssignor(shadow=True)
    monkeypatch.setattr(shadow, "_plan", fail)

    assert {"m": {("t", 0)}} == kafka_python_group.answer(shadow, {"t": 1}, {"m": ("t",)})
    assert ["range: cannot compare kafka-python's answer with Kafka's"] == [
        each.getMessage() for each in caplog.records
    ]


@pytest.mark.parametrize(
    ("client", "kind"),
    [
        *((client, kind) for client in CLIENTS for kind in ("roundrobin", "sticky")),
        (kafka_python_group, "cooperative_sticky"),
    ],
)
def test_answers_equal_those_of_kafkas_classes(client: Any, kind: str) -> None:
    name = CLASS_OF[assignor_vectors.ASSIGNORS[kind].assignor]
    files = list(vector_files.OWN_FOLDER.glob(f"assignor_{kind}_*"))
    cases = [case for path in files for case in assignor_vectors.exact(assignor_vectors.read(path))]
    if client is aiokafka_group:
        cases = [case for case in cases if _carried_by_aiokafka(case.subscriptions)]
    chosen = cases[:: max(1, len(cases) // 60)]
    for case in chosen:
        assert case.expected is not None
        expected = {member: set(of) for member, of in case.expected.items()}
        found = client.answer(ours(client, name), case.partitions_per_topic, case.subscriptions)
        assert expected == {member: set(of) for member, of in found.items()}, case.name
    assert len(chosen) >= (10 if client is aiokafka_group else 50)


def _carried_by_aiokafka(subscriptions: Mapping[str, Subscription]) -> bool:
    """Return True if aiokafka's leader passes on all values that matter."""
    return all(
        each.group_instance_id is None and not each.rack and each.generation is None for each in subscriptions.values()
    )


def test_range_with_racks_and_static_members_equals_kafkas_class() -> None:
    cases = [case for case in range_vectors.read(vector_files.OWN_FOLDER / "range_visible.jsonl.gz") if case.applies]
    cases = [case for case in cases if not case.prefer_rack_aware]
    chosen = cases[:: max(1, len(cases) // 60)]

    for case in chosen:
        expected = {member: set(of) for member, of in case.expected.items()}
        found = kafka_python_group.answer(kafka_python.RangeAssignor(), case.partitions_per_topic, case.subscriptions)
        assert expected == found, case.name
    assert any(case.rack_mode for case in chosen)
    assert any(each.group_instance_id for case in chosen for each in case.subscriptions.values())


@pytest.mark.parametrize(("module", "extra"), [("kafka", "kafka-python"), ("aiokafka", "aiokafka")])
def test_import_without_the_client_names_the_package(module: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
from assignor.clients import {extra.replace("-", "_")} as module
assert module.partitions_per_topic
try:
    from assignor.clients.{extra.replace("-", "_")} import RangeAssignor
except ImportError as error:
    print(type(error).__name__, error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert found.startswith(f"MissingDependencyError {extra} ")
    assert f" is not installed: pip install '{extra}>=" in found
