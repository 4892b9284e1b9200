"""Generations of classic groups, read from the records that a real broker writes to `__consumer_offsets`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka

from assignor import TopicPartition
from assignor.offsets import decode_record
from assignor.wire import DecodedSubscription, decode_assignment, decode_subscription
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OFFSETS = "__consumer_offsets"

Shares = dict[str, frozenset[TopicPartition]]


class GroupMember(NamedTuple):
    """Member of a generation."""

    member_id: str
    client_id: str
    instance_id: str | None
    subscription: bytes
    assignment: bytes

    @property
    def decoded(self) -> DecodedSubscription:
        """The subscription, read as tolerant readers do."""
        return decode_subscription(self.subscription, tolerant=True)


@dataclass(frozen=True, slots=True)
class Generation:
    """Generation of a group.

    Attributes:
        number: Its number.
        protocol: The assignor that the members agreed on.
        leader: Member id of the leader.
        members: The members in the order of the record.
    """

    number: int
    protocol: str
    leader: str
    members: tuple[GroupMember, ...]

    @property
    def led_by(self) -> str:
        """Client id of the leader."""
        return next(member.client_id for member in self.members if member.member_id == self.leader)

    @property
    def joined(self) -> list[tuple[str, str | None, bytes]]:
        """Member id, instance id and subscription, in the form that `Group.from_wire` accepts."""
        return [(member.member_id, member.instance_id, member.subscription) for member in self.members]

    @property
    def topics(self) -> set[str]:
        """The topics that members subscribe to."""
        return {topic for member in self.members for topic in member.decoded.topics}

    @property
    def claimed(self) -> set[TopicPartition]:
        """The partitions that members owned when they joined."""
        return {partition for member in self.members for partition in member.decoded.owned_partitions}

    @property
    def shares_by_client(self) -> Shares:
        """The partitions of each member, by client id."""
        return {member.client_id: frozenset(_partitions(member)) for member in self.members}

    @property
    def owners(self) -> Counter[TopicPartition]:
        """The number of owners of each partition that has an owner."""
        return Counter(partition for member in self.members for partition in _partitions(member))

    def by_client(self, shares: Mapping[str, Iterable[TopicPartition]]) -> Shares:
        """Return partitions by client id instead of member id."""
        return {member.client_id: frozenset(shares[member.member_id]) for member in self.members}


class GroupLog:
    """Reader of all generations since the first; `poll` reads what was written since the last call.

    The topic of the records must have one partition. `with` closes the reader.

    Attributes:
        generations: The generations of each group with members, in the order of the log. A record that replaces
            the previous one of the same generation, as after the restart of a static member, is listed too.
    """

    def __init__(self, address: str) -> None:
        self.generations: dict[str, list[Generation]] = defaultdict(list)
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": address,
                "group.id": "log",
                "enable.auto.commit": False,
                "log.connection.close": False,
            }
        )
        self._consumer.assign([confluent_kafka.TopicPartition(OFFSETS, 0, confluent_kafka.OFFSET_BEGINNING)])

    def __enter__(self) -> GroupLog:
        return self

    def __exit__(self, *error: object) -> None:
        within("closing the reader of the log", self._consumer.close)

    def poll(self, seconds: float = 0.05) -> None:
        """Wait for a number of seconds for new records."""
        for message in self._consumer.consume(500, seconds):
            assert message.error() is None, message.error()
            self._add(message.key(), message.value())

    def last(self, group: str) -> Generation | None:
        """Return the newest generation of a group."""
        return self.generations[group][-1] if self.generations[group] else None

    def _add(self, key: bytes | None, value: bytes | None) -> None:
        record = decode_record(key, value)
        if record.name != "GROUP_METADATA" or not record.value or not record.value["members"]:
            return
        members = tuple(
            GroupMember(
                member["memberId"],
                member["clientId"],
                member["groupInstanceId"],
                member["subscription"],
                member["assignment"],
            )
            for member in record.value["members"]
        )
        given = record.value
        found = Generation(given["generation"], given["protocol"], given["leader"], members)
        self.generations[record.key["group"]].append(found)


def _partitions(member: GroupMember) -> tuple[TopicPartition, ...]:
    return decode_assignment(member.assignment).partitions if member.assignment else ()
