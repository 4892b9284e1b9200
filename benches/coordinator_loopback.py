"""Server with a `Coordinator` behind loopback sockets, which is compared with a real broker. It prints its port.

It understands only the requests of `coordinator_sockets`, and exits at the end of its input. Like a broker, it answers
requests when they arrive.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from typing import Any, cast

from assignor.coordinator import (
    Coordinator,
    Effects,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

JOIN, HEARTBEAT = 11, 12
NO_INSTANCE = b"\xff\xff"


class Reader:
    """Fields of a message of a version that is not flexible, read one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 4

    def numbers(self, form: str) -> tuple[int, ...]:
        """Return numbers, by their format in `struct`."""
        found = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(f">{form}")
        return found

    def blob(self, form: str = "i") -> bytes:
        """Return bytes with their length before them; null becomes empty."""
        (size,) = self.numbers(form)
        start, self.at = self.at, self.at + max(size, 0)
        return self.data[start : self.at]

    def text(self) -> str:
        """Return a string; null becomes empty."""
        return self.blob("h").decode()

    def pairs(self) -> tuple[tuple[str, bytes], ...]:
        """Return an array of texts with bytes, which ends the message."""
        (count,) = self.numbers("i")
        return tuple([(self.text(), self.blob()) for _ in range(count)])


def read_request(api: int, reader: Reader) -> Any:
    """Return a JoinGroup request of version 5, a Heartbeat or SyncGroup request of version 3, of a dynamic member."""
    group = reader.text()
    if api == JOIN:
        session, rebalance = reader.numbers("ii")
        member, _, kind = reader.text(), reader.text(), reader.text()
        return JoinGroupRequest(group, member, kind, reader.pairs(), session, rebalance, client_id="bench", version=5)
    (generation,) = reader.numbers("i")
    member, _ = reader.text(), reader.text()
    if api == HEARTBEAT:
        return HeartbeatRequest(group, generation, member, version=3)
    return SyncGroupRequest(group, generation, member, assignments=reader.pairs(), version=3)


def written(response: Any) -> bytes:
    """Return the body of a response of the same versions."""
    body = struct.pack(">ih", 0, getattr(response, "error_code", 0))
    if isinstance(response, SyncGroupResponse):
        return body + _blob(response.assignment)
    if not isinstance(response, JoinGroupResponse):
        return body
    members = b"".join(_text(each.member_id) + NO_INSTANCE + _blob(each.metadata) for each in response.members)
    names = _text(response.protocol_name or "") + _text(response.leader) + _text(response.member_id)
    count = struct.pack(">i", len(response.members))
    return body + struct.pack(">i", response.generation_id) + names + count + members


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _blob(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


class Connection(asyncio.Protocol):
    """Connection of a member."""

    transport: asyncio.Transport

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Pass a request to the coordinator once it is complete."""
        received = self._received
        received += data
        if len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
            return
        reader = Reader(bytes(received))
        received.clear()
        api, _, correlation_id = reader.numbers("hhi")
        reader.text()  # the client id
        coordinator = self._coordinator
        asks: dict[int, Any] = {HEARTBEAT: coordinator.heartbeat, JOIN: coordinator.join_group}
        ask = asks.get(api, coordinator.sync_group)
        carry_out(ask(read_request(api, reader), now(), (self.transport, correlation_id)))


def carry_out(effects: Effects) -> None:
    """Send the answers."""
    for asked, response in effects.answers:
        transport, correlation_id = cast("tuple[asyncio.Transport, int]", asked)  # as passed to the coordinator
        body = written(response)
        transport.write(struct.pack(">ii", 4 + len(body), correlation_id) + body)


def now() -> int:
    """Return the time in milliseconds."""
    return time.monotonic_ns() // 1_000_000


async def serve() -> None:
    """Print the port, and serve until the end of the input."""
    coordinator, loop = Coordinator(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(coordinator), "127.0.0.1", 0, backlog=128)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    loop.add_reader(sys.stdin, ended.set)
    while not ended.is_set():
        await asyncio.sleep(0.05)
        carry_out(coordinator.expire(now()))


if __name__ == "__main__":
    asyncio.run(serve())
