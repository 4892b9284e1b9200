"""Ends of the partitions of the log, requested repeatedly without waiting for the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.cluster.log import LogEnd
from assignor.cluster.topics import offset_spec
from assignor.dependencies import dependency

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.cluster.log import OffsetsLog


class Answer(NamedTuple):
    """Ends of partitions.

    Attributes:
        asked: Local time in milliseconds just before the request.
        ends: Ends of the partitions whose leader answered.
    """

    asked: int
    ends: dict[int, LogEnd]


class LogEnds:
    """Requests for the ends of all partitions, one at a time.

    Args:
        log: The log.
        admin: AdminClient of the cluster.
        partitions: Ids of the partitions.
        timeout: Seconds after which a request has failed.
    """

    def __init__(self, log: OffsetsLog, admin: Any, partitions: Iterable[int], timeout: float) -> None:
        self._log = log
        self._admin = admin
        self._partitions = list(partitions)
        self._timeout = timeout
        self._asked: int | None = None
        self._futures: list[dict[int, Any]] = []

    def ask(self, now: int) -> None:
        """Send a request, unless one is on its way.

        Args:
            now: Local time in milliseconds.
        """
        with dependency("confluent_kafka"):
            from confluent_kafka import IsolationLevel, TopicPartition

        if self._asked is not None:
            return
        self._asked = now
        self._futures = []
        latest = offset_spec().latest()
        for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
            wanted = {TopicPartition(self._log.topic, id): latest for id in self._partitions}
            found = self._admin.list_offsets(wanted, isolation_level=level, request_timeout=self._timeout)
            self._futures.append({place.partition: future for place, future in found.items()})

    def take(self) -> Answer | None:
        """Return the answer to the last request, only once; None while a request is in flight or none was sent."""
        self._admin.poll(0)
        if self._asked is None or not all(each.done() for found in self._futures for each in found.values()):
            return None
        asked, (stable, high) = self._asked, self._futures
        self._asked = None
        ends = {
            id: LogEnd(stable[id].result().offset, high[id].result().offset)
            for id in self._partitions
            if stable[id].exception() is None and high[id].exception() is None
        }
        return Answer(asked, ends)
