"""Recordings that data directories are converted into: records, topics, end offsets, aborted records and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest

from assignor.cluster.cluster_id import read_cluster_id
from assignor.errors import IllegalArgumentError
from assignor.sources.source import open_source
from tests.sources.folders import CLUSTER, commit, commits, group_in, log_folder, write_directory
from tests.sources.segment_bytes import ABORT, COMMIT, Entry, batch, marker, write_segment
from tests.support.record_bytes import write_record

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS_NOTE = "partition counts are those of the folders at the end of the log; racks and earlier counts are not known"
NO_TOPICS = "there are no folders of other topics, so lag is not known"


def notes(*paths: Path) -> list[str]:
    with open_source(paths) as recording:
        return list(recording.notes)


def table(path: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of the recording of a path."""
    with open_source([path]) as recording:
        rows: list[dict[str, Any]] = ds.dataset(recording.folder / f"{name}.parquet").to_table().to_pylist()
        return rows


def places(*paths: Path) -> list[tuple[int, int]]:
    """Return partition and offset of each record, in the order of the files."""
    with open_source(paths) as recording:
        found = ds.dataset(recording.records).to_table(columns=["partition", "offset"])
        return list(zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True))


def write_topic(directory: Path, topic: str, id: int, *batches: bytes, base: int = 0) -> Path:
    """Write a segment of a partition of another topic, and return its folder."""
    write_segment(directory / f"{topic}-{id}", base, *batches)
    return directory / f"{topic}-{id}"


def test_a_complete_directory_has_all_records_and_one_note(tmp_path: Path) -> None:
    data = write_directory(tmp_path, *range(50), count=2)
    write_topic(data, "orders", 0)

    assert places(data) == [(partition, offset) for partition in range(50) for offset in range(2)]
    assert notes(data) == [FOLDERS_NOTE]
    with open_source([data]) as recording:
        assert read_cluster_id(recording.folder) == CLUSTER
        assert recording.source == str(data)
        folder = recording.folder
    assert not folder.parent.exists(), "the temporary folder is removed"


def test_missing_partitions_are_named_if_the_groups_give_their_number(tmp_path: Path) -> None:
    data = write_directory(tmp_path, *(id for id in range(50) if id not in {3, 4, 17}))

    assert notes(data) == [
        "3 of 50 partitions of __consumer_offsets are missing, with their groups: __consumer_offsets[3–4 17]",
        NO_TOPICS,
    ]


def test_the_number_of_partitions_is_not_guessed(tmp_path: Path) -> None:
    folder = log_folder(tmp_path, 2)
    write_segment(folder, 0, batch(0, commit(group_in(2, 3), 1)))
    known = notes(tmp_path)
    write_segment(folder, 1, batch(1, commit(group_in(0, 3), 1)))

    assert known[0].startswith("2 of 3 partitions of __consumer_offsets are missing")
    assert notes(tmp_path)[0] == (
        "found __consumer_offsets[2]; the number of partitions of __consumer_offsets is not known, so groups of other "
        "partitions may be missing"
    )


def test_a_segment_without_the_name_of_a_partition_gets_it_from_its_groups(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "ticket", 0, commits(17, 0, 2))
    unnamed = tmp_path / "part.log"
    unnamed.write_bytes(commits(23, 0, 1))

    assert places(path) == places(tmp_path / "ticket") == [(17, 0), (17, 1)]
    assert places(path, unnamed) == [(17, 0), (17, 1), (23, 0)]
    assert notes(path)[0] == (
        f"{path.parent} has no name of a partition: it is partition 17 by the ids of its groups, if __consumer_offsets "
        "has 50 partitions"
    )


def test_a_segment_without_a_name_and_without_groups_is_of_another_topic(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "ticket", 0, batch(0, Entry(b"some key"), Entry(None)))

    with pytest.raises(IllegalArgumentError, match="is a segment of another topic: no key of its 2 records is one of"):
        notes(path)


