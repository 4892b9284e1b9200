"""Messages of the `coordinator` vectors: from their JSON to requests, and from responses to JSON.

The JSON has exactly the fields that a version of a message carries. If a response has a value in a field that its
version does not carry, the JSON includes the field, so that the comparison fails.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.coordinator import (
    Coordinator,
    DeleteGroupResponse,
    Effects,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
    SyncGroupRequest,
)
from assignor.wire import decode_subscription
from tests.coordinator.driver import METHODS
from tests.support.vector_fields import check_fields

if TYPE_CHECKING:
    from assignor.coordinator.requests import Request

Json = dict[str, Any]

KIND = "coordinator"

CLIENT_HOST = "/127.0.0.1"
_ALL = range(100)
_NOT_THROTTLED = 0


class Message(NamedTuple):
    """One kind of request and its answer.

    Attributes:
        versions: Versions that the vectors may have.
        fields: Fields of a request, and the versions that carry each.
        ask: Sends a request: (coordinator, fields, version, client id, now, correlation).
        show: Returns the JSON of a response: (response, fields of the request, version).
    """

    versions: range
    fields: Mapping[str, range]
    ask: Callable[[Coordinator, Json, int, str, int, int], Effects]
    show: Callable[[Any, Json, int], Json]

    def carried(self, version: int) -> set[str]:
        """Return the fields of a request of a version."""
        return {name for name, versions in self.fields.items() if version in versions}


# ---- requests


def _asking(kind: type[Request], read: Callable[[Json, int], Json]) -> Any:
    """Return the function that sends requests of a kind.

    Args:
        kind: The kind; a field of the vectors has the name of the field that it sets.
        read: Returns the fields that have another name or form than in the vectors: (fields, version).
    """
    names = {field.name for field in dataclasses.fields(kind)}

    def ask(coordinator: Coordinator, given: Json, version: int, client_id: str, now: int, step: int) -> Effects:
        fields = {**given, "client_id": client_id, "client_host": CLIENT_HOST, "version": version}
        fields |= read(given, version)
        request = kind(**{name: value for name, value in fields.items() if name in names})
        effects: Effects = getattr(coordinator, METHODS[kind])(request, now, step)
        return effects

    return ask


def _read_join(given: Json, _: int) -> Json:
    for protocol in given["protocols"]:
        check_fields(KIND, "a protocol", protocol, {"name", "metadata"})
        _check_metadata(protocol["metadata"])
    pairs = ((protocol["name"], bytes.fromhex(protocol["metadata"]["hex"])) for protocol in given["protocols"])
    return {"protocols": tuple(pairs)}


def _check_metadata(given: Json) -> None:
    """Raise an error unless the bytes match the version and topics that the vector gives for them, if any."""
    check_fields(KIND, "the metadata of a protocol", given, {"hex"}, {"version", "topics"})
    if len(given.keys() & {"version", "topics"}) == 1:
        raise ValueError(f"the metadata of a protocol needs both version and topics, or neither: {given}")
    if "version" in given:
        found = decode_subscription(bytes.fromhex(given["hex"]))
        if (found.version, list(found.topics)) != (given["version"], given["topics"]):
            raise ValueError(
                f"the metadata of a protocol has version {found.version} and topics {found.topics}: {given}"
            )


def _read_sync(given: Json, _: int) -> Json:
    for entry in given["assignments"]:
        check_fields(KIND, "an assignment", entry, {"member_id", "assignment"})
    pairs = ((entry["member_id"], bytes.fromhex(entry["assignment"])) for entry in given["assignments"])
    return {"assignments": tuple(pairs)}


def _read_leave(given: Json, version: int) -> Json:
    if "members" not in given:
        return {"members": (LeavingMember(given["member_id"]),)}
    for entry in given["members"]:
        check_fields(KIND, "a member", entry, {"member_id", "group_instance_id", "reason"})
    members = (
        LeavingMember(entry["member_id"], entry["group_instance_id"], entry["reason"] if version >= 5 else None)
        for entry in given["members"]
    )
    return {"members": tuple(members)}


def _read_commit(given: Json, version: int) -> Json:
    offsets = []
    for topic in given["topics"]:
        check_fields(KIND, "a topic", topic, {"name", "partitions"})
        for entry in topic["partitions"]:
            required = {"partition_index", "committed_offset", "committed_metadata"}
            check_fields(KIND, "a partition", entry, required, {"committed_leader_epoch"})
            offsets.append(
                OffsetToCommit(
                    topic["name"],
                    entry["partition_index"],
                    entry["committed_offset"],
                    entry["committed_metadata"],
                    entry["committed_leader_epoch"] if version >= 6 else -1,
                )
            )
    return {"offsets": tuple(offsets)}


def _delete(coordinator: Coordinator, given: Json, _: int, __: str, now: int, step: int) -> Effects:
    (group_id,) = given["groups"]
    return coordinator.delete_group(group_id, now, step)


# ---- responses


def _showing(throttled: int, since: Mapping[str, tuple[int, Any]] | None = None) -> Callable[[Any, Json, int], Json]:
    """Return the function that shows responses of a kind.

    Args:
        throttled: First version with a throttle time.
        since: First version of a field, and its default. An older version includes the field only if its value is not
            the default.
    """

    def show(response: Any, _: Json, version: int) -> Json:
        shown: Json = _carried(_plain(response), version, since or {})
        return _throttle(version, throttled) | shown

    return show


def _throttle(version: int, first: int) -> Json:
    return {"throttle_time_ms": _NOT_THROTTLED} if version >= first else {}


def _carried(value: Any, version: int, since: Mapping[str, tuple[int, Any]]) -> Any:
    """Return JSON without the fields that its version does not carry and that have their defaults."""
    if isinstance(value, list):
        return [_carried(each, version, since) for each in value]
    if not isinstance(value, dict):
        return value
    shown = {}
    for name, each in value.items():
        first, default = since.get(name, (0, None))
        if version >= first or each != default:
            shown[name] = _carried(each, version, since)
    return shown


def _plain(value: Any) -> Any:
    """Return a response, or a part of it, as JSON."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.hex()
    return int(value) if isinstance(value, enum.IntEnum) else value


