"""`replay`: rebuild the history of each group from its records, and compare its assignments with Kafka's assignors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from assignor import _core
from assignor.cluster.metadata import topics_table
from assignor.dependencies import dependency
from assignor.spark.schemas import DECODED, HISTORY, RECORDS, check_columns, check_frame
from assignor.spark.slices import record_slices
from assignor.validation import read_broker_version

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from assignor.validation import BrokerVersion


_NEEDED = StructType([DECODED["group_id"], *(field for field in RECORDS.fields if field.name != "partition")])
"""Columns of the result of `decode` that `replay` needs."""

_ROW = StructType([DECODED["group_id"], *HISTORY.fields])


def replay(events: DataFrame, topics: pa.Table | None = None, *, broker_version: str | None = None) -> DataFrame:
    """Rebuild each group from its records: one row per group.

    The records of a group go to one task, in the order of the log, and a task holds the state of one group at a time.
    Replay is deterministic: the state of a group is that of a broker after it has loaded the same records. Remove
    records of aborted transactions first, as a read_committed consumer does.

    Args:
        events: Decoded records, the result of `decode`; rows without `group_id` are ignored.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`; it is sent to the workers with the
            job. It is needed to compare assignments with Kafka's assignors and to replace topic ids by names.
        broker_version: Version of the brokers, such as `4.3.1`; None if it is not known.

    Returns:
        `group_id` and the columns of `schemas.HISTORY`; lazy.

    Raises:
        WrongTypeError: A column is missing or of another type.
        IllegalArgumentError: The metadata has a partition twice at the same time, a negative id or a null, or the
            version is not three numbers.
    """
    check_frame(events, "events")
    check_columns(events, _NEEDED, "events")
    metadata, version = topics_table(topics), read_broker_version(broker_version)
    _core.Replay(metadata)  # report invalid metadata here, not from a worker

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return histories(batches, metadata, version)

    # All records of a group are in one partition of the log, so offsets give their order.
    rows = events.select(*_NEEDED.fieldNames())
    by_group = rows.repartition("group_id").sortWithinPartitions("group_id", "offset", "timestamp")
    return by_group.mapInArrow(run, _ROW)


def histories(
    batches: Iterable[pa.RecordBatch], metadata: pa.RecordBatch, broker_version: BrokerVersion | None = None
) -> Iterator[pa.RecordBatch]:
    """Replay records that are sorted by group and offset, and yield the rows of completed groups."""
    schema = to_arrow_schema(_ROW)
    replay = _core.Replay(metadata, broker_version=broker_version)
    slices = (part for batch in batches for part in record_slices(batch))
    for records in itertools.chain(slices, (None,)):
        *_, (ids, histories) = replay.push_groups(records)
        # There are no rows if no group ends in the slice.
        yield pa.RecordBatch.from_arrays([pa.array(ids), *pa.array(histories).flatten()], schema=schema)
