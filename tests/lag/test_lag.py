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
    """Return end offsets; some are unknown."""
    found = draw(st.dictionaries(PARTITIONS, st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(0, 9)))))
    return [
        {"topic": topic, "partition": partition, "start_offset": log and min(log), "end_offset": log and max(log)}
        for (topic, partition), log in found.items()
    ]


def tables(positions: list[Row], ends: list[Row]) -> tuple[pa.Table, pa.Table]:
    return pa.Table.from_pylist(positions, POSITIONS), pa.Table.from_pylist(ends, END_OFFSETS)


def one(committed: int | None, start: int | None, end: int | None, member: str | None = "a") -> Row:
    """Return the lag of one partition."""
    position = {"group_id": "g", "topic": "t", "partition": 0, "member_id": member, "committed": committed}
    log = {"topic": "t", "partition": 0, "start_offset": start, "end_offset": end}
    (row,) = partition_lag(*tables([position], [log])).to_pylist()
    return {name: row[name] for name in ("lag", "deleted", "problem")}


@given(positions(), end_offsets())
def test_lag_equals_that_of_the_rules(positions: list[Row], ends: list[Row]) -> None:
    found = partition_lag(*tables(positions, ends))
    expected = lag_rules.partition_rows(positions, ends)

    assert expected == found.to_pylist()
    assert lag_rules.member_rows(expected) == member_lag(found).to_pylist()
    assert lag_rules.group_rows(expected) == group_lag(found).to_pylist()


def test_lag_is_the_number_of_offsets_after_the_committed_one() -> None:
    assert {"lag": 3, "deleted": 0, "problem": None} == one(7, 0, 10)
    assert {"lag": 0, "deleted": 0, "problem": None} == one(10, 10, 10)


def test_owned_partition_without_a_commit_has_an_unknown_lag() -> None:
    assert {"lag": None, "deleted": None, "problem": "never_committed"} == one(None, 0, 10)
    assert {"lag": None, "deleted": None, "problem": "never_committed"} == one(-1, 0, 10)


def test_commit_beyond_the_end_has_no_negative_lag() -> None:
    assert {"lag": None, "deleted": None, "problem": "beyond_end"} == one(11, 0, 10)


def test_deleted_records_count_as_lag() -> None:
    assert {"lag": 8, "deleted": 3, "problem": "before_start"} == one(2, 5, 10)


def test_partition_without_an_end_offset_has_an_unknown_lag() -> None:
    assert {"lag": None, "deleted": None, "problem": "unknown_end"} == one(2, None, None)
    assert {"lag": 8, "deleted": None, "problem": None} == one(2, None, 10)


def test_partition_without_an_owner_counts_for_its_group_only() -> None:
    rows = partition_lag(
        *tables(
            [{"group_id": "g", "topic": "t", "partition": 0, "member_id": None, "committed": 4}],
            [{"topic": "t", "partition": 0, "start_offset": 0, "end_offset": 9}],
        )
    )

    assert [] == member_lag(rows).to_pylist()
    assert [(5, 1, 5)] == [(row["lag"], row["unowned"], row["unowned_lag"]) for row in group_lag(rows).to_pylist()]


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
