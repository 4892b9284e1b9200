"""Assignments of a member: the coordinator's target, the reconciled assignment, and the owned partitions.

Source: AbstractMembershipManager and its LocalAssignment, kafka-clients 4.3.1 (`maybeReconcile`,
`findTopicNameInGlobalOrLocalCache`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.model import TopicPartition
from assignor.ordering import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from assignor.member.messages import Assignment


__all__ = ["NO_ASSIGNMENT", "Assignments", "LocalAssignment", "Reconciliation", "sort_partitions", "union"]


@dataclass(frozen=True, slots=True)
class LocalAssignment:
    """Partitions by topic id, with a local epoch that distinguishes equal assignments.

    Attributes:
        epoch: Number of assignments received before this one since the member joined; -1 for no assignment.
        partitions: Partition ids by topic id, ascending.
    """

    epoch: int
    partitions: Assignment

    def followed_by(self, partitions: Assignment) -> LocalAssignment:
        """Return the assignment with these partitions: this one if it has them already, else one with the next epoch.

        Example:
            >>> first = NO_ASSIGNMENT.followed_by({})
            >>> first.epoch, first.followed_by({}) is first
            (0, True)
        """
        if self.epoch >= 0 and self.partitions == partitions:
            return self
        return LocalAssignment(self.epoch + 1, partitions)


NO_ASSIGNMENT = LocalAssignment(-1, {})
"""Assignment of a member that is not in the group."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Steps from the owned partitions to an assignment, as far as its topic names are known.

    Attributes:
        result: Assignment that becomes current when all steps are done.
        owned: Owned partitions after all steps.
        added: Partitions to assign: those not owned yet, and owned ones whose callback failed.
        revoked: Owned partitions to revoke.
    """

    result: LocalAssignment
    owned: frozenset[TopicPartition]
    added: tuple[TopicPartition, ...]
    revoked: tuple[TopicPartition, ...]


class Assignments:
    """Target assignment, current assignment and owned partitions of a member.

    Attributes:
        target: Last assignment from the coordinator.
        current: Last reconciled assignment; a part of the target while topic names are missing.
        applied: Owned partitions by topic id. They change before `onPartitionsAssigned` is called, `current` after it.
        owned: Owned partitions by topic name.
        not_announced: Owned partitions for which `onPartitionsAssigned` failed.
        unresolved: Topic ids of the target without a known name, ascending, as of the last `resolve`.
    """

    def __init__(self) -> None:
        self._names: dict[UUID, str] = {}
        self.owned: frozenset[TopicPartition] = frozenset()
        self.clear()

    def clear(self) -> None:
        """Remove all assignments and all owned partitions."""
        self.owned = self.not_announced = frozenset[TopicPartition]()
        self.forget()

    def forget(self) -> None:
        """Remove all assignments; keep the owned partitions, but no longer report them."""
        self.current = self.target = NO_ASSIGNMENT
        self.applied: Assignment = {}
        self.unresolved: tuple[UUID, ...] = ()

    def add_names(self, names: Mapping[UUID, str]) -> None:
        """Store topic names."""
        self._names.update(names)

    def receive(self, partitions: Mapping[UUID, Iterable[int]]) -> None:
        """Set the target."""
        self.target = self.target.followed_by({topic_id: tuple(ids) for topic_id, ids in partitions.items()})

    def apply(self, reconciliation: Reconciliation) -> None:
        """Set the owned partitions to the result of a reconciliation, before its callback returns."""
        self.owned = reconciliation.owned
        self.applied = reconciliation.result.partitions

    @property
    def is_reconciled(self) -> bool:
        """True if the current assignment is the target."""
        return self.current == self.target

    def is_applied(self, result: LocalAssignment) -> bool:
        """Return True if an assignment has exactly the current and owned partitions, all of them announced."""
        in_effect = self.current.partitions == self.applied == result.partitions
        return self.current.epoch >= 0 and in_effect and not self.not_announced

    def resolve(self) -> LocalAssignment:
        """Return the part of the target whose topic names are known; set `unresolved` to the rest."""
        partitions = self.target.partitions
        self.unresolved = tuple(sorted(id for id in partitions if id not in self._names))
        return LocalAssignment(self.target.epoch, {id: partitions[id] for id in partitions if id in self._names})

    def reconciliation_to(self, result: LocalAssignment) -> Reconciliation:
        """Return the steps to an assignment with known topic names."""
        wanted = frozenset(
            TopicPartition(self._names[topic_id], id) for topic_id, ids in result.partitions.items() for id in ids
        )
        added = wanted - (self.owned - self.not_announced)
        return Reconciliation(result, wanted, sort_partitions(added), sort_partitions(self.owned - wanted))


def sort_partitions(partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Return the partitions sorted by topic, in Java's order of strings, and by id."""
    return tuple(sorted(partitions, key=lambda partition: (java_order(partition.topic), partition.partition)))


def union(*assignments: Assignment) -> Assignment:
    """Return all partitions of the assignments.

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
