"""A classic group as its last type 2 record has it: members with the bytes that they and their leader sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assignor.errors import WireError
from assignor.model import TopicPartition
from assignor.reference.assign import ASSIGNORS
from assignor.reference.offsets import protocol
from assignor.reference.offsets.protocol import CONSUMER
from assignor.reference.replay.member import OwnedPartitions, RecordedMember, merged

__all__ = ["ClassicGroup", "ParsedMember", "ParsedSubscription"]


@dataclass(frozen=True)
class ParsedSubscription:
    """Subscription of a member of a generation, parsed.

    `version` is the version whose fields the subscription has. `rack` is None if the version has no such field or it is
    empty. `owned` are the owned partitions, in the order of the bytes. `generation` is the generation in which the
    member got them; None if the version has no such field or it is negative. Empty and absent `user_data` differ.
    `refused` is the reason why Kafka's own reader refuses the bytes if only the tolerant one can read them.
    """

    topics: list[str]
    rack: str | None
    refused: str | None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    user_data: bytes | None = None
    version: int = 3


@dataclass(frozen=True)
class ParsedMember:
    """Member of a generation: its subscription and the partitions that the leader assigned to it.

    Either is an error if it cannot be read.
    """

    id: str
    instance_id: str | None
    subscription: ParsedSubscription | WireError
    assignment: OwnedPartitions | WireError


class ClassicGroup:
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

    def members(self) -> list[RecordedMember]:
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
            members.append(RecordedMember(record["memberId"], instance_id, *client, rack, topics, None, partitions))
        return members

    def parsed_members(self) -> list[ParsedMember] | None:
        """Parse the members; None if there are none or the engine does not have the assignor of the group."""
        if ("classic", self.protocol) not in ASSIGNORS or not self.records:
            return None
        return [
            ParsedMember(
                record["memberId"],
                record.get("groupInstanceId"),
                read_subscription(record["subscription"]),
                read_assignment(record["assignment"]),
            )
            for record in self.records
        ]


def read_subscription(data: bytes) -> ParsedSubscription | WireError:
    """A subscription as Kafka's own reader has it, or else as the tolerant one has it."""
    try:
        read, refusal = protocol.read_subscription(data)
    except WireError as error:
        return error
    return ParsedSubscription(
        read.topics,
        read.rack_id or None,
        None if refusal is None else str(refusal),
        tuple(TopicPartition(topic, id) for topic, ids in read.owned_partitions for id in ids),
        read.generation_id if read.generation_id >= 0 else None,
        read.user_data,
        min(read.version, 3) if read.tolerated is None else read.tolerated,
    )


def read_assignment(data: bytes) -> OwnedPartitions | WireError:
    """The partitions of an assignment; an empty one has none."""
    try:
        read = protocol.read_assignment(data)
    except WireError as error:
        return error
    return {} if read is None else merged(read.assigned_partitions)
