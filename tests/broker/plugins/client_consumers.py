"""Running consumers of kafka-python, aiokafka and confluent-kafka, with one interface.

Consumers have unique names, which are their client ids. They poll by themselves; `join` starts one, `leave` closes it.
`tests/broker/plugins/program_consumers.py` has those of Java and Go.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import aiokafka
import confluent_kafka
import pytest
from kafka import KafkaConsumer

from assignor import TopicPartition
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from concurrent.futures import Future

HEARTBEAT_MS = 200
SESSION_MS = 12_000
"""Session timeout in milliseconds, long enough for a busy machine. Closing static members takes one session."""

PAUSE = 0.05
"""Seconds between two polls."""

Owned = frozenset[TopicPartition]


TOPICS = ("orders", "payments", "single")


class Joining(NamedTuple):
    """A consumer that joins a group: its settings that differ from those of other consumers.

    Attributes:
        name: Name in the group; a running consumer has it after the name of its group, as client id.
        client: Name of the client, such as `aiokafka`, or one of its releases, such as `aiokafka==0.10.0`.
        strategies: Assignors in the order of preference: objects or classes of the client; their names for Java,
            confluent-kafka and a release.
        topics: Names of topics.
        instance_id: Group instance id of a static member.
        rack: Rack of the consumer.
        session_ms: Session timeout.
        group: Group id.
    """

    name: str
    client: str
    strategies: Sequence[Any]
    topics: Sequence[str] = TOPICS
    instance_id: str | None = None
    rack: str | None = None
    session_ms: int = SESSION_MS
    group: str = ""


class Consumers(Protocol):
    """Consumers of one client."""

    def join(self, joining: Joining) -> None:
        """Start a consumer."""

    def leave(self, name: str) -> None:
        """Close a consumer, and wait until it is closed."""

    def owned(self, name: str) -> Owned:
        """Return the partitions that a consumer owns in its own view."""

    def errors(self, name: str) -> list[str]:
        """Return the errors that a consumer raised, each once."""

    def close(self) -> None:
        """Close all consumers."""


class KafkaPythonConsumers:
    """Consumers of kafka-python, each polled by a thread of its own.

    Args:
        address: Addresses of brokers.
        poll_ms: Time limit of each poll in milliseconds.
    """

    def __init__(self, address: str, poll_ms: int = int(PAUSE * 1000)) -> None:
        self._address = address
        self._poll_ms = poll_ms
        self._consumers: dict[str, _PolledConsumer] = {}

    def join(self, joining: Joining) -> None:
        """Start a consumer."""
        self._consumers[joining.name] = _PolledConsumer(self._address, joining, self._poll_ms)

    def leave(self, name: str) -> None:
        """Close a consumer, and wait until it is closed."""
        self._consumers.pop(name).stop()

    def owned(self, name: str) -> Owned:
        """Return the partitions that a consumer owns in its own view."""
        return self._consumers[name].owned

    def errors(self, name: str) -> list[str]:
        """Return the errors that a consumer raised, each once."""
        return self._consumers[name].errors

    def close(self) -> None:
        """Close all consumers."""
        for consumer in self._consumers.values():
            consumer.ending.set()
        while self._consumers:
            self.leave(next(iter(self._consumers)))


class _PolledConsumer:
    def __init__(self, address: str, joining: Joining, poll_ms: int) -> None:
        self._poll_ms = poll_ms
        self.ending = threading.Event()
        self.owned: Owned = frozenset()
        self.errors: list[str] = []
        self._settings = {
            "bootstrap_servers": address.split(","),
            "client_id": joining.name,
            "group_id": joining.group,
            "partition_assignment_strategy": list(joining.strategies),
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "session_timeout_ms": joining.session_ms,
            "enable_auto_commit": False,
            **_optional_settings(joining),
        }
        self._topics = joining.topics
        self._thread = threading.Thread(target=self._run, name=joining.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the consumer."""
        self.ending.set()
        within(f"closing {self._thread.name}", self._thread.join)

    def _run(self) -> None:
        try:
            consumer = KafkaConsumer(**self._settings)
        except Exception as error:
            _note(self.errors, error)
            return
        consumer.subscribe(self._topics)
        # A leader without metadata assigns no partitions, and rejoins when it has metadata. If a poll ends during
        # this rejoin, kafka-python 3.0.12 forgets it, and the coordinator removes the leader.
        consumer.topics()
        while not self.ending.is_set():
            try:
                consumer.poll(timeout_ms=self._poll_ms)
            except Exception as error:
                _note(self.errors, error)
            self.owned = _partitions(consumer.assignment())
        consumer.close()


