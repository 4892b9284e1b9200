"""Reports and replays of recordings with duplicates, of mixed logs, and of recordings that lack tables or rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import Recording
from assignor.cluster.copies import CopyMarker, count_copies
from assignor.cluster.records import SCHEMA
from assignor.errors import IllegalArgumentError
from assignor.lag import TIMED_END_OFFSETS
from tests.replay.logs import TOPICS
from tests.replay.test_recorded_lag import commit, end, generation, record, steady

Row = dict[str, Any]
Printed = dict[str, Any]

TOPIC_ROWS = [{"t": 0, "topic": "t", "topic_id": "", "partition": 0, "racks": [""]}]


def write(folder: Path, records: list[Row], ends: list[Row], topics: list[Row]) -> Path:
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(records, SCHEMA), folder / "records.parquet")
    pq.write_table(pa.Table.from_pylist(topics, TOPICS), folder / "topics.parquet")
    pq.write_table(pa.Table.from_pylist(ends, TIMED_END_OFFSETS), folder / "end_offsets.parquet")
    return folder


def report(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Printed, str, str]:
    """Return the JSON of a report, its text, and what the command that prints JSON says on standard error."""
    words = ["report", str(folder), "--engine", "local", "--out", str(folder.parent / "out")]
    assert 0 == main([*words, "--json"])
    first = capsys.readouterr()
    assert 0 == main(words)
    return json.loads(first.out), capsys.readouterr().out, first.err


def replay(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """Return the events that `assignor replay --json` prints, and what it says on standard error."""
    assert 0 == main(["replay", str(folder), "--engine", "local", "--json"])
    found = capsys.readouterr()
    return found.out.splitlines(), found.err


def bad_record(offset: int, at: int) -> Row:
    """Return a record whose group cannot be read."""
    return record(offset, at, (b"\0\2\0", b"\0"))


ROWS, ENDS = steady(list(range(100, 3_300, 200)))
ROWS = [*ROWS, bad_record(1_000, 5_000)]


@pytest.mark.parametrize("order", ["one after another", "one file after another", "shuffled"])
def test_duplicates_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], order: str) -> None:
    rows = [row for row in ROWS for _ in range(2)] if order == "one after another" else [*ROWS, *ROWS]
    if order == "shuffled":
        rows = rows[::2] + rows[1::2][::-1]
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    single, _, _ = report(write(tmp_path / "one" / "in", ROWS, ENDS, TOPIC_ROWS), capsys)
    given = write(tmp_path / "two" / "in", rows, ENDS, TOPIC_ROWS)
    double, text, _ = report(given, capsys)

    assert len(ROWS) == double["duplicates"] == double["records"] - single["records"]
    assert 2 * single["bad_records"] == double["bad_records"] == 2
    assert single["groups"] == double["groups"]
    assert single["findings"] == double["findings"]
    assert ["lag_growing"] == [each["kind"] for each in single["findings"]]
    assert f"; {len(ROWS)} duplicates of other records\n" in text
    events, note = replay(given, capsys)
    assert replay(tmp_path / "one" / "in", capsys)[0] == events
    assert f"assignor: {len(ROWS)} duplicates of other records: each record counts once.\n" in note


def test_without_duplicates_nothing_is_said_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = write(tmp_path / "in", ROWS, ENDS, TOPIC_ROWS)
    found, text, _ = report(given, capsys)

    assert 0 == found["duplicates"]
    assert "of other records" not in text + replay(given, capsys)[1]


def test_the_same_offset_in_two_partitions_is_no_duplicate(tmp_path: Path) -> None:
    rows = [record(5, 1, commit("g", "t", 0, 1), partition) for partition in (0, 1, 0)]

    assert 1 == count_copies(Recording.open(write(tmp_path / "in", rows, [], [])))


@pytest.mark.parametrize(
    "other",
    [
        record(1, 9_001, commit("g", "t", 0, 4_900)),
        record(1, 9_000, commit("g", "t", 0, 4_901)),
        record(1, 9_000, commit("h", "t", 0, 4_900)),
        record(1, 9_000, commit("g", "t", 0, None)),
    ],
    ids=["timestamp", "value", "key", "tombstone"],
)
@pytest.mark.parametrize("command", ["report", "replay"])
def test_different_records_at_one_offset_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: Row, command: str
) -> None:
    assert {**ROWS[1], "key": other["key"], "value": other["value"], "timestamp": other["timestamp"]} == other
    folder = write(tmp_path / "in", [*ROWS, *ROWS, other], ENDS, TOPIC_ROWS)

    words = [command, str(folder), "--engine", "local"]
    assert 2 == main([*words, "--out", str(tmp_path / "out")] if command == "report" else words)
    assert (
        f"assignor: {folder / 'records.parquet'} has different records at offset 1 of partition 0: the folder mixes "
        "several logs, such as those of two clusters; put the files of each log into its own folder"
        == capsys.readouterr().err.splitlines()[-1]
    )


def test_copies_are_marked_across_batches() -> None:
    marker = CopyMarker()
    places = [(0, 1), (0, 1), (0, 2), (1, 2), (1, 2), (1, 2), (2, 3)]
    batch = pa.record_batch([pa.array(column) for column in zip(*places, strict=True)], ["partition", "offset"])

    found = [marked for start in range(len(places)) for marked in marker.mark(batch.slice(start, 1)).to_pylist()]

    assert [False, True, False, False, True, True, False] == found == CopyMarker().mark(batch).to_pylist()


def test_the_report_refuses_a_null_in_a_copy(tmp_path: Path) -> None:
    rows = [*ROWS, {**ROWS[0], "timestamp": None}]

    with pytest.raises(IllegalArgumentError, match="column timestamp has 1 null; only key and value can be null"):
        count_copies(Recording.open(write(tmp_path / "in", rows, [], [])))


NO_COMMITS = [record(0, 1_000, generation("g", 1, {"a": {"t": [0]}}))]


@pytest.mark.parametrize(
    ("rows", "ends", "topics"),
    [
        (NO_COMMITS, ENDS, TOPIC_ROWS),
        ([], ENDS, TOPIC_ROWS),
        (ROWS, [], TOPIC_ROWS),
        (ROWS, ENDS, []),
        ([], [], []),
        ([bad_record(0, 1)], ENDS, TOPIC_ROWS),
        ([record(0, 1_000, commit("g", "t", 0, 5))], [end(2_000, 9)], TOPIC_ROWS),
    ],
    ids=["no commits", "no records", "no end offsets", "no topics", "nothing", "bad records only", "commits only"],
)
def test_a_recording_without_rows_in_a_table_has_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[Row], ends: list[Row], topics: list[Row]
) -> None:
    given = write(tmp_path / "in", rows, ends, topics)
    page = tmp_path / "page.html"

    found, _, _ = report(given, capsys)
    assert 0 == main(["report", str(given), "--engine", "local", "--out", str(tmp_path / "out"), "--page", str(page)])
    assert page.exists()
    assert len(rows) == found["records"]
    replay(given, capsys)


def test_the_lag_of_a_group_without_commits_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, _, _ = report(write(tmp_path / "in", NO_COMMITS, ENDS, TOPIC_ROWS), capsys)

    (group,) = found["groups"]
    assert (None, 1) == (group["lag"]["lag"], group["lag"]["unknown"])


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_report_without_topics_says_what_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_missing: bool
) -> None:
    given = write(tmp_path / "in", ROWS, ENDS, [])
    if is_missing:
        (given / "topics.parquet").unlink()

    found, text, error = report(given, capsys)

    said = "there is no topic metadata (topics.parquet): assignments are not compared with Kafka's, partitions without"
    assert f"\n{said}" in text
    assert f"assignor: {said}" in error
    assert f"assignor: {said}" in replay(given, capsys)[1]
    (group,) = found["groups"]
    assert None is group["unowned"]
    assert 0 == group["range_generations"]["checked"]


def test_with_topics_nothing_is_said_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = write(tmp_path / "in", ROWS, ENDS, TOPIC_ROWS)
    _, text, error = report(given, capsys)

    assert "topic metadata" not in text + error + replay(given, capsys)[1]