def _show_commit(response: OffsetCommitResponse, given: Json, version: int) -> Json:
    """Return the flat response as JSON by topic of the request, followed by entries that fit no topic."""
    left = list(response.partitions)
    topics = []
    for topic in given["topics"]:
        partitions = []
        for _ in topic["partitions"]:
            if left and left[0].topic == topic["name"]:
                found = left.pop(0)
                partitions.append({"partition_index": found.partition, "error_code": int(found.error_code)})
        topics.append({"name": topic["name"], "partitions": partitions})
    topics += [{"name": found.topic, "partitions": found.partition} for found in left]
    return {**_throttle(version, 3), "topics": topics}


def _show_delete(response: DeleteGroupResponse, given: Json, version: int) -> Json:
    (group_id,) = given["groups"]
    return {
        **_throttle(version, 0),
        "results": [{"group_id": group_id, "error_code": int(response.error_code)}],
    }


_OF_MEMBERS = {"group_id": _ALL, "generation_id": _ALL, "member_id": _ALL}

MESSAGES = {
    "JoinGroup": Message(
        range(10),
        {
            "group_id": _ALL,
            "session_timeout_ms": _ALL,
            "rebalance_timeout_ms": range(1, 10),
            "member_id": _ALL,
            "group_instance_id": range(5, 10),
            "protocol_type": _ALL,
            "protocols": _ALL,
            "reason": range(8, 10),
        },
        _asking(JoinGroupRequest, _read_join),
        _showing(2, {"protocol_type": (7, None), "skip_assignment": (9, False), "group_instance_id": (5, None)}),
    ),
    "SyncGroup": Message(
        range(6),
        {
            **_OF_MEMBERS,
            "group_instance_id": range(3, 6),
            "protocol_type": range(5, 6),
            "protocol_name": range(5, 6),
            "assignments": _ALL,
        },
        _asking(SyncGroupRequest, _read_sync),
        _showing(1, {"protocol_type": (5, None), "protocol_name": (5, None)}),
    ),
    "Heartbeat": Message(
        range(5),
        {**_OF_MEMBERS, "group_instance_id": range(3, 5)},
        _asking(HeartbeatRequest, lambda *_: {}),
        _showing(1),
    ),
    "LeaveGroup": Message(
        range(6),
        {"group_id": _ALL, "member_id": range(3), "members": range(3, 6)},
        _asking(LeaveGroupRequest, _read_leave),
        _showing(1, {"members": (3, [])}),
    ),
    "OffsetCommit": Message(
        range(2, 10),  # version 10 has topic ids, which the traces do not record
        {**_OF_MEMBERS, "group_instance_id": range(7, 10), "retention_time_ms": range(2, 5), "topics": _ALL},
        _asking(OffsetCommitRequest, _read_commit),
        _show_commit,
    ),
    "DeleteGroups": Message(range(3), {"groups": _ALL}, _delete, _show_delete),
}
"""Messages by their names in the vectors."""
