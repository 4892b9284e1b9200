"""Orders of the coordinator's hash tables.

The protocol does not define an order of members. But the uniform assignor gives leftover partitions to members in the
order of a `java.util.HashMap`, which is filled from a table of the coordinator; the order of that table decides between
members in one bucket. This module models both tables for small groups.

Source: org.apache.kafka.timeline.BaseHashTable and SnapshottableHashTable, kafka-server-common 4.3.1; java.util.HashMap
as in `assignor.ordering`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

from assignor import ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["HashTable", "TimelineTable", "folded"]

Key = TypeVar("Key")

_LONG = 0xFFFFFFFFFFFFFFFF
_FIBONACCI = -7046029254386353131

string_hash: Callable[[str], int] = lru_cache(maxsize=4096)(ordering.string_hash)


def folded(code: int) -> int:
    """Return a hash code with its high half folded into the low half, as in `HashMap`."""
    return code ^ code >> 16


class HashTable(Generic[Key]):
    """The order of a `java.util.HashMap` without trees: by bucket, then by insertion."""

    def __init__(self, hash_of: Callable[[Key], int], capacity: int = 16) -> None:
        self._hash_of = hash_of
        self._capacity = capacity
        self._keys: dict[Key, None] = {}

    @classmethod
    def copy_of(cls, keys: Iterable[Key], hash_of: Callable[[Key], int]) -> HashTable[Key]:
        """Return the table of `new HashMap<>(map)`: the number of buckets fits the map, 16 if it is empty."""
        listed = list(keys)
        wanted = int(len(listed) / 0.75 + 1.0) if listed else 16
        table = cls(hash_of, 1 << (wanted - 1).bit_length())
        for key in listed:
            table.add(key)
        return table

    def add(self, key: Key) -> None:
        """Put a key; an existing key keeps its place."""
        self._keys.setdefault(key)
        while 4 * len(self._keys) > 3 * self._capacity:
            self._capacity *= 2

    def compute(self, key: Key) -> None:
        """Put a key like `compute`, which resizes before the insertion and puts the key first in its bucket."""
        if key not in self._keys:
            while 4 * len(self._keys) > 3 * self._capacity:
                self._capacity *= 2
            self._keys = {key: None, **self._keys}

    def remove(self, key: Key) -> None:
        """Remove a key; the number of buckets does not change."""
        self._keys.pop(key, None)

    def __iter__(self) -> Iterator[Key]:
        last = self._capacity - 1
        return iter(sorted(self._keys, key=lambda key: folded(self._hash_of(key)) & last))


class TimelineTable:
    """The order of a `TimelineHashMap` with str keys: by slot, then by insertion, latest first."""

    def __init__(self) -> None:
        self._slots: list[list[str]] = [[], []]
        self._size = 0

    def add(self, key: str) -> None:
        """Put a key; an existing key keeps its place."""
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
        """Remove a key if it exists."""
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
