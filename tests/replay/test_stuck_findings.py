"""Findings about stuck members and about groups without members, in reports on logs with and without end offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from assignor.lag_growth import Measurement
from assignor.report.absence import ABSENT_MS, find_absence
from assignor.report.stuck_evidence import AFTER_LOG_MS
from tests.replay.logs import CONSUMER, event
from tests.replay.test_recorded_lag import commit, end, generation, record, reported, write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from assignor.cluster import Recording
    from assignor.report.findings import Finding

Row = dict[str, Any]

SECOND = 1_000
SILENT_FROM, SILENT_UNTIL, END = 60 * SECOND, 300 * SECOND, 360 * SECOND


def log(*, other: int | None = None, commits_again: bool = True) -> list[Row]:
    """Return a log in which member b of group g commits every 5 s, except in a silence of 240 s.

    Member a commits all the time. Group h commits `other` times the seconds of its commits, if that is not None.
    """
    entries = [(0, generation("g", 1, {"a": {"t": [0]}, "b": {"t": [1]}})), (0, generation("h", 1, {"c": {"t": [1]}}))]
    for at in range(5 * SECOND, END + 1, 5 * SECOND):
        entries.append((at, commit("g", "t", 0, at)))
        if at <= SILENT_FROM or (commits_again and at >= SILENT_UNTIL):
            entries.append((at, commit("g", "t", 1, at)))
        if other is not None:
            entries.append((at, commit("h", "t", 1, other * at)))
    return [record(offset, at, content) for offset, (at, content) in enumerate(entries)]


def stuck(tmp_path: Path, rows: list[Row], ends: Iterable[Row] = ()) -> list[Finding]:
    """Return the findings of the kind `stuck`."""
    return [each for each in reported(recording(tmp_path, rows, ends)).findings() if each.kind == "stuck"]


def recording(tmp_path: Path, rows: list[Row], ends: Iterable[Row]) -> Recording:
    found = write(tmp_path / "recording", rows, list(ends))
    if not pq.read_metadata(found.end_offsets).num_rows:
        found.end_offsets.unlink()
    return found


def test_a_silent_member_is_stuck_if_end_offsets_show_lag(tmp_path: Path) -> None:
    ends = [end(at, at, partition=id) for at in range(10 * SECOND, END, 10 * SECOND) for id in (0, 1)]

    (found,) = stuck(tmp_path, log(), ends)

    assert (SILENT_FROM, SILENT_UNTIL) == (found.since, found.until)
    assert "b (usually commits every 5.0 s): t[1], lag up to 240,000 since 1970-01-01 00:01:10.000." == found.evidence


def test_a_silent_member_is_stuck_if_another_group_read_further(tmp_path: Path) -> None:
    (found,) = stuck(tmp_path, log(other=1))

    assert found.evidence.endswith(
        "t[1], while group h read up to 240,000 records further since 1970-01-01 00:01:05.000."
    )


def test_a_silent_member_without_evidence_is_no_finding(tmp_path: Path) -> None:
    assert [] == stuck(tmp_path, log())


@pytest.mark.parametrize(
    "ends",
    [
        [end(at, min(at, SILENT_FROM), partition=1) for at in range(10 * SECOND, END, 10 * SECOND)],
        [end(SILENT_FROM - SECOND, SILENT_FROM, partition=1), end(SILENT_UNTIL, SILENT_FROM, partition=1)],
        [end(END + SECOND, 10 * END, partition=1)],
        [end(at, at, partition=0) for at in range(10 * SECOND, END, 10 * SECOND)],
    ],
    ids=["no lag", "no lag before and after", "known later only", "another partition"],
)
def test_end_offsets_without_lag_in_the_silence_are_no_finding(tmp_path: Path, ends: list[Row]) -> None:
    assert [] == stuck(tmp_path, log(), ends)


def test_another_group_that_is_behind_is_no_evidence(tmp_path: Path) -> None:
    assert [] == stuck(tmp_path, log(other=0))


def test_one_end_offset_shows_that_a_member_is_stuck_at_the_end(tmp_path: Path) -> None:
    (found,) = stuck(tmp_path, log(commits_again=False), [end(END + SECOND, END, partition=1)])

    assert (SILENT_FROM, None) == (found.since, found.until)


def two_cadences(until: int, *, interval: int = 60) -> list[Row]:
    """Return a log of a member that commits partition 0 each second for ten minutes, and partition 1 each `interval` s.

    Another group commits until `until` seconds.
    """
    seconds = range(1, 601)
    entries = [(0, generation("g", 1, {"a": {"t": [0, 1]}})), (0, generation("h", 1, {"c": {"u": [0]}}))]
    entries += [(at * SECOND, commit("g", "t", 0, at)) for at in seconds]
    entries += [(at * SECOND, commit("g", "t", 1, at)) for at in seconds if at % interval == 0]
    entries += [(at * SECOND, commit("h", "u", 0, at)) for at in range(1, until + 1)]
    entries.sort(key=lambda entry: entry[0])
    return [record(offset, at, content) for offset, (at, content) in enumerate(entries)]


def waiting_in(partition: int, until: int) -> list[Row]:
    """Return end offsets of each second: one record a second arrives in a partition, none in the other after 600 s."""
    ends = [end(at * SECOND, at, partition=partition) for at in range(1, until + 1)]
    return ends + [end(at * SECOND, min(at, 600), partition=1 - partition) for at in range(1, until + 1)]


@pytest.mark.parametrize("until", [620, 660, 720, 1_100])
def test_a_partition_that_is_committed_rarely_is_no_finding_after_a_short_time(tmp_path: Path, until: int) -> None:
    assert [] == stuck(tmp_path, two_cadences(until), waiting_in(1, until))


@pytest.mark.parametrize(("partition", "interval", "until"), [(0, 60, 615), (1, 60, 1_205), (1, 1, 615), (1, 200, 620)])
def test_a_stuck_partition_is_found_within_ten_of_its_own_intervals(
    tmp_path: Path, partition: int, interval: int, until: int
) -> None:
    """A partition with fewer than six commits, as the last one, has the usual interval of its member."""
    (found,) = stuck(tmp_path, two_cadences(until, interval=interval), waiting_in(partition, until))

    assert (600 * SECOND, None) == (found.since, found.until)
    assert f"): t[{partition}], lag up to " in found.evidence


def test_an_end_offset_long_after_the_log_proves_nothing(tmp_path: Path) -> None:
    rows = log(commits_again=False)

    assert [] == stuck(tmp_path, rows, [end(END + AFTER_LOG_MS + 1, END, partition=1)])


def test_only_partitions_with_evidence_are_listed(tmp_path: Path) -> None:
    rows = [record(0, 0, generation("g", 1, {"b": {"t": [0, 1]}}))]
    for at in (*range(5 * SECOND, SILENT_FROM + 1, 5 * SECOND), SILENT_UNTIL):
        rows += [record(len(rows), at, commit("g", "t", 0, 7)), record(len(rows) + 1, at, commit("g", "t", 1, at))]
    ends = [end(at, 7 if id == 0 else at, partition=id) for at in range(SECOND, END, SECOND) for id in (0, 1)]

    (found,) = stuck(tmp_path, rows, ends)

    assert "): t[1], lag up to " in found.evidence


def empty(group: str, number: int) -> tuple[bytes | None, bytes | None]:
    """Return key and value of a generation without members."""
    value = {"protocolType": "consumer", "generation": number, "protocol": None, "leader": None, "members": []}
    found = event(2, {"group": group}, value, version=3)
    return found.key, found.value


def departed(*, growth: int, times: Iterable[int] = range(0, 200, 10)) -> tuple[list[Row], list[Row]]:
    """Return a log whose only member leaves after 50 s, and end offsets that grow by `growth` a second since."""
    rows = [
        record(0, 0, generation("g", 1, {"a": {"t": [0]}})),
        record(1, 45 * SECOND, commit("g", "t", 0, 100)),
        record(2, 50 * SECOND, empty("g", 2)),
    ]
    return rows, [end(at * SECOND, 100 + growth * max(0, at - 50)) for at in times]


def absent(tmp_path: Path, rows: list[Row], ends: list[Row]) -> list[Finding]:
    """Return the findings of the kind `no_members`."""
    return [
        each for each in reported(write(tmp_path / "recording", rows, ends)).findings() if each.kind == "no_members"
    ]


def test_a_group_without_members_whose_lag_grows_is_a_finding(tmp_path: Path) -> None:
    (found,) = absent(tmp_path, *departed(growth=10))

    assert ("warning", 50 * SECOND, None) == (found.severity, found.since, found.until)
    assert "no member since 1970-01-01 00:00:50.000; lag 1,400 and growing" == found.text
    assert found.evidence.endswith("The lag was 0 at 1970-01-01 00:00:50.000 and is 1,400 at the end.")


@pytest.mark.parametrize(
    ("growth", "times"), [(0, range(0, 200, 10)), (10, [190]), (10, [0, 40, 190]), (10, range(0, 75, 5))]
)
def test_a_group_without_members_is_normal_unless_its_lag_is_known_to_grow(
    tmp_path: Path, growth: int, times: Iterable[int]
) -> None:
    assert [] == absent(tmp_path, *departed(growth=growth, times=times))


def test_a_group_that_has_members_again_is_no_finding(tmp_path: Path) -> None:
    rows, ends = departed(growth=10)
    rows.append(record(3, 60 * SECOND, generation("g", 3, {"b": {"t": [0]}})))

    assert [] == absent(tmp_path, rows, ends)


def test_a_group_that_never_had_members_is_no_finding(tmp_path: Path) -> None:
    rows, ends = departed(growth=10)

    for name, found in (("offsets", rows[1:2]), ("empty", [rows[1], record(2, 50 * SECOND, empty("g", 0))])):
        (tmp_path / name).mkdir()
        assert [] == absent(tmp_path / name, found, ends)


def test_the_departure_of_a_compacted_log_is_the_time_of_its_last_generation(tmp_path: Path) -> None:
    rows, ends = departed(growth=10)

    assert [50 * SECOND] == [each.since for each in absent(tmp_path, rows[1:], ends)]


def test_a_group_of_kip_848_whose_members_have_left_is_a_finding(tmp_path: Path) -> None:
    _, ends = departed(growth=10)
    entries = [
        *((0, each) for each in (CONSUMER.joins("a"), CONSUMER.epoch(1))),
        (45 * SECOND, event(1, {"group": "g", "topic": "t", "partition": 0}, {"offset": 100})),
        *((50 * SECOND, each) for each in (*CONSUMER.leaves("a"), CONSUMER.epoch(2))),
    ]
    rows = [record(offset, at, (each.key, each.value)) for offset, (at, each) in enumerate(entries)]

    assert [50 * SECOND] == [each.since for each in absent(tmp_path, rows, ends)]


def test_the_lag_must_grow_by_new_records() -> None:
    def growth(*lags: int, produced: int) -> object:
        return find_absence(0, [Measurement(at * ABSENT_MS, lag, produced, None) for at, lag in enumerate(lags)])

    assert growth(0, 5, produced=5)
    assert None is growth(0, 5, produced=0)
    assert None is growth(5, 5, produced=5)
    assert None is growth(5, produced=5)


def test_owned_partitions_without_records_are_no_finding(tmp_path: Path) -> None:
    rows = [
        record(0, 0, generation("g", 1, {"a": {"t": [0, 1, 2]}})),
        record(1, 100 * SECOND, commit("g", "u", 0, 1)),
    ]
    ends = [end(100 * SECOND, 7, partition=0, start_offset=7), end(100 * SECOND, 0, partition=1)]

    found = reported(write(tmp_path / "recording", rows, [*ends, end(100 * SECOND, 9, partition=2)])).findings()

    (only,) = [each for each in found if each.kind == "never_committed"]
    assert "no committed offset for 1 owned partition" == only.text
    assert only.evidence.startswith("t[2]. ")
