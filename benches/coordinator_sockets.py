"""Client of a group of many members with one connection per member, and the servers that it is timed with.

Requests are encoded before the clock starts, and answers are decoded after it has stopped. A connection whose join
waits takes no other request, so every member has its own. The leader joins first, which starts the rebalance. The
others join when a heartbeat has returned REBALANCE_IN_PROGRESS. The processor time of the client and of all threads of
the server is measured too.
"""

from __future__ import annotations

import contextlib
import io
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from kio.index import load_response_schema
from kio.serial import entity_reader, entity_writer

from assignor.coordinator import (
    Answer,
    ErrorCode,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
)
from benches.coordinator_groups import CoordinatedGroups, GroupSet, require
from tests.broker.admin import Admin
from tests.broker.cluster import Cluster
from tests.broker.connection import Connection
from tests.coordinator.kio_messages import request_to_kio, response_from_kio

VERSIONS = {JoinGroupRequest: 5, SyncGroupRequest: 3, HeartbeatRequest: 3}
"""Versions of the requests. The server of our coordinator reads only these."""

SETTINGS = {
    "group.initial.rebalance.delay.ms": "3000",
    "message.max.bytes": "104857600",
    "num.network.threads": "3",
    "num.io.threads": "8",
}
"""Kafka's defaults for options that the tests' broker changes, and a limit of the message size that allows a group
record with all members."""

JVM = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
"""Options that Kafka's own start script passes to Java."""

PATIENCE = 120.0
"""Seconds to wait for an answer."""

SPARE = 1_000
"""Number of files that a process needs in addition to the connections."""


class Spent(NamedTuple):
    """Time of an exchange, in seconds.

    Attributes:
        passed: Time from sending the first request to reading the last answer.
        waited: Time from sending the last request to reading the last answer.
        server: Processor time of the server.
        client: Processor time of the client.
    """

    passed: float
    waited: float
    server: float
    client: float


