"""Tests of the lag of partitions, members and groups."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.lag import END_OFFSETS, POSITIONS, group_lag, join_owners, member_lag, partition_lag
from tests.lag import lag_rules

Row = dict[str, Any]

OFFSETS = st.one_of(st.none(), st.integers(-1, 12), st.sampled_from([2**53 + 1, 2**62]))
PARTITIONS = st.tuples(st.sampled_from(["orders", "orders.dlq", "é"]), st.integers(0, 2))


@st.composite
def positions(draw: st.DrawFn) -> list[Row]:
    """Return positions of two groups; a partition has one committed offset and up to two owners."""
    found = []
    for group in ("billing", "audit"):
        for (topic, partition), committed in draw(st.dictionaries(PARTITIONS, OFFSETS)).items():
            owners: list[str | None] = draw(st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True))
            found += [
                {"group_id": group, "topic": topic, "partition": partition, "member_id": owner, "committed": committed}
                for owner in owners or [None]
            ]
    return found


@st.composite
def end_offsets(draw: st.DrawFn) -> list[Row]:
    """Return end offsets; some are unknown, and some have no start offset."""
    found = draw(st.dictionaries(PARTITIONS, st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))))
    return [
        {
            "topic": topic,
            "partition": partition,
            "start_offset": None if start is None or end is None else min(start, end),
            "end_offset": end if start is None or end is None else max(start, end),
        }
        for (topic, partition), (start, end) in found.items()
    ]


def tables(positions: list[Row], ends: list[Row]) -> tuple[pa.Table, pa.Table]:
    return pa.Table.from_pylist(positions, POSITIONS), pa.Table.from_pylist(ends, END_OFFSETS)


@given(positions(), end_offsets())
def test_lag_equals_that_of_the_rules(positions: list[Row], ends: list[Row]) -> None:
    found = partition_lag(*tables(positions, ends))
    expected = lag_rules.partition_rows(positions, ends)

    assert expected == found.to_pylist()
    assert lag_rules.member_rows(expected) == member_lag(found).to_pylist()
    assert lag_rules.group_rows(expected) == group_lag(found).to_pylist()


def test_empty_tables_have_all_columns() -> None:
    rows = partition_lag(*tables([], []))

    assert [0, 0, 0] == [len(table) for table in (rows, member_lag(rows), group_lag(rows))]
    assert {"lag", "unknown", "unowned_lag"} <= set(group_lag(rows).schema.names)


@given(positions())
def test_owners_and_commits_are_joined(positions: list[Row]) -> None:
    names = ("group_id", "topic", "partition")
    committed = {tuple(row[name] for name in names): row["committed"] for row in positions}
    commits = [dict(zip(names, key, strict=True), committed=offset) for key, offset in committed.items() if offset]
    owners = [{name: row[name] for name in (*names, "member_id")} for row in positions if row["member_id"]]
    schemas = [pa.schema([POSITIONS.field(name) for name in (*names, last)]) for last in ("committed", "member_id")]

    found = join_owners(pa.Table.from_pylist(commits, schemas[0]), pa.Table.from_pylist(owners, schemas[1]))

    expected = [
        {**row, "committed": row["committed"] or None} for row in positions if row["committed"] or row["member_id"]
    ]
    assert sorted(map(repr, expected)) == sorted(map(repr, found.to_pylist()))


def test_large_tables_and_other_integer_types_are_read() -> None:
    count = 50_000
    positions = pa.table(
        {
            "group_id": ["g"] * count,
            "topic": pa.array(["t"] * count, pa.large_string()),
            "partition": pa.array(range(count), pa.int64()),
            "member_id": [f"m{id % 7}" for id in range(count)],
            "committed": pa.array(range(count), pa.uint32()),
        }
    )
    ends = pa.table(
        {
            "topic": ["t"] * count,
            "partition": range(count),
            "start_offset": [0] * count,
            "end_offset": [id + id % 3 for id in range(count)],
        }
    )

    found = partition_lag(positions, ends)

    assert [id % 3 for id in range(count)] == found["lag"].to_pylist()
    assert sum(id % 3 for id in range(count)) == group_lag(found)["lag"].to_pylist()[0]


def test_duplicate_partition_is_an_error() -> None:
    positions, _ = tables([], [])
    twice = pa.table({"topic": ["t", "t"], "partition": [3, 3], "start_offset": [0, 0], "end_offset": [1, 2]})

    message = r"^end_offsets has 2 rows for topic 't', partition 3; a partition must have one row$"
    with pytest.raises(IllegalArgumentError, match=message):
        partition_lag(positions, twice)


def test_missing_and_mistyped_columns_are_named() -> None:
    positions, ends = tables([], [])

    with pytest.raises(WrongTypeError, match=r"^positions has no column committed; its columns are group_id, topic, "):
        partition_lag(positions.drop_columns("committed"), ends)
    text = pa.table({"topic": ["t"], "partition": ["one"], "start_offset": [0], "end_offset": [1]})
    with pytest.raises(WrongTypeError, match=r"^end_offsets cannot be read as topic: string, partition: int32, "):
        partition_lag(positions, text)
