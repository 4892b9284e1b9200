"""Framing of requests and answers, which kio reads and writes."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from kio.index import load_request_schema
from kio.serial import entity_reader, entity_writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kio.static.protocol import Entity

__all__ = ["Frame", "UnknownVersionError", "framed", "frames", "read_request"]


class UnknownVersionError(Exception):
    """Error for an unknown version of ApiVersions; the client then tries a version that the server knows."""

    def __init__(self, correlation_id: int) -> None:
        super().__init__(correlation_id)
        self.correlation_id = correlation_id


class Frame(NamedTuple):
    """One request with its header.

    Attributes:
        api: API number.
        version: Version of the request.
        correlation_id: Correlation id of the request.
        client_id: Client id in the header.
        request: The request as an entity of kio.
    """

    api: int
    version: int
    correlation_id: int
    client_id: str
    request: Any


def frames(received: bytearray) -> list[bytes]:
    """Remove and return the complete messages at the start of the received bytes."""
    found = []
    while len(received) >= 4:
        (length,) = struct.unpack_from(">i", received)
        if len(received) < 4 + length:
            break
        found.append(bytes(received[4 : 4 + length]))
        del received[: 4 + length]
    return found


def read_request(message: bytes, versions: Mapping[int, range]) -> Frame:
    """Read one message.

    Args:
        message: The message without its length.
        versions: Supported versions by API number.

    Raises:
        UnknownVersionError: The version is not supported.
    """
    api, version, correlation_id = struct.unpack_from(">hhi", message)
    if version not in versions[api]:
        raise UnknownVersionError(correlation_id)
    schema = load_request_schema(api, version)
    header, start = entity_reader(schema.__header_schema__)(message, 0)
    request, _ = entity_reader(schema)(message, start)
    return Frame(api, version, correlation_id, getattr(header, "client_id", None) or "", request)


def framed(correlation_id: int, answer: Entity) -> bytes:
    """Return the bytes of an answer, with its length and its header."""
    header = answer.__header_schema__  # type: ignore[attr-defined]  # only messages have one
    body = io.BytesIO()
    entity_writer(header)(body, header(correlation_id=correlation_id))
    entity_writer(type(answer))(body, answer)
    return struct.pack(">i", body.tell()) + body.getvalue()
