"""Conversion of our heartbeats to ConsumerGroupHeartbeat version 1, and of its responses to ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.consumer_group_heartbeat.v1 import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from kio.schema.consumer_group_heartbeat.v1.request import TopicPartitions
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32

from assignor.member import HeartbeatRequest, HeartbeatResponse
from tests.broker.connection import in_milliseconds, milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

__all__ = ["ConsumerGroupHeartbeatResponse", "from_wire", "to_wire"]


def to_wire(request: HeartbeatRequest) -> ConsumerGroupHeartbeatRequest:
    """Return the request of kio."""
    names, owned = request.subscribed_topic_names, request.topic_partitions
    return ConsumerGroupHeartbeatRequest(
        group_id=GroupId(request.group_id),
        member_id=request.member_id,
        member_epoch=i32(request.member_epoch),
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout=milliseconds(request.rebalance_timeout_ms),
        subscribed_topic_names=None if names is None else tuple(TopicName(name) for name in names),
        subscribed_topic_regex=request.subscribed_topic_regex,
        server_assignor=request.server_assignor,
        topic_partitions=None
        if owned is None
        else tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(i32(each) for each in partitions))
            for topic_id, partitions in owned.items()
        ),
    )


def from_wire(response: ConsumerGroupHeartbeatResponse) -> HeartbeatResponse:
    """Return the response for a member."""
    assignment: dict[UUID, Iterable[int]] | None = None
    if response.assignment is not None:
        assignment = {}
        for topic in response.assignment.topic_partitions:
            assert topic.topic_id is not None
            assignment[topic.topic_id] = topic.partitions
    return HeartbeatResponse(
        error_code=response.error_code.value,
        error_message=response.error_message,
        member_id=response.member_id,
        member_epoch=int(response.member_epoch),
        heartbeat_interval_ms=in_milliseconds(response.heartbeat_interval),
        assignment=assignment,
    )
