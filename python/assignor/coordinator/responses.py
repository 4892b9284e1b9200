"""The answers of a coordinator as plain immutable data, and how each follows from a group and the request's version.

Fields are those of Kafka's messages; a field that the version of the request does not carry has its default. There is
no throttling here.

Source: JoinGroupResponse, SyncGroupResponse, HeartbeatResponse, LeaveGroupResponse, OffsetCommitResponse,
OffsetFetchResponse, DescribeGroupsResponse and DeleteGroupsResponse (json), kafka-clients 4.3.1;
GroupMetadataManager, kafka-group-coordinator 4.3.1; KafkaApis, Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

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
    "sync_error",
    "sync_response",
    "visible_protocol",
]

JOIN_WITH_INSTANCE_ID = 5
JOIN_WITH_PROTOCOL_TYPE = 7
JOIN_WITH_SKIP_ASSIGNMENT = 9
SYNC_WITH_PROTOCOL = 5
"""The first versions of requests whose answers carry a field, or that carry one themselves."""

NO_GENERATION = -1
"""The generation of an answer that has none."""


class JoinGroupMember(NamedTuple):
    """One member, as the leader hears of it.

    Attributes:
        member_id: Its id.
        group_instance_id: Of a static member.
        metadata: Its subscription for the protocol that was selected.
    """

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinGroupResponse:
    """The answer to a join.

    Attributes:
        error_code: What went wrong.
        member_id: The member's id; with MEMBER_ID_REQUIRED the one to join with.
        generation_id: The generation; -1 with an error.
        protocol_type: Of the group; None with an error, and below version 7.
        protocol_name: The protocol that was selected; with an error None, or "" below version 7.
        leader: The leader's member id; "" with an error.
        members: All members in the order of Kafka's hash map, for the leader; empty for everybody else.
        skip_assignment: Whether the leader shall keep the assignment that is in force (from version 9).
    """

    error_code: ErrorCode
    member_id: str
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    members: tuple[JoinGroupMember, ...] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class SyncGroupResponse:
    """The answer to a sync.

    Attributes:
        error_code: What went wrong.
        protocol_type: Of the group; None with an error, and below version 5.
        protocol_name: The protocol that was selected; the same.
        assignment: What the leader gave the member.
    """

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    """The answer to a heartbeat.

    Attributes:
        error_code: NONE, or what the member is to do instead of going on.
    """

    error_code: ErrorCode


class LeavingMemberResponse(NamedTuple):
    """What became of one member that was to leave."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode


@dataclass(frozen=True, slots=True)
class LeaveGroupResponse:
    """The answer to members that leave.

    Attributes:
        error_code: What went wrong with all of them; below version 3 with the one member.
        members: One entry per member of the request, in its order; empty below version 3.
    """

    error_code: ErrorCode
    members: tuple[LeavingMemberResponse, ...] = ()


class PartitionResponse(NamedTuple):
    """What became of one partition's offset."""

    topic: str
    partition: int
    error_code: ErrorCode


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse:
    """The answer to a commit.

    Attributes:
        partitions: One entry per offset of the request, in its order; where partitions do not exist, these first and
            the others of their topic next to them, as a broker has it.
    """

    partitions: tuple[PartitionResponse, ...]


@dataclass(frozen=True, slots=True)
class DeleteGroupResponse:
    """What became of a group that was to be deleted."""

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
        member_id: Its id.
        group_instance_id: Of a static member.
        client_id: Who it is.
        client_host: Where it is.
        metadata: Its subscription for the selected protocol; only where the group is Stable.
        assignment: What it was given last.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group, as DescribeGroups shows it, and what its log record says beside that.

    A group that is not there is Dead and has nothing.

    Attributes:
        group_id: The group.
        state: Its state.
        protocol_type: Of its members; "" where it never had any.
        protocol: The selected protocol; only where the group is Stable.
        members: In the order of Kafka's hash map.
        generation: Its generation.
        leader: The leader's member id; None where there is none.
        error_code: UNKNOWN_SERVER_ERROR where Kafka cannot show a Stable group, because a member that came back does
            not offer the selected protocol; then there are no members.
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
    """Return the answer to a join: the group's generation, with all members for the leader.

    Args:
        group: The group.
        member: The member that joined.
        pending: Its join.
        leader: Leader to name instead of the real one; then the answer carries no members.
        skip_assignment: True if the leader keeps the current assignment.
    """
    leads = leader is None and group.is_led_by(member.member_id)
    named_leader = group.leader if leader is None else leader
    return JoinGroupResponse(
        ErrorCode.NONE,
        member.member_id,
        group.generation,
        group.protocol_type if pending.version >= JOIN_WITH_PROTOCOL_TYPE else None,
        visible_protocol(group.protocol_name, pending),
        # If the coordinator makes the assignment, no member may find its own id here.
        "" if group.is_server_assigned else named_leader or "",
        _members(group, pending) if leads else (),
        skip_assignment and leads,
    )


def join_responses(
    group: ClassicGroup, members: Iterable[GroupMember]
) -> list[tuple[PendingRequest, JoinGroupResponse]]:
    """Return the answers to the joins of these members that wait."""
    return [(member.join, join_response(group, member, member.join)) for member in members if member.join is not None]


def _members(group: ClassicGroup, pending: PendingRequest) -> tuple[JoinGroupMember, ...]:
    named = pending.version >= JOIN_WITH_INSTANCE_ID
    return tuple(
        JoinGroupMember(
            member.member_id, member.group_instance_id if named else None, member.metadata(group.protocol_name)
        )
        for member in group.members.in_order()
    )


def sync_error(error: ErrorCode) -> SyncGroupResponse:
    """Return the answer to a sync that failed."""
    return SyncGroupResponse(error)


def sync_response(group: ClassicGroup, member: GroupMember, pending: PendingRequest) -> SyncGroupResponse:
    """Return the answer to a sync: the member's assignment."""
    named = pending.version >= SYNC_WITH_PROTOCOL
    return SyncGroupResponse(
        ErrorCode.NONE,
        group.protocol_type if named else None,
        group.protocol_name if named else None,
        member.assignment,
    )


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
    """Return the answer to a request that failed as a whole; its version may be unknown."""
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
