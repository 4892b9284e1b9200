"""`Fleet.lag` compared with `assignor.lag` for each cluster."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor import lag
from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.spark.drawn_fleet import frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from assignor.spark import Fleet

pytestmark = pytest.mark.spark

Row = dict[str, Any]


def draw(rng: random.Random) -> tuple[list[Row], list[Row], list[Row]]:
    """Return owned partitions as spans of one partition, committed offsets and end offsets of two clusters."""
    current, committed, ends = [], [], []
    for cluster in ("east", "west"):
        for topic in ("t", "u"):
            for partition in range(6):
                place = {"topic": topic, "partition": partition}
                start = rng.randrange(10)
                end = rng.choice([None, start + rng.randrange(30)])
                if rng.random() < 0.9:
                    ends.append({"cluster": cluster, **place, "start_offset": start, "end_offset": end})
                for group in ("g", "h"):
                    keys = {"cluster": cluster, "group_id": group}
                    if rng.random() < 0.8:
                        committed.append({**keys, **place, "committed": rng.choice([None, -1, *range(0, 40, 3)])})
                    owners = rng.choice([[], ["a"], ["b"], ["a"], ["b"], ["a", "b"]])
                    span = {"topic": topic, "start": partition, "count": 1}
                    current += [{**keys, "member_id": owner, **span} for owner in owners]
    return current, committed, ends


def fleet(spark: SparkSession, current: list[Row]) -> Fleet:
    from assignor.spark import Fleet, schemas

    tables: tuple[tuple[list[Row], StructType], ...] = (
        ([], schemas.TOPICS),
        ([], schemas.MEMBERS),
        (current, schemas.ASSIGNMENTS),
    )
    return Fleet(*(frame(spark, rows, schema) for rows, schema in tables))


def test_lag_equals_that_of_the_tables_of_each_cluster(spark: SparkSession) -> None:
    from assignor.spark import schemas

    current, committed, ends = draw(random.Random(3))
    of_fleet = fleet(spark, [*spans(current)])
    frames = frame(spark, committed, schemas.COMMITTED), frame(spark, ends, schemas.END_OFFSETS)
    kinds = {"partition": schemas.FLEET_LAG, "member": schemas.MEMBER_LAG, "group": schemas.GROUP_LAG}
    found = {by: of_fleet.lag(*frames, by=by) for by in kinds}  # type: ignore[arg-type]  # the keys are the literals

    expected: dict[str, list[Row]] = {by: [] for by in kinds}
    for cluster in ("east", "west"):
        its = [
            [{name: row[name] for name in row if name != "cluster"} for row in rows if row["cluster"] == cluster]
            for rows in (current, committed, ends)
        ]
        owners = [{**row, "partition": row["start"]} for row in its[0]]
        key = [(name, lag.POSITIONS.field(name).type) for name in ("group_id", "topic", "partition")]
        positions = lag.join_owners(
            pa.Table.from_pylist(its[1], pa.schema([*key, ("committed", pa.int64())])),
            pa.Table.from_pylist(owners, pa.schema([*key, ("member_id", pa.string())])),
        )
        rows = lag.partition_lag(positions, pa.Table.from_pylist(its[2], lag.END_OFFSETS))
        for by, table in {"partition": rows, "member": lag.member_lag(rows), "group": lag.group_lag(rows)}.items():
            expected[by] += [{"cluster": cluster, **row} for row in table.to_pylist()]
    for by, of_kind in found.items():
        assert [field.name for field in kinds[by]] == of_kind.columns
        assert in_order(expected[by]) == in_order(of_kind.toArrow().to_pylist()), by
    assert set(lag.PROBLEMS) <= {row["problem"] for row in expected["partition"]}


def in_order(rows: list[Row]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def spans(rows: list[Row]) -> list[Row]:
    """Merge consecutive owned partitions into spans."""
    found: list[Row] = []
    last: dict[Any, Row] = {}
    for row in rows:
        key = (row["cluster"], row["group_id"], row["member_id"], row["topic"])
        before = last.get(key)
        if before is not None and before["start"] + before["count"] == row["start"]:
            before["count"] += 1
            continue
        last[key] = dict(row)
        found.append(last[key])
    return found


SPAN = {"cluster": "c", "group_id": "g", "member_id": "a", "topic": "t", "start": 0, "count": 2}


def test_rows_of_current_without_keys_and_repeated_partitions_do_not_count(spark: SparkSession) -> None:
    from assignor.spark import schemas

    empty = [frame(spark, [], schema) for schema in (schemas.COMMITTED, schemas.END_OFFSETS)]
    current = [
        SPAN,
        {**SPAN, "start": 1, "count": 3},
        {**SPAN, "start": 2**31 - 1, "count": 1},
        *({**SPAN, name: None} for name in ("cluster", "group_id", "member_id", "topic")),
    ]

    found = fleet(spark, current).lag(*empty).collect()

    assert [("c", "g", "a", "t", id) for id in (0, 1, 2, 3, 2**31 - 1)] == sorted(
        (row["cluster"], row["group_id"], row["member_id"], row["topic"], row["partition"]) for row in found
    )


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"start": -5}, "group 'g' of cluster 'c': member 'a': start -5 and count 2"),
        ({"start": None, "cluster": ""}, "group 'g': member 'a': start null and count 2"),
        ({"count": 0}, "group 'g' of cluster 'c': member 'a': start 0 and count 0"),
        ({"start": 2**31 - 1}, "group 'g' of cluster 'c': member 'a': start 2147483647 and count 2"),
    ],
)
def test_spans_that_are_not_partition_ids_fail_as_in_moves(spark: SparkSession, change: Row, place: str) -> None:
    from pyspark.errors import PySparkException

    from assignor.spark import schemas

    empty = [frame(spark, [], schema) for schema in (schemas.COMMITTED, schemas.END_OFFSETS)]
    of_fleet = fleet(spark, [{**SPAN, **change}])

    for query in (of_fleet.lag(*empty, by="group"), of_fleet.moves()):
        with pytest.raises(PySparkException) as raised:
            query.collect()
        assert f"{place} of topic 't' are not a range of partition ids" in str(raised.value)


PLACE = {"cluster": "c", "topic": "t", "partition": 1}


@pytest.mark.parametrize("by", ["partition", "member", "group"])
@pytest.mark.parametrize(
    ("committed", "ends", "message"),
    [
        (2, 1, r"committed: cluster 'c', group_id 'g', topic 't', partition 1 has 2 rows; one is allowed"),
        (1, 3, r"end_offsets: cluster 'c', topic 't', partition 1 has 3 rows; one is allowed"),
    ],
)
def test_a_partition_with_several_rows_is_named(
    spark: SparkSession, committed: int, ends: int, message: str, by: Any
) -> None:
    from assignor.spark import schemas

    commits = [{**PLACE, "group_id": "g", "committed": 5 + number} for number in range(committed)]
    logs = [{**PLACE, "start_offset": 0, "end_offset": 9 + number} for number in range(ends)]
    found = fleet(spark, [SPAN]).lag(
        frame(spark, commits, schemas.COMMITTED), frame(spark, logs, schemas.END_OFFSETS), by=by
    )

    with pytest.raises(Exception, match=message):
        found.collect()


def test_rows_without_a_partition_or_an_offset_do_not_count(spark: SparkSession) -> None:
    from assignor.spark import schemas

    commit = {**PLACE, "group_id": "g", "committed": 5}
    commits = [commit, {**commit, "committed": None}, {**commit, "committed": -1}]
    commits += 2 * [{**commit, "group_id": None}, {**commit, "topic": None}]
    log = {**PLACE, "start_offset": 0, "end_offset": 9}
    logs = [log, *2 * [{**log, "partition": None}]]

    [found] = (
        fleet(spark, [])
        .lag(frame(spark, commits, schemas.COMMITTED), frame(spark, logs, schemas.END_OFFSETS))
        .collect()
    )

    assert ("g", "t", 1, 4) == (found["group_id"], found["topic"], found["partition"], found["lag"])


def test_arguments_are_checked(spark: SparkSession) -> None:
    from assignor.spark import Fleet, schemas

    empty = [frame(spark, [], schema) for schema in (schemas.COMMITTED, schemas.END_OFFSETS)]
    of_fleet = fleet(spark, [])

    with pytest.raises(IllegalArgumentError, match=r"^by must be 'partition', 'member' or 'group', not 'topic'$"):
        of_fleet.lag(*empty, by="topic")  # type: ignore[arg-type]  # deliberately wrong value
    with pytest.raises(IllegalArgumentError, match=r"^lag\(\) needs the owned partitions"):
        Fleet(of_fleet.topics, of_fleet.members).lag(*empty)
    with pytest.raises(WrongTypeError, match=r"^committed has no column committed of type bigint; "):
        of_fleet.lag(empty[0].drop("committed"), empty[1])


def test_arguments_of_lag_in_time_are_checked(spark: SparkSession) -> None:
    from assignor.spark import Fleet, schemas

    empty = [frame(spark, [], schema) for schema in (schemas.TIMED_COMMITTED, schemas.TIMED_END_OFFSETS)]
    of_fleet = fleet(spark, [])

    with pytest.raises(IllegalArgumentError, match=r"^by must be 'partition', 'topic', 'member' or 'group', not 'x'$"):
        of_fleet.lag_in_time(*empty, by="x")  # type: ignore[arg-type]  # deliberately wrong value
    with pytest.raises(IllegalArgumentError, match=r"^window_ms must be at least 1, got 0$"):
        of_fleet.lag_in_time(*empty, window_ms=0)
    with pytest.raises(IllegalArgumentError, match=r"^lag_in_time\(\) needs the owned partitions"):
        Fleet(of_fleet.topics, of_fleet.members).lag_in_time(*empty)


@pytest.mark.parametrize("by", ["partition", "group"])
@pytest.mark.parametrize("other", [{"at": 20, "end_offset": 9}, {"at": 10}, {"at": 30}])
def test_several_end_offsets_of_a_partition_at_a_time_are_an_error(spark: SparkSession, by: Any, other: Row) -> None:
    from assignor.spark import schemas

    end = {"cluster": "c", "topic": "t", "partition": 1, "at": 10, "start_offset": 0, "end_offset": 8}
    later = {**end, "at": 20}
    without_keys = 2 * [{**end, name: None} for name in ("cluster", "topic", "partition", "at")]
    rows = [end, later, {**end, "partition": 0}, {**end, **other}, *without_keys]
    ends = frame(spark, rows, schemas.TIMED_END_OFFSETS)
    commits = frame(spark, [], schemas.TIMED_COMMITTED)
    asked = fleet(spark, [SPAN]).lag_in_time(commits, ends, by=by)

    if other["at"] < 30:
        reason = rf"end_offsets: cluster 'c', topic 't', partition 1 has several rows at {other['at']}; one is allowed"
        with pytest.raises(Exception, match=reason):
            asked.collect()
    else:
        assert asked.collect()
