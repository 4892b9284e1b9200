"""One consumer of each library behind the same few methods; runs in a separate process.

Consumers offer only the range assignor, and commit only on request. Each method returns quickly, so that the process
can read commands in between.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CLIENTS", "Client", "Offsets", "Partitions", "Settings"]

Partitions = tuple[tuple[str, int], ...]
Offsets = dict[tuple[str, int], tuple[int, str]]

POLL_MS = 40
JOIN_MS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that each library names differently.

    Attributes:
        address: Address of the server.
        group_id: Id of the group.
        name: Client id.
        topics: Subscribed topics.
        instance_id: Instance id of a static member.
        session_ms: Session timeout.
        heartbeat_ms: Heartbeat interval.
        metadata_ms: Greatest age of topic metadata.
    """

    address: str
    group_id: str
    name: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    session_ms: int = 45_000
    heartbeat_ms: int = 150
    metadata_ms: int = 60_000


class Client(Protocol):
    """A consumer whose methods return quickly."""

    def poll(self) -> None: ...
    def assignment(self) -> Partitions: ...
    def member_id(self) -> str: ...
    def generation(self) -> int | None: ...
    def commit(self, offsets: Offsets) -> None: ...
    def committed(self, partitions: Partitions) -> Offsets: ...
    def close(self) -> None: ...


def _options_in_python(settings: Settings, assignor: type) -> dict[str, Any]:
    """Return the options to which kafka-python and aiokafka give the same names."""
    return {
        "bootstrap_servers": settings.address,
        "client_id": settings.name,
        "group_id": settings.group_id,
        "group_instance_id": settings.instance_id,
        "session_timeout_ms": settings.session_ms,
        "heartbeat_interval_ms": settings.heartbeat_ms,
        "max_poll_interval_ms": max(settings.session_ms, 10_000),
        "metadata_max_age_ms": settings.metadata_ms,
        "partition_assignment_strategy": [assignor],
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 200,
    }


class KafkaPython:
    """A consumer of kafka-python."""

    def __init__(self, settings: Settings) -> None:
        import kafka
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        self._partition, self._offset = kafka.TopicPartition, kafka.OffsetAndMetadata
        self._consumer = kafka.KafkaConsumer(
            *settings.topics,
            **_options_in_python(settings, RangePartitionAssignor),
            reconnect_backoff_max_ms=200,
        )
        # Without metadata a leader would first assign nothing, and rejoin when the metadata has arrived.
        for topic in settings.topics:
            self._consumer.partitions_for_topic(topic)
        # If a poll times out during a join that ends at the same time, the consumer joins again.
        poll = self._consumer._coordinator.poll
        self._consumer._coordinator.poll = lambda timeout_ms: poll(timeout_ms=max(timeout_ms, JOIN_MS))

    def poll(self) -> None:
        self._consumer.poll(timeout_ms=POLL_MS)

    def assignment(self) -> Partitions:
        return _sorted(self._consumer.assignment())

    def member_id(self) -> str:
        return str(self._consumer._coordinator._generation.member_id)

    def generation(self) -> int | None:
        return int(self._consumer._coordinator._generation.generation_id)

    def commit(self, offsets: Offsets) -> None:
        self._consumer.commit(
            {self._partition(*at): self._offset(offset, metadata, -1) for at, (offset, metadata) in offsets.items()}
        )

    def committed(self, partitions: Partitions) -> Offsets:
        found = {at: self._consumer.committed(self._partition(*at), metadata=True) for at in partitions}
        return {at: (stored.offset, stored.metadata) for at, stored in found.items() if stored is not None}

    def close(self) -> None:
        self._consumer.close(autocommit=False)


class AioKafka:
    """A consumer of aiokafka, whose event loop runs only during method calls."""

    def __init__(self, settings: Settings) -> None:
        import aiokafka
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor

        self._partition, self._offset = aiokafka.TopicPartition, aiokafka.structs.OffsetAndMetadata
        self._runner = asyncio.Runner()

        async def start() -> Any:
            consumer = aiokafka.AIOKafkaConsumer(
                *settings.topics,
                **_options_in_python(settings, RangePartitionAssignor),
                rebalance_timeout_ms=max(settings.session_ms, 10_000),
            )
            await consumer.start()
            return consumer

        self._consumer = self._runner.run(start())

    def poll(self) -> None:
        self._runner.run(self._consumer.getmany(timeout_ms=POLL_MS))

    def assignment(self) -> Partitions:
        return _sorted(self._consumer.assignment())

    def member_id(self) -> str:
        return str(self._consumer._coordinator.member_id)

    def generation(self) -> int | None:
        return int(self._consumer._coordinator.generation)

    def commit(self, offsets: Offsets) -> None:
        wanted = {self._partition(*at): stored for at, stored in offsets.items()}
        self._runner.run(self._consumer.commit(wanted))

    def committed(self, partitions: Partitions) -> Offsets:
        async def ask() -> Mapping[Any, Any]:
            wanted = [self._partition(*at) for at in partitions]
            return await self._consumer._coordinator.fetch_committed_offsets(wanted)  # type: ignore[no-any-return]  # aiokafka ships no types

        found = self._runner.run(ask())
        return {(at.topic, at.partition): (stored.offset, stored.metadata) for at, stored in found.items()}

    def close(self) -> None:
        self._runner.run(self._consumer.stop())
        self._runner.close()


class Librdkafka:
    """A consumer of confluent-kafka, which is librdkafka."""

    def __init__(self, settings: Settings) -> None:
        import confluent_kafka

        self._partition = confluent_kafka.TopicPartition
        options: dict[str, Any] = {
            "bootstrap.servers": settings.address,
            "client.id": settings.name,
            "group.id": settings.group_id,
            "session.timeout.ms": settings.session_ms,
            "heartbeat.interval.ms": settings.heartbeat_ms,
            "max.poll.interval.ms": max(settings.session_ms, 10_000),
            "topic.metadata.refresh.interval.ms": settings.metadata_ms,
            "partition.assignment.strategy": "range",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 200,
            "reconnect.backoff.max.ms": 200,
            "broker.address.family": "v4",
        }
        if settings.instance_id is not None:
            options["group.instance.id"] = settings.instance_id
        self._consumer = confluent_kafka.Consumer(options, logger=logging.getLogger("librdkafka"))
        self._consumer.subscribe(list(settings.topics))

    def poll(self) -> None:
        message = self._consumer.poll(POLL_MS / 1000)
        if message is not None and (error := message.error()) is not None:
            logging.getLogger("librdkafka").warning("%s", error)

    def assignment(self) -> Partitions:
        return _sorted(self._consumer.assignment())

    def member_id(self) -> str:
        return str(self._consumer.memberid() or "")

    def generation(self) -> int | None:
        return None

    def commit(self, offsets: Offsets) -> None:
        wanted = [self._partition(*at, stored, metadata) for at, (stored, metadata) in offsets.items()]
        for answer in self._consumer.commit(offsets=wanted, asynchronous=False):
            if answer.error is not None:
                raise RuntimeError(str(answer.error))

    def committed(self, partitions: Partitions) -> Offsets:
        found = self._consumer.committed([self._partition(*at) for at in partitions], timeout=5)
        return {(at.topic, at.partition): (at.offset, at.metadata or "") for at in found if at.offset >= 0}

    def close(self) -> None:
        self._consumer.close()


CLIENTS: Mapping[str, Callable[[Settings], Client]] = {
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
    "librdkafka": Librdkafka,
}
"""Consumer class by library."""


def _sorted(partitions: Any) -> Partitions:
    return tuple(sorted((each.topic, each.partition) for each in partitions))
