"""Lag of the groups of a recording, compared with a count of its records in plain Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cluster import Recording
from assignor.cluster.records import SCHEMA
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.lag import GROUP_LAG, TIMED_END_OFFSETS
from assignor.report import lag, local
from assignor.report.summary import summarize
from assignor.report.text import render
from tests.lag import lag_rules
from tests.replay.logs import TOPICS, event, member

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.report.group_report import GroupReport
    from assignor.report.report import Report

Row = dict[str, Any]


def write(folder: Path, records: list[Row], ends: list[Row]) -> Recording:
    """Write a recording with end offsets."""
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(records, SCHEMA), folder / "records.parquet")
    pq.write_table(TOPICS.empty_table(), folder / "topics.parquet")
    pq.write_table(pa.Table.from_pylist(ends, TIMED_END_OFFSETS), folder / "end_offsets.parquet")
    return Recording.open(folder)


def reported(recording: Recording) -> Report:
    """Return the report of a recording; its tables are in the folder `part`."""
    part = recording.folder.parent / "part"
    part.mkdir()
    local.write_tables(recording, part)
    return summarize(recording, part)


def generation(group: str, number: int, owned: dict[str, dict[str, list[int]]]) -> tuple[bytes | None, bytes | None]:
    """Return key and value of a generation of a group."""
    members = [member(id, sorted(topics), topics) for id, topics in owned.items()]
    value = {"protocolType": "consumer", "generation": number, "protocol": "range", "leader": "a", "members": members}
    found = event(2, {"group": group}, value, version=3)
    return found.key, found.value


def commit(group: str, topic: str, partition: int, offset: int | None) -> tuple[bytes | None, bytes | None]:
    """Return key and value of a committed offset, or its tombstone."""
    metadata = 'with "quotes" and "offset":99,'
    value = None if offset is None else {"offset": offset, "metadata": metadata}
    found = event(1, {"group": group, "topic": topic, "partition": partition}, value)
    return found.key, found.value


def record(offset: int, at: int, content: tuple[bytes | None, bytes | None], partition: int = 0) -> Row:
    return {"partition": partition, "offset": offset, "timestamp": at, "key": content[0], "value": content[1]}


def end(at: int, end_offset: int | None, *, topic: str = "t", partition: int = 0, start_offset: int = 0) -> Row:
    place = {"at": at, "topic": topic, "partition": partition}
    return {**place, "end_offset": end_offset, "start_offset": start_offset}


def steady(lags: list[int], *, generations: dict[int, int] | None = None) -> tuple[list[Row], list[Row]]:
    """Return a recording with end offsets every 10 s, in which group g has these lags, and a commit 1 s before each."""
    numbers = generations or {0: 1}
    records, ends = [], []
    for step, behind in enumerate(lags):
        at = 10_000 * (step + 1)
        if step in numbers:
            records.append(record(2 * step, at - 2_000, generation("g", numbers[step], {"a": {"t": [0]}})))
        records.append(record(2 * step + 1, at - 1_000, commit("g", "t", 0, 1_000 * step + 5_000 - behind)))
        ends.append(end(at, 1_000 * step + 5_000))
    return records, ends


def only(report: Report) -> GroupReport:
    (group,) = report.groups
    return group


def kinds(report: Report) -> list[str]:
    return [finding.kind for finding in report.findings()]


def test_lag_at_each_time_equals_a_count_of_the_records(tmp_path: Path) -> None:
    rng = random.Random(20)
    times = [1_000 * step for step in range(1, 9)]
    logs: dict[str, list[tuple[int, str, int, int | None]]] = {"g": [], "h": [], "": []}
    records, offset = [], 0
    for at in sorted(rng.randrange(9_000) for _ in range(300)):
        group, topic, partition = rng.choice(sorted(logs)), rng.choice(["t", "é.u"]), rng.randrange(3)
        committed = rng.choice([None, rng.randrange(100), rng.randrange(100), rng.randrange(100)])
        logs[group].append((at, topic, partition, committed))
        records.append(record(offset, at, commit(group, topic, partition, committed), len(group)))
        offset += rng.randrange(1, 3)
    owned = {"a": {"t": [0, 1]}, "b": {"é.u": [2], "t": [2]}}
    records.append(record(offset, 9_500, generation("g", 1, owned), 1))
    rng.shuffle(records)
    known = [(topic, id) for topic in ("t", "é.u") for id in range(3) if (topic, id) != ("é.u", 1)]
    ends = [
        end(at, rng.randrange(60, 110), topic=topic, partition=id, start_offset=rng.randrange(40))
        for at in times
        for topic, id in known
        if rng.random() < 0.9
    ]

    report = reported(write(tmp_path / "recording", records, ends))

    for at in times:
        there = {(row["topic"], row["partition"]): row["end_offset"] for row in ends if row["at"] == at}
        for group, commits in logs.items():
            standing = {(topic, id): value for time, topic, id, value in commits if time <= at}
            lags = [there[place] - value for place, value in standing.items() if value is not None and place in there]
            valid = [each for each in lags if each >= 0]
            found = over_time(tmp_path / "part")[group, at]
            assert (sum(valid) if valid else None) == found, (group, at)
    expected = lag_rules.group_rows(expected_rows(logs, owned, [row for row in ends if row["at"] == times[-1]]))
    sums = [{"group_id": group.group, **group.lag.sums} for group in report.groups if group.lag]
    assert expected == [{name: row[name] for name in GROUP_LAG.names} for row in sums]
    assert len(expected) == 3


def over_time(part: Path) -> dict[tuple[str, int], int | None]:
    """Return the lag by group and time, as the report wrote it."""
    rows = pq.read_table(part / "lag_over_time").to_pylist()
    return {(row["group_id"], row["at"]): row["lag"] for row in rows}


def expected_rows(
    logs: dict[str, list[tuple[int, str, int, int | None]]], owned: dict[str, dict[str, list[int]]], ends: list[Row]
) -> list[Row]:
    """Return the lag of each partition at the last time, with the owners of group g."""
    owners = {("g", topic, id): who for who, topics in owned.items() for topic, ids in topics.items() for id in ids}
    standing: dict[tuple[str, str, int], int | None] = dict.fromkeys(owners)
    for group, commits in logs.items():
        standing |= {(group, topic, id): value for time, topic, id, value in commits if time <= ends[0]["at"]}
    positions = [
        {
            "group_id": group,
            "topic": topic,
            "partition": id,
            "committed": value,
            "member_id": owners.get((group, topic, id)),
        }
        for (group, topic, id), value in standing.items()
    ]
    return lag_rules.partition_rows(positions, ends)


def test_the_limit_of_commits_in_memory_does_not_change_the_lag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, ends = steady([5, 7, 9, 2])
    part = tmp_path / "part"
    recording = write(tmp_path / "recording", records, ends)
    reported(recording)
    expected = over_time(part)
    monkeypatch.setattr(lag, "_PENDING", 1)
    rows = recording.end_offset_rows()
    assert rows is not None
    commits = lag._Commits.read(part, lag._Ends.read(rows, recording.end_offsets).times)

    assert [5, 7, 9, 2] == list(expected.values())
    assert [4_995, 5_993, 6_991, 7_998] == commits.offsets[0].tolist()


def test_growing_lag_is_a_finding(tmp_path: Path) -> None:
    report = reported(write(tmp_path / "recording", *steady(list(range(100, 3_300, 200)))))

    (finding,) = (each for each in report.findings() if each.kind == "lag_growing")
    assert ("warning", 10_000, None) == (finding.severity, finding.since, finding.until)
    assert "lag grew from 100 to 2,900 records in generation 1" == finding.text
    assert (
        "The lowest lag rose in 7 windows of 20.0 s in a row. 14,000 records were produced, but the committed offsets "
        "advanced by only 11,200." == finding.evidence
    )


def test_the_finding_says_that_the_committed_offsets_went_back(tmp_path: Path) -> None:
    report = reported(write(tmp_path / "recording", *steady(list(range(100, 19_300, 1_200)))))

    (finding,) = (each for each in report.findings() if each.kind == "lag_growing")
    assert finding.evidence.endswith("records were produced, but the committed offsets went back by 2,800.")


@pytest.mark.parametrize(
    "lags",
    [
        [*[100] * 8, *[4_000] * 8],
        [*range(100, 1_700, 200), *range(100, 1_700, 200)],
        [*range(0, 160, 10)],
    ],
    ids=["one rise", "caught up", "less than a tenth"],
)
def test_lag_that_rises_once_or_too_little_is_not_growing(tmp_path: Path, lags: list[int]) -> None:
    assert "lag_growing" not in kinds(reported(write(tmp_path / "recording", *steady(lags))))


def test_lag_of_a_group_that_rebalances_is_not_growing(tmp_path: Path) -> None:
    records, ends = steady(list(range(100, 3_300, 200)), generations={0: 1, 6: 2, 11: 3})

    assert "lag_growing" not in kinds(reported(write(tmp_path / "recording", records, ends)))


def test_committed_offsets_outside_the_log_are_a_finding(tmp_path: Path) -> None:
    records = [
        record(0, 1_000, generation("g", 1, {"a": {"t": [0, 1, 2]}})),
        *(record(1 + id, 2_000, commit("g", "t", id, offset)) for id, offset in enumerate([50, 5, 20])),
    ]
    ends = [end(3_000, 40, partition=id, start_offset=10) for id in range(3)]

    report = reported(write(tmp_path / "recording", records, ends))

    (finding,) = (each for each in report.findings() if each.kind == "out_of_range")
    assert ("warning", 3_000, None) == (finding.severity, finding.since, finding.until)
    assert "committed offsets of 2 partitions are not in the log" == finding.text
    assert "Beyond the end: t[0]. Before the start (5 records deleted): t[1]." == finding.evidence
    sums = only(report).lag
    assert sums is not None
    assert (55, 1, 1, 1) == tuple(sums.sums[name] for name in ("lag", "unknown", "beyond_end", "before_start"))


def test_commits_after_the_last_time_do_not_count(tmp_path: Path) -> None:
    records = [
        record(0, 1_000, generation("g", 1, {"a": {"t": [0]}})),
        record(1, 2_000, commit("g", "t", 0, 7)),
        record(2, 4_000, commit("g", "t", 0, 50)),
    ]

    found = only(reported(write(tmp_path / "recording", records, [end(3_000, 10)])))

    assert found.lag is not None
    printed: Any = found.to_json()["lag"]
    assert {"at": 3_000, "lag": 3} == {name: printed[name] for name in ("at", "lag")}


def test_the_text_has_a_lag_column_only_with_end_offsets(tmp_path: Path) -> None:
    records, ends = steady([1_200])
    records.append(record(9, 9_500, generation("g", 2, {"a": {"t": [0, 1]}})))
    recording = write(tmp_path / "recording", records, ends)
    text = render(reported(recording))
    assert "1,200 +1" in text
    assert "lag: end offsets minus committed offsets; +n: n partitions with unknown lag" in text

    recording.end_offsets.unlink()
    without = summarize(recording, tmp_path / "part")
    assert only(without).lag is None
    assert "1,200" not in render(without)
    assert "lag" not in render(without).splitlines()[0]


def test_lag_over_time_has_a_limited_number_of_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "MOST_TIMES", 4)
    recording = write(tmp_path / "recording", *steady(list(range(100, 111))))

    assert only(reported(recording)).lag is not None
    found = over_time(tmp_path / "part")
    assert [10_000, 40_000, 80_000, 110_000] == [at for _, at in found]
    assert [100, 103, 107, 110] == list(found.values())


def test_without_end_offsets_there_is_no_lag(tmp_path: Path) -> None:
    records, _ = steady([100])

    assert only(reported(write(tmp_path / "recording", records, []))).lag is None


def test_columns_of_other_types_are_rejected(tmp_path: Path) -> None:
    recording = write(tmp_path / "recording", *steady([100]))
    table = pa.table({"at": ["noon"], "topic": ["t"], "partition": [0], "end_offset": [1], "start_offset": [0]})
    pq.write_table(table, recording.end_offsets)

    with pytest.raises(WrongTypeError, match=r"end_offsets\.parquet must have the columns at int64, topic string, "):
        reported(recording)
    pq.write_table(table.drop_columns("topic"), recording.end_offsets)
    with pytest.raises(IllegalArgumentError, match=r"end_offsets\.parquet has no column topic; its columns are at, "):
        Recording.open(recording.folder)
