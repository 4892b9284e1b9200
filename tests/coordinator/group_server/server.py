"""Server thread that connects a `Coordinator` to real consumers: it provides the sockets and the clock.

The clock is real, but a test can move it forward. The log is a list in memory. Requests, answers and reports are kept
for tests. As in a broker, the requests of one connection are answered in order.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import itertools
import queue
import selectors
import socket
import struct
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from assignor import RangeAssignor
from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    Effects,
    GroupDescription,
    JoinGroupRequest,
    JoinGroupResponse,
)
from tests.coordinator.group_server.answers import GROUP_APIS, VERSIONS, Answers, topic_id
from tests.coordinator.group_server.connection import Connection, Exchange, PendingRequest
from tests.coordinator.group_server.framing import Frame, UnknownVersionError, framed, frames, read_request
from tests.coordinator.group_server.notifier import Notifier
from tests.coordinator.kio_messages import request_from_kio, response_to_kio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor import TopicPartition
    from assignor.coordinator import LogRecord, Rebalance
    from assignor.coordinator.group import StoredOffset

__all__ = ["GroupServer"]

Result = TypeVar("Result")

QUICK = CoordinatorConfig(min_session_timeout_ms=500, initial_rebalance_delay_ms=100)
"""Settings with which groups form quickly, and sessions may be short."""

FETCH_API, LONGEST_FETCH = 1, 200
"""API number of Fetch, and the longest wait of a fetch in milliseconds."""


class GroupServer:
    """A broker for groups on loopback; the context manager starts and stops it.

    Args:
        topics: Partition count by topic.
        config: Settings of the coordinator.
        leads: True for server-side assignment.
        versions: Supported versions by API number.

    Attributes:
        notifier: Notified of each event.
        port: Port on 127.0.0.1.
        log: Records of all writes, in order.
        rebalances: All rebalances, in order.
        problems: Problems that the coordinator reported.
        exchanges: Requests of the group protocol with their answers, in order of the answers.
        failures: Tracebacks of errors.
    """

    def __init__(
        self,
        topics: Mapping[str, int],
        *,
        config: CoordinatorConfig = QUICK,
        leads: bool = False,
        versions: Mapping[int, range] = VERSIONS,
    ) -> None:
        self.notifier = Notifier()
        self.log: list[LogRecord] = []
        self.rebalances: list[Rebalance] = []
        self.problems: list[str] = []
        self.exchanges: list[Exchange] = []
        self.failures: list[str] = []
        self._config, self._leads, self._versions = config, leads, versions
        self._topics = dict(topics)
        self._coordinator = self._new_coordinator()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._answers = Answers(self.port, self._topics, self._committed, versions)
        self._connections: set[Connection] = set()
        self._where: dict[tuple[str, str], Connection] = {}
        self._late: list[tuple[int, int, Connection, bytes]] = []
        self._numbers = itertools.count()
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._running = True
        self._began = time.time() - time.monotonic()
        self._thread = threading.Thread(target=self._serve, name="group-server", daemon=True)

    def __enter__(self) -> GroupServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """Bootstrap address for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def topics(self) -> dict[str, int]:
        """Partition count by topic."""
        return dict(self._topics)

    def stop(self) -> None:
        """End all connections and the thread."""
        if self._thread.is_alive():
            self._in_thread(self._end)
            self._thread.join(10)
            # The last call can end before this thread has woken the server for it.
            self._wake.close()
            self._woken.close()

    def describe(self, group_id: str) -> GroupDescription:
        """Return a group as DescribeGroups shows it."""
        return self._in_thread(lambda: self._coordinator.describe(group_id))

    def committed(self, group_id: str) -> dict[TopicPartition, StoredOffset]:
        """Return a group's committed offsets."""
        return self._in_thread(lambda: self._committed(group_id))

    def _committed(self, group_id: str) -> dict[TopicPartition, StoredOffset]:
        return self._coordinator.committed(group_id)

    def waiting(self, group_id: str) -> int:
        """Return the number of joins of a group that wait for an answer."""

        def count() -> int:
            asked = [each.pending.request for each in self._connections if each.pending]
            return sum(isinstance(request, JoinGroupRequest) and request.group_id == group_id for request in asked)

        return self._in_thread(count)

    def is_connected(self, group_id: str, member_id: str) -> bool:
        """Return True while the connection of a member's last request is open."""
        return self._in_thread(lambda: (group_id, member_id) in self._where)

    def advance(self, milliseconds: int) -> None:
        """Move the clock forward, so that timers of at most this length expire."""

        def advance() -> None:
            self._began += milliseconds / 1000

        self._in_thread(advance)

    def update_topics(self, topics: Mapping[str, int]) -> None:
        """Replace the topics of the cluster."""

        def update() -> None:
            self._topics.clear()
            self._topics.update(topics)
            self._apply(self._coordinator.update_metadata(self.topics, self._now()))

        self._in_thread(update)

    def crash(self, topics: Mapping[str, int] | None = None) -> None:
        """Drop all connections and the coordinator; a new coordinator loads the log, on the same port.

        Args:
            topics: Topics to change before the new coordinator starts.
        """

        def crash() -> None:
            self._topics.update(topics or {})
            for connection in list(self._connections):
                self._forget(connection)
            self._where.clear()
            self._late.clear()
            self._replace_coordinator()

        self._in_thread(crash)

    def move_groups(self) -> None:
        """Unload the coordinator, and load its groups into a new one; connections stay open."""

        def move() -> None:
            self._apply(self._coordinator.unload(self._now()))
            self._replace_coordinator()

        self._in_thread(move)

    def _replace_coordinator(self) -> None:
        self._coordinator = self._new_coordinator()
        self._apply(self._coordinator.load(list(self.log), self._now()))

    def _new_coordinator(self) -> Coordinator:
        assignor = RangeAssignor() if self._leads else None
        return Coordinator(self._config, assignor=assignor, partitions_per_topic=self.topics)

    def _now(self) -> int:
        """Return the time in milliseconds since 1970, which never goes back."""
        return int((self._began + time.monotonic()) * 1000)

    def _in_thread(self, call: Callable[[], Result]) -> Result:
        """Call a function in the server's thread, and return its result."""
        done: Future[Result] = Future()

        def carry_out() -> None:
            try:
                done.set_result(call())
            except BaseException as error:
                done.set_exception(error)

        self._calls.put(carry_out)
        self._wake.send(b"!")
        return done.result(10)

    def _serve(self) -> None:
        while self._running:
            for key, events in self._selector.select(self._seconds_left()):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._woken:
                    self._woken.recv(4096)
                else:
                    self._guarded(key.data, functools.partial(self._on_event, key.data, events))
            while not self._calls.empty():
                self._calls.get()()
            self._guarded(None, self._on_time)
        self._selector.close()
        self._listener.close()

    def _end(self) -> None:
        self._running = False
        for connection in list(self._connections):
            self._forget(connection)

    def _seconds_left(self) -> float | None:
        deadline = self._coordinator.next_deadline()
        times = [late[0] for late in self._late[:1]] + ([] if deadline is None else [deadline])
        return max(0.0, (min(times) - self._now()) / 1000) if times else None

    def _on_time(self) -> None:
        now = self._now()
        while self._late and self._late[0][0] <= now:
            _, _, connection, answer = heapq.heappop(self._late)
            self._reply(connection, answer)
        deadline = self._coordinator.next_deadline()
        if deadline is not None and deadline <= now:
            self._apply(self._coordinator.expire(now))

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            accepted, _ = self._listener.accept()
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(accepted)
            self._connections.add(connection)
            self._selector.register(accepted, selectors.EVENT_READ, connection)

    def _on_event(self, connection: Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE and not connection.closed:
            self._send(connection)
        if events & selectors.EVENT_READ and not connection.closed:
            self._receive(connection)

    def _receive(self, connection: Connection) -> None:
        try:
            part = connection.socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self._lost(connection)
            return
        connection.received += part
        connection.waiting += frames(connection.received)
        self._handle_next(connection)

    def _handle_next(self, connection: Connection) -> None:
        """Handle the connection's next message, unless one is being answered."""
        while connection.waiting and not connection.busy and not connection.closed:
            connection.busy = True
            self._guarded(connection, functools.partial(self._handle, connection, connection.waiting.pop(0)))

    def _guarded(self, connection: Connection | None, handle: Callable[[], None]) -> None:
        """Call a handler that must not end the server; close the connection after an error."""
        try:
            handle()
            return
        except Exception:
            self.failures.append(traceback.format_exc())
        if connection and not connection.closed:
            self._guarded(None, functools.partial(self._lost, connection))
        self.notifier.notify()

    def _handle(self, connection: Connection, message: bytes) -> None:
        try:
            frame = read_request(message, self._versions)
        except UnknownVersionError as asked:
            self._reply(connection, framed(asked.correlation_id, self._answers.unknown_version()))
            return
        connection.client_id = frame.client_id
        if frame.api in GROUP_APIS:
            self._ask_coordinator(connection, frame)
            return
        answer = framed(frame.correlation_id, self._answers.answer(frame.api, frame.request))
        if frame.api == FETCH_API:
            wait = min(frame.request.max_wait.total_seconds() * 1000, LONGEST_FETCH)
            heapq.heappush(self._late, (self._now() + int(max(wait, 0)), next(self._numbers), connection, answer))
        else:
            self._reply(connection, answer)

    def _ask_coordinator(self, connection: Connection, frame: Frame) -> None:
        names = {topic_id(name): name for name in self._topics}
        request = request_from_kio(frame.request, frame.client_id, "/127.0.0.1", names)
        pending = connection.pending = PendingRequest(
            connection, frame.api, frame.version, frame.correlation_id, request
        )
        if member_id := getattr(request, "member_id", ""):
            self._where[request.group_id, member_id] = connection
        ask: Callable[..., Effects] = getattr(self._coordinator, GROUP_APIS[frame.api])
        self._apply(ask(request, self._now(), pending))

    def _apply(self, effects: Effects) -> None:
        """Write the records first, then send the answers."""
        self.log += effects.records
        self.rebalances += effects.rebalances
        self.problems += effects.problems
        for correlation, response in effects.answers:
            pending: PendingRequest = correlation  # type: ignore[assignment]  # as passed to the coordinator
            if isinstance(response, JoinGroupResponse) and response.member_id:
                self._where[pending.request.group_id, response.member_id] = pending.connection
            self.exchanges.append(Exchange(pending.connection.client_id, pending.request, response))
            ids = {name: topic_id(name) for name in self._topics}
            self._reply(
                pending.connection, framed(pending.correlation_id, response_to_kio(response, pending.version, ids))
            )
        self.notifier.notify()

    def _reply(self, connection: Connection, answer: bytes) -> None:
        if connection.closed:
            return
        connection.to_send += answer
        connection.busy, connection.pending = False, None
        self._send(connection)
        if connection.waiting:
            self._calls.put(functools.partial(self._handle_next, connection))
            self._wake.send(b"!")

    def _send(self, connection: Connection) -> None:
        try:
            sent = connection.socket.send(connection.to_send) if connection.to_send else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._lost(connection)
            return
        del connection.to_send[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.to_send else 0)
        self._selector.modify(connection.socket, wanted, connection)

    def _lost(self, connection: Connection) -> None:
        """Report the end of a connection to the coordinator, which may use it as the cause of a rebalance."""
        if connection.closed:
            return
        self._forget(connection)
        for (group_id, member_id), where in list(self._where.items()):
            if where is connection:
                del self._where[group_id, member_id]
                self._apply(self._coordinator.disconnected(group_id, member_id, self._now()))
        self.notifier.notify()

    def _forget(self, connection: Connection) -> None:
        """Reset a connection, so that the client notices immediately."""
        connection.closed = True
        self._connections.discard(connection)
        self._selector.unregister(connection.socket)
        with contextlib.suppress(OSError):
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.socket.close()
