"""Framing of requests and answers. A connection may send any bytes; bytes that are not a complete request are rejected.

kio reads and writes the messages. Before kio reads an array, it allocates memory for the size that the message claims,
so a few bytes of garbage could exhaust the memory. The code below therefore compares each claimed size with the rest of
the message first.
"""

from __future__ import annotations

import dataclasses
import io
import struct
import types
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from kio.index import KioIndexError, load_request_schema
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kio.static.protocol import Entity

__all__ = ["Frame", "NotARequestError", "UnknownApiVersionsError", "framed", "frames", "read_request"]

LONGEST_FRAME = 1 << 20
"""Greatest length of a request. Requests of consumers are shorter."""

API_VERSIONS = 18

_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
    "timedelta_i32": 4,
    "timedelta_i64": 8,
}


class NotARequestError(Exception):
    """Error for bytes that are not a request that this server answers."""


class UnknownApiVersionsError(NotARequestError):
    """Error for an unknown version of ApiVersions; the client then tries a version that the server knows."""

    def __init__(self, correlation_id: int) -> None:
        super().__init__("ApiVersions in an unknown version")
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
    """Remove and return the complete messages at the start of the received bytes.

    Raises:
        NotARequestError: The next message is longer than any request, or its length is negative.
    """
    found = []
    while len(received) >= 4:
        (length,) = struct.unpack_from(">i", received)
        if not 0 <= length <= LONGEST_FRAME:
            raise NotARequestError(f"a message of {length} bytes")
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
        NotARequestError: The API or version is not supported, or the message is malformed.
    """
    if len(message) < 8:
        raise NotARequestError("too short for a header")
    api, version, correlation_id = struct.unpack_from(">hhi", message)
    if version not in versions.get(api, ()):
        raise UnknownApiVersionsError(correlation_id) if api == API_VERSIONS else NotARequestError(f"{api=} {version=}")
    try:
        schema = load_request_schema(api, version)
        end = _skip_entity(schema, message, _skip_entity(schema.__header_schema__, message, 0))
        if end != len(message):
            raise NotARequestError(f"{len(message) - end} bytes after the end")
        header, start = entity_reader(schema.__header_schema__)(message, 0)
        request, _ = entity_reader(schema)(message, start)
    except (SerialError, KioIndexError, struct.error, LookupError, ValueError, OverflowError) as error:
        raise NotARequestError(repr(error)) from error
    return Frame(api, version, correlation_id, getattr(header, "client_id", None) or "", request)


def framed(correlation_id: int, answer: Entity) -> bytes:
    """Return the bytes of an answer, with its length and its header."""
    header = answer.__header_schema__  # type: ignore[attr-defined]  # only messages have one
    body = io.BytesIO()
    entity_writer(header)(body, header(correlation_id=correlation_id))
    entity_writer(type(answer))(body, answer)
    return struct.pack(">i", body.tell()) + body.getvalue()


def _skip_entity(schema: Any, message: bytes, at: int) -> int:
    """Return the end of an entity; raise an error unless everything that it claims to hold is there."""
    is_header = not hasattr(schema, "__api_key__")
    for field in dataclasses.fields(schema):
        if "tag" in field.metadata:
            continue
        compact = schema.__flexible__ and not (is_header and field.name == "client_id")  # never a compact string
        wanted = field.type
        if get_origin(wanted) is types.UnionType:
            wanted = next(part for part in get_args(wanted) if part is not types.NoneType)
        if get_origin(wanted) is not tuple:
            at = _skip_value(field.metadata.get("kafka_type"), wanted, compact, message, at)
            continue
        count, at = _length(4, compact, message, at)
        if count > len(message) - at:  # each entry has at least one byte
            raise NotARequestError(f"{count} entries in {len(message) - at} bytes")
        for _ in range(count):
            at = _skip_value(field.metadata.get("kafka_type"), get_args(wanted)[0], compact, message, at)
    if schema.__flexible__:
        tags, at = _varint(message, at)
        for _ in range(tags):
            _, at = _varint(message, at)
            size, at = _varint(message, at)
            at = _within(message, at + size)
    return at


def _skip_value(kafka_type: str | None, schema: Any, compact: bool, message: bytes, at: int) -> int:
    if kafka_type is None:
        return _skip_entity(schema, message, at)
    if kafka_type in _SIZES:
        return _within(message, at + _SIZES[kafka_type])
    length, at = _length(2 if kafka_type == "string" else 4, compact, message, at)
    return _within(message, at + length)


def _length(width: int, compact: bool, message: bytes, at: int) -> tuple[int, int]:
    """Return a length and its end; the length of null is 0."""
    if compact:
        length, at = _varint(message, at)
        return max(length - 1, 0), at
    (length,) = struct.unpack_from(">h" if width == 2 else ">i", message, at)
    return max(length, 0), at + width


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise NotARequestError("a number of more than five bytes")


def _within(message: bytes, at: int) -> int:
    if at > len(message):
        raise NotARequestError(f"{at - len(message)} bytes are missing")
    return at
