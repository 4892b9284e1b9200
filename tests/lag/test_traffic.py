"""Tests of traffic: records per second of partitions and members, and when it is uneven."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from assignor import errors
from assignor.traffic import member_traffic, partition_traffic, uneven_ratio

MINUTE = 60_000


def commits(*rows: tuple[int, int | None, int], group: str = "g") -> pa.Table:
    """Return commits of (partition, offset, minute)."""
    partitions, committed, minutes = zip(*rows, strict=True)
    return pa.table(
        {
            "group_id": [group] * len(rows),
            "topic": ["t"] * len(rows),
            "partition": list(partitions),
            "committed": pa.array(committed, pa.int64()),
            "timestamp": [minute * MINUTE for minute in minutes],
        }
    )


def ends(*rows: tuple[int, int, int]) -> pa.Table:
    """Return end offsets of (partition, offset, minute)."""
    partitions, offsets, minutes = zip(*rows, strict=True)
    columns = {"topic": ["t"] * len(rows), "partition": list(partitions), "start_offset": [0] * len(rows)}
    return pa.table({"at": [minute * MINUTE for minute in minutes], **columns, "end_offset": list(offsets)})


def rates(found: pa.Table) -> dict[int, Any]:
    return {row["partition"]: (row["rate"], row["basis"]) for row in found.to_pylist()}


def test_consumed_records_are_divided_by_the_window_of_the_group() -> None:
    found = partition_traffic(commits((0, 0, 0), (1, 5, 1), (1, 305, 2), (0, 1200, 10)))

    assert {0: (2.0, "commits"), 1: (0.5, "commits")} == rates(found)


def test_an_offset_that_goes_back_or_is_deleted_is_no_traffic() -> None:
    found = partition_traffic(commits((0, 600, 0), (0, 0, 1), (0, None, 2), (0, 600, 10)))

    assert {0: (1.0, "commits")} == rates(found)


def test_commits_before_the_window_do_not_count() -> None:
    found = partition_traffic(commits((0, 0, 0), (0, 90_000, 59), (0, 90_600, 69)), window_ms=10 * MINUTE)

    assert {0: (1.0, "commits")} == rates(found)


def test_end_offsets_count_where_two_of_the_window_are_known() -> None:
    given = ends((0, 0, 0), (0, 6000, 10), (1, 7, 5), (2, 50, 1), (2, 650, 6), (0, 99_999, 11))

    found = partition_traffic(commits((0, 0, 0), (1, 0, 0), (1, 60, 10)), given, partitions=PARTITIONS)

    assert {0: (10.0, "end_offsets"), 1: (0.1, "commits"), 2: (2.0, "end_offsets"), 3: (None, None)} == rates(found)


PARTITIONS = pa.table({"group_id": ["g", "g"], "topic": ["t", "t"], "partition": [2, 3]})


def test_one_commit_gives_no_traffic_and_wrong_input_is_named() -> None:
    assert {0: (None, None)} == rates(partition_traffic(commits((0, 5, 1))))
    with pytest.raises(errors.WrongTypeError, match=r"^commits has no column group_id; its columns are topic$"):
        partition_traffic(pa.table({"topic": ["t"]}))
    with pytest.raises(errors.IllegalArgumentError, match=r"^window_ms must be at least 1, got 0$"):
        partition_traffic(commits((0, 5, 1)), window_ms=0)


def test_a_member_without_a_measurement_has_no_rate() -> None:
    traffic = partition_traffic(
        commits((0, 0, 0), (0, 600, 10), (1, 7, 0)), partitions=PARTITIONS, window_ms=MINUTE * 9
    )
    owners = pa.table({**PARTITIONS.to_pydict(), "member_id": ["b", "b"]})
    more = pa.table({"group_id": ["g", "g"], "topic": ["t", "t"], "partition": [0, 1], "member_id": ["a", "c"]})

    found = member_traffic(traffic, pa.concat_tables([owners, more])).to_pylist()

    # The only commit of partition 0 in the window has no predecessor in it; partition 1 has none at all.
    assert [("a", 0.0, 0), ("b", None, 2), ("c", None, 0)] == [
        (row["member_id"], row["rate"], row["unknown"]) for row in found
    ]


SETTINGS: dict[str, Any] = {"records": 60_000, "seconds": 600.0, "measurements": 100, "packed": 40.0}


@pytest.mark.parametrize(
    ("partitions", "of_members", "settings", "ratio"),
    [
        ([2, 2, 2], [100.0, 10.0, 10.0], {}, 2.5),
        ([2, 2], [90.0, 30.0], {"packed": 60.0}, 1.5),
        ([2, 2], [89.0, 31.0], {"packed": 60.0}, None),  # below the threshold
        ([5, 1, 1], [100.0, 10.0, 10.0], {}, None),  # uneven by count, too
        ([2, 2, 2], [100.0, 10.0, None], {}, None),  # a member is not known
        ([2, 2, 2], [100.0, 10.0, 10.0], {"records": 299}, None),  # few records
        ([2, 2, 2], [100.0, 10.0, 10.0], {"seconds": 59.0}, None),  # a short window
        ([2, 2, 2], [100.0, 10.0, 10.0], {"measurements": 4}, None),  # few commits
        ([1, 1, 1], [100.0, 10.0, 10.0], {"packed": 100.0}, None),  # a single partition has the traffic
        ([2, 2, 2], [0.0, 0.0, 0.0], {"packed": 0.0}, None),  # an idle group
        ([6], [100.0], {}, None),  # one member
        ([], [], {}, None),
    ],
)
def test_traffic_is_uneven_only_if_an_assignment_would_help(
    partitions: list[int], of_members: list[float | None], settings: dict[str, Any], ratio: float | None
) -> None:
    assert ratio == uneven_ratio(partitions, of_members, **{**SETTINGS, **settings})
