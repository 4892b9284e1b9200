"""Driver of recorded clients: what it did, and what the clients said they own while nothing changed."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from confluent_kafka import Producer
from kio.schema.incremental_alter_configs.v1 import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from kio.schema.incremental_alter_configs.v1.request import AlterableConfig, AlterConfigsResource
from kio.static.primitive import i8

from assignor.cluster.connection import ClientSettings
from assignor.cluster.topics import topic_rows
from tests.broker.admin import Admin, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from tests.broker.cluster import Release
    from tests.broker.plugins.racks import RackedCluster

Owned = dict[str, Any]
"""What each client of a group says it owns."""

QUIET = 4.0
"""Seconds without a change after which what the clients say is written down."""

LIMIT = 150.0
"""Seconds within which the clients must agree."""

_GROUP, _SET = i8(32), i8(0)


class Clients(Protocol):
    """Clients of one group."""

    group: str
    kind: str

    def owned(self) -> Owned | None:
        """Return what each client says it owns; None while they do not own everything, or are not ready."""

    def describe(self) -> str:
        """Return a text about what is missing."""

    def stop(self) -> None:
        """Kill all processes of the clients."""


class Driver(contextlib.AbstractContextManager["Driver"]):
    """Driver of all clients of a cluster; `with` kills their processes at the end.

    Args:
        cluster: The cluster.
        release: Release of the clients.
        folder: Folder for their files.

    Attributes:
        actions: What was done: `t` in milliseconds, `action`, and what it was done to.
        settled: What the clients said: `t`, `label`, and `groups` with the kind and the clients of each group.
        partitions: Number of partitions of each topic.
        topics: Snapshots of the topics, one at the end of each wait. A recorder writes topics only when they changed,
            and so does not show that they had not changed yet.
    """

    def __init__(self, cluster: RackedCluster, release: Release, folder: Path) -> None:
        self.address = cluster.address
        self.release, self.folder = release, folder
        self.actions: list[dict[str, Any]] = []
        self.settled: list[dict[str, Any]] = []
        self.partitions: dict[str, int] = {}
        self.topics: list[pa.RecordBatch] = []
        self._settings = ClientSettings.read(self.address)
        self._connections = cluster.connect()
        self._connection = self._connections[0]
        self._admin = Admin(self._connection)
        self._clients: list[Clients] = []
        self._producer = Producer({"bootstrap.servers": self.address, "client.id": "traffic", "log_level": 2})
        self._produced_at = 0.0

    def __exit__(self, *error: object) -> None:
        for clients in self._clients:
            clients.stop()
        for connection in self._connections:
            connection.close()

    def follow(self, clients: Clients) -> None:
        """Ask these clients from now on what they own."""
        self._clients.append(clients)

    def note(self, action: str, **what: Any) -> None:
        """Write down an action."""
        self.actions.append({"t": _milliseconds(), "action": action, **what})

    def create(self, counts: Mapping[str, int]) -> None:
        """Create topics, and the topics of the coordinators."""
        self._admin.create_topics(counts)
        self.partitions |= counts
        self.note("create", topics=dict(counts))
        end = time.monotonic() + 30
        while True:
            try:
                self._admin.find_coordinator("any")
            except RequestError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
            else:
                return

    def grow(self, topic: str, count: int) -> None:
        """Grow a topic."""
        self.note("grow", topic=topic, partitions=count)
        self._admin.grow_topic(topic, count)
        self.partitions[topic] = count

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self.note("delete", topic=topic)
        del self.partitions[topic]
        self._admin.delete_topics([topic])

    def configure(self, group: str, values: Mapping[str, str]) -> None:
        """Set configurations of a group."""
        self.note("configure", group=group, values=dict(values))
        configs = tuple(
            AlterableConfig(name=name, config_operation=_SET, value=value) for name, value in values.items()
        )
        resource = AlterConfigsResource(resource_type=_GROUP, resource_name=group, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
        for answer in self._connection.ask(request, IncrementalAlterConfigsResponse).responses:
            if answer.error_code:
                raise RequestError(answer.error_code, answer.error_message)

    def settle(self, label: str, *, at_least: float = 0) -> None:
        """Wait until the clients own everything and nothing changes; write down what they say.

        Args:
            label: Name of the state.
            at_least: Seconds to wait at least, for what the clients cannot see, such as the end of a session.

        Raises:
            TimeoutError: The clients do not agree.
        """
        start = time.monotonic()
        before: dict[str, Owned | None] = {}
        since = start
        while True:
            self._traffic()
            found = {clients.group: clients.owned() for clients in self._clients}
            now = time.monotonic()
            if found != before or None in found.values():
                before, since = found, now
            if now - since >= QUIET and now - start >= at_least:
                break
            if now - start > LIMIT:
                raise TimeoutError(f"{label}: " + "; ".join(each.describe() for each in self._clients))
            time.sleep(0.3)
        kinds = {clients.group: clients.kind for clients in self._clients}
        groups = {group: {"kind": kinds[group], "clients": owned} for group, owned in found.items()}
        self.topics.append(topic_rows(self._settings, self._settings.admin(), _milliseconds()))
        self.settled.append({"t": _milliseconds(), "label": label, "groups": groups})
        sys.stderr.write(f"{label}\n")

    def _traffic(self) -> None:
        """Send some records to each topic every other second."""
        now = time.monotonic()
        if now - self._produced_at < 2:
            return
        self._produced_at = now
        for topic, count in self.partitions.items():
            for number in range(count):
                key = f"key-{number}".encode()
                self._producer.produce(topic, key=key, value=f"value-{number % 7}".encode())
        self._producer.poll(0)


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
