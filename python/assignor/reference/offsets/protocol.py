"""ConsumerProtocol blobs in the record of a classic group: subscription and assignment of each member."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import WireError
from assignor.reference.wire import NEWEST_VERSION, decode_assignment, decode_subscription

if TYPE_CHECKING:
    from assignor.reference.wire import Assignment, Subscription, TopicPartitions

__all__ = ["CONSUMER", "consumer_protocol", "read_assignment", "read_subscription"]

CONSUMER = "consumer"
"""Protocol type of consumers; Kafka Connect and others have their own."""

GROUP_METADATA = 2
"""Type number of a classic group's record."""


def consumer_protocol(record_type: int, value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Decode both blobs of each member; return None if the record is not of a classic group of consumers."""
    if record_type != GROUP_METADATA or value["protocolType"] != CONSUMER:
        return None
    return [
        {"memberId": member["memberId"]} | subscription(member["subscription"]) | assignment(member["assignment"])
        for member in value["members"]
    ]


def subscription(data: bytes) -> dict[str, Any]:
    """Decode a subscription strictly as Kafka does; if that fails, return the error and the tolerant result, if any."""
    if not data:
        return {"subscription": None}
    try:
        read, strict_error = read_subscription(data)
    except WireError as error:
        return {"subscriptionError": str(error)}
    fields = subscription_fields(read)
    return fields if strict_error is None else {"subscriptionError": str(strict_error)} | fields


def assignment(data: bytes) -> dict[str, Any]:
    """Decode an assignment as Kafka does, or return the error."""
    try:
        read = read_assignment(data)
    except WireError as error:
        return {"assignmentError": str(error)}
    return {"assignment": None} if read is None else assignment_fields(read)


def read_subscription(data: bytes) -> tuple[Subscription, WireError | None]:
    """Decode a subscription strictly, or else tolerantly; in the second case also return the strict reader's error."""
    try:
        return decode_subscription(data, False), None
    except WireError as error:
        strict_error = error
    return decode_subscription(data, True), strict_error


def read_assignment(data: bytes) -> Assignment | None:
    """Decode an assignment; return None for an empty blob, which assigns no partitions.

    A broker stores an empty blob for a member that the leader left out.
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
