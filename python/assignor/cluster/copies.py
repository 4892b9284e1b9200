"""Copies of records in a recording: several records with the same partition and offset.

A recording has copies if it was made from several replicas of a partition of the log, or if an interrupted copy of the
files was continued. A record counts once, however many copies it has. Records of one place that differ are no copies:
they come from different logs, whose offsets must not be mixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignor.cluster.records import SCHEMA, check_no_nulls, check_types, scan
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from assignor.cluster.folder import Recording

    Numbers = npt.NDArray[np.int64]

_PLACE = ("partition", "offset")


def count_copies(recording: Recording) -> int:
    """Return the number of records whose partition and offset an earlier record of the recording has.

    If the offsets of each partition increase in the order of the files, only batches of these two columns are in
    memory. Otherwise both columns are, and the records are read a second time if there are copies.

    Raises:
        IllegalArgumentError: A file cannot be read as Parquet, a record has no partition or offset, or two records have
            the same partition and offset and other contents.
        WrongTypeError: A column is of another type.
    """
    check_types(recording)
    if _is_increasing(recording):
        return 0
    rows = pa.Table.from_batches(scan(recording, list(_PLACE)))
    check_no_nulls(recording, rows)
    partitions, offsets = (rows[name].to_numpy() for name in _PLACE)
    order = np.lexsort((offsets, partitions))
    is_copy = np.zeros(len(order), bool)
    is_copy[1:] = (np.diff(partitions[order]) == 0) & (np.diff(offsets[order]) == 0)
    if is_copy.any():
        _check_contents(recording, order, is_copy)
    return int(is_copy.sum())


class CopyMarker:
    """Marks the copies among records in which the copies of a record follow each other."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None

    def mark(self, records: pa.RecordBatch) -> pa.BooleanArray:
        """Return, for each record of the next batch, whether the record before it has the same partition and offset.

        Args:
            records: The columns partition and offset, without nulls.
        """
        if not records.num_rows:
            return pa.array([], pa.bool_())
        partitions, offsets = (records[name].to_numpy() for name in _PLACE)
        found = np.empty(records.num_rows, bool)
        found[0] = self._last == (int(partitions[0]), int(offsets[0]))
        found[1:] = (np.diff(partitions) == 0) & (np.diff(offsets) == 0)
        self._last = (int(partitions[-1]), int(offsets[-1]))
        return pa.array(found)


def _is_increasing(recording: Recording) -> bool:
    """Return True if the offsets of each partition increase in the order of the files, so that there are no copies."""
    last: dict[int, int] = {}
    for batch in scan(recording, list(_PLACE)):
        check_no_nulls(recording, batch)
        partitions, offsets = batch["partition"], batch["offset"].to_numpy()
        for partition in pc.unique(partitions).to_pylist():
            chosen = offsets[pc.equal(partitions, partition).to_numpy(zero_copy_only=False)]
            if chosen[0] <= last.get(partition, -1) or (np.diff(chosen) <= 0).any():
                return False
            last[partition] = int(chosen[-1])
    return True


def _check_contents(recording: Recording, order: Numbers, is_copy: npt.NDArray[np.bool_]) -> None:
    """Raise an error if two records with the same partition and offset differ in timestamp, key or value.

    Args:
        recording: The recording.
        order: Indices of its records, sorted by partition and offset.
        is_copy: Whether a record has the same partition and offset as the one before it, in this order.
    """
    digests = np.fromiter(
        (
            hash(row)
            for batch in _complete(recording)
            for row in zip(*(batch[name].to_pylist() for name in ("timestamp", "key", "value")), strict=True)
        ),
        np.int64,
        len(order),
    )
    differing = np.flatnonzero(is_copy[1:] & (np.diff(digests[order]) != 0))
    if not len(differing):
        return
    places = pa.Table.from_batches(scan(recording, list(_PLACE))).take(order[differing[:1]]).to_pylist()[0]
    raise IllegalArgumentError(
        f"{recording.records} has different records at offset {places['offset']} of partition {places['partition']}: "
        "the folder mixes several logs, such as those of two clusters; put the files of each log into its own folder"
    )


def _complete(recording: Recording) -> Iterator[pa.RecordBatch]:
    """Yield batches of records after a check for nulls."""
    for batch in scan(recording, SCHEMA.names):
        check_no_nulls(recording, batch.select(["timestamp"]))
        yield batch
