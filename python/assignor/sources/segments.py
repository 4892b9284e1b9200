"""Records of a partition of the log, read from its segments; replicas of the partition are merged.

A segment is read in pieces, so that memory is bounded and a file that a running broker truncates is no danger. A batch
that is damaged is skipped and counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from assignor import _core
from assignor.dependencies import dependency
from assignor.sources.file_kinds import EMPTY, HEAD_BYTES, SEGMENT, kind_of_head

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

PIECE_BYTES = 4 << 20
"""Number of bytes that are read at a time."""

MOST_DIFFERING = 10
"""Number of differing records whose places are kept for notes; all are counted."""

_CONTENT = ("timestamp", "key", "value", "control")
_NO_EPOCH = -1
_LARGEST = np.iinfo(np.int64).max


@dataclass
class SegmentReading:
    """What was read from segments, and what could not be read.

    Attributes:
        files: Number of files that were read.
        bytes: Number of bytes that were read.
        batches: Number of record batches, or messages of old versions.
        damage: Path, position and reason of each damaged place.
        torn: Path of each file whose last batch is not complete, and the number of bytes after the last good one.
        foreign: Path of each file that is no segment, and what it is instead.
        unreadable: Path of each file that could not be read to its end, and the reason.
        repeated: Number of records that were left out because another segment of the same replica has their offsets.
        differing: Number of records whose offset has other content in another replica.
        examples: Partition and offset of the first `MOST_DIFFERING` of them.
        stale: Number of records of a replica that a later leader has replaced.
    """

    files: int = 0
    bytes: int = 0
    batches: int = 0
    damage: list[tuple[Path, int, str]] = field(default_factory=list)
    torn: list[tuple[Path, int]] = field(default_factory=list)
    foreign: list[tuple[Path, str]] = field(default_factory=list)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    repeated: int = 0
    differing: int = 0
    examples: list[tuple[int, int]] = field(default_factory=list)
    stale: int = 0


def read_segment(path: Path, reading: SegmentReading, show: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    """Yield the records of a segment, with the columns of `_core.SegmentReader`.

    Args:
        path: The file.
        reading: Gets the counts, and what cannot be read.
        show: Function that gets the number of bytes of each piece.
    """
    reader: _core.SegmentReader | None = None
    try:
        with path.open("rb", buffering=0) as file:
            while piece := file.read(PIECE_BYTES):
                if reader is None:
                    kind = kind_of_head(piece[:HEAD_BYTES])
                    if kind not in (SEGMENT, EMPTY):
                        reading.foreign.append((path, kind))
                        return
                    reader = _core.SegmentReader()
                reading.bytes += len(piece)
                show(len(piece))
                batch: Any = pa.record_batch(reader.push(piece))
                if batch.num_rows:
                    yield batch
    except OSError as error:
        reading.unreadable.append((path, error.strerror or str(error)))
        if reader is None:
            return
    reading.files += 1
    if reader is None:  # a file without bytes
        return
    end = reader.finish()
    reading.batches += end.batches
    reading.damage += [(path, position, reason) for position, reason in end.damage]
    if end.tail == "torn":
        reading.torn.append((path, end.tail_bytes))


def read_replica(
    segments: Iterable[Path], reading: SegmentReading, show: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the segments of one replica; offsets increase.

    Args:
        segments: The segments in the order of their first offsets.
        reading: Gets the counts, and what cannot be read.
        show: Function that gets the number of bytes of each piece.
    """
    last = -1
    for path in segments:
        for batch in read_segment(path, reading, show):
            offsets = batch["offset"].to_numpy()
            before = np.maximum.accumulate(np.append(last, offsets[:-1]))
            is_new = offsets > before
            last = max(last, int(offsets.max()))
            if is_new.all():
                yield batch
                continue
            reading.repeated += int((~is_new).sum())
            if is_new.any():
                yield batch.filter(pa.array(is_new))


