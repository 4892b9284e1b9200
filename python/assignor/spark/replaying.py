"""`replay`: rebuild the history of each group from its records, and compare its assignments with Kafka's assignors."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import TYPE_CHECKING

from assignor import _core
from assignor.cluster.metadata import TopicsByCluster
from assignor.dependencies import dependency
from assignor.spark.column_types import read_columns
from assignor.spark.executors import on_executors
from assignor.spark.packing import differs, starts_of
from assignor.spark.schemas import CLUSTER_RECORDS, DECODED, HISTORY, RECORDS, check_frame, lookup_names
from assignor.spark.slices import record_slices
from assignor.spark.topic_metadata import read_metadata
from assignor.validation import read_broker_version

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from assignor.spark.topic_metadata import Metadata
    from assignor.validation import BrokerVersion


_NEEDED = StructType([DECODED["group_id"], *(field for field in RECORDS.fields if field.name != "partition")])
"""Columns of the result of `decode` that `replay` needs."""

_ROW = StructType([DECODED["group_id"], *HISTORY.fields])

_CLUSTER = CLUSTER_RECORDS["cluster"]


def replay(events: DataFrame, topics: Metadata | None = None, *, broker_version: str | None = None) -> DataFrame:
    """Rebuild each group of each cluster from its records: one row per group.

    The records of a group go to one task, in the order of the log, and a task holds the state of one group at a time.
    Replay is deterministic: the state of a group is that of a broker after it has loaded the same records. Remove
    records of aborted transactions first, as a read_committed consumer does.

    Args:
        events: Decoded records, the result of `decode`, and `cluster` for several clusters; rows without `group_id` are
            ignored.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`, and `cluster` if clusters have topics
            of their own; it is sent to the workers with the job. It is a table of Spark, whose rows are collected at
            once, or one with Arrow's PyCapsule interface, such as a table of pyarrow or pandas. It is needed to compare
            assignments with Kafka's assignors and to replace topic ids by names.
        broker_version: Version of the brokers, such as `4.3.1`; None if it is not known.

    Returns:
        `group_id` and the columns of `schemas.HISTORY`, after `cluster` if `events` has it; lazy.

    Raises:
        WrongTypeError: A column is missing or of another type.
        IllegalArgumentError: The metadata has a partition twice at the same time, a negative id or a null, or the
            version is not three numbers.
    """
    check_frame(events, "events")
    has_cluster = _CLUSTER.name in lookup_names(events)
    key = [field for field in (_CLUSTER, DECODED["group_id"]) if has_cluster or field is not _CLUSTER]
    names = [field.name for field in key]
    wanted = StructType([*key, *(field for field in _NEEDED.fields if field.name not in names)])
    rows = read_columns(events, wanted, "events").select(*wanted.fieldNames())
    metadata, version = TopicsByCluster(read_metadata(topics)), read_broker_version(broker_version)
    for cluster in metadata.clusters:
        _core.Replay(metadata.of(cluster))  # report invalid metadata here, not from a worker

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return histories(batches, metadata, version)

    # All records of a group are in one partition of the log, so offsets give their order.
    if has_cluster:
        rows = rows.fillna("", [_CLUSTER.name])  # null is the cluster without a name, too
    by_group = rows.repartition(*names).sortWithinPartitions(*names, "offset", "timestamp")
    return by_group.mapInArrow(on_executors(events.sparkSession, run), StructType([*key, *_ROW.fields[1:]]))


def histories(
    batches: Iterable[pa.RecordBatch], metadata: TopicsByCluster, broker_version: BrokerVersion | None = None
) -> Iterator[pa.RecordBatch]:
    """Replay records that are sorted by cluster, group and offset, and yield the rows of completed groups."""
    schema = to_arrow_schema(_ROW)
    runs = (run for batch in batches for run in _of_clusters(batch))
    for cluster, records in itertools.groupby(runs, itemgetter(0)):
        replay = _core.Replay(metadata.of(cluster or ""), broker_version=broker_version)
        slices = (part for _, run in records for part in record_slices(run))
        for part in itertools.chain(slices, (None,)):
            *_, (ids, found) = replay.push_groups(part)
            columns = [pa.array(ids), *pa.array(found).flatten()]  # no rows if no group ends in the slice
            rows = pa.RecordBatch.from_arrays(columns, schema=schema)
            names = pa.repeat(pa.scalar(cluster, pa.string()), rows.num_rows)
            yield rows if cluster is None else rows.add_column(0, _CLUSTER.name, names)


def _of_clusters(batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield runs of records of one cluster with its name; None for records without the column."""
    if _CLUSTER.name not in batch.schema.names:
        yield None, batch
    elif batch.num_rows:
        starts = starts_of(differs(batch[_CLUSTER.name])).tolist()
        rest = batch.drop_columns([_CLUSTER.name])
        for start, end in itertools.pairwise([*starts, batch.num_rows]):
            yield batch[_CLUSTER.name][start].as_py(), rest.slice(start, end - start)
