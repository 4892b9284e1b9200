"""Answers of a coordinator as immutable values, and the functions that build them for a group and a version.

The fields are those of Kafka's messages, without the throttle time. A field that the version of the request does not
carry has its default.

Source: JoinGroupResponse, SyncGroupResponse, HeartbeatResponse, LeaveGroupResponse, OffsetCommitResponse,
OffsetFetchResponse, DescribeGroupsResponse and DeleteGroupsResponse (json), kafka-clients 4.3.1;
GroupMetadataManager, kafka-group-coordinator 4.3.1; KafkaApis, Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor._core import untrack
from assignor.coordinator.members import BrokenGroupError
from assignor.coordinator.requests import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from assignor.coordinator.state import ErrorCode, GroupState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.members import GroupMember
    from assignor.coordinator.requests import PendingRequest, Request

__all__ = [
    "DeleteGroupResponse",
    "DescribedMember",
    "GroupDescription",
    "HeartbeatResponse",
    "JoinGroupMember",
    "JoinGroupResponse",
    "LeaveGroupResponse",
    "LeavingMemberResponse",
    "OffsetCommitResponse",
    "PartitionResponse",
    "Response",
    "SyncGroupResponse",
    "describe_group",
    "error_response",
    "join_error",
    "join_response",
    "join_responses",
    "make",
    "sync_error",
    "sync_response",
    "visible_protocol",
]

JOIN_WITH_INSTANCE_ID = 5
JOIN_WITH_PROTOCOL_TYPE = 7
JOIN_WITH_SKIP_ASSIGNMENT = 9
SYNC_WITH_PROTOCOL = 5
"""First version in which a request or its answer carries a field; its name follows `WITH_` in each constant."""

NO_GENERATION = -1
"""Value of `generation_id` in an answer that has no generation."""

make = tuple.__new__
"""Create a named tuple from its class and all fields. It skips the `__new__` of the class, a Python function.

Answers to all members of a group are also excluded from the garbage collector: they refer to text, bytes and numbers
only, and there may be thousands at once.
"""

_NONE = ErrorCode.NONE


class JoinGroupMember(NamedTuple):
    """One member in the answer to the leader's join.

    Attributes:
        member_id: Id of the member.
        group_instance_id: Instance id of a static member.
        metadata: The member's subscription for the selected protocol.
    """

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinGroupResponse(NamedTuple):
    """Answer to a join.

    An answer with an error has no generation, protocol or leader, with one exception: if the write of a returning
    static member's new id fails, the answer has those of the group.

    Attributes:
        error_code: Error, or NONE.
        member_id: Id of the member; with MEMBER_ID_REQUIRED the id to join with.
        generation_id: The generation; -1 with an error.
        protocol_type: Protocol type of the group; None with an error, and below version 7.
        protocol_name: Selected protocol; with an error None, or "" below version 7.
        leader: Member id of the leader; "" with an error.
        members: For the leader all members, in the order of Kafka's hash map; empty for other members.
        skip_assignment: True if the leader must keep the current assignment (from version 9).
    """

    error_code: ErrorCode
    member_id: str
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    members: tuple[JoinGroupMember, ...] = ()
    skip_assignment: bool = False


class SyncGroupResponse(NamedTuple):
    """Answer to a sync.

    Attributes:
        error_code: Error, or NONE.
        protocol_type: Protocol type of the group; None with an error, and below version 5.
        protocol_name: Selected protocol; None with an error, and below version 5.
        assignment: Assignment of the member.
    """

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    """Answer to a heartbeat.

    Attributes:
        error_code: Error, or NONE.
    """

    error_code: ErrorCode


class LeavingMemberResponse(NamedTuple):
    """Result for one member of a LeaveGroup request.

    Attributes:
        member_id: Member id in the request.
        group_instance_id: Instance id in the request.
        error_code: Error, or NONE.
    """

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


@dataclass(frozen=True, slots=True)
class LeaveGroupResponse:
    """Answer to a LeaveGroup request.

    Attributes:
        error_code: Error of the whole request; below version 3 the error of its one member.
        members: One entry per member, in the order of the request; empty below version 3.
    """

    error_code: ErrorCode
    members: tuple[LeavingMemberResponse, ...] = ()


class PartitionResponse(NamedTuple):
    """Result for one partition of an OffsetCommit request.

    Attributes:
        topic: Name of the topic.
        partition: Partition id.
        error_code: Error, or NONE.
    """

    topic: str
    partition: int
    error_code: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse:
    """Answer to an OffsetCommit request.

    Attributes:
        partitions: One entry per offset, in the order of the request. If some partitions do not exist, entries are
            grouped by topic, as in a broker's answer; missing partitions and their topics come first.
    """

    partitions: tuple[PartitionResponse, ...]


@dataclass(frozen=True, slots=True)
class DeleteGroupResponse:
    """Answer to the deletion of a group.

    Attributes:
        error_code: Error, or NONE.
    """

    error_code: ErrorCode


Response = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | DeleteGroupResponse
)


class DescribedMember(NamedTuple):
    """One member, as DescribeGroups shows it.

    Attributes:
        member_id: Id of the member.
        group_instance_id: Instance id of a static member.
        client_id: Id of the client.
        client_host: Host of the client.
        metadata: The member's subscription for the selected protocol; empty unless the group is Stable.
        assignment: Last assignment of the member.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group as DescribeGroups shows it, with the generation and leader of its log record.

    A group that does not exist is Dead, and its other fields have their defaults.

    Attributes:
        group_id: Id of the group.
        state: State of the group.
        protocol_type: Protocol type of the group; "" if it never had members.
        protocol: Selected protocol; "" unless the group is Stable.
        members: Members in the order of Kafka's hash map.
        generation: Number of the generation.
        leader: Member id of the leader; None without a leader.
        error_code: UNKNOWN_SERVER_ERROR if the group is Stable and a static member returned that does not offer the
            selected protocol: Kafka cannot describe such a group, and `members` is empty.
    """

    group_id: str
    state: GroupState
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    generation: int = 0
    leader: str | None = None
    error_code: ErrorCode = ErrorCode.NONE


def join_error(error: ErrorCode, member_id: str, pending: PendingRequest) -> JoinGroupResponse:
    """Return the answer to a join that failed."""
    return JoinGroupResponse(error, member_id, protocol_name=visible_protocol(None, pending))


def visible_protocol(name: str | None, pending: PendingRequest) -> str | None:
    """Return a protocol's name as an answer carries it: never null before version 7, never empty from version 7 on."""
    return (name or None) if pending.version >= JOIN_WITH_PROTOCOL_TYPE else name or ""


