"""Scenario of a test with a real broker: one group, its topics, and the connection that its members share."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from assignor.member import HeartbeatRequest, HeartbeatResponse
from tests.broker.admin import Admin, DescribedGroup
from tests.broker.heartbeat import ConsumerGroupHeartbeatResponse, from_wire, to_wire
from tests.broker.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from uuid import UUID

    from tests.broker.cluster import Cluster
    from tests.broker.connection import Connection


class Scenario:
    """Group with its topics. `with` closes the connections, and passes the recording to `keep` if the block succeeds.

    Args:
        cluster: The broker.
        name: Group id, and prefix of the topic names.
        assignor: Assignor that the members request.
        keep: Function that receives the recording at the end.

    Attributes:
        connection: Connection of the members; replaced after it was lost.
        admin: Admin client with its own connection.
        ids: Topic ids by name.
    """

    def __init__(
        self, cluster: Cluster, name: str, assignor: str, keep: Callable[[Recording], None] | None = None
    ) -> None:
        self.cluster = cluster
        self.group = name
        self.assignor = assignor
        self.recording = Recording(name, name, assignor, cluster.settings)
        self._keep = keep
        self._start = time.monotonic()
        self.connection = cluster.connect()
        self.admin = Admin(cluster.connect())
        self.admin.await_coordinator(self.group)
        self.ids: dict[str, UUID] = {}
        self.counts: dict[str, int] = {}

    def reconnect(self) -> Connection:
        """Open the lost connections again, and return that of the members."""
        self.connection.close()
        self.admin.close()
        self.connection = self.cluster.connect()
        self.admin = Admin(self.cluster.connect())
        return self.connection

    def __enter__(self) -> Scenario:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.connection.close()
        self.admin.close()
        if kind is None and self._keep:
            self._keep(self.recording)

    def now(self) -> int:
        """Return the milliseconds since the start of the scenario."""
        return int((time.monotonic() - self._start) * 1000)

    def topic(self, name: str) -> str:
        """Return the full name of one of the scenario's topics."""
        return f"{self.group}.{name}"

    def create_topics(self, **counts: int) -> None:
        """Create topics with the given partition counts; no heartbeat may be in flight."""
        whole = {self.topic(name): count for name, count in counts.items()}
        self.ids.update(self.admin.create_topics(whole))
        self._changed(whole)

    def grow_topic(self, name: str, count: int) -> None:
        """Grow a topic to a partition count; no heartbeat may be in flight."""
        self.admin.grow_topic(self.topic(name), count)
        self._changed({self.topic(name): count})

    def delete_topic(self, name: str) -> None:
        """Delete a topic; no heartbeat may be in flight."""
        self.admin.delete_topics([self.topic(name)])
        self._changed({self.topic(name): 0})

    def await_patterns(self) -> None:
        """Wait until the coordinator has resolved the patterns that earlier heartbeats made it resolve."""
        self.admin.await_patterns(self.group, next(name for name, count in self.counts.items() if count))

    def heartbeat(self, request: HeartbeatRequest, client: str = "") -> HeartbeatResponse:
        """Send a heartbeat and wait for the response."""
        sent = self.now()
        response = from_wire(self.connection.ask(to_wire(request), ConsumerGroupHeartbeatResponse))
        self.recording.exchange(sent, self.now(), client or request.member_id, request, response)
        return response

    def describe(self) -> DescribedGroup:
        """Record and return the coordinator's description of the group."""
        group = self.admin.describe(self.group)
        self.recording.described(self.now(), group)
        return group

    def wait(self, milliseconds: int) -> None:
        """Wait for a number of milliseconds."""
        time.sleep(milliseconds / 1000)

    def _changed(self, counts: Mapping[str, int]) -> None:
        self.admin.await_topics(self.group, counts, self.ids)
        self.counts.update(counts)
        self.recording.topics(self.now(), {name: (self.ids[name], count) for name, count in counts.items()})
