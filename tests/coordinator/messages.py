"""Messages of the `coordinator` vectors: from their JSON to requests, and from responses to JSON.

The JSON has exactly the fields that a version of a message carries. If a response has a value in a field that its
version does not carry, the JSON includes the field, so that the comparison fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from assignor.coordinator import (
    Coordinator,
    DeleteGroupResponse,
    Effects,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
    SyncGroupRequest,
    SyncGroupResponse,
)
from assignor.wire import decode_subscription
from tests.support.vector_fields import check_fields

Json = dict[str, Any]

KIND = "coordinator"

CLIENT_HOST = "/127.0.0.1"
NO_GENERATION = -1
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


def _show(version: int, fields: Json, **since: tuple[int, Any]) -> Json:
    """Return the fields that the version carries.

    `since` has the first version of a field, and its default. An older version includes the field only if its value is
    not the default.
    """
    shown = {}
    for name, value in fields.items():
        first, default = since.get(name, (0, None))
        if version >= first or value != default:
            shown[name] = value
    return shown


def _throttle(version: int, first: int) -> Json:
    return {"throttle_time_ms": _NOT_THROTTLED} if version >= first else {}


# ---- JoinGroup


def _join(coordinator: Coordinator, given: Json, version: int, client_id: str, now: int, step: int) -> Effects:
    for protocol in given["protocols"]:
        check_fields(KIND, "a protocol", protocol, {"name", "metadata"})
        _check_metadata(protocol["metadata"])
    request = JoinGroupRequest(
        given["group_id"],
        given["member_id"],
        given["protocol_type"],
        tuple((protocol["name"], bytes.fromhex(protocol["metadata"]["hex"])) for protocol in given["protocols"]),
        given["session_timeout_ms"],
        given.get("rebalance_timeout_ms"),
        given.get("group_instance_id"),
        given.get("reason"),
        client_id=client_id,
        client_host=CLIENT_HOST,
        version=version,
    )
    return coordinator.join_group(request, now, step)


def _show_join(response: JoinGroupResponse, _: Json, version: int) -> Json:
    fields = {
        "error_code": int(response.error_code),
        "generation_id": response.generation_id,
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol_name,
        "leader": response.leader,
        "skip_assignment": response.skip_assignment,
        "member_id": response.member_id,
        "members": [
            _show(
                version,
                {
                    "member_id": member.member_id,
                    "group_instance_id": member.group_instance_id,
                    "metadata": member.metadata.hex(),
                },
                group_instance_id=(5, None),
            )
            for member in response.members
        ],
    }
    return _throttle(version, 2) | _show(version, fields, protocol_type=(7, None), skip_assignment=(9, False))


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


# ---- SyncGroup


def _sync(coordinator: Coordinator, given: Json, version: int, _: str, now: int, step: int) -> Effects:
    for entry in given["assignments"]:
        check_fields(KIND, "an assignment", entry, {"member_id", "assignment"})
    request = SyncGroupRequest(
        given["group_id"],
        given["generation_id"],
        given["member_id"],
        given.get("group_instance_id"),
        given.get("protocol_type"),
        given.get("protocol_name"),
        tuple((entry["member_id"], bytes.fromhex(entry["assignment"])) for entry in given["assignments"]),
        version=version,
    )
    return coordinator.sync_group(request, now, step)


def _show_sync(response: SyncGroupResponse, _: Json, version: int) -> Json:
    fields = {
        "error_code": int(response.error_code),
        "protocol_type": response.protocol_type,
        "protocol_name": response.protocol_name,
        "assignment": response.assignment.hex(),
    }
    return _throttle(version, 1) | _show(version, fields, protocol_type=(5, None), protocol_name=(5, None))


# ---- Heartbeat


def _heartbeat(coordinator: Coordinator, given: Json, version: int, _: str, now: int, step: int) -> Effects:
    request = HeartbeatRequest(
        given["group_id"], given["generation_id"], given["member_id"], given.get("group_instance_id"), version=version
    )
    return coordinator.heartbeat(request, now, step)


def _show_heartbeat(response: HeartbeatResponse, _: Json, version: int) -> Json:
    return {**_throttle(version, 1), "error_code": int(response.error_code)}


# ---- LeaveGroup


def _leave(coordinator: Coordinator, given: Json, version: int, _: str, now: int, step: int) -> Effects:
    if "members" in given:
        for entry in given["members"]:
            check_fields(KIND, "a member", entry, {"member_id", "group_instance_id", "reason"})
        members = [
            LeavingMember(entry["member_id"], entry["group_instance_id"], entry["reason"] if version >= 5 else None)
            for entry in given["members"]
        ]
    else:
        members = [LeavingMember(given["member_id"])]
    return coordinator.leave_group(LeaveGroupRequest(given["group_id"], tuple(members), version=version), now, step)


def _show_leave(response: LeaveGroupResponse, _: Json, version: int) -> Json:
    members = [
        {
            "member_id": member.member_id,
            "group_instance_id": member.group_instance_id,
            "error_code": int(member.error_code),
        }
        for member in response.members
    ]
    fields = {"error_code": int(response.error_code), "members": members}
    return _throttle(version, 1) | _show(version, fields, members=(3, []))


# ---- OffsetCommit


def _commit(coordinator: Coordinator, given: Json, version: int, _: str, now: int, step: int) -> Effects:
    offsets = []
    for topic in given["topics"]:
        check_fields(KIND, "a topic", topic, {"name", "partitions"})
        for entry in topic["partitions"]:
            check_fields(
                KIND,
                "a partition",
                entry,
                {"partition_index", "committed_offset", "committed_metadata"},
                {"committed_leader_epoch"},
            )
            epoch = entry["committed_leader_epoch"] if version >= 6 else -1
            offsets.append(
                OffsetToCommit(
                    topic["name"],
                    entry["partition_index"],
                    entry["committed_offset"],
                    entry["committed_metadata"],
                    epoch,
                )
            )
    request = OffsetCommitRequest(
        given["group_id"],
        tuple(offsets),
        given["generation_id"],
        given["member_id"],
        given.get("group_instance_id"),
        given.get("retention_time_ms", -1),
        version=version,
    )
    return coordinator.offset_commit(request, now, step)


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


# ---- DeleteGroups


def _delete(coordinator: Coordinator, given: Json, _: int, __: str, now: int, step: int) -> Effects:
    (group_id,) = given["groups"]
    return coordinator.delete_group(group_id, now, step)


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
        _join,
        _show_join,
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
        _sync,
        _show_sync,
    ),
    "Heartbeat": Message(range(5), {**_OF_MEMBERS, "group_instance_id": range(3, 5)}, _heartbeat, _show_heartbeat),
    "LeaveGroup": Message(
        range(6), {"group_id": _ALL, "member_id": range(3), "members": range(3, 6)}, _leave, _show_leave
    ),
    "OffsetCommit": Message(
        range(2, 10),  # version 10 has topic ids, which the traces do not record
        {**_OF_MEMBERS, "group_instance_id": range(7, 10), "retention_time_ms": range(2, 5), "topics": _ALL},
        _commit,
        _show_commit,
    ),
    "DeleteGroups": Message(range(3), {"groups": _ALL}, _delete, _show_delete),
}
"""Messages by their names in the vectors."""
