"""One client's connection to the server, and the requests and answers on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket

    from assignor.coordinator.requests import Request
    from assignor.coordinator.responses import Response

__all__ = ["Connection", "Exchange", "PendingRequest"]


class PendingRequest(NamedTuple):
    """Correlation object of a request to the coordinator.

    Attributes:
        connection: Connection of the request.
        api: API number.
        version: Version of the request.
        correlation_id: Correlation id of the request.
        request: The request.
    """

    connection: Connection
    api: int
    version: int
    correlation_id: int
    request: Request


class Exchange(NamedTuple):
    """A request of the group protocol and its answer.

    Attributes:
        client_id: Id of the client.
        request: The request.
        response: Its answer.
    """

    client_id: str
    request: Request
    response: Response


class Connection:
    """One client's connection.

    Attributes:
        socket: Socket of the connection.
        client_id: Client id of the last request.
        received: Bytes of an incomplete message.
        waiting: Complete messages that are not handled yet.
        to_send: Bytes to send.
        busy: True while a request is being answered; the next one waits.
        pending: That request, if the coordinator answers it.
        closed: True once the connection has ended.
    """

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.client_id = ""
        self.received = bytearray()
        self.waiting: list[bytes] = []
        self.to_send = bytearray()
        self.busy = False
        self.pending: PendingRequest | None = None
        self.closed = False
