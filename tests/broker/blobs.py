"""Groups of one member with arbitrary bytes, which no client sends and a broker stores unread."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode
from kio.schema.join_group.v9 import JoinGroupRequest, JoinGroupResponse
from kio.schema.join_group.v9.request import JoinGroupRequestProtocol
from kio.schema.share_group_heartbeat.v1 import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from kio.schema.sync_group.v5 import SyncGroupRequest, SyncGroupResponse
from kio.schema.sync_group.v5.request import SyncGroupRequestAssignment
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32

from tests.broker.admin import RequestError
from tests.broker.connection import milliseconds

if TYPE_CHECKING:
    from tests.broker.connection import Connection

__all__ = ["join", "join_share", "sync"]


def join(connection: Connection, group: str, metadata: bytes, protocol_type: str = "consumer") -> str:
    """Let a static member start a generation, and return its member id. It stays in the group for ten minutes."""
    request = JoinGroupRequest(
        group_id=GroupId(group),
        session_timeout=milliseconds(600_000),
        rebalance_timeout=milliseconds(600_000),
        member_id="",
        group_instance_id="only",
        protocol_type=protocol_type,
        protocols=(JoinGroupRequestProtocol(name="range", metadata=metadata),),
    )
    answer = connection.ask(request, JoinGroupResponse)
    _check(answer.error_code)
    return answer.member_id


def sync(
    connection: Connection, group: str, member_id: str, assignment: bytes, protocol_type: str = "consumer"
) -> None:
    """Let the member of the first generation assign itself these bytes."""
    request = SyncGroupRequest(
        group_id=GroupId(group),
        generation_id=i32(1),
        member_id=member_id,
        group_instance_id="only",
        protocol_type=protocol_type,
        protocol_name="range",
        assignments=(SyncGroupRequestAssignment(member_id=member_id, assignment=assignment),),
    )
    _check(connection.ask(request, SyncGroupResponse).error_code)


def join_share(connection: Connection, group: str, member_id: str, topic: str, *, waits: bool = False) -> None:
    """Let a member join a share group, and wait until it owns partitions if `waits` is true."""
    epoch, end = i32(0), time.monotonic() + 30
    while True:
        request = ShareGroupHeartbeatRequest(
            group_id=GroupId(group),
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=None if epoch else (TopicName(topic),),
        )
        answer = connection.ask(request, ShareGroupHeartbeatResponse)
        _check(answer.error_code)
        if not waits or (answer.assignment and answer.assignment.topic_partitions):
            return
        assert time.monotonic() < end, answer
        epoch = answer.member_epoch


def _check(code: ErrorCode) -> None:
    if code != ErrorCode.none:
        raise RequestError(code)
