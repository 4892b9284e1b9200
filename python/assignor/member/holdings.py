"""What a member was given, what it has made of that, and the way from one to the other.

Source: AbstractMembershipManager, kafka-clients 4.3.1 (`maybeReconcile`, `findTopicNameInGlobalOrLocalCache`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.member.local_assignment import NO_ASSIGNMENT, LocalAssignment
from assignor.model import TopicPartition
from assignor.ordering import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from assignor.member.messages import Assignment


__all__ = ["Holdings", "Reconciliation", "in_order", "union"]


def in_order(partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    """The partitions by topic, in Java's order of strings, and by id."""
    return tuple(sorted(partitions, key=lambda partition: (java_order(partition.topic), partition.partition)))


def union(*assignments: Assignment) -> Assignment:
    """All that is in any of the assignments.

    Example:
        >>> from uuid import UUID
        >>> union({UUID(int=1): (0, 2)}, {UUID(int=1): (1, 2)})
        {UUID('00000000-0000-0000-0000-000000000001'): (0, 1, 2)}
    """
    found: dict[UUID, set[int]] = {}
    for assignment in assignments:
        for topic_id, ids in assignment.items():
            found.setdefault(topic_id, set()).update(ids)
    return {topic_id: tuple(sorted(found[topic_id])) for topic_id in sorted(found)}


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The way from what the member owns to an assignment, as far as its names are known.

    Attributes:
        life: In which of the member's lives it began; in another one it means nothing.
        result: What is in effect when it is done.
        owned: What the member owns then.
        added: What it does not own yet, or nobody was told about.
        revoked: What it owns and has to give up.
    """

    life: int
    result: LocalAssignment
    owned: frozenset[TopicPartition]
    added: tuple[TopicPartition, ...]
    revoked: tuple[TopicPartition, ...]


class Holdings:
    """What a member was given and what it owns.

    Attributes:
        target: What the coordinator wants the member to own.
        current: What of it was reconciled last; it may be less than the target as long as names are missing.
        taken: What the application has by topic id; ahead of `current` until its callback came back well.
        owned: The same by name.
        untold: Those of them for which the application's callback failed.
        unresolved: The topics of the target without a known name, ids ascending, as of the last look.
    """

    def __init__(self) -> None:
        self._names: dict[UUID, str] = {}
        self.owned: frozenset[TopicPartition] = frozenset()
        self.clear()

    def clear(self) -> None:
        """Nothing was given, nothing is owned."""
        self.owned = self.untold = frozenset[TopicPartition]()
        self.forget()

    def forget(self) -> None:
        """Nothing was given, and what is owned is not to be claimed any more."""
        self.current = self.target = NO_ASSIGNMENT
        self.taken: Assignment = {}
        self.unresolved: tuple[UUID, ...] = ()

    def learn(self, names: Mapping[UUID, str]) -> None:
        """Remember the names of topics."""
        self._names.update(names)

    def receive(self, partitions: Mapping[UUID, Iterable[int]]) -> None:
        """The coordinator gave an assignment."""
        self.target = self.target.followed_by({topic_id: tuple(ids) for topic_id, ids in partitions.items()})

    def take(self, way: Reconciliation) -> None:
        """The application has what a reconciliation leads to; its callback has not come back yet."""
        self.owned = way.owned
        self.taken = way.result.partitions

    @property
    def reconciled(self) -> bool:
        """Whether all that was given is in effect."""
        return self.current == self.target

    def resolve(self) -> LocalAssignment:
        """The part of the target whose names are known; `unresolved` has the rest."""
        partitions = self.target.partitions
        self.unresolved = tuple(sorted(id for id in partitions if id not in self._names))
        return LocalAssignment(self.target.epoch, {id: partitions[id] for id in partitions if id in self._names})

    def way_to(self, result: LocalAssignment, life: int) -> Reconciliation:
        """What has to be done until an assignment is in effect, all of whose names are known."""
        wanted = frozenset(
            TopicPartition(self._names[topic_id], id) for topic_id, ids in result.partitions.items() for id in ids
        )
        added = wanted - (self.owned - self.untold)
        return Reconciliation(life, result, wanted, in_order(added), in_order(self.owned - wanted))
