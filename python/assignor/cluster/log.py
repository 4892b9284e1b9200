"""Log of `__consumer_offsets` on a live cluster: its bounds, and its records as Arrow batches."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.cluster.records import SCHEMA
from assignor.cluster.topics import offsets
from assignor.dependencies import dependency
from assignor.errors import AuthorizationError, ClusterError, UnreachableError

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assignor.cluster.connection import ClientSettings

TOPIC = "__consumer_offsets"

READ_COMMITTED, READ_UNCOMMITTED = ISOLATION_LEVELS = ("read_committed", "read_uncommitted")
"""Isolation levels, as Kafka's consumer names them."""

_POLL_SECONDS = 0.1
_POLLED_RECORDS = 5_000
_FETCHING = {"fetch.wait.max.ms": 100, "queued.max.messages.kbytes": 16 << 10}


class LogEnd(NamedTuple):
    """End of a partition of the log.

    Attributes:
        stable: Offset after the last record that a read_committed reader gets.
        high: Offset after the last record that is replicated.
    """

    stable: int
    high: int


@dataclass(frozen=True)
class OffsetsLog:
    """Log of `__consumer_offsets`, or of another topic with records of that format.

    Attributes:
        settings: Settings of the clients.
        topic: The topic.
        isolation: `read_committed` omits records of aborted transactions, and ends at the first open transaction.
    """

    settings: ClientSettings
    topic: str = TOPIC
    isolation: str = READ_COMMITTED

    def bounds(self, admin: Any, partitions: Iterable[int] | None = None) -> dict[int, tuple[int, int]]:
        """Return the first offset of each partition, and the offset after its last record.

        With `read_committed`, the last record is the one before the first open transaction.

        Args:
            admin: AdminClient of the cluster.
            partitions: Existing partitions; all by default.

        Raises:
            AuthorizationError: The permission DESCRIBE is missing.
            ClusterError: The topic does not exist, or the cluster does not answer.
            UnreachableError: The offsets of a partition temporarily cannot be read.
        """
        ids = self.partitions(admin) if partitions is None else list(partitions)
        read = offsets(self.settings, admin, [(self.topic, id) for id in ids], isolation=self.isolation)
        if read.unanswered:
            raise self.settings.unreachable(f"read the offsets of topic {self.topic}")
        for (topic, id), problem in read.problems.items():
            raise UnreachableError(  # such as a partition without a leader while a broker starts
                f"cannot read the offsets of topic {topic}, partition {id}, on {self.settings.address}: {problem}"
            )
        return {id: read.found[self.topic, id] for id in ids}

    def partitions(self, admin: Any) -> list[int]:
        """Return the ids of all partitions in ascending order.

        Args:
            admin: AdminClient of the cluster.

        Raises:
            AuthorizationError: The permission DESCRIBE is missing.
            ClusterError: The topic does not exist, or the cluster does not answer.
        """
        found = self.settings.metadata(admin).topics.get(self.topic)  # asking for one topic could create it
        if found is not None and found.partitions:
            return sorted(found.partitions)
        if self._is_hidden(admin):
            raise self._unauthorized()
        reason = f": a broker creates {TOPIC} for the first consumer group" if self.topic == TOPIC else ""
        raise ClusterError(f"{self.settings.address} has no topic {self.topic}{reason}")

    def leaders(self, admin: Any) -> dict[int, int | None]:
        """Return the broker id of the leader of each partition; None for a partition without a leader.

        Args:
            admin: AdminClient of the cluster.

        Raises:
            ClusterError: The cluster does not answer, or does not describe the topic.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka import TopicCollection

        call = admin.describe_topics(TopicCollection([self.topic]), request_timeout=self.settings.timeout)
        found = self.settings.result(admin, call[self.topic], f"describe topic {self.topic}")
        leaders = {each.id: each.leader for each in found.partitions}
        return {id: None if node is None or node.id < 0 else node.id for id, node in leaders.items()}

    def _is_hidden(self, admin: Any) -> bool:
        """Return True if the topic is not listed because the permission to describe it is missing."""
        with dependency("confluent_kafka"):
            from confluent_kafka import TopicCollection

        call = admin.describe_topics(TopicCollection([self.topic]), request_timeout=self.settings.timeout)
        self.settings.wait(admin, call.values(), f"describe topic {self.topic}")
        errors = [future.exception(0) for future in call.values()]
        return any(error and error.args[0].name() == "TOPIC_AUTHORIZATION_FAILED" for error in errors)

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> Iterator[pa.RecordBatch]:
        """Yield the records in ranges of offsets, without records that the log no longer has.

        Args:
            ranges: First offset and the offset after the last one, by partition. The end of a range must not be beyond
                the end of the log.

        Raises:
            AuthorizationError: The permission READ is missing.
            ClusterError: The cluster sent nothing within the time limit.
        """
        with LogReader(self, **{"auto.offset.reset": "earliest"}) as reader:
            reader.assign(
                {id: start for id, (start, _) in ranges.items()}, {id: end for id, (_, end) in ranges.items()}
            )
            yield from (batch for batch in reader.batches() if batch.num_rows)

    def _unauthorized(self) -> AuthorizationError:
        return AuthorizationError(
            f"{self.settings.user} has no permission READ on topic {self.topic} of {self.settings.address}; `assignor "
            "describe` and `assignor watch --admin` work without it"
        )


class LogReader(contextlib.AbstractContextManager["LogReader"]):
    """Consumer that reads partitions of a log from given offsets. It survives restarts of brokers.

    Args:
        log: The log.
        **settings: Further settings of the consumer. By default, an offset that the log does not have is an error; with
            `auto.offset.reset` `earliest`, reading continues with the first later record.

    Attributes:
        positions: Next offset to read, by partition.
    """

    def __init__(self, log: OffsetsLog, **settings: str) -> None:
        self._log = log
        self._ends: dict[int, int] | None = None
        self.positions: dict[int, int] = {}
        self._consumer = log.settings.consumer(**{"isolation.level": log.isolation, **_FETCHING, **settings})

    def __exit__(self, *error: object) -> None:
        self._consumer.close()

    def assign(self, starts: Mapping[int, int], ends: Mapping[int, int] | None = None) -> None:
        """Read these partitions from now on, and no others.

        Args:
            starts: First offset by partition.
            ends: Offsets before which reading stops; by default it continues with later records.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka import TopicPartition

        paused = [TopicPartition(self._log.topic, id) for id in self.positions if not self._is_open(id)]
        self.positions = dict(starts)
        self._ends = None if ends is None else {id: ends[id] for id in starts}
        places = [TopicPartition(self._log.topic, id, start) for id, start in starts.items() if self._is_open(id)]
        # `assign` does not resume paused partitions. `resume` comes first: in librdkafka, a `resume` after `assign` can
        # overtake the start of a partition, and the records of the partition are then dropped.
        self._consumer.resume(paused)
        self._consumer.assign(places)

    @property
    def is_done(self) -> bool:
        """True if all partitions have been read to their ends."""
        return self._ends is not None and not any(map(self._is_open, self.positions))

    def _is_open(self, id: int) -> bool:
        return self._ends is None or self.positions[id] < self._ends[id]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches until the ends that were given to `assign`; a batch is empty if no record arrives in 0.1 s.

        Raises:
            AuthorizationError: The permission READ is missing.
            ClusterError: The cluster sent nothing within the time limit, or a partition cannot be read.
        """
        heard = time.monotonic()
        while not self.is_done:
            before = dict(self.positions)
            yield self.poll(_POLL_SECONDS)
            if before != self.positions:
                heard = time.monotonic()
            elif time.monotonic() - heard > self._log.settings.timeout:
                assert self._ends is not None
                id = min(filter(self._is_open, self.positions))
                wanted = f"offsets {self.positions[id]} to {self._ends[id] - 1} of partition {id}"
                raise self._log.settings.unreachable(f"read topic {self._log.topic}, {wanted}")

    def poll(self, seconds: float, limit: int = _POLLED_RECORDS) -> pa.RecordBatch:
        """Return the records that arrive within a time; none while no broker can be reached.

        Args:
            seconds: How long to wait for records. The call returns earlier if it has `limit` records.
            limit: Highest number of records.

        Raises:
            AuthorizationError: The permission READ is missing.
            ClusterError: A partition cannot be read.
        """
        records: list[Any] = []
        for message in self._consumer.consume(limit, seconds):
            id, error = message.partition(), message.error()
            if error is not None:
                self._handle(id, error, message)
            elif id in self.positions and self._is_open(id) and message.offset() >= self.positions[id]:
                if self._ends is None or message.offset() < self._ends[id]:
                    records.append(message)
                    self._advance(id, message.offset() + 1)
                else:
                    self._advance(id, self._ends[id])
        if records:
            self._log.settings.errors.clear()
        return _batch(records)

    def _advance(self, id: int, offset: int) -> None:
        with dependency("confluent_kafka"):
            from confluent_kafka import TopicPartition

        self.positions[id] = max(self.positions[id], offset)
        if not self._is_open(id):
            self._consumer.pause([TopicPartition(self._log.topic, id)])

    def _handle(self, id: int, error: Any, message: Any) -> None:
        """Handle an event that is not a record."""
        name = error.name()
        if name == "_PARTITION_EOF":
            if id in self.positions and self._is_open(id):
                self._advance(id, message.offset())
        elif name == "TOPIC_AUTHORIZATION_FAILED":
            raise self._log._unauthorized()
        elif name == "_AUTO_OFFSET_RESET":
            raise ClusterError(
                f"topic {self._log.topic} of {self._log.settings.address}, partition {id}, has no offset "
                f"{self.positions.get(id)}: {error.str()}"
            )
        elif error.fatal():
            raise self._log.settings.failed(f"read topic {self._log.topic}, partition {id}", error)
        elif not name.startswith("GROUP_"):  # librdkafka looks for a coordinator, which is not used
            self._log.settings.errors(error)


def _batch(records: list[Any]) -> pa.RecordBatch:
    columns = (
        [record.partition() for record in records],
        [record.offset() for record in records],
        [record.timestamp()[1] for record in records],
        [record.key() for record in records],
        [record.value() for record in records],
    )
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
