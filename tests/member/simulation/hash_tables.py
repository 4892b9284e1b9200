"""The orders in which the coordinator's hash tables list what is in them.

Nothing in the protocol speaks of an order of members, but the uniform assignor gives the partitions that are left over
to members in the order of a `java.util.HashMap`, and that is filled from a table of the coordinator's own, whose order
decides where two members share a bucket. Both are told here for the small tables of a group.

Source: org.apache.kafka.timeline.BaseHashTable and SnapshottableHashTable, kafka-server-common 4.3.1; java.util.HashMap
as in `assignor.ordering`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

from assignor import ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from uuid import UUID

__all__ = ["HashTable", "TimelineTable", "folded", "hash_map_order", "uuid_hash"]

Key = TypeVar("Key")

_INT = 0xFFFFFFFF
_LONG = 0xFFFFFFFFFFFFFFFF
_FIBONACCI = -7046029254386353131

string_hash: Callable[[str], int] = lru_cache(maxsize=4096)(ordering.string_hash)


@lru_cache(maxsize=4096)
def uuid_hash(uuid: UUID) -> int:
    """What `Uuid.hashCode()` of Kafka is, as an unsigned number of 32 bits."""
    mixed = uuid.int >> 64 ^ uuid.int & _LONG
    return mixed >> 32 ^ mixed & _INT


def folded(code: int) -> int:
    """A hash code as a `HashMap` has it, the high half folded into the low one; its low bits tell the bucket."""
    return code ^ code >> 16


def hash_map_order(keys: Iterable[Key], hash_of: Callable[[Key], int], capacity: int = 16) -> list[Key]:
    """Distinct keys in the order of a `HashMap` into which they were put one after the other."""
    table = HashTable(hash_of, capacity)
    for key in keys:
        table.add(key)
    return list(table)


class HashTable(Generic[Key]):
    """The order of a `java.util.HashMap` without trees: by bucket, and in a bucket as the keys came."""

    def __init__(self, hash_of: Callable[[Key], int], capacity: int = 16) -> None:
        self._hash_of = hash_of
        self._capacity = capacity
        self._keys: dict[Key, None] = {}

    @classmethod
    def copy_of(cls, keys: Iterable[Key], hash_of: Callable[[Key], int]) -> HashTable[Key]:
        """What `new HashMap<>(map)` has: as many buckets as the map needs, 16 if it is empty."""
        listed = list(keys)
        wanted = int(len(listed) / 0.75 + 1.0) if listed else 16
        table = cls(hash_of, 1 << (wanted - 1).bit_length())
        for key in listed:
            table.add(key)
        return table

    def add(self, key: Key) -> None:
        """Puts a key; one that is there stays where it is."""
        self._keys.setdefault(key)
        while 4 * len(self._keys) > 3 * self._capacity:
            self._capacity *= 2

    def compute(self, key: Key) -> None:
        """Puts a key as `compute` does, which makes room before the key comes, and puts it first in its bucket."""
        if key not in self._keys:
            while 4 * len(self._keys) > 3 * self._capacity:
                self._capacity *= 2
            self._keys = {key: None, **self._keys}

    def remove(self, key: Key) -> None:
        """Takes a key out, which leaves the number of buckets as it is."""
        self._keys.pop(key, None)

    def __iter__(self) -> Iterator[Key]:
        last = self._capacity - 1
        return iter(sorted(self._keys, key=lambda key: folded(self._hash_of(key)) & last))


class TimelineTable:
    """The order of a `TimelineHashMap` with names as keys: by slot, and in a slot the last one first."""

    def __init__(self) -> None:
        self._slots: list[list[str]] = [[], []]
        self._size = 0

    def add(self, key: str) -> None:
        """Puts a key; one that is there stays where it is."""
        if (self._size + 1) * 0.75 > len(self._slots):
            before, self._slots = self._slots, [[] for _ in range(2 * len(self._slots))]
            for slot in before:
                for each in slot:
                    self._slot(each).append(each)
        slot = self._slot(key)
        if key not in slot:
            slot.append(key)
            self._size += 1

    def remove(self, key: str) -> None:
        """Takes a key out if it is there."""
        slot = self._slot(key)
        if key in slot:
            slot.remove(key)
            self._size -= 1

    def __iter__(self) -> Iterator[str]:
        for slot in self._slots:
            yield from reversed(slot)

    def _slot(self, key: str) -> list[str]:
        code = string_hash(key)
        signed = code - (1 << 32) if code >> 31 else code
        return self._slots[(signed * _FIBONACCI & _LONG) >> 65 - len(self._slots).bit_length()]
