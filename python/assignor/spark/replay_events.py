"""`events`: what happened to each group and why, from its records, in a batch or as a stream."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.metadata import TopicsByCluster
from assignor.dependencies import dependency, require
from assignor.errors import IllegalArgumentError
from assignor.replay.machine import read_rebalances, read_silences
from assignor.spark.column_types import read_columns
from assignor.spark.event_machine import EventMachine, MachineSettings
from assignor.spark.event_stream import KEY, KEYED_RECORDS, runs, stream_events
from assignor.spark.events_schema import with_times
from assignor.spark.executors import on_executors
from assignor.spark.schemas import CLUSTER_RECORDS, ENGINE_EVENTS, check_frame, lookup_names
from assignor.spark.topic_metadata import read_metadata
from assignor.validation import check_name, read_bool, read_broker_version, read_int, read_items, shown

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from assignor.replay.silences import Silence
    from assignor.sources.broker_log import LoggedRebalance
    from assignor.spark.topic_metadata import Metadata


DELAY_MS = 10_000
IDLE_MS = 60_000


def events(
    records: DataFrame,
    topics: Metadata | Callable[[], Metadata] | None = None,
    *,
    until: int | None = None,
    finish: bool | None = None,
    delay_ms: int | None = DELAY_MS,
    idle_ms: int | None = IDLE_MS,
    buckets: int = 1,
    silences: Sequence[Silence] | Mapping[str, Sequence[Silence]] = (),
    logged: Sequence[LoggedRebalance] | Mapping[str, Sequence[LoggedRebalance]] = (),
    broker_version: str | None = None,
    **settings: Any,
) -> DataFrame:
    """Return the events of each group: rebalances with their causes, members, storms, stuck members and more.

    Batches and streams run the same machine and return the same rows. A task holds the groups of one partition of
    `__consumer_offsets` in memory, and applies its records in the order of the log. In a stream, the state of the
    machine is saved after each micro-batch, so that the stream continues from its checkpoint.

    A deadline, such as the end of a storm, fires when a later record of the same partition shows that its time has
    passed, even if the group has no further records.

    Args:
        records: A batch or streaming DataFrame with the columns of `schemas.RECORDS`, and `cluster` for several
            clusters. Remove records of aborted transactions first, as a read_committed consumer does. Duplicate records
            are ignored.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`, and `cluster` if clusters have
            topics of their own; without it, the metadata is that of each cluster. It is a table of Spark, whose
            rows are collected at once, or one with Arrow's PyCapsule interface, such as a table of pyarrow or pandas. A
            function without arguments that returns the metadata is called here, and in a stream again by each task of a
            micro-batch, so that topics that are created later have names; Spark's workers must be able to read what it
            reads.
        until: Only for a batch: time in milliseconds up to which deadlines fire at the end. None fires only deadlines
            that records of the same partition have passed.
        finish: Only for a batch: True (default) to return the events that wait for later records.
        delay_ms: How far timestamps in a partition of the log can go back. Deadlines of a group without new records
            fire that much later. With None, deadlines fire only by the records of their own group, and by `until`.
        idle_ms: Only for a stream: milliseconds without records after which the deadlines of a partition fire by the
            time of processing, or None for never.
        buckets: Number of parts into which the groups of a partition are split, for more parallelism than the log has
            partitions. Each part has a clock of its own.
        silences: Silences of the log, which `assignor.replay.silences.silences_of` finds in a recording, by cluster; a
            list is that of each cluster. They decide on causes and on stuck members. Their own events are not in the
            result: see `silence_events`.
        logged: Rebalances that brokers logged, by cluster; a list is that of the cluster without a name: `rebalances`
            of `assignor.sources.broker_log.read_broker_log`. Those without a record are not in the result: see
            `assignor.replay.logged_events`.
        broker_version: Version of the brokers, such as `4.3.1`; None if it is not known.
        **settings: Settings of `assignor.replay.Replay`, such as `storm_rebalances` and `stuck_factor`.

    Returns:
        The columns of `events_schema.EVENTS`, in any order; `events_schema.in_order` sorts a batch. Lazy.

    Raises:
        WrongTypeError: A column is missing or of another type.
        IllegalArgumentError: `until` or `finish` is given for a stream, a setting is unknown or invalid, or the
            metadata is invalid.
        MissingDependencyError: `records` is a stream and protobuf is not installed.

    A stream sets the state store of the session to RocksDB, which `transformWithState` needs.
    """
    check_frame(records, "records")
    _check_number("buckets", buckets, 1, 2**31 - 1)
    for name, value in (("delay_ms", delay_ms), ("idle_ms", idle_ms)):
        if value is not None:
            _check_number(name, value, 0)
    if until is not None:
        _check_number("until", until, -(2**63))
    if finish is not None:
        read_bool(finish, "finish")
    known = inspect.signature(_core.Replay).parameters.keys() - {"topics", "broker_version"}
    for name, value in settings.items():
        if name not in known:
            allowed = sorted({*known, *inspect.signature(events).parameters} - {"records", "topics", "settings"})
            raise IllegalArgumentError(f"events has no setting {shown(name)}; its settings are {', '.join(allowed)}")
        read_bool(value, name) if name.startswith("is_") else read_int(value, name, bits=64)
    settings["broker_version"] = read_broker_version(broker_version)
    read_topics = functools.partial(_read, topics) if callable(topics) else None
    metadata = _read(topics)
    of_silences = (
        {name: read_silences(each) for name, each in _by_cluster(silences, "silences")}
        if isinstance(silences, Mapping)
        else read_silences(silences)
    )
    of_clusters = _by_cluster(logged, "logged") if isinstance(logged, Mapping) else [("", logged)]
    of_logged = {name: read_rebalances(each, "logged") for name, each in of_clusters}
    new_replay = functools.partial(_new_replay, metadata, of_silences, of_logged, settings)
    for cluster in metadata.clusters:
        new_replay(cluster)  # report invalid metadata and settings here, not from a worker
    if "cluster" not in lookup_names(records):
        records = records.withColumn("cluster", F.lit(""))
    records = read_columns(records, CLUSTER_RECORDS, "records")
    keyed = records.select(*CLUSTER_RECORDS.fieldNames()).withColumn("bucket", _bucket(buckets))
    keyed = keyed.select(*KEYED_RECORDS.fieldNames())
    if records.isStreaming:
        if until is not None or finish:
            raise IllegalArgumentError("until and finish are for batches: a stream has no end")
        require("google.protobuf")  # Spark needs it for streams with state
        stream_settings = MachineSettings(new_replay, delay_ms, read_topics=read_topics)
        return with_times(stream_events(keyed, stream_settings, idle_ms))
    machine_settings = MachineSettings(new_replay, delay_ms, until, finish is not False)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batch_events(batches, machine_settings)

    ordered = keyed.repartition(*KEY).sortWithinPartitions(*KEY, "offset", "timestamp")
    return with_times(ordered.mapInArrow(on_executors(records.sparkSession, run), ENGINE_EVENTS))


def _read(topics: Metadata | Callable[[], Metadata] | None) -> TopicsByCluster:
    """Return topic metadata: a table, or one that a function returns."""
    return TopicsByCluster(read_metadata(topics() if callable(topics) else topics))


def _by_cluster(given: Mapping[str, Any], what: str) -> list[tuple[str, Any]]:
    """Return the items of a mapping from clusters."""
    return [(check_name(name, f"{what}: a cluster"), each) for name, each in read_items(given, what)]


def _new_replay(
    topics: TopicsByCluster,
    silences: Sequence[Any] | Mapping[str, Sequence[Any]],
    logged: Mapping[str, Sequence[Any]],
    settings: dict[str, Any],
    cluster: str | None,
) -> _core.Replay:
    cluster = cluster or ""  # null is the cluster without a name, too
    replay = _core.Replay(topics.of(cluster), **settings)
    replay.observe_silences(silences.get(cluster, ()) if isinstance(silences, Mapping) else silences)
    replay.observe_broker_log(logged.get(cluster, ()), cluster)
    return replay


def batch_events(batches: Iterable[pa.RecordBatch], settings: MachineSettings) -> Iterator[pa.RecordBatch]:
    """Yield the events of records that are sorted by key and offset."""
    found = (run for batch in batches for run in runs(batch))
    for key, of_key in itertools.groupby(found, itemgetter(0)):
        machine = EventMachine(settings, key[KEY.index("cluster")])
        for _, records in of_key:
            yield from map(pa.record_batch, machine.push(records))
        yield from map(pa.record_batch, machine.end())


def _bucket(buckets: int) -> Column:
    """Return the bucket of a record's group: the key of a record has the group after its type."""
    if buckets == 1:
        return F.lit(0).cast("int")
    length = F.conv(F.hex(F.substring("key", 3, 2)), 16, 10).cast("int")
    group = F.substring(F.col("key"), F.lit(5), length)
    return F.coalesce(F.pmod(F.crc32(group), F.lit(buckets)), F.lit(0)).cast("int")


def _check_number(name: str, value: object, least: int, most: int = 2**63 - 1) -> None:
    if type(value) is not int or value < least:
        raise IllegalArgumentError(f"{name} must be an int >= {least}, not {shown(value)}")
    if value > most:
        raise IllegalArgumentError(f"{name} must be an int <= {most}, not {shown(value)}")
