"""Lag in time: compared with rules in plain Python, and the cases in which nothing may be said."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.errors import AssignorError
from assignor.lag import END_OFFSETS, POSITIONS, TIMED_END_OFFSETS, partition_lag
from assignor.lag_time import REASONS, TIME_LAG, TIMED_COMMITTED, TRENDS, WINDOW_MS, lag_in_time
from assignor.lag_time_sums import sum_lag_in_time, summed_schema
from tests.lag.time_rules import COMPARED, time_row

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = dict[str, Any]

KEYS: Row = {"group_id": "g", "topic": "t", "partition": 0}
STEP = 10_000
NOW = 600_000


def in_time(
    ends: Sequence[tuple[int, int] | tuple[int, int, int | None]],
    commits: Sequence[tuple[int, int | None]],
    **given: Any,
) -> Row:
    """Return the row of a partition from pairs of time and end offset (and start), and of time and committed offset.

    The last ones are those of now.
    """
    rows = [{**KEYS, "at": each[0], "end_offset": each[1], "start_offset": (*each, 0)[2]} for each in ends]
    last = {name: rows[-1][name] for name in ("topic", "partition", "start_offset", "end_offset")}
    position = {**KEYS, "member_id": "a", "committed": commits[-1][1] if commits else None}
    lags = partition_lag(pa.Table.from_pylist([position], POSITIONS), pa.Table.from_pylist([last], END_OFFSETS))
    committed = [{**KEYS, "at": at, "committed": offset} for at, offset in commits]
    tables = pa.Table.from_pylist(rows, TIMED_END_OFFSETS), pa.Table.from_pylist(committed, TIMED_COMMITTED)
    (found,) = lag_in_time(lags, ends[-1][0], *tables, **given).to_pylist()
    return dict(found)


def times(first: int = 0) -> list[int]:
    return list(range(first, NOW + 1, STEP))


def check_reasons(row: Row) -> None:
    """Check that each value is known or has a reason, and not both."""
    pairs = {
        "behind_seconds": "behind_reason",
        "growth_per_second": "growth_reason",
        "catch_up_seconds": "catch_up_reason",
        "records_to_start": "start_reason",
        "deleted_in_seconds": "deletion_reason",
    }
    for value, reason in pairs.items():
        assert (row[value] is None) == (row[reason] is not None), (value, row)
        assert row[reason] in (None, *REASONS)


# ---- compared with the rules


def test_lag_in_time_equals_the_rules() -> None:
    trends = set()
    for seed in range(25):
        rng = random.Random(seed)
        ends, commits, positions, last = [], [], [], []
        for partition in range(6):
            place = {"topic": "t", "partition": partition}
            end, start, committed = rng.randrange(50), 0, 0
            speed, pace = rng.choice([0, 3, 40]), rng.choice([0, 3, 35, 60])
            for at in times(rng.choice([0, 300_000, NOW])):
                if rng.random() < 0.03:
                    end = start = 0
                end += speed and rng.randrange(2 * speed)
                start = min(end, start + rng.choice([0, 0, 5]))
                committed = min(committed + (pace and rng.randrange(2 * pace)), end + rng.choice([0, 0, 0, 9]))
                committed = rng.choice([committed] * 40 + [committed // 2])
                if rng.random() < 0.9 or at == NOW:
                    known = rng.random() < 0.95
                    row = {"at": at, **place, "start_offset": start, "end_offset": end if known else None}
                    ends.append(row)
                    if at == NOW:
                        last.append({name: row[name] for name in END_OFFSETS.names})
                if rng.random() < 0.5:
                    offset = rng.choice([committed] * 9 + [None])
                    commits.append({"at": at - rng.randrange(1, STEP), "group_id": "g", **place, "committed": offset})
            positions.append({"group_id": "g", **place, "member_id": "a", "committed": committed})
        rng.shuffle(ends)
        rng.shuffle(commits)
        lags = partition_lag(pa.Table.from_pylist(positions, POSITIONS), pa.Table.from_pylist(last, END_OFFSETS))
        tables = pa.Table.from_pylist(ends, TIMED_END_OFFSETS), pa.Table.from_pylist(commits, TIMED_COMMITTED)

        found = lag_in_time(lags, NOW, *tables, window_ms=200_000)

        assert TIME_LAG == found.schema
        for row in found.to_pylist():
            of_log, of_group = (
                [each for each in rows if each["partition"] == row["partition"]] for rows in (ends, commits)
            )
            expected = time_row(row, NOW, of_log, of_group, 200_000)
            for name in COMPARED:
                assert same(expected[name], row[name]), (seed, name, expected, row)
            check_reasons(row)
            trends.add(row["trend"])
    assert {*TRENDS, None} == trends


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5, abs_tol=2e-3)
    return bool(one == other)


# ---- what is known


def test_the_age_is_interpolated_between_two_measurements() -> None:
    found = in_time([(0, 0), (60_000, 600), (120_000, 1_200)], [(120_000, 900)])

    assert (30.0, None) == (found["behind_seconds"], found["behind_reason"])


def test_records_after_an_idle_time_are_as_old_as_the_first_measurement_with_them() -> None:
    idle = [(at, 100) for at in times()[:-2]]

    found = in_time([*idle, (NOW - STEP, 100), (NOW, 300)], [(0, 100), (NOW, 100)])

    assert STEP / 1_000 == found["behind_seconds"]


def test_the_time_to_catch_up_is_that_of_the_line() -> None:
    ends = [(at, 10_000 + at // 100) for at in times()]
    commits = [(at, 8 * (at // 400)) for at in times()]

    found = in_time(ends, commits)

    assert (4_000, -10.0, "catching_up", 400.0) == tuple(
        found[name] for name in ("lag", "growth_per_second", "trend", "catch_up_seconds")
    )


def test_the_start_of_the_log_reaches_the_committed_offset_at_its_speed() -> None:
    found = in_time([(at, at // 10, at // 20) for at in times()], [(NOW, NOW // 20 + 2_000)])

    assert (2_000, 40.0) == (found["records_to_start"], found["deleted_in_seconds"])


def test_a_retention_that_is_known_decides_when_records_are_deleted() -> None:
    ends, commits = [(0, 0), (60_000, 600), (120_000, 1_200)], [(120_000, 900)]

    assert 70.0 == in_time(ends, commits, retention_ms={"t": 100_000})["deleted_in_seconds"]
    assert 0.0 == in_time(ends, commits, retention_ms={"t": 10_000})["deleted_in_seconds"]
    assert "kept_forever" == in_time(ends, commits, retention_ms={"t": -1})["deletion_reason"]
    assert "start_does_not_move" == in_time(ends, commits, retention_ms={"u": 5})["deletion_reason"]


def test_a_limit_of_the_size_can_delete_records_sooner_but_not_later() -> None:
    moving = [(at, at // 10, at // 20) for at in times()]  # the start reaches the committed offset in 40 s
    commits = [(NOW, NOW // 20 + 2_000)]
    age = in_time(moving, commits)["behind_seconds"]

    def deletion(retention_ms: int, *size_limited: str) -> tuple[float | None, str | None]:
        row = in_time(moving, commits, retention_ms={"t": retention_ms}, size_limited=size_limited)
        check_reasons(row)
        return row["deleted_in_seconds"], row["deletion_reason"]

    hour, soon = round(1_000 * age) + 3_600_000, round(1_000 * age) + 5_000
    assert [(3_600.0, None), (40.0, None)] == [deletion(hour, *topics) for topics in ((), ("t",))]
    assert [(5.0, None), (5.0, None)] == [deletion(soon, *topics) for topics in ((), ("t",))]
    assert [(None, "kept_forever"), (40.0, None)] == [deletion(-1, *topics) for topics in ((), ("t",))]
    assert (3_600.0, None) == deletion(hour, "other")
    still, last = [(0, 0), (60_000, 600), (120_000, 1_200)], [(120_000, 900)]
    row = in_time(still, last, retention_ms={"t": -1}, size_limited=["t"])
    assert (None, "start_does_not_move") == (row["deleted_in_seconds"], row["deletion_reason"])
    assert 70.0 == in_time(still, last, retention_ms={"t": 100_000}, size_limited=["t"])["deleted_in_seconds"]


def test_neither_age_nor_size_deletes_records_of_a_compacted_topic() -> None:
    moving = [(at, at // 10, at // 20) for at in times()]
    commits = [(NOW, NOW // 20 + 2_000)]

    for given in ({}, {"retention_ms": {"t": 5}}, {"size_limited": ["t"]}):
        row = in_time(moving, commits, compacted=["t"], **given)
        assert (None, "compacted") == (row["deleted_in_seconds"], row["deletion_reason"])
    assert 40.0 == in_time(moving, commits, compacted=["other"])["deleted_in_seconds"]
    read = in_time([(0, 0), (60_000, 600)], [(60_000, 600)], compacted=["t"])
    assert "nothing_unread" == read["deletion_reason"]


# ---- what is not known


@pytest.mark.parametrize(
    ("ends", "commits", "reason"),
    [
        ([(0, 10), (NOW, 20)], [], "never_committed"),
        ([(0, 10), (NOW, 20)], [(0, 5), (NOW, 25)], "beyond_end"),
    ],
)
def test_without_a_lag_nothing_is_known(ends: list[Any], commits: list[Any], reason: str) -> None:
    found = in_time(ends, commits)

    assert {reason} == {found[name] for name in found if name.endswith("_reason")}
    assert {None} == {found[name] for name in ("behind_seconds", "growth_per_second", "trend", "catch_up_seconds")}


def test_one_measurement_says_nothing_but_that_nothing_is_unread() -> None:
    behind, read = in_time([(NOW, 20, 5)], [(NOW, 15)]), in_time([(NOW, 20, 5)], [(NOW, 20)])

    assert ["one_measurement"] * 4 == [
        behind[f"{name}_reason"] for name in ("behind", "growth", "catch_up", "deletion")
    ]
    assert (10, None, None) == (behind["records_to_start"], behind["behind_at_least"], behind["trend"])
    assert (0.0, 0.0, "caught_up") == (read["behind_seconds"], read["catch_up_seconds"], read["trend"])
    assert (None, "one_measurement") == (read["growth_per_second"], read["growth_reason"])
    assert "nothing_unread" == read["deletion_reason"]


def test_a_record_before_the_first_measurement_has_a_lower_bound() -> None:
    found = in_time([(0, 500), (NOW, 900)], [(0, 100), (NOW, 200)])

    assert (None, 600.0, "before_first_measurement") == (
        found["behind_seconds"],
        found["behind_at_least"],
        found["behind_reason"],
    )


def test_an_idle_partition_is_0_seconds_behind() -> None:
    found = in_time([(at, 70) for at in times()], [(0, 70)])

    assert (0, 0.0, 0.0, "caught_up") == tuple(
        found[name] for name in ("lag", "behind_seconds", "growth_per_second", "trend")
    )


def test_an_empty_or_compacted_log_has_no_special_age() -> None:
    empty = in_time([(at, 70, 70) for at in times()], [(0, 70)])
    compacted = in_time([(at, at // 100, 0) for at in times()], [(0, 0), (NOW, 3_000)])

    assert (0.0, 0, "nothing_unread") == tuple(
        empty[name] for name in ("behind_seconds", "records_to_start", "deletion_reason")
    )
    assert (300.0, "start_does_not_move") == (compacted["behind_seconds"], compacted["deletion_reason"])


def test_measurements_before_a_partition_was_created_again_do_not_count() -> None:
    old = [(at, 5_000 + at) for at in times()[:-3]]

    found = in_time([*old, (NOW - STEP, 10), (NOW, 60)], [(0, 4_000), (NOW - STEP, 0), (NOW, 5)])

    assert (None, 10.0, "recreated") == (found["behind_seconds"], found["behind_at_least"], found["behind_reason"])
    assert found["growth_per_second"] == pytest.approx(4.5)
    only = in_time([*old, (NOW, 60)], [(0, 4_000), (NOW, 5)])
    assert ("recreated", "recreated", None) == (only["behind_reason"], only["growth_reason"], only["behind_at_least"])


def test_a_start_that_goes_back_is_a_new_partition() -> None:
    found = in_time([(0, 100, 90), (STEP, 200, 0), (2 * STEP, 300, 0)], [(2 * STEP, 150)])

    assert (None, "recreated") == (found["behind_seconds"], found["behind_reason"])


def test_a_reset_of_the_committed_offset_is_not_growth() -> None:
    ends = [(at, 1_000 + at // 100) for at in times()]
    caught_up = [(at, 1_000 + at // 100) for at in times()[:-1]]

    found = in_time(ends, [*caught_up, (NOW, 100)])

    assert (None, "rewound", None) == (found["growth_per_second"], found["growth_reason"], found["trend"])


def test_a_start_that_is_not_known_has_a_reason() -> None:
    found = in_time([(0, 100, None), (NOW, 200, None)], [(NOW, 150)])

    assert (None, "unknown_start") == (found["records_to_start"], found["start_reason"])
    assert (None, "unknown_start") == (found["deleted_in_seconds"], found["deletion_reason"])
    assert 300.0 == found["behind_seconds"]


def test_records_that_are_deleted_already_have_no_distance() -> None:
    found = in_time([(0, 100, 0), (NOW, 200, 160)], [(NOW, 150)])

    assert ("before_start", "before_start", 10) == (found["start_reason"], found["deletion_reason"], found["deleted"])


# ---- what is no trend


@pytest.mark.parametrize("every", [30_000, 60_000, 120_000])
def test_lag_that_rises_and_falls_with_the_commits_keeps_up(every: int) -> None:
    found = in_time([(at, at // 10) for at in times()], [(at, at // 10) for at in range(0, NOW - 15_000, every)])

    assert ("keeping_up", None, "keeping_up") == (found["trend"], found["catch_up_seconds"], found["catch_up_reason"])
    assert 0 < found["behind_seconds"] <= every / 1_000


def test_lag_that_stays_does_not_catch_up() -> None:
    found = in_time([(at, 90_000 + at // 10) for at in times()], [(at, at // 10) for at in times()])

    assert ("steady", None, "steady", 0.0) == tuple(
        found[name] for name in ("trend", "catch_up_seconds", "catch_up_reason", "growth_per_second")
    )


def test_growth_before_the_window_does_not_count() -> None:
    ends = [(at, at // 10) for at in times()]
    commits = [(at, max(0, at // 10 - min(at, 300_000) // 20)) for at in times()]

    assert "falling_behind" == in_time(ends, commits)["trend"]
    assert "steady" == in_time(ends, commits, window_ms=200_000)["trend"]
    assert 600_000 == WINDOW_MS


# ---- sums


def table(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist([{**KEYS, "member_id": "a", **row} for row in rows], TIME_LAG)


def known(lag: int, behind: float, growth: float, trend: str, catch_up: float | None, reason: str | None = None) -> Row:
    """Return what is known of a partition."""
    times = {"behind_seconds": behind, "growth_per_second": growth, "catch_up_seconds": catch_up}
    return {"lag": lag, **times, "trend": trend, "catch_up_reason": reason}


FALLING = known(30, 4.0, -2.0, "catching_up", 15.0)
RISING = known(500, 9.0, 5.0, "falling_behind", None, "growing")
READ = known(0, 0.0, 0.0, "caught_up", 0.0)
KEEPING = known(7, 1.0, 0.1, "keeping_up", None, "keeping_up")
OLD: Row = {
    "lag": 900,
    "behind_at_least": 70.0,
    "behind_reason": "before_first_measurement",
    "growth_reason": "one_measurement",
    "catch_up_reason": "one_measurement",
}
NEVER: Row = {name: "never_committed" for name in TIME_LAG.names if name == "problem" or name.endswith("_reason")}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([FALLING, READ], (30, 4.0, "catching_up", 15.0, None)),
        ([FALLING, KEEPING], (37, 4.0, "catching_up", 15.0, None)),
        ([FALLING, RISING], (530, 9.0, "falling_behind", None, "growing")),
        ([READ, KEEPING], (7, 1.0, "keeping_up", None, "keeping_up")),
        ([READ, NEVER], (0, 0.0, "caught_up", 0.0, None)),
        ([FALLING, OLD], (930, None, "catching_up", None, "one_measurement")),
        ([RISING, OLD], (1_400, None, "falling_behind", None, "growing")),
        ([NEVER], (None, None, None, None, "never_committed")),
    ],
)
def test_a_group_catches_up_when_all_its_partitions_have(rows: list[Row], expected: tuple[Any, ...]) -> None:
    numbered = table(*({**row, "partition": number} for number, row in enumerate(rows)))

    (found,) = sum_lag_in_time(numbered).to_pylist()

    names = ("lag", "behind_seconds", "trend", "catch_up_seconds", "catch_up_reason")
    assert expected == tuple(found[name] for name in names)
    assert (70.0 if OLD in rows else None) == found["behind_at_least"]
    assert sum(row.get("behind_seconds") is None for row in rows) == found["behind_unknown"]


def test_the_reason_is_that_of_a_partition_with_a_known_lag() -> None:
    (found,) = sum_lag_in_time(table(NEVER, {**OLD, "partition": 1})).to_pylist()

    assert ("before_first_measurement", "one_measurement") == (found["behind_reason"], found["growth_reason"])
    assert (70.0, 2) == (found["behind_at_least"], found["behind_unknown"])


def test_an_unknown_age_that_is_lower_than_a_known_one_does_not_hide_it() -> None:
    rows = [{**RISING, "behind_seconds": 80.0}, {**OLD, "partition": 1}]

    (found,) = sum_lag_in_time(table(*rows)).to_pylist()

    assert (80.0, None, None, 1) == tuple(
        found[name] for name in ("behind_seconds", "behind_at_least", "behind_reason", "behind_unknown")
    )


def test_sums_are_by_group_topic_and_member() -> None:
    rows = table(
        {**FALLING, "records_to_start": 9, "deleted_in_seconds": 60.0},
        {**FALLING, "member_id": "b", "records_to_start": 9, "deleted_in_seconds": 60.0},
        {**RISING, "partition": 1, "member_id": "b", "records_to_start": 4, "deleted_in_seconds": 30.0},
        {**READ, "topic": "u", "member_id": None},
    )

    by_group, by_topic, by_member = (sum_lag_in_time(rows, by=by) for by in ("group", "topic", "member"))

    assert [(530, 3.0, 4, 30.0)] == values(
        by_group, "lag", "growth_per_second", "records_to_start", "deleted_in_seconds"
    )
    assert [("t", 530, 2), ("u", 0, 1)] == values(by_topic, "topic", "lag", "partitions")
    assert [("a", 30, 15.0), ("b", 530, None)] == values(by_member, "member_id", "lag", "catch_up_seconds")
    assert summed_schema("member") == by_member.schema


def test_the_growth_of_a_group_does_not_depend_on_the_order_of_its_partitions() -> None:
    """Sums of numbers with a fraction differ in their last digit by the order of the terms."""
    rows = [
        {**known(9, 1.0, growth, "falling_behind", None, "growing"), "partition": id}
        for id, growth in enumerate((-14.18, 0.0, 0.45, 7.5))
    ]
    found = {sum_lag_in_time(table(*order))["growth_per_second"][0].as_py() for order in itertools.permutations(rows)}

    assert {-6.23} == found


def values(found: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in found.to_pylist()]


# ---- arguments


def test_arguments_are_checked() -> None:
    lags = table(READ).select(partition_lag(POSITIONS.empty_table(), END_OFFSETS.empty_table()).schema.names)
    given: Row = {"at": 5, "end_offsets": TIMED_END_OFFSETS.empty_table(), "committed": TIMED_COMMITTED.empty_table()}
    wrongs: list[tuple[Row, str]] = [
        ({"window_ms": 0}, "window_ms must be at least 1, got 0"),
        ({"retention_ms": {"t": -2}}, r"retention_ms\['t'\] must be at least -1, got -2"),
        ({"size_limited": "orders"}, "size_limited must be an iterable of topics, not "),
        ({"compacted": [5]}, "compacted: topic must be "),
        ({"committed": lags}, "committed has no column at; "),
        ({"at": "now"}, "at must be"),
    ]
    for wrong, text in wrongs:
        with pytest.raises(AssignorError, match=rf"^{text}"):
            lag_in_time(lags, **{**given, **wrong})  # deliberately wrong values
    with pytest.raises(AssignorError, match=r"^by must be 'group', 'topic' or 'member', not 'owner'$"):
        sum_lag_in_time(table(READ), by="owner")  # type: ignore[arg-type]  # deliberately wrong value
