"""Garbage that only a broken client sends: bytes drawn from a seed, some of them almost valid requests."""

from __future__ import annotations

import io
import random
import socket
import struct
from typing import TYPE_CHECKING

from kio.serial import entity_writer

from assignor.coordinator import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.coordinator.requests import VERSIONS
from tests.coordinator.kio_messages import request_to_kio

if TYPE_CHECKING:
    from assignor.coordinator.requests import Request

__all__ = ["draw", "throw"]

GROUP = "garbage"
"""Group of the almost valid requests. A request that is valid by chance affects no other group."""


def draw(seed: int) -> bytes:
    """Draw the bytes to send on one connection."""
    rng = random.Random(seed)
    whole = _message(rng)
    match rng.randrange(8):
        case 0:
            return rng.randbytes(rng.randrange(200))
        case 1:
            return struct.pack(">i", rng.choice([-1, -(2**31), 2**31 - 1, 2**24])) + whole
        case 2:
            return _framed(whole)[: rng.randrange(len(whole) + 4)]
        case 3:
            return _framed(struct.pack(">h", rng.choice([-1, 0, 4, 7, 99, 2**15 - 1])) + whole[2:])
        case 4:
            return _framed(whole[:2] + struct.pack(">h", rng.choice([-1, 11, 99, 2**15 - 1])) + whole[4:])
        case 5:
            start = rng.randrange(8, len(whole))
            return _framed(whole[:start] + rng.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f"]) + whole[start:])
        case 6:
            return b"".join(_framed(_flipped(rng, _message(rng))) for _ in range(5))
        case _:
            return _framed(whole[: rng.randrange(len(whole))]) + _framed(whole + rng.randbytes(9))


def throw(port: int, data: bytes, timeout: float = 5) -> int:
    """Send bytes on a separate connection; return the number of bytes received before the connection ends.

    The sending side is closed after the bytes.

    Raises:
        TimeoutError: The server does not end the connection.
    """
    received = 0
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                received += len(part)
        except TimeoutError:
            raise
        except OSError:  # the server ended the connection first
            pass
    return received


def _message(rng: random.Random) -> bytes:
    """Return a valid request of any version."""
    member_id, generation = rng.choice(["", "unknown", "\u00e9" * 40]), rng.choice([-1, 0, 1, 2**31 - 1])
    kind = rng.choice(list(VERSIONS))
    version = rng.choice(VERSIONS[kind])
    instance_id = rng.choice([None, "unknown"])
    request: Request
    if kind is JoinGroupRequest:
        request = JoinGroupRequest(GROUP, member_id, protocols=(("range", rng.randbytes(20)),), version=version)
    elif kind is SyncGroupRequest:
        given = ((member_id, rng.randbytes(20)),)
        request = SyncGroupRequest(GROUP, generation, member_id, instance_id, "consumer", "range", given, version)
    elif kind is HeartbeatRequest:
        request = HeartbeatRequest(GROUP, generation, member_id, instance_id, version)
    elif kind is LeaveGroupRequest:
        request = LeaveGroupRequest(GROUP, (LeavingMember(member_id, instance_id),), version)
    else:
        offsets = (OffsetToCommit("orders", rng.randrange(-2, 9), rng.randrange(2**40)),)
        request = OffsetCommitRequest(GROUP, offsets, generation, member_id, instance_id, version=version)
    entity = request_to_kio(request)
    header = entity.__header_schema__
    body = io.BytesIO()
    fields = {"request_api_key": entity.__api_key__, "request_api_version": version, "correlation_id": 1}
    entity_writer(header)(body, header(**fields, client_id="garbage"))
    entity_writer(type(entity))(body, entity)
    return body.getvalue()


def _framed(message: bytes) -> bytes:
    return struct.pack(">i", len(message)) + message


def _flipped(rng: random.Random, message: bytes) -> bytes:
    changed = bytearray(message)
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(4, len(changed))] = rng.randrange(256)
    return bytes(changed)
