"""Classic group, from its last record of type 2."""

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
    """Parsed subscription of a member of a generation.

    `version` is the version of the body. `rack` is None if it is missing or empty. `owned` are the owned partitions in
    wire order, and `generation` is the generation in which the member got them; None if it is missing or negative.
    Empty `user_data` differs from None. `strict_error` is the error of Kafka's reader if only the tolerant reader can
    read the bytes.
    """

    topics: list[str]
    rack: str | None
    strict_error: str | None
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    user_data: bytes | None = None
    version: int = 3


@dataclass(frozen=True)
class ParsedMember:
    """Member of a generation: its subscription and the partitions that the leader assigned to it.

    A subscription or an assignment whose bytes cannot be decoded is a WireError.
    """

    id: str
    instance_id: str | None
    subscription: ParsedSubscription | WireError
    assignment: OwnedPartitions | WireError


class ClassicGroup:
    """Classic group after a record of type 2."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.protocol_type: str = value["protocolType"]
        self.generation: int = value["generation"]
        self.protocol: str | None = value["protocol"]
        self.leader: str | None = value["leader"]
        self.records: list[dict[str, Any]] = value["members"]

    @property
    def state(self) -> str:
        """Kafka's name for the state of a group that is loaded from this record."""
        return "Stable" if self.records else "Empty"

    def members(self) -> list[RecordedMember]:
        """Return the members, in the order of the record."""
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
        """Parse the members; return None if there are none or the engine does not have the group's assignor."""
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
    """Parse a subscription with Kafka's strict reader, or else with the tolerant one."""
    try:
        read, strict_error = protocol.read_subscription(data)
    except WireError as error:
        return error
    return ParsedSubscription(
        read.topics,
        read.rack_id or None,
        None if strict_error is None else str(strict_error),
        tuple(TopicPartition(topic, id) for topic, ids in read.owned_partitions for id in ids),
        read.generation_id if read.generation_id >= 0 else None,
        read.user_data,
        min(read.version, 3) if read.tolerated is None else read.tolerated,
    )


def read_assignment(data: bytes) -> OwnedPartitions | WireError:
    """Parse the partitions of an assignment; empty bytes assign no partitions."""
    try:
        read = protocol.read_assignment(data)
    except WireError as error:
        return error
    return {} if read is None else merged(read.assigned_partitions)
