"""Slices of Arrow batches of records. They bound the size of what one call of the Rust core returns.

A record can grow about 80 times when it is replayed: a group record of 800 kB can have 200,000 partitions that are not
consecutive, and each becomes a row with the ids of its member and topic. So a batch that fits into Arrow's columns may
have an answer that does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

SLICE_BYTES = 1 << 20
"""Default limit of the keys and values of a slice in bytes: the answer for a slice stays below about 140 MB."""


def record_slices(batch: pa.RecordBatch, limit: int = SLICE_BYTES) -> Iterator[pa.RecordBatch]:
    """Yield consecutive slices of records.

    Args:
        batch: Records with the binary columns `key` and `value`.
        limit: Highest number of bytes of keys and values in a slice. A larger record is a slice of its own.
    """
    lengths = [
        pc.fill_null(pc.binary_length(batch[name]), 0).to_numpy(zero_copy_only=False) for name in ("key", "value")
    ]
    ends = np.cumsum(lengths[0].astype(np.int64) + lengths[1])
    start, before = 0, 0
    while start < len(ends):
        end = max(int(np.searchsorted(ends, before + limit, side="right")), start + 1)
        yield batch.slice(start, end - start)
        start, before = end, int(ends[end - 1])
