"""Connections to a broker in one event loop, with several requests of any version in flight.

A broker reads no further request from a connection while one waits for other members. So each request uses an idle
connection.
"""

from __future__ import annotations

import asyncio
import io
import struct
from typing import TYPE_CHECKING, Any

from kio.index import load_response_schema
from kio.serial import entity_reader, entity_writer

from tests.broker.connection import ConnectionLostError

if TYPE_CHECKING:
    from types import TracebackType


class _Wire(asyncio.Protocol):
    """Connection with one request at a time."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._received = bytearray()
        self._sent = 0
        self.answer: asyncio.Future[Any] | None = None
        self._expected: Any = None
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        if self.answer and not self.answer.done():
            self.answer.set_exception(ConnectionLostError(str(error or "the broker closed the connection")))

    def ask(self, request: Any, client_id: str | None) -> asyncio.Future[Any]:
        self._sent += 1
        schema = request.__header_schema__
        header = schema(
            request_api_key=request.__api_key__,
            request_api_version=request.__version__,
            correlation_id=self._sent,
            client_id=client_id,
        )
        body = io.BytesIO()
        entity_writer(schema)(body, header)
        entity_writer(type(request))(body, request)
        message = body.getvalue()
        self._expected = load_response_schema(int(request.__api_key__), int(request.__version__))
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(struct.pack(">i", len(message)) + message)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) < 4:
            return
        (size,) = struct.unpack_from(">i", self._received)
        if len(self._received) < 4 + size:
            return
        message = bytes(self._received[4 : 4 + size])
        del self._received[: 4 + size]
        _, start = entity_reader(self._expected.__header_schema__)(message, 0)
        body, length = entity_reader(self._expected)(message, start)
        assert start + length == len(message), "a response has bytes left over"
        assert self.answer
        if not self.answer.done():
            self.answer.set_result(body)


class Connections:
    """Connections to one broker; `async with` closes them at the end."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._idle: list[_Wire] = []
        self._all: list[_Wire] = []

    async def __aenter__(self) -> Connections:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for wire in self._all:
            wire.answer = None
            wire.transport.abort()
        await asyncio.sleep(0)

    async def send(self, request: Any, client_id: str | None = "tests") -> asyncio.Future[Any]:
        """Send a request over an idle connection, which becomes idle again when the response arrives."""
        wire = self._idle.pop() if self._idle else await self._open()
        answer = wire.ask(request, client_id)
        answer.add_done_callback(lambda done: self._idle.append(wire) if _arrived(done) else None)
        return answer

    async def ask(self, request: Any, client_id: str | None = "tests", timeout: float = 10) -> Any:
        """Send a request and wait for the response."""
        try:
            return await asyncio.wait_for(await self.send(request, client_id), timeout)
        except TimeoutError:
            raise ConnectionLostError(f"no response within {timeout} s to {request}") from None

    async def _open(self) -> _Wire:
        host, port = self._address
        try:
            _, wire = await asyncio.get_running_loop().create_connection(_Wire, host, port)
        except OSError as error:
            raise ConnectionLostError(str(error)) from error
        self._all.append(wire)
        return wire


def _arrived(answer: asyncio.Future[Any]) -> bool:
    return not answer.cancelled() and answer.exception() is None
