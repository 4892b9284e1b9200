"""Events that a report keeps: rebalances, storms, stuck members and unusual offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from assignor import _core
from assignor.replay_columns import COMMON, FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = ("rebalance", "storm", "stuck", "offsets")
"""Kinds of events that are kept: findings and the page come from them."""

COLUMNS = frozenset((*COMMON, *(name for kind in KINDS for name in FIELDS[kind])))
"""Columns that are kept: those of all events, and those of the kept kinds."""


class ReportEvents:
    """Replay of the records of a recording as events. It keeps those of `KINDS`.

    The events are those of `assignor replay` for a read_committed reader: both use `_core.Replay`.

    Args:
        metadata: Topic metadata, see `recording.metadata.topics_table`.
        end: Time up to which deadlines fire at the end; None for an empty log.
    """

    def __init__(self, metadata: pa.RecordBatch, end: int | None) -> None:
        self._machine = _core.Replay(metadata, is_compared=False)
        self._end = end

    def push(self, records: pa.RecordBatch) -> pa.Table:
        """Apply records and return their events. The records of each group are in the order of the log.

        Args:
            records: The columns offset, timestamp, key, value and aborted. Records of aborted transactions are omitted.
        """
        replayed = records.filter(pc.invert(records["aborted"])).select(["offset", "timestamp", "key", "value"])
        return _kept(self._machine.push(replayed))

    def finish(self) -> pa.Table:
        """Return the events of the deadlines up to the end, and the events that wait for further records."""
        advanced = [] if self._end is None else self._machine.advance(self._end)
        return _kept([*advanced, *self._machine.finish()])


def _kept(batches: Iterable[Any]) -> pa.Table:
    events = pa.Table.from_batches(map(pa.record_batch, batches))
    found = events.select([name for name in events.column_names if name in COLUMNS])
    return found.filter(pc.is_in(found["event"], pa.array(KINDS)))
