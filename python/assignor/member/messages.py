"""What a member and its coordinator say to each other: the fields of ConsumerGroupHeartbeat (API 68), version 1.

Source: ConsumerGroupHeartbeatRequest.json and ConsumerGroupHeartbeatResponse.json, kafka-clients 4.3.1; KIP-848 and
KIP-1082 (the member makes its own id). These are plain values; encoding them is a client's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

__all__ = ["JOIN_EPOCH", "LEAVE_EPOCH", "LEAVE_STATIC_EPOCH", "Assignment", "HeartbeatRequest", "HeartbeatResponse"]

JOIN_EPOCH = 0
"""The epoch of a heartbeat that asks to be let in."""

LEAVE_EPOCH = -1
"""The epoch of a heartbeat that says goodbye."""

LEAVE_STATIC_EPOCH = -2
"""The epoch of a static member's goodbye: its partitions are kept for whoever comes with its instance id."""


Assignment = Mapping["UUID", tuple[int, ...]]
"""Partitions by topic id; ids of partitions ascending."""


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """One heartbeat, as it goes to the coordinator. None means that nothing changed since the last one.

    Attributes:
        group_id: The group.
        member_id: The id that the member has made for itself; the same all its life.
        member_epoch: 0 to join, -1 to leave, -2 to leave as a static member, else the member's epoch.
        instance_id: Of a static member; sent each time.
        rack_id: Where the member is; sent when joining.
        rebalance_timeout_ms: How long the coordinator waits for partitions to be revoked; -1 means as before.
        subscribed_topic_names: What the member subscribes to by name, in ascending order.
        subscribed_topic_regex: What it subscribes to by pattern (RE2/J); "" takes a pattern back.
        server_assignor: The assignor it asks for; None also means that it names none.
        topic_partitions: What it owns, by ascending topic id.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: Assignment | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    """The coordinator's answer to one heartbeat.

    Attributes:
        error_code: 0, or one of Kafka's error codes.
        error_message: What the coordinator has to say about it.
        member_id: Whom it answers; a coordinator may leave it out.
        member_epoch: The epoch that the member is at now.
        heartbeat_interval_ms: How often the coordinator wants a heartbeat.
        assignment: What the member shall own, by topic id; None means as before.
    """

    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
