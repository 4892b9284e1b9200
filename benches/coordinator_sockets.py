"""Client of a group of many members with one connection per member, written to use little processor time.

Requests are encoded before the clock starts, and answers are decoded after it has stopped. A connection whose join
waits takes no other request, so every member has its own. The leader joins first, which starts the rebalance. The
others join when a heartbeat has returned REBALANCE_IN_PROGRESS. The processor time of the client and of all threads of
the server is measured too.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from assignor import plan
from assignor.wire import decode_subscription
from benches.coordinator_workloads import SESSION_MS
from benches.implementations import WrongAnswerError

FIND_COORDINATOR, JOIN, HEARTBEAT, SYNC = 10, 11, 12, 14
VERSIONS = {FIND_COORDINATOR: 1, JOIN: 5, HEARTBEAT: 3, SYNC: 3}
NONE, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED = 0, 27, 79
NOT_YET = (14, 15, 16)
"""Errors of a group whose coordinator is loading, is not available, or is another broker.

A heartbeat succeeds while the coordinator is loading, so `_wait_until_available` sends a SyncGroup request instead.
"""

PATIENCE = 120.0
"""Seconds to wait for an answer."""


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


class Members:
    """Members of one group, each with its own connection.

    Args:
        port: Port of the server on 127.0.0.1.
        server: Process id of the server.
        subscriptions: Subscription of each member, as bytes.
        partitions_per_topic: Partition counts that the leader uses.
    """

    def __init__(
        self, port: int, server: int, subscriptions: Sequence[bytes], partitions_per_topic: Mapping[str, int]
    ) -> None:
        self._clock = (~server << 3) | 2  # the id of another process's clock on Linux
        self._subscriptions = subscriptions
        self._partitions_per_topic = partitions_per_topic
        self._received = [bytearray() for _ in subscriptions]
        self._poll = select.epoll()
        self._numbers: dict[int, int] = {}
        self._sockets = []
        self.ids = [""] * len(subscriptions)
        self.generation = -1
        self.leader = 0
        for number in range(len(subscriptions)):
            connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            self._sockets.append(connection)
            self._numbers[connection.fileno()] = number
            self._poll.register(connection, select.EPOLLIN)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._sockets:
            connection.close()
        self._poll.close()

    def form(self) -> Spent:
        """Join twice, sync, and return the time of the first joins, which ask for member ids."""
        self._wait_until_available()
        asking = dict(enumerate(map(self._join, range(len(self.ids)))))
        spent, answers = self._exchange(asking)
        for number, answer in answers.items():
            error, _, _, self.ids[number], _ = read_join(answer)
            _require_errors({error}, MEMBER_ID_REQUIRED, "a join without a member id")
        self._joined(self._exchange(dict(enumerate(map(self._join, range(len(self.ids))))))[1])
        self.sync()
        return spent

    def rejoin(self) -> Spent:
        """Let every member join again, the leader first."""
        first = {self.leader: self._join(self.leader)}
        others = {number: self._join(number) for number in range(len(self.ids)) if number != self.leader}
        other = next(iter(others))
        ask = {other: self._message(HEARTBEAT, self._as_member(other))}
        start, server, client = self._clocks()
        self._send(first)
        while True:
            (error,) = {read_error(answer) for answer in self._receive([other], ask).values()}
            if error == REBALANCE_IN_PROGRESS:
                break
        self._send(others)
        sent = time.perf_counter()
        answers = self._receive(range(len(self.ids)))
        spent = self._spent(start, sent, server, client)
        self._joined(answers)
        return spent

    def sync(self) -> Spent:
        """Let every member sync, the leader last, with all assignments."""
        nothing = struct.pack(">i", 0)
        syncs = {
            number: self._message(SYNC, self._as_member(number) + nothing)
            for number in range(len(self.ids))
            if number != self.leader
        }
        assignments = self._lead()
        entries = b"".join(text(member) + blob(given) for member, given in assignments.items())
        given = struct.pack(">i", len(assignments)) + entries
        syncs[self.leader] = self._message(SYNC, self._as_member(self.leader) + given)
        spent, answers = self._exchange(syncs)
        for number, answer in answers.items():
            _require_errors({read_error(answer)}, NONE, "a sync")
            is_right = answer[14:] == assignments[self.ids[number]]
            _require(is_right, f"the assignment of member {self.ids[number]} differs from the leader's")
        return spent

    def heartbeat_all(self) -> Spent:
        """Send a heartbeat of every member."""
        beats = {number: self._message(HEARTBEAT, self._as_member(number)) for number in range(len(self.ids))}
        spent, answers = self._exchange(beats)
        _require_errors({read_error(answer) for answer in answers.values()}, NONE, "a heartbeat")
        return spent

    def _wait_until_available(self) -> None:
        """Wait until the server is the coordinator of the group."""
        end = time.monotonic() + PATIENCE
        unknown = text("group-0") + struct.pack(">i", 0) + text("unknown") + text(None) + struct.pack(">i", 0)
        for api, body in ((FIND_COORDINATOR, text("group-0") + b"\0"), (SYNC, unknown)):
            while True:
                _, answers = self._exchange({0: self._message(api, body)})
                if read_error(answers[0]) not in NOT_YET:
                    break
                is_in_time = time.monotonic() < end
                _require(is_in_time, f"the coordinator of group-0 is not available after {PATIENCE:.0f} s")
                time.sleep(0.2)

    def _join(self, number: int) -> bytes:
        timeouts = struct.pack(">ii", SESSION_MS, SESSION_MS)
        offered = struct.pack(">i", 1) + text("range") + blob(self._subscriptions[number])
        member = text(self.ids[number]) + text(None) + text("consumer")
        return self._message(JOIN, text("group-0") + timeouts + member + offered)

    def _as_member(self, number: int) -> bytes:
        return text("group-0") + struct.pack(">i", self.generation) + text(self.ids[number]) + text(None)

    @staticmethod
    def _message(api: int, body: bytes) -> bytes:
        message = struct.pack(">hhi", api, VERSIONS[api], 7) + text("bench") + body
        return struct.pack(">i", len(message)) + message

    def _joined(self, answers: Mapping[int, bytes]) -> None:
        read = {number: read_join(answer) for number, answer in answers.items()}
        _require_errors({each.error for each in read.values()}, NONE, "a join")
        for number, each in read.items():
            is_same = each.member == self.ids[number]
            _require(is_same, f"a join of member {self.ids[number]} is answered with member id {each.member}")
        (self.generation,) = {each.generation for each in read.values()}
        (leader,) = {each.leader for each in read.values()}
        self.leader = self.ids.index(leader)
        self._members = read[self.leader].members
        _require(set(self._members) == set(self.ids), "the leader's response does not have the ids of all members")

    def _lead(self) -> dict[str, bytes]:
        """Compute the assignments as the leader; this is not timed."""
        subscribed = {data: decode_subscription(data).topics for data in set(self._members.values())}
        subscriptions = {member: subscribed[data] for member, data in self._members.items()}
        return plan(self._partitions_per_topic, subscriptions).encode()

    def _exchange(self, messages: Mapping[int, bytes]) -> tuple[Spent, dict[int, bytes]]:
        start, server, client = self._clocks()
        self._send(messages)
        sent = time.perf_counter()
        answers = self._receive(messages)
        return self._spent(start, sent, server, client), answers

    def _clocks(self) -> tuple[float, float, float]:
        return time.perf_counter(), time.clock_gettime(self._clock), time.process_time()

    def _spent(self, start: float, sent: float, server: float, client: float) -> Spent:
        end, server_end, client_end = self._clocks()
        return Spent(end - start, end - sent, server_end - server, client_end - client)

    def _send(self, messages: Mapping[int, bytes]) -> None:
        for number, message in messages.items():
            connection = self._sockets[number]
            left = memoryview(message)
            while left:
                try:
                    left = left[connection.send(left) :]
                except BlockingIOError:
                    select.select([], [connection], [], PATIENCE)

    def _receive(self, numbers: Iterable[int], ask: Mapping[int, bytes] | None = None) -> dict[int, bytes]:
        """Send `ask`, then return the complete answers of the members."""
        self._send(ask or {})
        awaited, answers = set(numbers), {}
        received, sockets, by_file = self._received, self._sockets, self._numbers
        while awaited:
            ready = self._poll.poll(PATIENCE, 1024)
            if not ready:
                raise WrongAnswerError(f"{len(awaited):,} answers did not come within {PATIENCE:.0f} s")
            for file, _ in ready:
                number = by_file[file]
                part = sockets[number].recv(1 << 20)
                if not part:
                    raise WrongAnswerError("the server closed a connection")
                buffer = received[number]
                buffer += part
                if len(buffer) >= 4 and len(buffer) >= 4 + int.from_bytes(buffer[:4], "big"):
                    answers[number] = bytes(buffer[4:])
                    buffer.clear()
                    awaited.discard(number)
        return answers


class Joined(NamedTuple):
    """Content of an answer to a join."""

    error: int
    generation: int
    leader: str
    member: str
    members: dict[str, bytes]


def read_join(answer: bytes) -> Joined:
    """Parse a JoinGroup response of version 5."""
    error, generation = struct.unpack_from(">hi", answer, 8)
    _, at = read_text(answer, 14)
    leader, at = read_text(answer, at)
    member, at = read_text(answer, at)
    (count,) = struct.unpack_from(">i", answer, at)
    at += 4
    members = {}
    for _ in range(count):
        each, at = read_text(answer, at)
        _, at = read_text(answer, at)
        (size,) = struct.unpack_from(">i", answer, at)
        members[each] = answer[at + 4 : at + 4 + size]
        at += 4 + size
    return Joined(error, generation, leader, member, members)


def read_error(answer: bytes) -> int:
    """Return the error code of an answer to a FindCoordinator, Heartbeat or SyncGroup request."""
    return int.from_bytes(answer[8:10], "big", signed=True)


def read_text(data: bytes, at: int) -> tuple[str, int]:
    """Parse a string of a non-flexible version, and return it with its end; null becomes ""."""
    (size,) = struct.unpack_from(">h", data, at)
    end = at + 2 + max(size, 0)
    return data[at + 2 : end].decode(), end


def text(value: str | None) -> bytes:
    """Encode a nullable string."""
    if value is None:
        return b"\xff\xff"
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def blob(value: bytes) -> bytes:
    """Encode bytes."""
    return struct.pack(">i", len(value)) + value


def _require(right: bool, what: str) -> None:
    if not right:
        raise WrongAnswerError(f"wrong result of the server: {what}")


def _require_errors(errors: set[int], wanted: int, what: str) -> None:
    _require(errors == {wanted}, f"{what} has the error code {', '.join(map(str, sorted(errors)))}, not {wanted}")
