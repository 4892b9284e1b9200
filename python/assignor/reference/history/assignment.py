"""Recorded assignment, and the answer of its assignor for the same members."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from assignor.model import Subscription, TopicPartition
from assignor.reference.assign import chosen
from assignor.reference.assign.options import Options
from assignor.reference.group import JoinedSubscription, read_members, read_topics
from assignor.reference.replay.member import OwnedPartitions, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assignor.model import PartitionInfo
    from assignor.reference.history.metadata import Metadata, MetadataSnapshot
    from assignor.reference.replay import ParsedMember, ParsedSubscription, TargetAssignment

__all__ = ["AssignedMember", "KnownTopic", "RecordedAssignment", "member_of_generation", "members_of_target"]

NO_TOPIC = "/"
"""Name of a topic that makes the subscription of one member differ from the others.

It is an invalid name, so no cluster has such a topic.
"""


@dataclass(frozen=True)
class AssignedMember:
    """Member of a recorded assignment; consumer groups name topics by id in `owned` and `assigned`."""

    id: str
    instance_id: str | None
    rack: str | None
    topics: list[str]
    owned: Sequence[tuple[str, int]]
    generation: int | None
    user_data: bytes | None
    assigned: OwnedPartitions


def member_of_generation(
    member: ParsedMember, subscription: ParsedSubscription, assigned: OwnedPartitions
) -> AssignedMember:
    """Return a member of a classic group, with the owned partitions of its subscription."""
    claims = (subscription.owned, subscription.generation, subscription.user_data)
    return AssignedMember(member.id, member.instance_id, subscription.rack, subscription.topics, *claims, assigned)


def members_of_target(target: TargetAssignment) -> list[AssignedMember]:
    """Return the members of a consumer group, with their target of the previous epoch as owned partitions."""
    members = [
        AssignedMember(
            member.id,
            member.instance_id,
            member.rack,
            member.topics,
            [(topic, id) for topic, ids in member.owned.items() for id in ids],
            None,
            None,
            member.assigned,
        )
        for member in target.members
    ]
    if members and not target.is_homogeneous:
        # A broker treats two patterns as different subscriptions even if they match the same topics. With one more
        # topic, the subscriptions differ for the assignor, too.
        members[0] = replace(members[0], topics=[*members[0].topics, NO_TOPIC])
    return members


class KnownTopic(NamedTuple):
    """Topic known to a leader or a broker: its partitions, and its id, which is empty if the snapshot lacks it."""

    partitions: list[PartitionInfo]
    id: str


@dataclass(frozen=True)
class RecordedAssignment:
    """Recorded assignment of members that could all be parsed."""

    group_protocol: str
    assignor: str
    members: list[AssignedMember]
    metadata: Metadata

    def recorded(self) -> list[OwnedPartitions]:
        """Return the recorded assignment."""
        return [member.assigned for member in self.members]

    def known_topics(self, snapshot: MetadataSnapshot) -> dict[str, KnownTopic]:
        """Return the subscribed topics in a snapshot, by name."""
        wanted = sorted({topic for member in self.members for topic in member.topics})
        return {
            topic: KnownTopic(snapshot.topics[topic], snapshot.topic_ids.get(topic, ""))
            for topic in wanted
            if topic in snapshot.topics
        }

    def key(self, topic: str, id: str) -> str:
        """Return the key of a topic in assignments: the id in a consumer group, the name in a classic group."""
        return topic if self.group_protocol == "classic" else id or topic

    def answer(self, known: dict[str, KnownTopic]) -> list[OwnedPartitions]:
        """Return the partitions that the assignor gives each member."""
        names = {self.key(topic, id): topic for topic, (_, id) in known.items()}
        topics = read_topics({topic: partitions for topic, (partitions, _) in known.items()})
        subscription = JoinedSubscription if self.group_protocol == "classic" else Subscription
        subscriptions = {
            member.id: subscription(
                tuple(member.topics),
                member.instance_id,
                member.rack,
                tuple(TopicPartition(names.get(key, key), id) for key, id in member.owned),
                member.generation,
                member.user_data,
            )
            for member in self.members
        }
        members = read_members(subscriptions, topics)
        ids = {topic: number for topic, (_, id) in known.items() if (number := topic_id(id)) is not None}
        assignment = chosen(self.assignor, self.group_protocol)(topics, members, Options(topic_ids=ids))
        return [
            merged((self.key(topic, known[topic].id), [id]) for topic, id in assignment[member.id])
            for member in self.members
        ]

    def difference(self, expected: list[OwnedPartitions]) -> str:
        """Describe how the recorded assignment differs from the answer of the assignor."""
        recorded = self.recorded()
        differing = sum(has != should for has, should in zip(recorded, expected, strict=True))
        members = f"{differing} of {len(self.members)} members"
        text = f"{members} own other partitions than Kafka's {self.assignor} assignor gives them"
        return text + ("; in total the same partitions are assigned" if flat(recorded) == flat(expected) else "")


def topic_id(text: str) -> int | None:
    """Parse a topic id in Kafka's form (22 characters of URL-safe base64) into a 128-bit integer.

    Return None if the text is not a topic id.
    """
    if len(text) != 22:
        return None
    try:
        number = int.from_bytes(base64.b64decode(text + "==", altchars=b"-_", validate=True), "big")
    except (binascii.Error, ValueError):
        return None
    return number if base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode()[:22] == text else None


def flat(assignments: Iterable[OwnedPartitions]) -> list[tuple[str, int]]:
    """Return all assigned partitions in order."""
    return sorted((topic, id) for owned in assignments for topic, ids in owned.items() for id in ids)