def merge_replicas(
    replicas: Sequence[Iterator[pa.RecordBatch]], partition: int, reading: SegmentReading
) -> Iterator[pa.RecordBatch]:
    """Yield the records of all replicas of a partition, each offset once; offsets increase.

    The record of the later leader counts if replicas have different records at an offset: the replica with the other
    record was cut off, and would have truncated its log. Records that follow it in that replica are left out, too. Only
    a batch of each replica is in memory.

    Args:
        replicas: Records of each replica; offsets increase.
        partition: Id of the partition, for `reading`.
        reading: Gets the number of records that differ or are left out.
    """
    if len(replicas) == 1:
        yield from replicas[0]
        return
    heads = [next(replica, None) for replica in replicas]
    epoch = _NO_EPOCH
    while any(head is not None for head in heads):
        horizon = min(head["offset"][-1].as_py() for head in heads if head is not None)
        parts = []
        for index, head in enumerate(heads):
            if head is None:
                continue
            count = int(np.searchsorted(head["offset"].to_numpy(), horizon, side="right"))
            parts.append(head.slice(0, count))
            heads[index] = head.slice(count) if count < head.num_rows else next(replicas[index], None)
        merged, epoch = _merged([part for part in parts if part.num_rows], partition, reading, epoch)
        if merged.num_rows:
            yield merged


def _merged(
    parts: list[pa.RecordBatch], partition: int, reading: SegmentReading, epoch: int
) -> tuple[pa.RecordBatch, int]:
    """Return the records of parts that end at the same offset, each offset once, and the highest leader epoch."""
    rows = pa.Table.from_batches(parts).combine_chunks()
    offsets, epochs = rows["offset"].to_numpy(), rows["leader_epoch"].to_numpy().astype(np.int64)
    order = np.lexsort((-epochs, offsets))
    rows, offsets, epochs = rows.take(pa.array(order)), offsets[order], epochs[order]
    is_copy = np.append(False, offsets[1:] == offsets[:-1])
    copies = np.flatnonzero(is_copy)
    if len(copies):
        different = copies[~_is_equal(rows.take(pa.array(copies)), rows.take(pa.array(copies - 1)))]
        reading.differing += len(different)
        places = [(partition, int(offset)) for offset in offsets[different[:MOST_DIFFERING]]]
        reading.examples += places[: MOST_DIFFERING - len(reading.examples)]
    highest = np.maximum.accumulate(np.append(epoch, epochs))
    is_stale = (epochs != _NO_EPOCH) & (epochs < highest[1:]) & ~is_copy
    reading.stale += int(is_stale.sum())
    chosen = rows.filter(pa.array(~is_copy & ~is_stale)).combine_chunks().to_batches()
    return chosen[0] if chosen else parts[0].slice(0, 0), int(highest[-1])


def _is_equal(left: pa.Table, right: pa.Table) -> npt.NDArray[np.bool_]:
    """Return for each row whether two tables have the same record there."""
    equal = np.ones(left.num_rows, bool)
    for name in _CONTENT:
        one, other = left[name], right[name]
        same = pc.if_else(pc.is_null(one), pc.is_null(other), pc.fill_null(pc.equal(one, other), False))
        equal &= same.to_numpy(zero_copy_only=False) if isinstance(same, pa.Array) else same.to_numpy()
    return equal


def transaction_rows(batch: pa.RecordBatch) -> tuple[Numbers, Numbers, Numbers]:
    """Return offset, producer id and `control` of the transactional records and markers, for `resolve_transactions`."""
    control = pc.fill_null(batch["control"], -1).to_numpy(zero_copy_only=False).astype(np.int64)
    is_transactional = batch["is_transactional"].to_numpy(zero_copy_only=False)
    producers = batch["producer_id"].to_numpy()
    chosen = (producers >= 0) & is_transactional & (control <= 1)
    return batch["offset"].to_numpy()[chosen], producers[chosen], control[chosen]
