"""One client's connection to the server, and what is asked and answered over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import socket

    from assignor.coordinator.requests import Request
    from assignor.coordinator.responses import Response

__all__ = ["Connection", "Exchange", "PendingRequest"]


class PendingRequest(NamedTuple):
    """What the coordinator gives back with an answer.

    Attributes:
        connection: Which.
        api: The number of the API.
        version: Of the request.
        correlation_id: Of the request.
        request: What was asked.
    """

    connection: Connection
    api: int
    version: int
    correlation_id: int
    request: Request


class Exchange(NamedTuple):
    """A request of the group protocol and its answer.

    Attributes:
        client_id: Who asked.
        request: What.
        response: The answer.
    """

    client_id: str
    request: Request
    response: Response


class Connection:
    """One client's connection.

    Attributes:
        socket: Its socket.
        client_id: As in its last request.
        received: What arrived and is no whole message yet.
        waiting: Whole messages that are not looked at yet.
        to_send: What is to go out.
        busy: Whether a request is being answered, so that the next one waits.
        pending: That request, if it is the coordinator who answers it.
        closed: Whether it has ended.
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
