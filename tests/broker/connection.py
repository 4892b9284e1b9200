"""Connection to a broker over a blocking socket, with messages of kio, which are generated from Kafka's definitions.

Several requests may be in flight. A broker handles the requests of one connection one after the other, so it handles
the requests of several members in the order in which they are sent.
"""

from __future__ import annotations

import datetime
import io
import select
import socket
import struct
import time
from typing import TYPE_CHECKING, TypeVar, cast

from kio.schema.request_header.v2 import RequestHeader
from kio.schema.response_header.v1 import ResponseHeader
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i32, i32Timedelta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kio.static.protocol import Entity

Answer = TypeVar("Answer", bound="Entity")

CLIENT_ID = "assignor-tests"


class ConnectionLostError(Exception):
    """Error for a broker that cannot be reached, closed the connection or did not respond in time."""


class Connection:
    """Connection; `with` closes it at the end."""

    def __init__(self, host: str, port: int, timeout: float = 10) -> None:
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout)
        except OSError as error:
            raise ConnectionLostError(str(error)) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._timeout = timeout
        self._sent = 0
        self._expected: dict[int, type[Entity]] = {}
        self._received = b""

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; requests in flight get no response."""
        self._socket.close()

    def send(self, request: Entity, answer: type[Entity]) -> int:
        """Send a request without waiting for the response.

        Args:
            request: A request of a flexible version.
            answer: Class of the response.

        Returns:
            Number of the request; `receive` yields it with the response.
        """
        self._sent += 1
        header = RequestHeader(
            request_api_key=request.__api_key__,  # type: ignore[attr-defined]  # only requests have one
            request_api_version=request.__version__,
            correlation_id=i32(self._sent),
            client_id=CLIENT_ID,
        )
        body = io.BytesIO()
        entity_writer(RequestHeader)(body, header)
        entity_writer(type(request))(body, request)
        message = body.getvalue()
        try:
            self._socket.sendall(struct.pack(">i", len(message)) + message)
        except OSError as error:
            raise ConnectionLostError(str(error)) from error
        self._expected[self._sent] = answer
        return self._sent

    def receive(self, timeout: float = 0) -> Iterator[tuple[int, Entity]]:
        """Yield the responses that have arrived; wait up to `timeout` seconds for the first one."""
        wait: float = timeout
        while self._expected and select.select([self._socket], [], [], 0 if self._whole() else wait)[0]:
            try:
                part = self._socket.recv(65536)
            except OSError as error:
                raise ConnectionLostError(str(error)) from error
            if not part:
                raise ConnectionLostError("the broker closed the connection")
            self._received += part
            wait = 0
        while message := self._whole():
            self._received = self._received[4 + len(message) :]
            header, size = entity_reader(ResponseHeader)(message, 0)
            number = int(header.correlation_id)
            body, _ = entity_reader(self._expected.pop(number))(message, size)
            yield number, body

    def ask(self, request: Entity, answer: type[Answer]) -> Answer:
        """Send a request and wait for its response; no other request may be in flight."""
        assert not self._expected, "another request is in flight"
        self.send(request, answer)
        end = time.monotonic() + self._timeout
        while (left := end - time.monotonic()) > 0:
            for _, body in self.receive(left):
                return cast("Answer", body)
        raise ConnectionLostError(f"no response within {self._timeout} s")

    def _whole(self) -> bytes:
        """Return the first message if it has arrived completely, else no bytes."""
        if len(self._received) < 4:
            return b""
        (size,) = struct.unpack_from(">i", self._received)
        return self._received[4 : 4 + size] if len(self._received) >= 4 + size else b""


def milliseconds(count: int) -> i32Timedelta:
    """Return a duration for kio; -1 is sent as -1."""
    return i32Timedelta.parse(datetime.timedelta(milliseconds=count))


def in_milliseconds(duration: datetime.timedelta) -> int:
    """Return the milliseconds of a duration of kio."""
    return duration // datetime.timedelta(milliseconds=1)


def short(number: int) -> i16:
    """Return a 16-bit number for kio."""
    return i16(number)
