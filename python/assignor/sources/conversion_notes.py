"""Notes on a converted recording: where its records come from, and what it lacks or leaves out, as sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.lines import format_count, format_partitions, format_spans, spans_of
from assignor.sources.log_keys import DEFAULT_PARTITIONS
from assignor.sources.segment_names import OFFSETS_TOPIC, base_offset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from assignor.sources.data_directory import Directories, PartitionFolder
    from assignor.sources.segments import SegmentReading
    from assignor.sources.topic_folders import TopicFolders
    from assignor.sources.topic_history import TopicHistory

_SHOWN = 3


@dataclass
class PartitionNotes:
    """Counts of a partition of the log.

    Attributes:
        base: First offset by the name of the first segment.
        first: First offset with a record; -1 without records.
        end: The offset after the last record.
        offsets: Number of offsets with a record.
        unfinished: Number of records of transactions without an end.
        has_segments: False if no folder of the partition has a segment.
    """

    base: int = 0
    first: int = -1
    end: int = 0
    offsets: int = 0
    unfinished: int = 0
    has_segments: bool = True

    @classmethod
    def of(cls, folders: Iterable[PartitionFolder]) -> PartitionNotes:
        """Return the counts of a partition before its first record is read."""
        first = [file for folder in folders for files in (folder.segments, folder.swaps) for file in files[:1]]
        bases = [base_offset(file.name) or 0 for file in first]
        return cls(base=min(bases, default=0), has_segments=bool(first))

    def add(self, offsets: npt.NDArray[np.int64]) -> None:
        """Add the offsets of the next records, which are not empty."""
        if self.first < 0:
            self.first = int(offsets[0])
        self.end = int(offsets[-1]) + 1
        self.offsets += len(offsets)

    @property
    def holes(self) -> int:
        """Number of offsets without a record from the start of the log to its last record."""
        return max(0, self.end - self.base - self.offsets)


def notes_of(
    found: Directories,
    reading: SegmentReading,
    partitions: Mapping[int, PartitionNotes],
    count: int | None,
    topics: TopicFolders,
    history: TopicHistory,
    *,
    placed: Mapping[Path, int],
    uncertain: Sequence[Path],
) -> list[str]:
    """Return the notes on the conversion of data directories.

    Args:
        found: The directories.
        reading: What was read from the segments.
        partitions: The partitions of the log.
        count: Number of partitions of the log in the cluster; None if it is not known.
        topics: The topics of the cluster by its folders.
        history: The topics over time; without rows if the log of the controllers is missing.
        placed: Partition by path of the segments that were without the name of one.
        uncertain: Those of them whose groups belong to several partitions.
    """
    return [
        *_of_partitions(partitions, count, placed, uncertain),
        *_of_records(reading, partitions),
        *_of_files(found, reading),
        *_of_topics(topics, history),
    ]


def _of_partitions(
    partitions: Mapping[int, PartitionNotes], count: int | None, placed: Mapping[Path, int], uncertain: Sequence[Path]
) -> Iterator[str]:
    if bare := [id for id, notes in partitions.items() if not notes.has_segments]:
        yield f"there is no segment (*.log) in {_ids(bare)}: the groups of these partitions are missing"
    by_id = Counter(placed.values())
    for path, id in sorted(placed.items()):
        if path in uncertain:
            yield (
                f"{path} has no name of a partition, and its groups belong to several ones of "
                f"{DEFAULT_PARTITIONS}: the number {id} of its partition is a guess"
            )
        else:
            yield (
                f"{path} has no name of a partition: it is partition {id} by the ids of its groups, if "
                f"{OFFSETS_TOPIC} has {DEFAULT_PARTITIONS} partitions"
            )
    if by_id and set(partitions) <= set(by_id):
        return
    if count is None:
        yield (
            f"found {_ids(partitions)}; the number of partitions of {OFFSETS_TOPIC} is not known, so groups of other "
            "partitions may be missing"
        )
    elif missing := set(range(count)) - set(partitions):
        yield (
            f"{len(missing)} of {count} partitions of {OFFSETS_TOPIC} {'is' if len(missing) == 1 else 'are'} missing, "
            f"with their groups: {_ids(missing)}"
        )


def _of_records(reading: SegmentReading, partitions: Mapping[int, PartitionNotes]) -> Iterator[str]:
    if late := [id for id, notes in partitions.items() if notes.base > 0]:
        yield f"earlier records are deleted: the log begins after offset 0 in {_ids(late)}"
    if holes := {id: notes.holes for id, notes in partitions.items() if notes.holes}:
        offsets = sum(notes.end - notes.base for notes in partitions.values())
        yield (
            f"{sum(holes.values()):,} of {format_count(offsets, 'offset')} have no record, as compaction leaves it: "
            f"only the last record of a key is certain to be there in {_ids(holes)}"
        )
    if unfinished := {id: notes.unfinished for id, notes in partitions.items() if notes.unfinished}:
        yield (
            f"{format_count(sum(unfinished.values()), 'record')} of transactions without an end "
            f"{'counts' if sum(unfinished.values()) == 1 else 'count'} as aborted, in {_ids(unfinished)}"
        )
    if reading.differing:
        examples = ", ".join(f"offset {offset} of partition {id}" for id, offset in reading.examples[:_SHOWN])
        more = ", ..." if reading.differing > _SHOWN else ""
        yield (
            f"replicas have different records at {format_count(reading.differing, 'offset')} ({examples}{more}): that "
            "of the later leader counts. Two clusters in one call look like this, too"
        )
    if reading.stale:
        yield f"{format_count(reading.stale, 'record')} of replicas that a later leader has replaced are left out"
    if reading.repeated:
        yield f"{format_count(reading.repeated, 'record')} of overlapping segments are left out"


def _of_files(found: Directories, reading: SegmentReading) -> Iterator[str]:
    yield from found.problems[:_SHOWN]
    if len(found.problems) > _SHOWN:
        yield f"{format_count(len(found.problems) - _SHOWN, 'more folder or file')} cannot be read"
    for reason, count in sorted(found.left_out.items()):
        yield f"left out: {format_count(count, reason)}"
    yield from _listed("cannot be read to the end", [(path, reason) for path, reason in reading.unreadable])
    yield from _listed("is no segment", [(path, f"it is {kind}") for path, kind in reading.foreign])
    damage = [(path, f"byte {position:,}: {reason}") for path, position, reason in reading.damage]
    yield from _listed("has damaged batches, which are left out", damage)
    torn = [(path, f"the last {size:,} bytes are no complete batch") for path, size in reading.torn]
    yield from _listed("is cut off", torn)


def _listed(problem: str, entries: Sequence[tuple[Path, str]]) -> Iterator[str]:
    """Yield a sentence for each file with a problem; of many, for the first ones and their number."""
    by_path: dict[Path, list[str]] = {}
    for path, reason in entries:
        by_path.setdefault(path, []).append(reason)
    for path, reasons in list(by_path.items())[:_SHOWN]:
        more = f" and {format_count(len(reasons) - 1, 'more place')}" if len(reasons) > 1 else ""
        yield f"{path} {problem} ({reasons[0]}{more})"
    if len(by_path) > _SHOWN:
        yield f"{format_count(len(by_path) - _SHOWN, 'more file')}: {problem}"


def _of_topics(topics: TopicFolders, history: TopicHistory) -> Iterator[str]:
    yield from history.notes
    if not topics.has_topics:
        yield "there are no folders of other topics, so lag is not known"
        return
    if not history.topics.num_rows:
        yield "partition counts are those of the folders at the end of the log; racks and earlier counts are not known"
    if topics.incomplete and not history.topics.num_rows:
        names = ", ".join(topics.incomplete[:_SHOWN]) + (", ..." if len(topics.incomplete) > _SHOWN else "")
        yield (
            f"{format_count(len(topics.incomplete), 'topic')} with folders of only some partitions ({names}): their "
            "assignments are not compared; other brokers have the rest"
        )
    if topics.without_end:
        yield f"the lag is not known without the folders or records of {format_partitions(sorted(topics.without_end))}"


def _ids(ids: Iterable[int]) -> str:
    return format_spans(spans_of((OFFSETS_TOPIC, id) for id in sorted(ids)))
