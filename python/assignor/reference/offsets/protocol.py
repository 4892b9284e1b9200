"""The blobs inside a classic group's record: what each member subscribed to and was assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import WireError
from assignor.reference.wire import NEWEST_VERSION, decode_assignment, decode_subscription

if TYPE_CHECKING:
    from assignor.reference.wire import Assignment, Subscription, TopicPartitions

__all__ = ["CONSUMER", "consumer_protocol", "read_assignment", "read_subscription"]

CONSUMER = "consumer"
"""The protocol type of consumers, as against Kafka Connect's workers and others."""

GROUP_METADATA = 2
"""The type number of a classic group's record."""


def consumer_protocol(record_type: int, value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Both blobs of every member; None for any other record than one of a classic group of consumers."""
    if record_type != GROUP_METADATA or value["protocolType"] != CONSUMER:
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
        read, refusal = read_subscription(data)
    except WireError as error:
        return {"subscriptionError": str(error)}
    fields = subscription_fields(read)
    return fields if refusal is None else {"subscriptionError": str(refusal)} | fields


def assignment(data: bytes) -> dict[str, Any]:
    """What Kafka's own reader makes of an assignment, or its refusal."""
    try:
        read = read_assignment(data)
    except WireError as refusal:
        return {"assignmentError": str(refusal)}
    return {"assignment": None} if read is None else assignment_fields(read)


def read_subscription(data: bytes) -> tuple[Subscription, WireError | None]:
    """A subscription as Kafka's own reader has it; or else as the tolerant one has it, and the other's refusal."""
    try:
        return decode_subscription(data, False), None
    except WireError as error:
        refusal = error
    return decode_subscription(data, True), refusal


def read_assignment(data: bytes) -> Assignment | None:
    """An assignment; None for the empty blob, which is an assignment of nothing.

    A broker keeps it for a member that its leader left out.
    """
    return decode_assignment(data) if data else None


def subscription_fields(read: Subscription) -> dict[str, Any]:
    """Return the version and the fields of a subscription by Kafka's names."""
    body = min(read.version, NEWEST_VERSION) if read.tolerated is None else read.tolerated
    fields: dict[str, Any] = {"topics": read.topics, "userData": read.user_data}
    if body >= 1:
        fields["ownedPartitions"] = partition_fields(read.owned_partitions)
    if body >= 2:
        fields["generationId"] = read.generation_id
    if body >= 3:
        fields["rackId"] = read.rack_id
    versions: dict[str, Any] = {"subscriptionVersion": read.version}
    if read.tolerated is not None:
        versions["subscriptionTolerated"] = read.tolerated
    return versions | {"subscription": fields}


def assignment_fields(read: Assignment) -> dict[str, Any]:
    """Return the version and the fields of an assignment by Kafka's names."""
    fields = {"assignedPartitions": partition_fields(read.assigned_partitions), "userData": read.user_data}
    return {"assignmentVersion": read.version, "assignment": fields}


def partition_fields(entries: list[TopicPartitions]) -> list[dict[str, Any]]:
    """Return topics with their partitions, in wire order."""
    return [{"topic": topic, "partitions": partitions} for topic, partitions in entries]