def test_records_of_aborted_and_of_open_transactions_are_aborted(tmp_path: Path) -> None:
    group = group_in(7)

    def in_transaction(offset: int, producer: int) -> bytes:
        return batch(offset, commit(group, offset), producer=producer, is_transactional=True)

    folder = log_folder(tmp_path, 7)
    write_segment(folder, 0, in_transaction(0, 1), in_transaction(1, 2), batch(2, commit(group, 2), producer=2))
    write_segment(folder, 3, marker(3, 1, COMMIT), marker(4, 2, ABORT), in_transaction(5, 1))

    with open_source([tmp_path]) as recording:
        assert recording.aborted == ((7, 1), (7, 5))
        assert "1 record of transactions without an end counts as aborted, in __consumer_offsets[7]" in recording.notes
    assert places(tmp_path) == [(7, 0), (7, 1), (7, 2), (7, 5)], "markers are no records"


def test_deleted_and_compacted_records_are_noted(tmp_path: Path) -> None:
    write_segment(log_folder(tmp_path, 1), 0, commits(1, 0, 1), commits(1, 5, 1))
    write_segment(log_folder(tmp_path, 2), 100, commits(2, 100, 2))

    assert notes(tmp_path)[1:3] == [
        "earlier records are deleted: the log begins after offset 0 in __consumer_offsets[2]",
        "4 of 8 offsets have no record, as compaction leaves it: only the last record of a key is certain to be there "
        "in __consumer_offsets[1]",
    ]


def test_replicas_count_once_and_differences_are_named(tmp_path: Path) -> None:
    one, other = write_directory(tmp_path / "1", 7, count=5), write_directory(tmp_path / "2", 7, count=3, broker=2)
    write_segment(log_folder(other, 7), 3, batch(3, commit("other", 9), epoch=1))

    assert places(one, other) == [(7, 0), (7, 1), (7, 2), (7, 3)]
    assert [note for note in notes(tmp_path) if "replicas" in note] == [
        "replicas have different records at 1 offset (offset 3 of partition 7): that of the later leader counts. Two "
        "clusters in one call look like this, too",
        "1 record of replicas that a later leader has replaced are left out",
    ]


def test_end_offsets_are_those_of_the_last_good_batch_of_committed_partitions(tmp_path: Path) -> None:
    group = group_in(7)
    write_segment(
        log_folder(tmp_path, 7),
        0,
        *(batch(id, commit(group, 2, partition=id, timestamp=7_000 + id)) for id in range(4)),
    )
    whole = batch(40, Entry(b"a"), Entry(b"b"), Entry(b"c"))
    write_topic(tmp_path, "orders", 0, batch(0, Entry(b"a")))
    write_topic(tmp_path, "orders", 0, whole, batch(43, Entry(b"d"))[:-3], base=40)
    write_topic(tmp_path, "orders", 1, whole, bytes(5_000), base=30)
    write_topic(tmp_path, "orders", 2, base=77)
    broken = bytearray(batch(43, Entry(b"d")))
    broken[-1] ^= 1
    write_topic(tmp_path, "orders", 3, whole, bytes(broken), base=40)
    write_topic(tmp_path, "unread", 0, whole, base=40)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 1 41\n")

    rows = table(tmp_path, "end_offsets")
    assert [tuple(row.values()) for row in rows] == [
        (7_003, "orders", 0, 0, 43),
        (7_003, "orders", 1, 41, 43),
        (7_003, "orders", 2, 77, 77),
        (7_003, "orders", 3, 40, 43),
    ]


