"""Valid timestamps of records: those of the years 1970 to 9999. The engine ignores the others, and counts them."""

from __future__ import annotations

from assignor import _core
from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

LATEST_TIME = _core.LATEST_TIME
"""The last valid timestamp in milliseconds."""


def is_valid_time(time: int) -> bool:
    """Return True if a timestamp in milliseconds is valid."""
    return 0 <= time <= LATEST_TIME


def is_valid(times: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return for each timestamp whether it is valid; null for a null."""
    return pc.and_(pc.greater_equal(times, 0), pc.less_equal(times, LATEST_TIME))


def latest(times: pa.Array | pa.ChunkedArray) -> int | None:
    """Return the largest valid timestamp in milliseconds; None without a valid one."""
    found: int | None = pc.max(times).as_py()
    if found is not None and not is_valid_time(found):
        found = pc.max(times.filter(is_valid(times))).as_py()
    return found
