"""Progress of committed offsets from one measurement of the lag to the next."""

from __future__ import annotations

import statistics

from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

LONGEST_GAP_MS = 60_000
"""Time between two measurements after which this machine, or all machines, may have been suspended in between."""

_KEYS = ["group_id", "topic", "partition"]
_MEASURED = ["committed", "end_offset", "lag", "deleted"]
_ROWS = pa.schema(
    [
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("committed", pa.int64()),
        ("end_offset", pa.int64()),
        ("lag", pa.int64()),
        ("produced", pa.int64()),
        ("waiting_since", pa.int64()),
        ("moves", pa.int64()),
        ("first_move", pa.int64()),
        ("last_move", pa.int64()),
    ]
)


class LagProgress:
    """What successive measurements of the lag show: since when records wait, and how often offsets are committed.

    Times are those of the measurements, in milliseconds.
    """

    def __init__(self) -> None:
        self._rows = _ROWS.empty_table()
        self._at: int | None = None

    def add(self, at: int, lag: pa.Table) -> None:
        """Add a measurement.

        Args:
            at: Time of the measurement in milliseconds.
            lag: Lag of partitions, with the columns of `assignor.lag.PARTITION_LAG`.
        """
        firsts = [(name, "first", pc.ScalarAggregateOptions(skip_nulls=False)) for name in _MEASURED]
        once = lag.group_by(_KEYS, use_threads=False).aggregate(firsts).rename_columns([*_KEYS, *_MEASURED])
        before = self._rows.rename_columns([*_KEYS, *(f"{name}_before" for name in _ROWS.names[len(_KEYS) :])])
        rows = once.join(before, _KEYS, join_type="left outer")
        now, never, zero = (pa.scalar(value, pa.int64()) for value in (at, None, 0))
        is_known = pc.is_valid(rows["lag"])
        is_same = _is_true(pc.equal(rows["committed"], rows["committed_before"]))
        if self._at is None or at - self._at > LONGEST_GAP_MS:
            is_same = pc.and_(is_same, pa.scalar(False))
        self._at = at
        has_moved = _is_true(pc.not_equal(rows["committed"], rows["committed_before"]))
        waits = _is_true(pc.greater(pc.subtract(rows["lag"], rows["deleted"]), zero))
        columns = {
            "produced": pc.if_else(
                pc.and_(is_known, pc.is_valid(rows["lag_before"])),
                pc.max_element_wise(pc.subtract(rows["end_offset"], rows["end_offset_before"]), zero),
                zero,
            ),
            "waiting_since": pc.if_else(
                waits, pc.coalesce(pc.if_else(is_same, rows["waiting_since_before"], never), now), never
            ),
            "moves": pc.add(pc.fill_null(rows["moves_before"], zero), has_moved.cast(pa.int64())),
            "first_move": pc.coalesce(rows["first_move_before"], pc.if_else(has_moved, now, never)),
            "last_move": pc.if_else(has_moved, now, rows["last_move_before"]),
        }
        for name, column in columns.items():
            rows = rows.append_column(name, column)
        self._rows = rows.select(_ROWS.names).cast(_ROWS).combine_chunks()

    def waiting(self) -> pa.Table:
        """Return the partitions in which records wait, with the columns group_id, topic, partition and waiting_since.

        `waiting_since` is the first measurement at which records waited behind the present committed offset. Records
        that were deleted do not wait. A wait begins anew if an end offset was not known in between, because its
        broker did not answer members either, or if nothing was measured for `LONGEST_GAP_MS`.
        """
        rows = self._rows.filter(pc.is_valid(self._rows["waiting_since"]))
        return rows.select([*_KEYS, "waiting_since"])

    def groups(self) -> pa.Table:
        """Return the groups with the columns group_id, produced and interval.

        `produced` is the number of records since the previous measurement in the partitions whose lag is known.
        `interval` is the usual time between commits in milliseconds, the median of the means of the partitions; null
        if no partition has had two commits at different measurements.
        """
        intervals = pc.subtract(self._rows["moves"], 1)
        has_interval = pc.greater(intervals, 0)
        mean = pc.divide(
            pc.subtract(self._rows["last_move"], self._rows["first_move"]).cast(pa.float64()),
            pc.if_else(has_interval, intervals, pa.scalar(None, pa.int64())).cast(pa.float64()),
        )
        rows = self._rows.select(["group_id", "produced"]).append_column("interval", mean)
        found = rows.group_by("group_id").aggregate([("produced", "sum"), ("interval", "list")])
        means = ([each for each in found if each is not None] for found in found["interval_list"].to_pylist())
        medians = pa.array([statistics.median(found) if found else None for found in means], pa.float64())
        return pa.table([found["group_id"], found["produced_sum"], medians], ["group_id", "produced", "interval"])


def _is_true(condition: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(condition, fill_value=False)
