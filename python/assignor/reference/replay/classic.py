"""A classic group as its last type 2 record has it: members with the bytes that they and their leader sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assignor.errors import WireError
from assignor.reference.offsets import protocol
from assignor.reference.offsets.protocol import CONSUMER
from assignor.reference.replay.member import Member, Partitions, merged

__all__ = ["Classic", "Joined", "Reading"]


@dataclass(frozen=True)
class Reading:
    """What a member's subscription says.

    `rack` is None where the version has none or it is empty; `refused` is why Kafka's own reader refuses the bytes,
    where only the tolerant one could read them.
    """

    topics: list[str]
    rack: str | None
    refused: str | None


@dataclass(frozen=True)
class Joined:
    """What a member of a generation wanted and what its leader gave it; an error where that cannot be read."""

    id: str
    instance_id: str | None
    subscription: Reading | WireError
    assignment: Partitions | WireError


class Classic:
    """A classic group between two of its records."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.protocol_type: str = value["protocolType"]
        self.generation: int = value["generation"]
        self.protocol: str | None = value["protocol"]
        self.leader: str | None = value["leader"]
        self.records: list[dict[str, Any]] = value["members"]

    @property
    def state(self) -> str:
        """Kafka's name for the state of a group that was loaded from this record."""
        return "Stable" if self.records else "Empty"

    def members(self) -> list[Member]:
        """The members, in the record's order."""
        members = []
        for record in self.records:
            topics = rack = partitions = None
            if self.protocol_type == CONSUMER:
                subscription = read_subscription(record["subscription"])
                if not isinstance(subscription, WireError):
                    topics, rack = subscription.topics, subscription.rack
                assignment = read_assignment(record["assignment"])
                partitions = None if isinstance(assignment, WireError) else assignment
            instance_id = record.get("groupInstanceId")
            client = (record["clientId"], record["clientHost"])
            members.append(Member(record["memberId"], instance_id, *client, rack, topics, None, partitions))
        return members

    def joined_under_range(self) -> list[Joined] | None:
        """What the members wanted and got; None unless the assignor is `range` and there are members."""
        if self.protocol != "range" or not self.records:
            return None
        return [
            Joined(
                record["memberId"],
                record.get("groupInstanceId"),
                read_subscription(record["subscription"]),
                read_assignment(record["assignment"]),
            )
            for record in self.records
        ]


def read_subscription(data: bytes) -> Reading | WireError:
    """A subscription as Kafka's own reader has it, or else as the tolerant one has it."""
    try:
        read, refusal = protocol.read_subscription(data)
    except WireError as error:
        return error
    return Reading(read.topics, read.rack_id or None, None if refusal is None else str(refusal))


def read_assignment(data: bytes) -> Partitions | WireError:
    """The partitions of an assignment; an empty one has none."""
    try:
        read = protocol.read_assignment(data)
    except WireError as error:
        return error
    return {} if read is None else merged(read.assigned_partitions)
