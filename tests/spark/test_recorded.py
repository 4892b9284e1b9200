"""Topics, members and assignments at the end of a recording: the bundled one, and hand-made ones."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor import PartitionInfo, Subscription, TopicPartition, assign
from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.replay.logs import CONSUMER, SHARE, Event, event, member, topic_id
from tests.support.record_bytes import assignment
from tests.support.recorded_fleet import RECORDING, TRUTH, Row, snapshots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.conftest import RecordedTables

pytestmark = pytest.mark.spark


class Tables(NamedTuple):
    """Rows of the result of `recorded`."""

    topics: list[Row]
    members: list[Row]
    current: list[Row]


def collected(frames: Iterable[DataFrame]) -> Tables:
    return Tables(*(frame.toArrow().to_pylist() for frame in frames))


@pytest.fixture(scope="module")
def fleet(recorded_tables: RecordedTables) -> Tables:
    """Return the bundled fleet at the end of its recording."""
    return Tables(*(table.to_pylist() for table in recorded_tables))


def described_groups() -> dict[str, Row]:
    """Return the cluster's final description of the groups of consumers with members."""
    groups = {each["group"]: each for each in snapshots()["final"] if each["type"] in {"Classic", "Consumer"}}
    return {name: each for name, each in groups.items() if each["members"]}


def by_member(rows: list[Row], *names: str) -> dict[tuple[str, str], tuple[Any, ...]]:
    found = {(row["group_id"], row["member_id"]): tuple(row[name] for name in names) for row in rows}
    assert len(rows) == len(found)
    return found


def assignors(rows: list[Row]) -> set[tuple[str, str, str, int]]:
    """Return the assignor, the protocol and the generation of each group."""
    return {(row["group_id"], row["assignor"], row["group_protocol"], row["generation"]) for row in rows}


def expanded(rows: list[Row]) -> dict[tuple[str, str], dict[str, list[int]]]:
    """Return the partition ids of each member by topic."""
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for row in sorted(rows, key=lambda row: int(row["start"])):
        topics = found.setdefault((row["group_id"], row["member_id"]), {})
        topics.setdefault(row["topic"], []).extend(range(row["start"], row["start"] + row["count"]))
    return found


# ---- the bundled fleet


def test_the_frames_have_the_columns_of_a_fleet(spark: SparkSession) -> None:
    from assignor.spark import schemas
    from assignor.spark.recorded_fleet import recorded

    for frame, wanted in zip(
        recorded(spark, RECORDING), (schemas.TOPICS, schemas.MEMBERS, schemas.ASSIGNMENTS), strict=True
    ):
        kinds = [(field.name, field.dataType.simpleString()) for field in wanted.fields]
        assert kinds == [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]


