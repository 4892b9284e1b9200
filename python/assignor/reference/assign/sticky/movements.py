"""Record of the partitions that moved during balancing.

Moving one partition of a topic from A to B and another one from B to A costs two moves and changes no size. So if a
partition is about to move from A to B, and another one has moved from B to A before, the other one moves back instead.
Source: PartitionMovements in AbstractStickyAssignor of kafka-clients 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assignor.ordering import CHAIN, DEFAULT_CAPACITY, TREES, partition_hash, string_hash
from assignor.reference.assign.sticky.claims import Place


@dataclass(slots=True)
class Table:
    """A HashSet of partitions: in the order of insertion, and the number of its buckets, which never falls."""

    places: list[Place] = field(default_factory=list)
    buckets: int = DEFAULT_CAPACITY

    def add(self, place: Place) -> None:
        """Insert a partition."""
        neighbours = [each for each in self.places if self.bucket(each) == self.bucket(place)]
        self.places.append(place)
        if len(neighbours) >= CHAIN and self.buckets < TREES:
            self.buckets *= 2
        if 4 * len(self.places) > 3 * self.buckets:
            self.buckets *= 2

    def first(self) -> Place:
        """Return the partition that the set lists first."""
        return min(self.places, key=self.bucket)

    def bucket(self, place: Place) -> int:
        """Return the bucket of a partition."""
        code = partition_hash(string_hash(place.topic), place.position)
        return (code ^ code >> 16) & self.buckets - 1


class Movements:
    """Partitions that have moved from their first owner in this balancing to another one.

    Owners are member ids. A partition that is back at its first owner has not moved. While `substitute` is true, a
    partition that has moved the other way moves back instead.
    """

    def __init__(self) -> None:
        """Start without movements."""
        self.substitute = True
        self._moved: dict[Place, tuple[str, str]] = {}
        self._tables: dict[tuple[str, str, str], Table] = {}

    def actual(self, place: Place, owner: str, target: str) -> Place:
        """Return the partition to move: the given one, or one that has moved the other way and moves back."""
        source, _ = self._moved.get(place, (owner, target))
        reverse = self._tables.get((place.topic, target, source))
        return reverse.first() if reverse and self.substitute else place

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
