"""The blobs inside a classic group's record: what each member subscribed to and was assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import WireError
from assignor.reference.wire import NEWEST_VERSION, decode_assignment, decode_subscription

if TYPE_CHECKING:
    from assignor.reference.wire import Assignment, Subscription, TopicPartitions

__all__ = ["consumer_protocol"]

GROUP_METADATA = 2
"""The type number of a classic group's record."""


def consumer_protocol(record_type: int, value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Both blobs of every member; None for any other record than one of a classic group of consumers."""
    if record_type != GROUP_METADATA or value["protocolType"] != "consumer":
        return None
    return [
        {"memberId": member["memberId"]} | subscription(member["subscription"]) | assignment(member["assignment"])
        for member in value["members"]
    ]


def subscription(data: bytes) -> dict[str, Any]:
    """What Kafka's own reader makes of a subscription, or its refusal and what the tolerant reader makes of it."""
    if not data:
        return {"subscription": None}
    try:
        return told_subscription(decode_subscription(data, False))
    except WireError as refusal:
        error = {"subscriptionError": str(refusal)}
    try:
        return error | told_subscription(decode_subscription(data, True))
    except WireError:
        return error


def assignment(data: bytes) -> dict[str, Any]:
    """What Kafka's own reader makes of an assignment, or its refusal."""
    if not data:
        return {"assignment": None}
    try:
        return told_assignment(decode_assignment(data))
    except WireError as refusal:
        return {"assignmentError": str(refusal)}


def told_subscription(read: Subscription) -> dict[str, Any]:
    """The fields that a subscription's body has, under Kafka's names."""
    body = min(read.version, NEWEST_VERSION) if read.tolerated is None else read.tolerated
    fields: dict[str, Any] = {"topics": read.topics, "userData": read.user_data}
    if body >= 1:
        fields["ownedPartitions"] = told_partitions(read.owned_partitions)
    if body >= 2:
        fields["generationId"] = read.generation_id
    if body >= 3:
        fields["rackId"] = read.rack_id
    told: dict[str, Any] = {"subscriptionVersion": read.version}
    if read.tolerated is not None:
        told["subscriptionTolerated"] = read.tolerated
    return told | {"subscription": fields}


def told_assignment(read: Assignment) -> dict[str, Any]:
    """The fields of an assignment, under Kafka's names."""
    fields = {"assignedPartitions": told_partitions(read.assigned_partitions), "userData": read.user_data}
    return {"assignmentVersion": read.version, "assignment": fields}


def told_partitions(entries: list[TopicPartitions]) -> list[dict[str, Any]]:
    """Topics with their partitions, in wire order."""
    return [{"topic": topic, "partitions": partitions} for topic, partitions in entries]
