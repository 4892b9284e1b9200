"""Server with a `Coordinator` behind loopback sockets, which is compared with a real broker. It prints its port.

It understands only the requests of `coordinator_sockets`, and exits at the end of its input. Like a broker, it answers
requests when they arrive, and the requests of one connection in order.
"""

from __future__ import annotations

import resource
import select
import socket
import struct
import sys
import time
from typing import NamedTuple

from assignor.coordinator import (
    Answer,
    Coordinator,
    Effects,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
)
from benches.coordinator_sockets import FIND_COORDINATOR, HEARTBEAT, JOIN, SYNC, VERSIONS, blob, read_text, text

NO_PROTOCOL = text("")
THROTTLE = struct.pack(">i", 0)


class Asked(NamedTuple):
    """Destination of an answer.

    Attributes:
        file: File descriptor of the connection.
        correlation_id: Correlation id of the request.
    """

    file: int
    correlation_id: int


class Server:
    """Coordinator with its connections."""

    def __init__(self) -> None:
        self._coordinator = Coordinator()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._connections: dict[int, socket.socket] = {}
        self._received: dict[int, bytearray] = {}
        self._to_send: dict[int, bytearray] = {}
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)
        self._poll.register(sys.stdin, select.EPOLLIN)

    def serve(self) -> None:
        """Serve until the end of the input."""
        while True:
            deadline = self._coordinator.next_deadline()
            left = -1.0 if deadline is None else max(deadline - _now(), 0) / 1000
            for file, events in self._poll.poll(left):
                if file == sys.stdin.fileno():
                    return
                if file == self._listener.fileno():
                    self._accept()
                elif events & select.EPOLLOUT:
                    self._send(file)
                else:
                    self._receive(file)
            self._carry_out(self._coordinator.expire(_now()))

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        file = connection.fileno()
        self._connections[file], self._received[file] = connection, bytearray()
        self._poll.register(connection, select.EPOLLIN)

    def _receive(self, file: int) -> None:
        part = self._connections[file].recv(1 << 20)
        if not part:
            self._poll.unregister(file)
            self._connections.pop(file).close()
            return
        received = self._received[file]
        received += part
        if len(received) >= 4 and len(received) == 4 + int.from_bytes(received[:4], "big"):
            message = bytes(received)
            received.clear()
            self._handle(file, message)

    def _handle(self, file: int, message: bytes) -> None:
        api, _, correlation_id = struct.unpack_from(">hhi", message, 4)
        _, at = read_text(message, 12)
        asked, now = Asked(file, correlation_id), _now()
        if api == HEARTBEAT:
            self._carry_out(self._coordinator.heartbeat(read_heartbeat(message, at), now, asked))
        elif api == JOIN:
            self._carry_out(self._coordinator.join_group(read_join_request(message, at), now, asked))
        elif api == SYNC:
            self._carry_out(self._coordinator.sync_group(read_sync_request(message, at), now, asked))
        else:
            assert api == FIND_COORDINATOR
            here = b"\0\0" + text(None) + struct.pack(">i", 0) + text("127.0.0.1") + struct.pack(">i", self.port)
            self._reply(asked, THROTTLE + here)

    def _carry_out(self, effects: Effects) -> None:
        for answer in effects.answers:
            self._reply(answer.correlation, _written(answer))  # type: ignore[arg-type]  # the correlation of each request is an Asked

    def _reply(self, asked: Asked, body: bytes) -> None:
        message = struct.pack(">ii", 4 + len(body), asked.correlation_id) + body
        try:
            sent = self._connections[asked.file].send(message)
        except BlockingIOError:
            sent = 0
        if sent < len(message):
            self._to_send[asked.file] = bytearray(message[sent:])
            self._poll.modify(asked.file, select.EPOLLOUT)

    def _send(self, file: int) -> None:
        left = self._to_send[file]
        del left[: self._connections[file].send(left)]
        if not left:
            del self._to_send[file]
            self._poll.modify(file, select.EPOLLIN)


def read_heartbeat(message: bytes, at: int) -> HeartbeatRequest:
    """Parse a Heartbeat request of version 3."""
    group_id, at = read_text(message, at)
    (generation,) = struct.unpack_from(">i", message, at)
    member_id, _ = read_text(message, at + 4)
    return HeartbeatRequest(group_id, generation, member_id, version=VERSIONS[HEARTBEAT])


def read_join_request(message: bytes, at: int) -> JoinGroupRequest:
    """Parse a JoinGroup request of version 5 from a dynamic member."""
    group_id, at = read_text(message, at)
    session, rebalance = struct.unpack_from(">ii", message, at)
    member_id, at = read_text(message, at + 8)
    _, at = read_text(message, at)
    protocol_type, at = read_text(message, at)
    protocols = []
    at += 4
    while at < len(message):
        name, at = read_text(message, at)
        metadata, at = _read_blob(message, at)
        protocols.append((name, metadata))
    return JoinGroupRequest(
        group_id,
        member_id,
        protocol_type,
        tuple(protocols),
        session,
        rebalance,
        client_id="bench",
        version=VERSIONS[JOIN],
    )


def read_sync_request(message: bytes, at: int) -> SyncGroupRequest:
    """Parse a SyncGroup request of version 3 from a dynamic member."""
    group_id, at = read_text(message, at)
    (generation,) = struct.unpack_from(">i", message, at)
    member_id, at = read_text(message, at + 4)
    _, at = read_text(message, at)
    assignments = []
    at += 4
    while at < len(message):
        member, at = read_text(message, at)
        assignment, at = _read_blob(message, at)
        assignments.append((member, assignment))
    return SyncGroupRequest(group_id, generation, member_id, assignments=tuple(assignments), version=VERSIONS[SYNC])


def _written(answer: Answer) -> bytes:
    response = answer.response
    error = THROTTLE + struct.pack(">h", getattr(response, "error_code", 0))
    if isinstance(response, HeartbeatResponse):
        return error
    if isinstance(response, JoinGroupResponse):
        members = b"".join(text(each.member_id) + text(None) + blob(each.metadata) for each in response.members)
        name = NO_PROTOCOL if response.protocol_name is None else text(response.protocol_name)
        who = name + text(response.leader) + text(response.member_id)
        return (
            error + struct.pack(">i", response.generation_id) + who + struct.pack(">i", len(response.members)) + members
        )
    return error + blob(getattr(response, "assignment", b""))


def _read_blob(data: bytes, at: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from(">i", data, at)
    return data[at + 4 : at + 4 + size], at + 4 + size


def _now() -> int:
    return time.monotonic_ns() // 1_000_000


def main() -> None:
    """Start the server and print its port."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = Server()
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    server.serve()


if __name__ == "__main__":
    main()
