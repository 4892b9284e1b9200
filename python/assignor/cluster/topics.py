"""Topics of a live cluster: their metadata and their offsets, as tables of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.cluster.metadata import topic_schema
from assignor.dependencies import dependency
from assignor.lag import TIMED_END_OFFSETS
from assignor.lines import format_partitions

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assignor.cluster.connection import ClientSettings

_TOPICS_PER_CALL = 500
_PARTITIONS_PER_CALL = 5_000
_NO_TOPIC_ID = "A" * 22
_NO_ANSWER = ("_TRANSPORT", "_TIMED_OUT")

MARGIN_SECONDS = 1.0
"""How long librdkafka may need to end a request after its timeout."""

Place = tuple[str, int]
"""Topic and partition id."""


class Offsets(NamedTuple):
    """Offsets of partitions.

    Attributes:
        found: First offset, and the offset after the last record, by partition.
        problems: Why the offsets of a partition cannot be read.
        unanswered: Partitions with a problem whose leader did not answer; they may be readable later.
    """

    found: Mapping[Place, tuple[int, int]]
    problems: Mapping[Place, str]
    unanswered: frozenset[Place]


def topic_rows(settings: ClientSettings, admin: Any, now: int) -> pa.RecordBatch:
    """Return the metadata of all topics that the user may describe, with the columns of `topic_schema`.

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
    return _rows(rows, topic_schema())


def _described(settings: ClientSettings, admin: Any, names: list[str]) -> Iterator[Any]:
    """Yield the descriptions of topics, without those that were deleted meanwhile."""
    with dependency("confluent_kafka"):
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
                    raise settings.failed("describe the topics", error) from None
    settings.errors.clear()


def end_offsets(
    settings: ClientSettings, admin: Any, partitions: Iterable[Place], now: int
) -> tuple[pa.RecordBatch, frozenset[Place]]:
    """Return the first offset and the end offset of partitions, with the columns of `TIMED_END_OFFSETS`.

    The end offset is the high watermark, with which Kafka's tools compute lag.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        partitions: Topic and partition id of each.
        now: Time in milliseconds before the call, for the column `at`.

    Returns:
        A tuple. First a table with a row for each partition whose offsets could be read, in the given order. Then the
        partitions whose leader did not answer.

    Raises:
        ClusterError: The cluster rejects the connection.
    """
    read = offsets(settings, admin, partitions)
    rows = [(now, *place, start, end) for place, (start, end) in read.found.items()]
    return _rows(rows, TIMED_END_OFFSETS), read.unanswered


def offsets(
    settings: ClientSettings,
    admin: Any,
    partitions: Iterable[Place],
    isolation: str = "read_uncommitted",
) -> Offsets:
    """Return the first offset of partitions, and the offset after the last record.

    A broker that does not answer affects only the partitions that it leads.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        partitions: Topic and partition id of each.
        isolation: With `read_committed`, the last record is the one before the first open transaction.

    Raises:
        ClusterError: The cluster rejects the connection.
    """
    with dependency("confluent_kafka"):
        from confluent_kafka import IsolationLevel, TopicPartition

    spec = offset_spec()
    level = IsolationLevel[isolation.upper()]
    places = list(partitions)
    found: dict[Place, tuple[int, int]] = {}
    problems: dict[Place, str] = {}
    unanswered: set[Place] = set()
    for first in range(0, len(places), _PARTITIONS_PER_CALL):
        part = places[first : first + _PARTITIONS_PER_CALL]
        calls = [
            admin.list_offsets(
                {TopicPartition(topic, id): wanted for topic, id in part},
                isolation_level=level,
                request_timeout=settings.timeout,
            )
            for wanted in (spec.earliest(), spec.latest())
        ]
        futures = [future for call in calls for future in call.values()]
        if not settings.are_done(admin, futures, settings.timeout + MARGIN_SECONDS) and settings.errors.fatal:
            raise settings.unreachable("read the offsets of topics")
        starts, ends = ({(place.topic, place.partition): future for place, future in call.items()} for call in calls)
        for place in part:
            answers = [starts[place], ends[place]]
            is_done = all(future.done() for future in answers)
            errors = [error.args[0] for future in answers if is_done and (error := future.exception())]
            if is_done and not errors:
                found[place] = starts[place].result().offset, ends[place].result().offset
            elif not is_done or errors[0].name() in _NO_ANSWER:
                problems[place] = f"no answer from its leader within {settings.timeout:g} s"
                unanswered.add(place)
            else:
                problems[place] = errors[0].str()
    if not unanswered:
        settings.errors.clear()
    return Offsets(found, problems, frozenset(unanswered))


def no_end_offsets(partitions: Iterable[Place]) -> str:
    """Return a sentence that names the partitions whose leader did not answer."""
    return f"no answer for the end offsets of {format_partitions(sorted(partitions))}"


def offset_spec() -> Any:
    """Return the class OffsetSpec, whose methods have no types."""
    with dependency("confluent_kafka"):
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # its module does not list it

    return OffsetSpec


def _rows(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
