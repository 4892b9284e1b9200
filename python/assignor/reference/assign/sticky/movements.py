"""Record of the partitions that moved during balancing.

Moving one partition of a topic from A to B and another one from B to A costs two moves and changes no size. So if a
partition is about to move from A to B and another one has moved from B to A before, that one moves back instead.

Source: PartitionMovements in AbstractStickyAssignor of kafka-clients 4.4.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from assignor.ordering import CHAIN, DEFAULT_CAPACITY, TREES, partition_hash, string_hash
from assignor.reference.assign.sticky.claims import Place


@dataclass(slots=True)
class Table:
    """Java HashSet of partitions: its entries in insertion order, and its number of buckets, which never shrinks.

    Not modelled: a bucket that becomes a tree. That takes eleven moves between the same two members, of partitions in
    one bucket.
    """

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
        """Return the first partition in the set's iteration order."""
        return min(self.places, key=self.bucket)

    def bucket(self, place: Place) -> int:
        """Return the bucket of a partition."""
        code = partition_hash(string_hash(place.topic), place.position)
        return (code ^ code >> 16) & self.buckets - 1


class Movements:
    """Partitions that balancing has moved away from their first owner.

    Owners are member ids. A partition that has returned to its first owner does not count as moved. While `substitute`
    is true, a partition that has moved in the opposite direction moves back instead of the given one.
    """

    def __init__(self) -> None:
        """Create an empty record."""
        self.substitute = True
        self._moved: dict[Place, tuple[str, str]] = {}
        self._tables: dict[tuple[str, str, str], Table] = {}

    def actual(self, place: Place, owner: str, target: str) -> Place:
        """Return the partition to move: one that has moved in the opposite direction, if any, else the given one."""
        source, _ = self._moved.get(place, (owner, target))
        reverse = self._tables.get((place.topic, target, source))
        return reverse.first() if reverse and self.substitute else place

    def record(self, place: Place, owner: str, target: str) -> None:
        """Record a move."""
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
