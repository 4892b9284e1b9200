"""What a coordinator answers, as plain immutable data: a client's server encodes it in the version of the request.

Fields are those of Kafka's messages; one that the version of the request does not carry has its default. There is no
throttling here.

Source: JoinGroupResponse, SyncGroupResponse, HeartbeatResponse, LeaveGroupResponse, OffsetCommitResponse,
OffsetFetchResponse, DescribeGroupsResponse and DeleteGroupsResponse (json), kafka-clients 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from assignor.coordinator.error_codes import ErrorCode
from assignor.coordinator.state import GroupState

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
]

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