def test_the_end_of_a_long_segment_is_found_with_and_without_its_index(tmp_path: Path) -> None:
    write_segment(log_folder(tmp_path, 7), 0, batch(0, commit(group_in(7), 2)))
    batches = [batch(offset, Entry(b"k" * 100)) for offset in range(1_000, 3_000)]
    folder = write_topic(tmp_path, "orders", 0, *batches, base=1_000)
    index = folder / f"{1_000:020}.index"
    size = len(batches[0])
    entries = [(number, number * size) for number in range(50, 2_000, 50)]
    good = b"".join(offset.to_bytes(4, "big") + position.to_bytes(4, "big") for offset, position in entries)

    for content in (None, b"", good, good + bytes(8_000), good[:-4], bytes(64), b"\xff" * 64, b"\0\0\0\1\0\0\0\7" * 9):
        index.unlink(missing_ok=True)
        if content is not None:
            index.write_bytes(content)
        (row,) = table(tmp_path, "end_offsets")
        assert (row["start_offset"], row["end_offset"]) == (1_000, 3_000), content


def test_topics_are_those_whose_folders_are_complete(tmp_path: Path) -> None:
    write_segment(
        log_folder(tmp_path, 7),
        0,
        batch(0, commit(group_in(7), 1, topic="grown", partition=2)),
        batch(1, commit(group_in(7), 1, topic="elsewhere", partition=0)),
    )
    for topic, id in (("orders", 0), ("orders", 1), ("gap", 0), ("gap", 2), ("grown", 0), ("grown", 1)):
        folder = write_topic(tmp_path, topic, id)
    write_topic(tmp_path, "__cluster_metadata", 0)
    (folder.parent / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: cEf4tqR1S0mRz4zXbA1v6A\n")

    rows = table(tmp_path, "topics")
    assert [(row["topic"], row["partition"], row["topic_id"], row["racks"]) for row in rows] == [
        ("orders", id, "cEf4tqR1S0mRz4zXbA1v6A", None) for id in range(2)
    ]
    assert notes(tmp_path)[-2:] == [
        "2 topics with folders of only some partitions (gap, grown): their assignments are not compared; other brokers "
        "have the rest",
        "the lag is not known without the folders or records of 2 partitions: elsewhere[0] grown[2]",
    ]


def test_a_log_without_times_has_the_time_of_its_files(tmp_path: Path) -> None:
    path = write_segment(log_folder(tmp_path, 7), 0, batch(0, commit(group_in(7), 1, timestamp=-1)))
    write_topic(tmp_path, "orders", 0, batch(0, Entry(b"k")))

    (row,) = table(tmp_path, "end_offsets")
    assert row["at"] == path.stat().st_mtime_ns // 1_000_000


def test_an_empty_log_is_a_recording_without_records(tmp_path: Path) -> None:
    write_segment(log_folder(tmp_path, 0), 0)
    write_segment(log_folder(tmp_path, 1), 0, bytes(10_000))
    log_folder(tmp_path, 2).mkdir()

    assert places(tmp_path) == []
    assert notes(tmp_path)[0] == (
        "there is no segment (*.log) in __consumer_offsets[2]: the groups of these partitions are missing"
    )
    assert notes(tmp_path)[1].startswith("found __consumer_offsets[0–2]; the number of partitions")


def test_folders_without_any_segment_are_an_error(tmp_path: Path) -> None:
    """A backup that omits `*.log` leaves such folders; lists of ignored files often have this ending."""
    for partition in (3, 4):
        write_segment(log_folder(tmp_path, partition), 0, bytes(16), ending="index")

    with pytest.raises(IllegalArgumentError) as raised:
        notes(tmp_path)
    assert str(raised.value) == (
        f"{log_folder(tmp_path, 3)} and 1 more folder have no segments; expected files such as 00000000000000000000.log"
    )


def test_group_records_and_tombstones_are_kept_as_they_are(tmp_path: Path) -> None:
    group = group_in(9)
    key, value = write_record(2, {"group": group}, {"protocolType": "consumer", "generation": 4}, version=3)
    write_segment(log_folder(tmp_path, 9), 0, batch(0, Entry(key, value, 5)), batch(1, Entry(key, None, 6)))

    assert [(row["timestamp"], row["key"], row["value"]) for row in table(tmp_path, "records")] == [
        (5, key, value),
        (6, key, None),
    ]
