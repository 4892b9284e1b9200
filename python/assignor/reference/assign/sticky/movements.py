"""Record of the partitions that a balancing has moved.

Moving one partition of a topic from A to B and another one from B to A costs two moves and changes no size. So a
partition that is about to move from A to B gives way to one that has moved from B to A before, which then moves back.
Source: PartitionMovements in AbstractStickyAssignor of kafka-clients 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assignor.ordering import DEFAULT_CAPACITY, bucket_count, partition_hash, string_hash, table_order
from assignor.reference.assign.sticky.claims import Place


@dataclass(slots=True)
class Table:
    """A HashSet of partitions: in the order of insertion, and the number of its buckets, which never falls."""

    places: list[Place] = field(default_factory=list)
    capacity: int = DEFAULT_CAPACITY

    def add(self, place: Place) -> None:
        """Insert a partition."""
        self.places.append(place)
        self.capacity = bucket_count(self.codes(), self.capacity)

    def first(self) -> Place:
        """Return the partition that the set lists first."""
        return table_order(self.places, self.codes(), self.capacity)[0]

    def codes(self) -> list[int]:
        """Return the hash codes of the partitions."""
        return [partition_hash(string_hash(place.topic), place.position) for place in self.places]


class Movements:
    """Partitions that have moved: from their first owner in this balancing to their owner now.

    Owners are member ids. A partition that is back at its first owner has not moved.
    """

    def __init__(self) -> None:
        """Start without movements."""
        self._moved: dict[Place, tuple[str, str]] = {}
        self._tables: dict[tuple[str, str, str], Table] = {}

    def actual(self, place: Place, owner: str, target: str) -> Place:
        """Return the partition to move instead of one that is about to move: itself, or one that then moves back."""
        source, _ = self._moved.get(place, (owner, target))
        reverse = self._tables.get((place.topic, target, source))
        return reverse.first() if reverse else place

    def record(self, place: Place, owner: str, target: str) -> None:
        """Record that a partition moves."""
        source = owner
        if place in self._moved:
            source, last = self._moved.pop(place)
            table = self._tables[place.topic, source, last]
            table.places.remove(place)
            if not table.places:
                del self._tables[place.topic, source, last]
        if source != target:
            self._moved[place] = (source, target)
            self._tables.setdefault((place.topic, source, target), Table()).add(place)

    def sources(self) -> dict[Place, str]:
        """Return the first owner of each partition that has moved."""
        return {place: source for place, (source, _) in self._moved.items()}
