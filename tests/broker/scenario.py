"""A scenario that a test tells with a real broker: one group, its topics, and the connection that its members share."""

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

SETTLE = 0.3
"""Seconds from a topic that every client sees until the coordinator has taken notice, too."""


class Scenario:
    """One group with its topics; `with` ends it, and keeps it when it ended well.

    Args:
        cluster: The broker.
        name: The group's id, too, and how the names of its topics begin.
        assignor: What the members will ask for.
        keep: Takes what was said at the end.

    Attributes:
        connection: What the members speak over; it may be replaced when it was lost.
        admin: Another connection for what members do not ask.
        ids: The ids of the topics, by name.
    """

    def __init__(
        self, cluster: Cluster, name: str, assignor: str, keep: Callable[[Recording], None] | None = None
    ) -> None:
        self.cluster = cluster
        self.group = name
        self.assignor = assignor
        self.recording = Recording(name, name, assignor)
        self._keep = keep
        self._start = time.monotonic()
        self.connection = cluster.connect()
        self.admin = Admin(cluster.connect())
        self.admin.await_coordinator(self.group)
        self.ids: dict[str, UUID] = {}
        self.counts: dict[str, int] = {}

    def reconnect(self) -> Connection:
        """Open the connections again, which were lost, and give the members' one."""
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
        """Give the milliseconds since the scenario began."""
        return int((time.monotonic() - self._start) * 1000)

    def topic(self, name: str) -> str:
        """Give the whole name of one of the scenario's topics."""
        return f"{self.group}.{name}"

    def create_topics(self, **counts: int) -> None:
        """Create topics with so many partitions each; no heartbeat may be under way."""
        whole = {self.topic(name): count for name, count in counts.items()}
        self.ids.update(self.admin.create_topics(whole))
        self._changed(whole)

    def grow_topic(self, name: str, count: int) -> None:
        """Give a topic more partitions, so many in all; no heartbeat may be under way."""
        self.admin.grow_topic(self.topic(name), count)
        self._changed({self.topic(name): count})

    def delete_topic(self, name: str) -> None:
        """Delete a topic; no heartbeat may be under way."""
        self.admin.delete_topics([self.topic(name)])
        self._changed({self.topic(name): 0})

    def heartbeat(self, request: HeartbeatRequest, client: str = "") -> HeartbeatResponse:
        """Send a heartbeat and wait for the answer."""
        sent = self.now()
        response = from_wire(self.connection.ask(to_wire(request), ConsumerGroupHeartbeatResponse))
        self.recording.exchange(sent, self.now(), client or request.member_id, request, response)
        return response

    def describe(self) -> DescribedGroup:
        """Say what the coordinator thinks of the group."""
        group = self.admin.describe(self.group)
        self.recording.described(self.now(), group)
        return group

    def wait(self, milliseconds: int) -> None:
        """Let time pass."""
        time.sleep(milliseconds / 1000)

    def _changed(self, counts: Mapping[str, int]) -> None:
        time.sleep(SETTLE)
        self.counts.update(counts)
        self.recording.topics(self.now(), {name: (self.ids[name], count) for name, count in counts.items()})
