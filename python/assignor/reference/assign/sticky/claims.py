"""Partitions that the members of a group claim to own, and their owners after conflicts are settled.

A claim counts if the partition exists and some member subscribes to its topic. Kafka also accepts partitions that do
not exist, and then returns an invalid assignment. If two members claim a partition, the higher generation wins; equal
generations cancel each other. Kafka compares the generation of the later claim with the generation field of the
subscription that claimed earlier. `StickyAssignor` reads the generation of a claim from the user data, which may differ
from that field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from assignor.model import TopicPartition
from assignor.ordering import java_order
from assignor.reference.assign.sticky import user_data
from assignor.reference.assign.sticky.user_data import NONE
from assignor.reference.assign.table_order import member_order
from assignor.reference.group import Member, Partition


class Source(Enum):
    """Source of a member's claims."""

    USER_DATA = "user data"
    """The user data (`StickyAssignor`)."""
    SUBSCRIPTION = "subscription"
    """The owned partitions and the generation of the subscription (`CooperativeStickyAssignor`)."""


class Place(NamedTuple):
    """Partition, identified by its position in its topic.

    Positions correspond to Kafka's partition ids, which have no gaps.
    """

    topic: str
    position: int


class Claim(NamedTuple):
    """Partitions that a member claims, in the order claimed, and the generation of the claim."""

    places: list[Place]
    generation: int


@dataclass(frozen=True, slots=True)
class Claims:
    """Settled claims of the members of a group.

    Attributes:
        members: The members in table order.
        partitions: The partitions of all topics that have partitions and subscribers, by topic in Java's order, then by
            position.
        claims: Member id to the partitions that it claims.
        owned: Member id to the partitions that it owns after settling, in the order claimed.
        doubly_claimed: Partitions that two members of the same generation claim. A third member of a higher generation
            may still own such a partition.
    """

    members: list[Member]
    partitions: dict[Place, Partition]
    claims: dict[str, Claim]
    owned: dict[str, list[Place]]
    doubly_claimed: set[Place]

    def previous_owners(self) -> dict[Place, str]:
        """Return the previous owner of each partition.

        Only claims that are older than the newest generation of the group count. The previous owner is the member with
        the newest of these claims. Of several such members it is the first in table order.
        """
        newest = max((claim.generation for claim in self.claims.values()), default=NONE)
        newest = max(newest, NONE)
        found: dict[Place, str] = {}
        for member in self.members:
            id = member.info.member_id
            places, generation = self.claims[id]
            if generation < newest:
                for place in places:
                    if place not in found or self.claims[found[place]].generation < generation:
                        found[place] = id
        return found


def settle(topics: Mapping[str, list[Partition]], members: list[Member], source: Source) -> Claims:
    """Read and settle the claims of a group's members."""
    assignable = sorted({topic for member in members for topic in member.topics if topics.get(topic)}, key=java_order)
    partitions = {
        Place(topic, position): partition for topic in assignable for position, partition in enumerate(topics[topic])
    }
    places = {TopicPartition(place.topic, partition.id): place for place, partition in partitions.items()}
    ordered = member_order(members)
    claims = {}
    for member in ordered:
        claimed, generation = _read(member, source)
        claims[member.info.member_id] = Claim([places[each] for each in claimed if each in places], generation)

    owned: dict[str, list[Place]] = {member.info.member_id: [] for member in members}
    fields = {member.info.member_id: _field_generation(member) for member in members}
    last_claimant: dict[Place, str] = {}
    doubly_claimed = set()
    for id, claim in claims.items():
        for place in claim.places:
            other = last_claimant.get(place)
            if other is None:
                owned[id].append(place)
            elif claim.generation < fields[other]:
                continue
            elif claim.generation == fields[other]:
                doubly_claimed.add(place)
            else:
                owned[id].append(place)
            if other is not None and place in owned[other]:
                # Remove after adding, as in Kafka: if a member claims a doubly claimed partition a second time, it
                # still does not get the partition.
                owned[other].remove(place)
            last_claimant[place] = id
    return Claims(ordered, partitions, claims, owned, doubly_claimed)


def _read(member: Member, source: Source) -> tuple[list[TopicPartition], int]:
    """Return the partitions that a member claims and their generation, as Kafka's `memberData` does."""
    if source is Source.USER_DATA and (member.is_from_wire or member.user_data is not None):
        return user_data.decode(member.user_data) if member.user_data else ([], NONE)
    generation = _field_generation(member)
    if generation == NONE and member.user_data is not None:
        generation = user_data.cooperative_generation(member.user_data)
    return list(member.owned), generation


def _field_generation(member: Member) -> int:
    """Return the generation field of a subscription; `NONE` if it is negative or missing."""
    return NONE if member.generation is None or member.generation < 0 else member.generation
