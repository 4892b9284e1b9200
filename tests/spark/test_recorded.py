"""Topics, members and assignments at the end of a recording: the bundled one, and hand-made ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.replay.golden.outputs import expected
from tests.replay.logs import CONSUMER, SHARE, Event, event, member, topic_id
from tests.support.record_bytes import assignment
from tests.support.recorded_fleet import RECORDING, Row

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

    wanted = [
        {
            "cluster": "",
            "topic": topic,
            "partitions": len(on),
            "racks": [on[id] for id in range(len(on))],
            "topic_id": ids[topic],
        }
        for topic, on in sorted(racks.items())
    ]
    assert wanted == sorted(fleet.topics, key=lambda row: str(row["topic"]))
    assert {"r0", "r1", "r2"} == {rack for row in fleet.topics for racks in row["racks"] for rack in racks}


def stored(name: str) -> list[Row]:
    """Return the rows of a table of the stored report on the recording."""
    _, _, rows = expected(RECORDING.name, f"table_{name}").decode().partition("\n\n")
    return [json.loads(line) for line in rows.splitlines()]


def test_members_and_owned_partitions_are_those_of_the_stored_report(fleet: Tables) -> None:
    groups = {row["group_id"]: row for row in stored("groups") if row["kind"] in {"classic", "consumer"}}
    members = [row for row in stored("members") if row["group_id"] in groups]
    names = ("group_instance_id", "rack", "pattern")

    assert by_member(members, *names) == by_member(fleet.members, *names)
    topics = {
        key: (None if pattern else topics,)
        for key, (topics, pattern) in by_member(members, "topics", "pattern").items()
    }
    assert topics == by_member(fleet.members, "topics")
    assert (
        {(None, None)}
        < {(row["pattern"] and "re2j", row["dialect"]) for row in fleet.members}
        == {(None, None), ("re2j", "re2j")}
    )
    assert assignors(fleet.members) == {
        (name, row["protocol"], row["kind"], row["generation"])
        for name, row in groups.items()
        if name in {member["group_id"] for member in members}
    }
    owned = [row for row in stored("assignments") if row["group_id"] in groups]
    assert sorted(map(repr, owned)) == sorted(map(repr, fleet.current))
    assert {""} == {row["cluster"] for row in fleet.members}


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
    members = {
        ("g", "both"): (None, ["t", "u1"], None, None),
        ("g", "early"): (None, ["t"], None, None),
        ("g", "pattern"): (None, None, "u.*", "re2j"),
        ("odd", "a"): (None, None, None, None),
        ("odd", "b"): ("r", ["t"], None, None),
    }
    assert members == by_member(tables.members, "rack", "topics", "pattern", "dialect")
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