def join_response(
    group: ClassicGroup,
    member: GroupMember,
    pending: PendingRequest,
    *,
    leader: str | None = None,
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """Return the answer to a join: the group's generation and, for the leader, all members.

    Args:
        group: The group.
        member: The member that joined.
        pending: The waiting join of the member.
        leader: Leader to name instead of the group's; the answer then carries no members.
        skip_assignment: True if the leader keeps the current assignment.
    """
    leads = leader is None and group.is_led_by(member.member_id)
    named_leader = group.leader if leader is None else leader
    return make(
        JoinGroupResponse,
        (
            _NONE,
            member.member_id,
            group.generation,
            group.protocol_type if pending.version >= JOIN_WITH_PROTOCOL_TYPE else None,
            visible_protocol(group.protocol_name, pending),
            # With server-side assignment no member may find its own id in `leader`.
            "" if group.is_server_assigned else named_leader or "",
            _members(group, pending) if leads else (),
            skip_assignment and leads,
        ),
    )


def join_responses(group: ClassicGroup, members: Iterable[GroupMember]) -> list[JoinGroupResponse]:
    """Return the answers to the waiting joins of these members."""
    responses = []
    by_version: dict[int, JoinGroupResponse] = {}
    for member in members:
        pending = member.join
        if pending is None:
            continue
        like = by_version.get(pending.version)
        if like is None or group.is_led_by(member.member_id):
            response = join_response(group, member, pending)
            if not response.members:
                by_version[pending.version] = response
        else:
            response = untrack(make(JoinGroupResponse, (_NONE, member.member_id, *like[2:])))
        responses.append(response)
    return responses


def _members(group: ClassicGroup, pending: PendingRequest) -> tuple[JoinGroupMember, ...]:
    named = pending.version >= JOIN_WITH_INSTANCE_ID
    protocol = group.protocol_name
    return tuple(
        [
            untrack(
                make(
                    JoinGroupMember,
                    (member.member_id, member.group_instance_id if named else None, member.metadata(protocol)),
                )
            )
            for member in group.members.in_order()
        ]
    )


def sync_error(error: ErrorCode) -> SyncGroupResponse:
    """Return the answer to a sync that failed."""
    return SyncGroupResponse(error)


def sync_response(group: ClassicGroup, member: GroupMember, pending: PendingRequest) -> SyncGroupResponse:
    """Return the answer to a sync: the member's assignment."""
    named = pending.version >= SYNC_WITH_PROTOCOL
    fields = (
        _NONE,
        group.protocol_type if named else None,
        group.protocol_name if named else None,
        member.assignment,
    )
    return untrack(make(SyncGroupResponse, fields))


def describe_group(group: ClassicGroup) -> GroupDescription:
    """Return a group as DescribeGroups shows it."""
    stable = group.state is GroupState.STABLE
    members: tuple[DescribedMember, ...] = ()
    error = ErrorCode.NONE
    try:
        members = tuple(
            DescribedMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.metadata(group.protocol_name) if stable else b"",
                member.assignment,
            )
            for member in group.members.in_order()
        )
    except BrokenGroupError:
        error = ErrorCode.UNKNOWN_SERVER_ERROR
    return GroupDescription(
        group.group_id,
        group.state,
        group.protocol_type or "",
        group.protocol_name or "" if stable else "",
        members,
        group.generation,
        group.leader,
        error,
    )


def error_response(request: Request, error: ErrorCode, pending: PendingRequest) -> Response:
    """Return an answer for a request that failed as a whole; the request's version may be unsupported."""
    if isinstance(request, JoinGroupRequest):
        return join_error(error, "", pending)
    if isinstance(request, SyncGroupRequest):
        return sync_error(error)
    if isinstance(request, HeartbeatRequest):
        return HeartbeatResponse(error)
    if isinstance(request, LeaveGroupRequest):
        return LeaveGroupResponse(error)
    return OffsetCommitResponse(
        tuple(PartitionResponse(entry.topic, entry.partition, error) for entry in request.offsets)
    )
