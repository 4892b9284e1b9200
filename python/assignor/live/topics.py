"""Topics of a live cluster: their metadata and their offsets, as tables of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assignor.live.connection import ClientSettings

TOPICS = pa.schema(
    [
        ("t", pa.int64()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("racks", pa.list_(pa.string())),
    ]
)
"""Columns of `topics.parquet`."""

END_OFFSETS = pa.schema(
    [
        ("at", pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("end_offset", pa.int64()),
        ("start_offset", pa.int64()),
    ]
)
"""Columns of `end_offsets.parquet`."""

_TOPICS_PER_CALL = 500
_PARTITIONS_PER_CALL = 5_000
_NO_TOPIC_ID = "A" * 22


def topic_rows(settings: ClientSettings, admin: Any, now: int) -> pa.RecordBatch:
    """Return the metadata of all topics that the user may describe, with the columns of `TOPICS`.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        now: Time in milliseconds, for the column `t`.

    Returns:
        A row for each partition, sorted by topic and partition. `topic_id` is "" if the brokers have no topic ids
        (before Kafka 2.8). `racks` has an entry for each replica, which is null if its broker has no rack.

    Raises:
        ClusterError: The cluster does not answer.
    """
    rows = []
    names = sorted(name for name, topic in settings.metadata(admin).topics.items() if topic.error is None)
    for topic in _described(settings, admin, names):
        topic_id = str(topic.topic_id).replace("+", "-").replace("/", "_")  # librdkafka's alphabet to Kafka's
        for partition in sorted(topic.partitions, key=lambda each: each.id):
            racks = [node.rack for node in partition.replicas]
            rows.append((now, topic.name, "" if topic_id == _NO_TOPIC_ID else topic_id, partition.id, racks))
    return _rows(rows, TOPICS)


def _described(settings: ClientSettings, admin: Any, names: list[str]) -> Iterator[Any]:
    """Yield the descriptions of topics, without those that were deleted meanwhile."""
    from confluent_kafka import KafkaException, TopicCollection

    for start in range(0, len(names), _TOPICS_PER_CALL):
        wanted = TopicCollection(names[start : start + _TOPICS_PER_CALL])
        futures = admin.describe_topics(wanted, request_timeout=settings.timeout)
        settings.wait(admin, futures.values(), "describe the topics")
        for future in futures.values():
            try:
                yield future.result(0)
            except KafkaException as error:
                if error.args[0].name() not in ("UNKNOWN_TOPIC_OR_PART", "TOPIC_AUTHORIZATION_FAILED"):
                    raise settings.failed("describe the topics", error.args[0]) from None
    settings.errors.clear()


def end_offsets(
    settings: ClientSettings, admin: Any, partitions: Iterable[tuple[str, int]], now: int
) -> pa.RecordBatch:
    """Return the first offset and the end offset of partitions, with the columns of `END_OFFSETS`.

    The end offset is the high watermark, with which Kafka's tools compute lag.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        partitions: Topic and partition id of each.
        now: Time in milliseconds before the call, for the column `at`.

    Returns:
        A row for each partition, in the given order, without those whose offsets cannot be read.

    Raises:
        ClusterError: The cluster does not answer.
    """
    found, _ = offsets(settings, admin, partitions)
    return _rows([(now, *place, end, start) for place, (start, end) in found.items()], END_OFFSETS)


def offsets(
    settings: ClientSettings,
    admin: Any,
    partitions: Iterable[tuple[str, int]],
    isolation: str = "read_uncommitted",
) -> tuple[Mapping[tuple[str, int], tuple[int, int]], Mapping[tuple[str, int], str]]:
    """Return the first offset of partitions, and the offset after the last record.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        partitions: Topic and partition id of each.
        isolation: With `read_committed`, the last record is the one before the first open transaction.

    Returns:
        The offsets by partition, and what is wrong with each partition whose offsets cannot be read.

    Raises:
        ClusterError: The cluster does not answer.
    """
    from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
    from confluent_kafka.admin._listoffsets import OffsetSpec

    specs: Any = OffsetSpec  # its methods have no types
    level = IsolationLevel[isolation.upper()]
    places = list(partitions)
    found: dict[tuple[str, int], tuple[int, int]] = {}
    problems: dict[tuple[str, int], str] = {}
    for first in range(0, len(places), _PARTITIONS_PER_CALL):
        part = places[first : first + _PARTITIONS_PER_CALL]
        calls = [
            admin.list_offsets(
                {TopicPartition(topic, id): spec for topic, id in part},
                isolation_level=level,
                request_timeout=settings.timeout,
            )
            for spec in (specs.earliest(), specs.latest())
        ]
        settings.wait(admin, [future for call in calls for future in call.values()], "read the offsets of topics")
        starts, ends = ({(place.topic, place.partition): future for place, future in call.items()} for call in calls)
        for place in part:
            try:
                found[place] = starts[place].result(0).offset, ends[place].result(0).offset
            except KafkaException as error:
                if error.args[0].name() in ("_TRANSPORT", "_TIMED_OUT"):
                    raise settings.failed("read the offsets of topics", error.args[0]) from None
                problems[place] = error.args[0].str()
    settings.errors.clear()
    return found, problems


def _rows(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
