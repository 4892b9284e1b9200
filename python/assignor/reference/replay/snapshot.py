"""Snapshots of a replay: the state of all groups as bytes, with a version and a checksum."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

from assignor.errors import SnapshotError, WireError
from assignor.model import TopicPartition
from assignor.reference import replay
from assignor.reference.replay import classic, committed, difference, epochs, known_member, state, storms, stuck, target
from assignor.reference.replay.timeline_order import TimelineOrder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_snapshot", "write_snapshot"]

MAGIC, ENGINE, VERSION = b"assignor", b"r", 2
HEADER = struct.Struct(">8scHII")

CLASSES = {
    each.__name__: each
    for each in (
        classic.ClassicGroup,
        classic.ParsedMember,
        classic.ParsedSubscription,
        committed.Committed,
        committed.Ownership,
        difference.GroupRecord,
        epochs.EpochGroup,
        known_member.KnownMember,
        replay.Generation,
        state.GroupState,
        state.HeldGeneration,
        state.OpenEpoch,
        state.PendingLeave,
        state.StaticReturn,
        storms.Storm,
        stuck.CommitTimes,
        target.TargetAssignment,
        target.TargetLog,
        target.TargetMember,
        TimelineOrder,
    )
}


def write_snapshot(content: dict[str, Any]) -> bytes:
    """Return the bytes of a snapshot."""
    body = json.dumps(to_json(content), separators=(",", ":")).encode()
    return HEADER.pack(MAGIC, ENGINE, VERSION, len(body), zlib.crc32(body)) + body


def read_snapshot(data: bytes, settings: list[int]) -> dict[str, Any]:
    """Return the content of a snapshot; raise SnapshotError if it cannot be used."""
    if len(data) < HEADER.size or data[:8] != MAGIC:
        raise SnapshotError("the bytes are not a snapshot of a replay")
    _, engine, version, length, checksum = HEADER.unpack_from(data)
    body = data[HEADER.size :]
    if engine != ENGINE:
        raise SnapshotError("the snapshot is of another engine")
    if version != VERSION:
        raise SnapshotError(f"the snapshot has version {version}; this package reads version {VERSION}")
    if len(body) != length or zlib.crc32(body) != checksum:
        raise SnapshotError("the snapshot is damaged: its length or checksum is wrong")
    content: dict[str, Any] = from_json(json.loads(body))
    if content["settings"] != settings:
        found, wanted = _settings_text(content["settings"]), _settings_text(settings)
        raise SnapshotError(f"the snapshot has the settings {found}; this replay has {wanted}")
    return content


def _settings_text(settings: list[int]) -> str:
    """Return settings with their names."""
    return ", ".join(f"{name}={value}" for name, value in zip(state.Settings._fields, settings, strict=True))


def to_json(value: Any) -> Any:
    """Return a value with JSON types only; other types become an object with the name of the type."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, WireError):
        return {"error": [value.reason, value.offset, value.field]}
    if isinstance(value, list):
        return [to_json(each) for each in value]
    if isinstance(value, TopicPartition):
        return {"partition": list(value)}
    if isinstance(value, tuple):
        return {"tuple": [to_json(each) for each in value]}
    if isinstance(value, set | frozenset):
        return {"set": [to_json(each) for each in sorted(value)]}
    if isinstance(value, dict):
        return {"dict": [[to_json(key), to_json(each)] for key, each in value.items()]}
    return {type(value).__name__: [[name, to_json(each)] for name, each in vars(value).items()]}


def from_json(value: Any) -> Any:
    """Return the value that `to_json` wrote."""
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    [(name, content)] = value.items()
    if name in READERS:
        return READERS[name](content)
    found = object.__new__(CLASSES[name])
    vars(found).update({field: from_json(each) for field, each in content})
    return found


READERS: dict[str, Callable[[Any], Any]] = {
    "bytes": base64.b64decode,
    "error": lambda content: WireError(*content),
    "partition": lambda content: TopicPartition(*content),
    "tuple": lambda content: tuple(from_json(each) for each in content),
    "set": lambda content: {from_json(each) for each in content},
    "dict": lambda content: {from_json(key): from_json(each) for key, each in content},
}
