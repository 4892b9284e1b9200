"""Iteration order of the broker's table of members.

A broker copies the members into a `java.util.HashMap` in this order, and the answer of some assignors depends on the
order of that map. The table is a `TimelineHashMap`, which iterates by slot, latest key first. The slot of a key is in
the high bits of its hash code times a constant. This module computes the order for a table that is loaded from the log.
The broker that wrote the log has the same order if it wrote the whole log.

Source: org.apache.kafka.timeline.BaseHashTable and SnapshottableHashTable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.ordering import string_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TimelineOrder"]

FIBONACCI = -7_046_029_254_386_353_131
"""Multiplier of the hash code."""


class TimelineOrder:
    """Keys of a table, in iteration order."""

    def __init__(self) -> None:
        self._slots: list[list[str]] = [[], []]

    def add(self, key: str) -> bool:
        """Add a key; return False if the table already has it."""
        keys = [key for slot in self._slots for key in slot]
        if (len(keys) + 1) * 3 > len(self._slots) * 4:
            self._slots = [[] for _ in range(2 * len(self._slots))]
            for each in keys:
                self._slot(each).append(each)
        slot = self._slot(key)
        if key in slot:
            return False
        slot.append(key)
        return True

    def remove(self, key: str) -> None:
        """Remove a key if the table has it."""
        slot = self._slot(key)
        if key in slot:
            slot.remove(key)

    def __iter__(self) -> Iterator[str]:
        for slot in self._slots:
            yield from reversed(slot)

    def _slot(self, key: str) -> list[str]:
        code = string_hash(key)
        signed = code - (1 << 32) if code >> 31 else code
        mixed = signed * FIBONACCI % (1 << 64)
        return self._slots[mixed >> 65 - len(self._slots).bit_length()]