class SocketGroup(CoordinatedGroups):
    """Group of one server; use it as a context manager.

    Args:
        group_set: The group.
        port: Port of the server on 127.0.0.1.
        server: Process id of the server.

    Attributes:
        exchanges: Time of each exchange so far.
    """

    def __init__(self, group_set: GroupSet, port: int, server: int) -> None:
        super().__init__(group_set)
        self.exchanges: list[Spent] = []
        self._clock = (~server << 3) | 2  # the id of another process's clock on Linux
        self._poll = select.epoll()
        self._sockets = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(group_set.members)]
        self._numbers = {connection.fileno(): number for number, connection in enumerate(self._sockets)}
        for connection in self._sockets:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            self._poll.register(connection, select.EPOLLIN)

    def __enter__(self) -> SocketGroup:
        return self

    def __exit__(self, *error: object) -> None:
        for connection in self._sockets:
            connection.close()
        self._poll.close()

    def send(self, call: str, requests: Sequence[Any], _: int | None = None) -> list[Answer]:
        """Send requests, one on each connection; return the answers."""
        numbers = {member: number for ids in self.members for number, member in enumerate(ids)}
        by_number = {numbers.get(request.member_id, place): request for place, request in enumerate(requests)}
        messages = {number: encoded(request) for number, request in by_number.items()}
        first = dict(list(messages.items())[:1]) if call == "join_group" and self.generation else {}
        start, server, client = self._clocks()
        if first:
            self._send(first)
            self._await_rebalance(next(number for number in messages if number not in first))
        self._send({number: message for number, message in messages.items() if number not in first})
        sent = time.perf_counter()
        received = self._receive(messages)
        end, server_end, client_end = self._clocks()
        self.exchanges.append(Spent(end - start, end - sent, server_end - server, client_end - client))
        return [Answer(by_number[number], decoded(by_number[number], data)) for number, data in received.items()]

    def end_of_delay(self) -> Sequence[Answer]:
        """Return no answers: those to joins that waited for the delay have arrived."""
        return ()

    def state_of(self, group: str) -> GroupState:
        """Return Stable if a heartbeat succeeds, else the state in which it fails."""
        beat = HeartbeatRequest(group, self.generation, self.members[0][0])
        self._send({0: encoded(beat)})
        response: Any = decoded(beat, self._receive([0])[0])
        return GroupState.STABLE if response.error_code is ErrorCode.NONE else GroupState.PREPARING_REBALANCE

    def _await_rebalance(self, number: int) -> None:
        """Send heartbeats of a member until one returns REBALANCE_IN_PROGRESS."""
        beat = HeartbeatRequest(self.group_ids()[0], self.generation, self.members[0][number])
        message, error = encoded(beat), ErrorCode.NONE
        while error is ErrorCode.NONE:
            self._send({number: message})
            response: Any = decoded(beat, self._receive([number])[number])
            error = response.error_code
        require(error is ErrorCode.REBALANCE_IN_PROGRESS, f"a heartbeat has the error code {error.name}")

    def _clocks(self) -> tuple[float, float, float]:
        return time.perf_counter(), time.clock_gettime(self._clock), time.process_time()

    def _send(self, messages: Mapping[int, bytes]) -> None:
        for number, message in messages.items():
            connection = self._sockets[number]
            left = memoryview(message)
            while left:
                try:
                    left = left[connection.send(left) :]
                except BlockingIOError:
                    select.select([], [connection], [], PATIENCE)

    def _receive(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return the complete answers of members, without their lengths."""
        awaited, answers = set(numbers), {}
        received, sockets, by_file = dict.fromkeys(awaited, b""), self._sockets, self._numbers
        while awaited:
            ready = self._poll.poll(PATIENCE, 1024)
            require(bool(ready), f"{len(awaited):,} answers did not come within {PATIENCE:.0f} s")
            for file, _ in ready:
                number = by_file[file]
                part = sockets[number].recv(1 << 20)
                require(bool(part), "the server closed a connection")
                data = received[number] = received[number] + part if received[number] else part
                if len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "big"):
                    answers[number] = data[4:]
                    awaited.discard(number)
        return answers


def encoded(request: Any) -> bytes:
    """Return the message of a request."""
    entity = request_to_kio(replace(request, version=VERSIONS[type(request)]))
    key, version = entity.__api_key__, entity.__version__
    header = entity.__header_schema__(
        request_api_key=key, request_api_version=version, correlation_id=7, client_id="bench"
    )
    body = io.BytesIO()
    entity_writer(type(header))(body, header)
    entity_writer(type(entity))(body, entity)
    return struct.pack(">i", len(body.getvalue())) + body.getvalue()


def decoded(request: Any, data: bytes) -> Any:
    """Return the response to a request."""
    entity = request_to_kio(replace(request, version=VERSIONS[type(request)]))
    schema: Any = load_response_schema(int(entity.__api_key__), int(entity.__version__))
    _, start = entity_reader(schema.__header_schema__)(data, 0)
    response = response_from_kio(entity_reader(schema)(data, start)[0])
    if isinstance(response, JoinGroupResponse) and response.leader != response.member_id:
        require(not response.members, "a response to a member that does not lead has members")
    return response


@contextlib.contextmanager
def broker(members: int) -> Iterator[SocketGroup]:
    """Start a real broker, and connect a group."""
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), SETTINGS, JVM) as cluster:
        assert cluster.pid is not None
        with Connection("127.0.0.1", cluster.port) as connection:
            Admin(connection).await_coordinator("group-0")
        with SocketGroup(GroupSet(1, members), cluster.port, cluster.pid) as group:
            yield group


@contextlib.contextmanager
def loopback(members: int) -> Iterator[SocketGroup]:
    """Start our coordinator in a new process, and connect a group."""
    command = [sys.executable, "-m", "benches.coordinator_loopback"]
    root = Path(__file__).resolve().parents[1]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            with SocketGroup(GroupSet(1, members), int(process.stdout.readline()), process.pid) as group:
                yield group
        finally:
            process.kill()


def allow_connections() -> int:
    """Raise the limit of open files of this process, and of those that it starts; return the number of connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most - SPARE
