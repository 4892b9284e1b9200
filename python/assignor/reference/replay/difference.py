"""Difference between two consecutive group records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.reference.replay.events import Partition
    from assignor.reference.replay.known_member import KnownMember

__all__ = ["Difference", "GroupRecord", "difference"]


@dataclass
class GroupRecord:
    """State of a group at a group record.

    `began` is the time at which the generation began: the end of the join phase in a classic group, `at` in a group
    with an epoch. A group with an epoch has `metadata_hash`, `resolved` (topics by pattern), `counts` (number of
    partitions by topic, from a record of type 4), `sources` (topics of a streams topology) and `initialized`
    (partitions of a share group whose share state is initialized). `converted_from` is the kind that the group had
    before, if it had another one.
    """

    kind: str
    generation: int
    at: int
    began: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: dict[str, KnownMember]
    metadata_hash: int | None = None
    resolved: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, int] | None = None
    sources: list[str] | None = None
    initialized: list[Partition] = field(default_factory=list)
    converted_from: str | None = None

    def topics(self) -> set[str] | None:
        """Return the topics that members subscribe to; None if they cannot be read."""
        found = set(self.sources or [])
        for member in self.members.values():
            if member.topics is None and not member.pattern and self.sources is None:
                return None
            found.update(member.topics or [])
            found.update(self.resolved.get(member.pattern or "", []))
        return found

    def assigned(self) -> dict[Partition, str] | None:
        """Return the owners of the assigned partitions; None if an assignment cannot be read."""
        owners = {}
        for _, member in sorted(self.members.items()):
            if member.assigned is None:
                return None
            owners.update(dict.fromkeys(member.assigned, member.owner_name))
        return owners


@dataclass
class Difference:
    """Members that joined or left, and pairs (before, after) of those that were replaced or remained."""

    joined: list[KnownMember]
    left: list[KnownMember]
    replaced: list[tuple[KnownMember, KnownMember]]
    remaining: list[tuple[KnownMember, KnownMember]]

    @property
    def changed(self) -> list[tuple[KnownMember, KnownMember]]:
        """Remaining and replaced members with another subscription."""
        both = self.remaining + self.replaced
        return [(old, new) for old, new in both if not new.subscribes_like(old)]


def difference(before: Mapping[str, KnownMember], after: Mapping[str, KnownMember]) -> Difference:
    """Compare the members of two group records; a new member with the instance id of another one replaces it."""
    instances = {
        before[id].instance_id or "": before[id] for id in sorted(before) if before[id].instance_id is not None
    }
    found = Difference([], [], [], [])
    for id in sorted(after):
        instance_id = after[id].instance_id
        old = before.get(id) or (None if instance_id is None else instances.get(instance_id))
        if old is None or (old.id != id and old.id in after):
            found.joined.append(after[id])
        elif old.id == id:
            found.remaining.append((old, after[id]))
        else:
            found.replaced.append((old, after[id]))
    gone = {old.id for old, _ in found.remaining + found.replaced}
    found.left = [before[id] for id in sorted(before) if id not in gone]
    return found
