"""Segments of brokers read by Spark: the records of the conversion without Spark, and what each file lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from assignor.errors import IllegalArgumentError
from assignor.sources.source import open_source
from tests.replay.test_replay_command import group_record
from tests.sources.folders import commit, commits, group_in, log_folder, write_directory
from tests.sources.segment_bytes import ABORT, COMMIT, Entry, batch, marker, write_segment

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from assignor.spark.sources import Isolation

pytestmark = pytest.mark.spark


def of_spark(
    spark: SparkSession, path: Path | str, isolation: Isolation = "read_committed"
) -> list[tuple[object, ...]]:
    """Return the records that Spark reads, in the order of the log."""
    from assignor.spark import sources

    records = sources.segments(spark, str(path), cluster="east", isolation=isolation).toArrow()
    assert {"east"} >= set(records["cluster"].to_pylist())
    return in_order(records.drop_columns("cluster"))


def of_conversion(*paths: Path, is_committed: bool = True) -> list[tuple[object, ...]]:
    """Return the records of the recording that is made without Spark, in the order of the log."""
    with open_source(paths) as recording:
        rows = in_order(ds.dataset(recording.records).to_table())
        return [row for row in rows if not is_committed or row[:2] not in set(recording.aborted)]


def in_order(records: pa.Table) -> list[tuple[object, ...]]:
    columns = (records[name].to_pylist() for name in ("partition", "offset", "timestamp", "key", "value"))
    return sorted(zip(*columns, strict=True), key=lambda row: row[:2])


def write_brokers(folder: Path) -> Path:
    """Write the directories of three brokers: replicas that differ, transactions, and files that are no segments."""
    first, second, third = (
        write_directory(folder / name, *range(0, 50, step), count=4, broker=broker)
        for broker, (name, step) in enumerate((("broker 1", 7), ("broker-2", 10), ("broker-3", 25)))
    )
    group, other = group_in(3), group_in(4)
    write_segment(
        log_folder(first, 3),
        0,
        batch(0, commit(group, 1), producer=5, is_transactional=True),
        batch(1, commit(group, 2), producer=6, is_transactional=True),
        batch(2, commit(group, 3)),
        marker(3, 5, ABORT),
        marker(4, 6, COMMIT),
        batch(5, commit(group, 4), producer=5, is_transactional=True),
    )
    write_segment(
        log_folder(first, 3), 6, marker(6, 5, COMMIT), batch(7, commit(group, 9), producer=6, is_transactional=True)
    )
    # The leader of epoch 1 cut off what the leader of epoch 0 had written from offset 2 on.
    write_segment(log_folder(second, 4), 0, commits(4, 0, 5))
    write_segment(log_folder(third, 4), 0, commits(4, 0, 2), batch(2, commit(other, 77), epoch=1))
    write_segment(log_folder(third, 4), 3, ending="log.deleted")
    write_segment(log_folder(third, 4), 0, ending="index")
    members = ("m1", "m2")
    generations = [group_record(group_in(11), count, members[:count], 0, 1_000 * count) for count in (1, 2)]
    records = (Entry(row["key"], row["value"], row["timestamp"]) for row in generations)
    write_segment(log_folder(first, 11), 0, batch(0, *records))
    (folder / "notes.log").write_text("no segment")
    return folder


def test_the_records_are_those_of_the_conversion(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_brokers(tmp_path / "backup")
    directories = sorted(each for each in folder.iterdir() if each.is_dir())

    found = of_spark(spark, folder)
    assert of_conversion(*directories) == found
    assert [(3, 1), (3, 2), (3, 5)] == [row[:2] for row in found if row[0] == 3]
    assert [(4, 0), (4, 1), (4, 2)] == [row[:2] for row in found if row[0] == 4]
    assert of_conversion(*directories, is_committed=False) == of_spark(spark, folder, "read_uncommitted")
    assert {(3, 0), (3, 7)} <= {row[:2] for row in of_spark(spark, folder, "read_uncommitted")}


def test_the_events_are_those_of_the_conversion(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.replay.recorded import replay
    from assignor.spark import events, sources

    folder = write_brokers(tmp_path / "backup")
    records = sources.segments(spark, str(folder)).drop("cluster")

    with open_source(sorted(each for each in folder.iterdir() if each.is_dir())) as recording:
        expected = sorted((each["group"], each["event"], each["at"], each["offset"]) for each in replay(recording))
    found = events(records, until=5_000, delay_ms=None).select("group_id", "event", "at", "record_offset").collect()
    assert expected == sorted(tuple(row) for row in found) != []


@pytest.mark.parametrize("place", ["", "a", "a/b/c/d/e"])
def test_a_path_can_be_a_directory_a_folder_above_it_or_a_partition(
    spark: SparkSession, tmp_path: Path, place: str
) -> None:
    write_directory(tmp_path / place, 7, 9)

    everything = of_spark(spark, tmp_path)
    assert 6 == len(everything)
    partition = of_spark(spark, f"{tmp_path / place}/__consumer_offsets-7/".replace("//", "/"))
    assert [row for row in everything if row[0] == 7] == partition


def test_each_file_has_a_row_with_what_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark import sources

    whole = write_segment(log_folder(tmp_path, 1), 0, commits(1, 0, 3)).read_bytes()
    one = len(whole) // 3
    write_segment(log_folder(tmp_path, 2), 0, whole[: one + 70] + bytes([whole[one + 70] ^ 1]) + whole[one + 71 :])
    write_segment(log_folder(tmp_path, 3), 0, whole[:-5])
    write_segment(log_folder(tmp_path, 4), 0, whole, bytes(100))
    write_segment(log_folder(tmp_path, 5), 0)

    rows = {row["partition"]: row for row in sources.segment_files(spark, str(tmp_path)).collect()}
    assert {1: 3, 2: 2, 3: 2, 4: 3} == {id: row["records"] for id, row in rows.items()}
    assert {1: 3, 2: 3, 3: 2, 4: 3} == {id: row["end_offset"] for id, row in rows.items()}
    assert [[], []] == [rows[id]["damage"] for id in (1, 4)]
    (damage,) = rows[2]["damage"]
    assert damage.startswith("the checksum is ")
    assert damage.endswith(f" at position {one}")
    assert [f"the last {one - 5} bytes are not a whole batch"] == rows[3]["damage"]


def test_a_path_without_the_topic_is_an_error_before_any_job(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark import sources

    write_segment(tmp_path / "orders-0", 0, batch(0, Entry(b"k")))
    for read in (sources.segments, sources.segment_files):
        with pytest.raises(IllegalArgumentError, match="has no folder __consumer_offsets-N with log segments"):
            read(spark, str(tmp_path))
    with pytest.raises(IllegalArgumentError, match="isolation must be read_committed or "):
        sources.segments(spark, str(tmp_path), isolation="all")  # type: ignore[arg-type]  # of the test
