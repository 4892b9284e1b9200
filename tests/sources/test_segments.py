"""Records of segments: replicas merged, overlaps and stale records left out, damage counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignor.sources import segments
from assignor.sources.segments import SegmentReading, merge_replicas, read_replica
from tests.sources.segment_bytes import Entry, batch, write_segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def ignore(_: int) -> None:
    """Show no progress."""


def read(reading: SegmentReading, *replicas: Sequence[Path]) -> list[tuple[int, Any]]:
    """Return offset and value of each record of the merged replicas of partition 7."""
    readers = [read_replica(paths, reading, ignore) for paths in replicas]
    merged: Iterator[Any] = merge_replicas(readers, 7, reading)
    return [(row["offset"], row["value"]) for each in merged for row in each.to_pylist()]


def values(*offsets: int, epoch: int = 0, text: str = "v") -> bytes:
    """Return a batch per offset, with a value that names the offset."""
    return b"".join(batch(offset, Entry(b"k", f"{text}{offset}".encode()), epoch=epoch) for offset in offsets)


def test_segments_of_a_replica_are_read_in_order_and_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "PIECE_BYTES", 37)
    monkeypatch.setattr(segments, "HEAD_BYTES", 37)
    paths = [write_segment(tmp_path, 0, values(0, 1, 5)), write_segment(tmp_path, 6, values(8, 9))]
    reading = SegmentReading()

    assert [offset for offset, _ in read(reading, paths)] == [0, 1, 5, 8, 9]
    assert (reading.files, reading.batches, reading.repeated) == (2, 5, 0)


def test_a_replacement_beside_the_replaced_segments_adds_no_records(tmp_path: Path) -> None:
    old = [write_segment(tmp_path, 0, values(0, 1, 2)), write_segment(tmp_path, 3, values(3, 4))]
    swap = write_segment(tmp_path, 0, values(1, 4), ending="log.swap")
    reading = SegmentReading()

    assert [offset for offset, _ in read(reading, old, [swap])] == [0, 1, 2, 3, 4]
    assert (reading.differing, reading.stale) == (0, 0)


def test_replicas_that_compaction_left_different_complete_each_other(tmp_path: Path) -> None:
    one = write_segment(tmp_path / "1", 0, values(0, 3, 4, 9))
    other = write_segment(tmp_path / "2", 0, values(1, 3, 8, 9, 10))
    reading = SegmentReading()

    assert [offset for offset, _ in read(reading, [one], [other])] == [0, 1, 3, 4, 8, 9, 10]
    assert reading.differing == 0


def test_the_later_leader_decides_where_replicas_differ(tmp_path: Path) -> None:
    """A replica that was cut off has records that the others never got: they are no part of the log."""
    cut_off = write_segment(tmp_path / "1", 0, values(0, 1), values(2, 3, 4, epoch=1, text="lost"))
    true = write_segment(tmp_path / "2", 0, values(0, 1), values(2, 3, epoch=2))
    reading = SegmentReading()

    expected = [(offset, b"v%d" % offset) for offset in range(4)]
    assert read(reading, [cut_off], [true]) == read(SegmentReading(), [true], [cut_off]) == expected
    assert (reading.differing, reading.examples, reading.stale) == (2, [(7, 2), (7, 3)], 1)


def test_a_segment_that_repeats_offsets_of_its_replica_is_counted(tmp_path: Path) -> None:
    paths = [write_segment(tmp_path, 0, values(0, 1, 2)), write_segment(tmp_path, 1, values(1, 2, 3))]
    reading = SegmentReading()

    assert [offset for offset, _ in read(reading, paths)] == [0, 1, 2, 3]
    assert reading.repeated == 2


@settings(max_examples=40)
@given(st.lists(st.sets(st.integers(0, 60)), min_size=2, max_size=4), st.integers(17, 300))
def test_merged_replicas_are_the_union(
    tmp_path_factory: pytest.TempPathFactory, replicas: list[set[int]], piece: int
) -> None:
    place = tmp_path_factory.mktemp("replicas")
    paths = [[write_segment(place / str(number), 0, values(*sorted(each)))] for number, each in enumerate(replicas)]
    reading = SegmentReading()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "PIECE_BYTES", piece)
        patch.setattr(segments, "HEAD_BYTES", piece)
        found = read(reading, *paths)

    assert found == [(offset, b"v%d" % offset) for offset in sorted(set().union(*replicas))]
    assert (reading.differing, reading.stale, reading.repeated) == (0, 0, 0)


def test_what_cannot_be_read_is_counted_and_the_rest_is_kept(tmp_path: Path) -> None:
    damaged = bytearray(values(0, 1, 2))
    damaged[len(damaged) // 2] ^= 1
    paths = [
        write_segment(tmp_path, 0, bytes(damaged)),
        write_segment(tmp_path, 10, values(10, 11)[:-5]),
        write_segment(tmp_path, 20, values(20), bytes(1_000)),
        write_segment(tmp_path, 30, b"PAR1" + bytes(40)),
        write_segment(tmp_path, 40),
        write_segment(tmp_path, 50, bytes(10_000)),
        tmp_path / f"{60:020}.log",
        write_segment(tmp_path, 70, values(70)),
    ]
    reading = SegmentReading()

    assert [offset for offset, _ in read(reading, paths)] == [0, 2, 10, 20, 70]
    assert [path for path, _, _ in reading.damage] == paths[:1]
    assert [path for path, _ in reading.torn] == paths[1:2]
    assert reading.foreign == [(paths[3], "a Parquet file")]
    assert reading.unreadable == [(paths[6], "No such file or directory")]
    assert reading.files == 6