class AiokafkaConsumers:
    """Consumers of aiokafka in one event loop."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._consumers: dict[str, Any] = {}
        self._errors: dict[str, list[str]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiokafka", daemon=True)
        self._thread.start()

    def join(self, joining: Joining) -> None:
        """Start a consumer."""
        self._errors[joining.name] = []
        self._run(self._start(joining))

    async def _start(self, joining: Joining) -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self._address,
            client_id=joining.name,
            group_id=joining.group,
            partition_assignment_strategy=list(joining.strategies),
            heartbeat_interval_ms=HEARTBEAT_MS,
            session_timeout_ms=joining.session_ms,
            enable_auto_commit=False,
            **_optional_settings(joining),
        )
        await consumer.start()
        consumer.subscribe(joining.topics)
        self._consumers[joining.name] = consumer
        task = asyncio.ensure_future(self._poll(joining.name, consumer))
        consumer.polling = task

    async def _poll(self, name: str, consumer: Any) -> None:
        while True:
            try:
                await consumer.getmany(timeout_ms=1000)
            except Exception as error:
                _note(self._errors[name], error)
                await asyncio.sleep(PAUSE)

    def leave(self, name: str) -> None:
        """Close a consumer, and wait until it is closed."""
        consumer = self._consumers.pop(name)

        async def stop() -> None:
            consumer.polling.cancel()
            await asyncio.wait([consumer.polling])
            await consumer.stop()

        self._run(stop())

    def owned(self, name: str) -> Owned:
        """Return the partitions that a consumer owns in its own view."""
        return _partitions(self._consumers[name].assignment())

    def errors(self, name: str) -> list[str]:
        """Return the errors that a consumer raised, each once."""
        return self._errors[name]

    def close(self) -> None:
        """Close all consumers, and the loop."""
        while self._consumers:
            self.leave(next(iter(self._consumers)))
        self._loop.call_soon_threadsafe(self._loop.stop)
        within("the event loop of aiokafka", self._thread.join)
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        future: Future[None] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        future.result(60)


class ConfluentConsumers:
    """Consumers of confluent-kafka, polled by one thread."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._consumers: dict[str, confluent_kafka.Consumer] = {}
        self._owned: dict[str, Owned] = {}
        self._errors: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="confluent", daemon=True)
        self._thread.start()

    def join(self, joining: Joining) -> None:
        """Start a consumer."""
        settings: dict[str, Any] = {
            "bootstrap.servers": self._address,
            "client.id": joining.name,
            "group.id": joining.group,
            "partition.assignment.strategy": ",".join(joining.strategies),
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "session.timeout.ms": joining.session_ms,
            "enable.auto.commit": False,
            "log.connection.close": False,
            "logger": logging.getLogger("librdkafka"),
        }
        if joining.instance_id:
            settings["group.instance.id"] = joining.instance_id
        if joining.rack:
            settings["client.rack"] = joining.rack
        consumer = confluent_kafka.Consumer(settings)
        consumer.subscribe(list(joining.topics))
        self._errors[joining.name] = []
        with self._lock:
            self._consumers[joining.name] = consumer

    def leave(self, name: str) -> None:
        """Close a consumer, and wait until it is closed."""
        with self._lock:
            consumer = self._consumers.pop(name)
        close_consumers([consumer])

    def owned(self, name: str) -> Owned:
        """Return the partitions that a consumer owns in its own view."""
        return self._owned.get(name, frozenset())

    def errors(self, name: str) -> list[str]:
        """Return the errors that a consumer raised, each once."""
        return self._errors[name]

    def close(self) -> None:
        """Close all consumers."""
        self._ending.set()
        within("polling consumers of confluent-kafka", self._thread.join)
        close_consumers(self._consumers.values())

    def _run(self) -> None:
        while not self._ending.wait(PAUSE):
            with self._lock:
                for name, consumer in self._consumers.items():
                    message = consumer.poll(0)
                    if message is not None and message.error() is not None:
                        _note(self._errors[name], message.error())
                    self._owned[name] = _partitions(consumer.assignment())


def needs_racks_of_aiokafka() -> None:
    """Skip a test whose consumer of aiokafka names its rack, if the installed release cannot."""
    if "client_rack" not in inspect.signature(aiokafka.AIOKafkaConsumer).parameters:
        pytest.skip(f"aiokafka {aiokafka.__version__} has no client_rack")


def _optional_settings(joining: Joining) -> dict[str, str]:
    """Return the settings that a consumer needs; old releases of the clients have none of them."""
    settings = {"group_instance_id": joining.instance_id, "client_rack": joining.rack}
    return {name: value for name, value in settings.items() if value}


def _partitions(found: Any) -> Owned:
    return frozenset(TopicPartition(each.topic, each.partition) for each in found)


def _note(errors: list[str], error: object) -> None:
    """Add an error to a list, unless it is there."""
    if repr(error) not in errors:
        errors.append(repr(error))