def test_a_table_is_decoded_and_replayed_once(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    from assignor.spark.recorded_fleet import recorded

    _, *frames = recorded(spark, RECORDING)

    for frame in frames:
        frame.explain()
        plan = capsys.readouterr().out
        assert (1, 1) == (plan.count("ArrowEvalPython"), plan.count("MapInArrow"))


def test_topics_are_those_of_the_last_snapshot(fleet: Tables) -> None:
    rows = pq.read_table(RECORDING / "topics.parquet").to_pylist()
    last = max(row["t"] for row in rows)
    racks: dict[str, dict[int, list[str]]] = {}
    ids: dict[str, str] = {}
    for row in rows:
        if row["t"] == last:
            racks.setdefault(row["topic"], {})[row["partition"]] = row["racks"]
            ids[row["topic"]] = row["topic_id"]

    expected = [
        {
            "cluster": "",
            "topic": topic,
            "partitions": len(on),
            "racks": [on[id] for id in range(len(on))],
            "topic_id": ids[topic],
        }
        for topic, on in sorted(racks.items())
    ]
    assert expected == sorted(fleet.topics, key=lambda row: str(row["topic"]))
    assert {"r0", "r1", "r2"} == {rack for row in fleet.topics for racks in row["racks"] for rack in racks}


def test_members_are_those_that_the_cluster_described(fleet: Tables) -> None:
    expected = {
        (name, each["member_id"]): (each["instance_id"],)
        for name, group in described_groups().items()
        for each in group["members"]
    }
    assert expected == by_member(fleet.members, "group_instance_id")
    assert {"wh-0", "wh-2", "wh-3"} < {row["group_instance_id"] for row in fleet.members}
    racks = {
        (name, each["member_id"]): (each["rack"],)
        for name, group in described_groups().items()
        if group["type"] == "Consumer"  # the Admin client returns no racks of classic groups
        for each in group["members"]
    }
    assert racks.items() < by_member(fleet.members, "rack").items()


class SubscriptionReader:
    """Reader of a ConsumerProtocol subscription."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def number(self, kind: str) -> int:
        size = struct.calcsize(f">{kind}")
        (number,) = struct.unpack(f">{kind}", self.data[:size])
        self.data = self.data[size:]
        return int(number)

    def bytes(self, kind: str) -> bytes | None:
        size = self.number(kind)
        if size < 0:
            return None
        data, self.data = self.data[:size], self.data[size:]
        return data

    def text(self) -> str:
        return (self.bytes("h") or b"").decode()

    def topics_and_rack(self) -> tuple[list[str], str | None]:
        version = self.number("h")
        topics = [self.text() for _ in range(self.number("i"))]
        if version < 3:
            return topics, None
        self.bytes("i")
        for _ in range(self.number("i")):
            self.text()
            for _ in range(self.number("i")):
                self.number("i")
        self.number("i")
        return topics, self.text() or None


def test_subscriptions_and_racks_are_those_of_the_last_records(fleet: Tables) -> None:
    last: dict[tuple[int, str, str], Row | None] = {}
    with gzip.open(TRUTH / "decoded.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["type"] in {2, 5}:
                key = record["key"]
                place = (record["type"], key.get("group") or key.get("groupId"), key.get("memberId", ""))
                last[place] = record["value"]
    expected: dict[tuple[str, str], tuple[Any, ...]] = {}
    for (number, group, member_id), value in last.items():
        if value and number == 5:
            pattern = value["subscribedTopicRegex"] or None
            subscription = (None if pattern else value["subscribedTopicNames"], pattern, pattern and "re2j")
            expected[group, member_id] = (value["rackId"], *subscription)
        elif value and value["protocolType"] == "consumer":
            for each in value["members"]:
                topics, rack = SubscriptionReader(base64.b64decode(each["subscription"])).topics_and_rack()
                expected[group, each["memberId"]] = (rack, topics, None, None)

    assert expected == by_member(fleet.members, "rack", "topics", "pattern", "dialect")
    assert {""} == {row["cluster"] for row in fleet.members}
    assert 3 == sum(row["pattern"] is not None for row in fleet.members)
    assert {"r0", "r1", "r2", None} >= {row["rack"] for row in fleet.members} > {"r0", None}


def test_groups_have_the_assignor_that_the_cluster_reports(fleet: Tables) -> None:
    expected = {(name, group["assignor"], group["type"].lower()) for name, group in described_groups().items()}

    assert expected == {each[:3] for each in assignors(fleet.members)}
    assert len(expected) == len(assignors(fleet.members))


def test_owned_partitions_are_those_that_the_cluster_described(fleet: Tables) -> None:
    expected = {
        (name, each["member_id"]): each["assignment"]
        for name, group in described_groups().items()
        for each in group["members"]
        if each["assignment"]
    }
    assert expected == expanded(fleet.current)
    assert {""} == {row["cluster"] for row in fleet.current}


def test_groups_under_range_own_the_answer_of_assign_for_these_tables(fleet: Tables) -> None:
    partitions = {
        row["topic"]: [PartitionInfo(id, tuple(racks)) for id, racks in enumerate(row["racks"])] for row in fleet.topics
    }
    has = expanded(fleet.current)
    compared = 0
    for name, group in described_groups().items():
        members = [row for row in fleet.members if row["group_id"] == name]
        if group["type"] != "Classic" or group["assignor"] != "range":
            continue
        found = assign(
            partitions,
            {
                row["member_id"]: Subscription(
                    row["topics"], group_instance_id=row["group_instance_id"], rack=row["rack"]
                )
                for row in members
            },
        )
        for member_id, given in found.items():
            now = has.get((name, member_id), {})
            assert {TopicPartition(topic, id) for topic, ids in now.items() for id in ids} == set(given), name
        compared += 1
    assert 6 == compared


# ---- hand-made recordings


def record(folder: Path, events: Iterable[Event] = (), topics: Iterable[Row] = ()) -> Path:
    """Write a recording folder; events are one millisecond apart and in one partition."""
    folder.mkdir()
    rows = [
        {"partition": 0, "offset": place, "timestamp": place, "key": each.key, "value": each.value}
        for place, each in enumerate(events)
    ]
    for name, entries in (("records", rows), ("topics", list(topics))):
        table = pa.Table.from_pylist(entries, schema=columns(name))
        pq.write_table(table, folder / f"{name}.parquet")
    return folder


def columns(name: str) -> pa.Schema:
    from assignor.cluster import COLUMNS

    known = pq.read_schema(RECORDING / f"{name}.parquet")
    return pa.schema([known.field(column) for column in COLUMNS[f"{name}.parquet"]])


def topic(name: str, partition: int, racks: list[str | None] | None, t: int = 5) -> Row:
    return {"t": t, "topic": name, "topic_id": topic_id(name), "partition": partition, "racks": racks}


def classic_group(name: str, protocol_type: str, *members: Row) -> Event:
    value = {"protocolType": protocol_type, "generation": 1, "protocol": "range", "leader": "a", "members": members}
    return event(2, {"group": name}, value, version=3)


def test_hand_made_groups_have_their_topics_members_and_owned_partitions(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark.recorded_fleet import recorded

    def found(pattern: str, topics: list[str]) -> Event:
        return event(16, {"groupId": "g", "regularExpression": pattern}, {"topics": topics})

    log = [
        CONSUMER.epoch(1),
        CONSUMER.joins("both", subscribedTopicNames=["t"], subscribedTopicRegex="u.*"),
        CONSUMER.joins("early", subscribedTopicNames=["t"], subscribedTopicRegex="later"),
        CONSUMER.joins("pattern", subscribedTopicRegex="u.*"),
        found("u.*", ["t", "u1"]),
        CONSUMER.has("both", 1, 0, {"t": [0, 1], "unnamed": [4]}),
        classic_group("odd", "consumer", member("a", b"\0", b""), member("b", ["t"], assignment(("t", [0])), rack="r")),
        classic_group("connect", "connect", member("w", ["t"], {"t": [0]})),
        classic_group("empty", "consumer"),
        event(11, {"groupId": "share"}, {"epoch": 1}),
        event(SHARE.member, {"groupId": "share", "memberId": "s"}, {"subscribedTopicNames": ["t"]}),
        event(1, {"group": "name", "topic": "t", "partition": 0}, {"offset": 7}),
    ]
    given = record(tmp_path / "given", log, [topic("t", 1, None), topic("t", 0, ["r", None]), topic("u", 0, [], t=4)])

    tables = collected(recorded(spark, given))

    expected_topic = {
        "cluster": "",
        "topic": "t",
        "partitions": 2,
        "racks": [["r", None], []],
        "topic_id": topic_id("t"),
    }
    assert [expected_topic] == tables.topics
    expected = {
        ("g", "both"): (None, ["t", "u1"], None, None),
        ("g", "early"): (None, ["t"], None, None),
        ("g", "pattern"): (None, None, "u.*", "re2j"),
        ("odd", "a"): (None, None, None, None),
        ("odd", "b"): ("r", ["t"], None, None),
    }
    assert expected == by_member(tables.members, "rack", "topics", "pattern", "dialect")
    assert {("g", "uniform", "consumer", 1), ("odd", "range", "classic", 1)} == assignors(tables.members)
    expected_partitions = {("g", "both"): {"t": [0, 1], topic_id("unnamed"): [4]}, ("odd", "b"): {"t": [0]}}
    assert expected_partitions == expanded(tables.current)


def test_an_empty_recording_is_an_empty_fleet(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark.recorded_fleet import recorded

    assert Tables([], [], []) == collected(recorded(spark, record(tmp_path / "given")))


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (
            [topic("t", 0, []), topic("t", 2, [])],
            "has no partition 1 of topic t in its last snapshot, t=5, but has partition 2",
        ),
        ([topic("t", 1, []), topic("t", 0, [], t=4)], "has no partition 0 of topic t"),
        ([topic("t", 0, []), topic("t", 0, ["r"])], "topic 't': partition 0 is given twice"),
    ],
)
def test_invalid_topics_are_an_error_before_any_job(
    spark: SparkSession, tmp_path: Path, topics: list[Row], message: str
) -> None:
    from assignor.spark.recorded_fleet import recorded

    with pytest.raises(IllegalArgumentError, match=re.escape(message)):
        recorded(spark, record(tmp_path / "given", (), topics))


def test_a_folder_that_is_not_a_recording_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark.recorded_fleet import recorded

    with pytest.raises(IllegalArgumentError, match=r"records\.parquet does not exist"):
        recorded(spark, tmp_path)
    given = record(tmp_path / "given")
    pq.write_table(pq.read_table(given / "records.parquet").cast(text_offsets()), given / "records.parquet")
    with pytest.raises(WrongTypeError, match="column offset must be of type bigint, not string"):
        recorded(spark, given)


def text_offsets() -> pa.Schema:
    known = columns("records")
    return known.set(known.get_field_index("offset"), pa.field("offset", pa.string()))
