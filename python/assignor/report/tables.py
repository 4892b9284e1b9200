"""Tables of a report: what the replay of a recording returns for them, batch by batch.

Without Spark and with it, a report pushes each record once into one `Replay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.cluster.records import SCHEMA
from assignor.dependencies import dependency
from assignor.replay.events import COLUMNS, COMMON, FIELDS

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from assignor import _core
    from assignor.cluster.copies import CopyMarker

KINDS = ("rebalance", "cost", "member", "storm", "stuck", "offsets")
"""Kinds of events that are kept: findings and the page come from them."""

_KEPT = {*COMMON, *(name for kind in KINDS for name in FIELDS[kind])}

EVENT_COLUMNS = [name for name in COLUMNS if name in _KEPT]
"""Columns that are kept: those of all events, and those of the kept kinds."""

LISTS = {"generations": "generations", "members": "members", "assignment": "assignments", "gaps": "gaps"}
"""Columns of a history that are lists, and the tables to which their elements are written."""


class Pushed(NamedTuple):
    """What the replay returns for a batch of records.

    Attributes:
        records: Columns of the records, `aborted` and those of `assignor.offsets.decode_batch`; None at the end.
        commits: The offset commits; None at the end.
        events: The events of `KINDS`, with the columns of `EVENT_COLUMNS`.
        group_ids: Ids of the groups that have ended.
        histories: Their histories, see `assignor.spark.schemas.HISTORY`.
    """

    records: dict[str, pa.Array] | None
    commits: pa.RecordBatch | None
    events: pa.Table
    group_ids: pa.Array
    histories: pa.Array


def push(replay: _core.Replay, records: pa.RecordBatch | None, until: int | None, marker: CopyMarker) -> Pushed:
    """Apply a batch of records that are sorted by group and offset. Copies of a record are decoded and not applied.

    Args:
        replay: The replay.
        records: The columns partition, offset, timestamp, key, value and aborted; None ends the last group.
        until: Time up to which the deadlines of a group fire at its end; None for an empty log.
        marker: Marker of the copies in the batches.
    """
    applied = None if records is None else _without_copies(records, marker)
    decoded, commits, events, (ids, histories) = replay.push_groups(
        applied, until=until, kinds=KINDS, decoded=True, commits=True
    )
    columns: dict[str, pa.Array] | None = None
    if records is not None:
        batches = (records.select([*SCHEMA.names, "aborted"]), pa.record_batch(decoded))
        columns = {name: batch[name] for batch in batches for name in batch.schema.names}
    return Pushed(
        columns,
        None if commits is None else pa.record_batch(commits),
        pa.Table.from_batches(map(pa.record_batch, events)).select(EVENT_COLUMNS),
        pa.array(ids),
        pa.array(histories),
    )


def _without_copies(records: pa.RecordBatch, marker: CopyMarker) -> pa.RecordBatch:
    """Return records in which copies are marked like records of aborted transactions, which are not applied."""
    is_skipped = pc.or_(records["aborted"], marker.mark(records))
    return records.set_column(records.schema.get_field_index("aborted"), "aborted", is_skipped)
