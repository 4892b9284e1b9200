"""First and end offset of a partition, from the headers of the batches in its last segment.

The records are not read: the reader jumps from header to header, and starts at the last entry of the index that points
to a batch. Only the last batches are checked for damage.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from assignor import _core
from assignor.sources.segment_names import base_offset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_HEADER_BYTES = 27  # up to the last offset delta of version 2
_WINDOW_BYTES = 64 << 10
_LENGTH_END = 12
_MAGIC_POSITION = 16
_LAST_DELTA = slice(23, 27)
_SHORTEST_BATCH = 14
_LARGEST_CHECKED = 64 << 20
_BATCHES_KEPT = 1_000
_INDEX_ENTRY = 8


class PartitionEnd(NamedTuple):
    """Offsets of a partition.

    Attributes:
        start: First offset: that of the checkpoint, or else of the first segment.
        end: The offset after the last good batch.
    """

    start: int
    end: int


class _Batch(NamedTuple):
    position: int
    size: int
    end_offset: int


def partition_end(segments: Sequence[Path], log_start: int | None) -> PartitionEnd | None:
    """Return the first and the end offset of a partition.

    Args:
        segments: Its segments in the order of their first offsets.
        log_start: First offset of the checkpoint; None without an entry.

    Returns:
        The offsets; None if no segment can be read.
    """
    starts = [offset for path in segments if (offset := base_offset(path.name)) is not None]
    for path in reversed(segments):
        try:
            end = _end_of_segment(path)
        except OSError:
            continue  # deleted or truncated meanwhile, or no permission
        if end is None and (first := base_offset(path.name)) is not None:
            end = first  # the active segment has no records yet
        if end is not None:
            start = max(starts[0] if starts else 0, log_start or 0)
            return PartitionEnd(min(start, end), end)
    return None


def _end_of_segment(path: Path) -> int | None:
    """Return the offset after the last good batch of a segment; None if it has none."""
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        start = _indexed_position(path, file, size)
        for first in (start, 0) if start else (0,):
            for batch in reversed(deque(_batches(file, first, size), _BATCHES_KEPT)):
                if _is_good(file, batch):
                    return batch.end_offset
    return None


def _batches(file: BinaryIO, position: int, size: int) -> Iterator[_Batch]:
    """Yield the complete batches after a position; the end of the log may be torn, or filled with zero bytes."""
    window, window_start = b"", 0
    while position + _HEADER_BYTES <= size:
        at = position - window_start
        if not 0 <= at <= len(window) - _HEADER_BYTES:
            file.seek(position)
            window, window_start, at = file.read(_WINDOW_BYTES), position, 0
        batch = _batch(window[at : at + _HEADER_BYTES], position)
        if batch is None or position + batch.size > size:
            return
        yield batch
        position += batch.size


def _batch(header: bytes, position: int) -> _Batch | None:
    """Return the batch with a header; None if the header is not one of Kafka."""
    if len(header) < _HEADER_BYTES:
        return None
    offset, length = (int.from_bytes(header[each], "big", signed=True) for each in (slice(0, 8), slice(8, 12)))
    magic = header[_MAGIC_POSITION]
    if offset < 0 or length < _SHORTEST_BATCH or magic > 2:
        return None
    delta = int.from_bytes(header[_LAST_DELTA], "big", signed=True) if magic == 2 else 0
    return _Batch(position, _LENGTH_END + length, offset + delta + 1) if delta >= 0 else None


def _is_good(file: BinaryIO, batch: _Batch) -> bool:
    """Return True if the checksum and the content of a batch are right; a very large one counts as good."""
    if batch.size > _LARGEST_CHECKED:
        return True
    file.seek(batch.position)
    reader = _core.SegmentReader()
    reader.push(file.read(batch.size))
    found = reader.finish()
    return not found.damage and found.end_offset is not None


def _indexed_position(path: Path, file: BinaryIO, size: int) -> int:
    """Return the position of a batch near the end of a segment by its offset index; 0 without an index to trust.

    An index is preallocated with zero bytes, so its last entry is the last one that points further than the one before.
    """
    try:
        with path.with_suffix(".index").open("rb") as index:
            length = os.fstat(index.fileno()).st_size // _INDEX_ENTRY * _INDEX_ENTRY
            low, high = 0, length // _INDEX_ENTRY
            while low < high:  # the entries with a position come before those of zero bytes
                middle = (low + high) // 2
                index.seek(middle * _INDEX_ENTRY)
                if int.from_bytes(index.read(_INDEX_ENTRY)[4:], "big"):
                    low = middle + 1
                else:
                    high = middle
            if not low:
                return 0
            index.seek((low - 1) * _INDEX_ENTRY)
            entry = index.read(_INDEX_ENTRY)
    except OSError:
        return 0
    position = int.from_bytes(entry[4:], "big")
    last_offset = (base_offset(path.name) or 0) + int.from_bytes(entry[:4], "big")
    if position + _HEADER_BYTES > size:
        return 0
    file.seek(position)
    batch = _batch(file.read(_HEADER_BYTES), position)
    return position if batch is not None and batch.end_offset == last_offset + 1 else 0
