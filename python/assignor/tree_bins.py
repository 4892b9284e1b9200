"""Iteration order of a java.util.HashMap in which a bucket becomes a tree.

In a table of 64 or more buckets, a bucket with nine or more keys becomes a red-black tree. Its keys are also linked in
a list, which gives the iteration order: a new key comes after its parent in the tree, and the root then moves to the
front. When the table doubles, a tree is split in the order of its list; a part with six or fewer keys becomes a linked
list (a chain) again. A tree compares keys by hash code, then by their natural order if they have one.

This module simulates all insertions, which is slow. `assignor.ordering` uses it only if a bucket has nine keys.
Source: java.util.HashMap of OpenJDK 17.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

TREEIFY = 8
"""Highest number of keys in a chain; with one more key, the bucket becomes a tree."""

UNTREEIFY = 6
"""Highest number of keys in a part of a split tree that becomes a chain again."""

TREES = 64
"""Lowest number of buckets of a table with trees; in a smaller table, a long chain doubles the table instead."""


class TreeTable:
    """A hash table whose buckets may be trees. Keys are numbered in the order of insertion.

    Args:
        folded: Folded hash code of each key as an unsigned 32-bit number.
        natural: Per key, a value that sorts as the key does; equal values if Java cannot compare the keys.
        capacity: Initial number of buckets.
        calls: The keys of the calls of `computeIfAbsent` that fill the table; without it, `put` does, once per key.
    """

    def __init__(
        self, folded: Sequence[int], natural: Sequence[Any], capacity: int, calls: Iterable[int] | None = None
    ) -> None:
        self._hashes = [(code ^ 1 << 31) - (1 << 31) for code in folded]
        self._natural = natural
        self._buckets: list[list[int]] = [[] for _ in range(capacity)]
        self._roots: dict[int, int] = {}
        self._parent: dict[int, int | None] = {}
        self._left: dict[int, int | None] = {}
        self._right: dict[int, int | None] = {}
        self._is_red: dict[int, bool] = {}
        if calls is not None:
            self._compute(calls)
            return
        for key in range(len(folded)):
            self._put(key)
            if self._is_full(key + 1):
                self._double()

    def order(self) -> list[int]:
        """Return the keys in iteration order."""
        return [key for bucket in self._buckets for key in bucket]

    def _is_full(self, count: int) -> bool:
        """Return True if the table has to double with this number of keys."""
        return 4 * count > 3 * len(self._buckets)

    def _compute(self, calls: Iterable[int]) -> None:
        """Fill the table by calls of `computeIfAbsent`."""
        known = set[int]()
        for key in calls:
            if self._is_full(len(known)):
                self._double()
            if key not in known:
                known.add(key)
                self._put(key, 0, TREEIFY - 1)

    def _put(self, key: int, at: int | None = None, most: int = TREEIFY) -> None:
        """Insert a key: at the end of its chain, or at the index `at`; a chain of more than `most` keys gets a tree."""
        place = self._hashes[key] & len(self._buckets) - 1
        bucket = self._buckets[place]
        if place in self._roots:
            parent = self._attach(self._roots[place], key)
            bucket.insert(bucket.index(parent) + 1, key)
            self._set_root(place, self._balance(self._roots[place], key))
            return
        bucket.insert(len(bucket) if at is None else at, key)
        if len(bucket) > most:
            if len(self._buckets) < TREES:
                self._double()
            else:
                self._treeify(place)

    def _double(self) -> None:
        size = len(self._buckets)
        old, trees = self._buckets, set(self._roots)
        self._buckets = [[] for _ in range(2 * size)]
        roots, self._roots = self._roots, {}
        for place, bucket in enumerate(old):
            parts = {
                place: [key for key in bucket if not self._hashes[key] & size],
                place + size: [key for key in bucket if self._hashes[key] & size],
            }
            for target, part in parts.items():
                self._buckets[target] = part
                if place in trees and len(part) > UNTREEIFY:
                    if len(part) == len(bucket):
                        self._roots[target] = roots[place]
                    else:
                        self._treeify(target)

    def _treeify(self, place: int) -> None:
        first, *rest = self._buckets[place]
        self._parent[first] = self._left[first] = self._right[first] = None
        self._is_red[first] = False
        root = first
        for key in rest:
            self._attach(root, key)
            root = self._balance(root, key)
        self._set_root(place, root)

    def _set_root(self, place: int, root: int) -> None:
        self._roots[place] = root
        self._buckets[place].remove(root)
        self._buckets[place].insert(0, root)

    def _attach(self, root: int, key: int) -> int:
        """Insert a key below the leaf at which a search for it ends; return its parent."""
        node: int | None = root
        while node is not None:
            parent = node
            is_left = (self._hashes[key], self._natural[key]) < (self._hashes[node], self._natural[node])
            node = (self._left if is_left else self._right)[node]
        self._parent[key], self._left[key], self._right[key] = parent, None, None
        (self._left if is_left else self._right)[parent] = key
        return parent

    def _balance(self, root: int, key: int) -> int:
        """Restore the red-black properties after an insertion; return the root of the tree."""
        self._is_red[key] = True
        while True:
            parent = self._parent[key]
            if parent is None:
                self._is_red[key] = False
                return key
            above = self._parent[parent]
            if not self._is_red[parent] or above is None:
                return root
            near, far = (self._left, self._right) if parent == self._left[above] else (self._right, self._left)
            uncle = far[above]
            if uncle is not None and self._is_red[uncle]:
                self._is_red[uncle] = self._is_red[parent] = False
                self._is_red[above] = True
                key = above
                continue
            if key == far[parent]:
                key, parent = parent, key
                root = self._rotate(root, key, far, near)
            self._is_red[parent] = False
            self._is_red[above] = True
            root = self._rotate(root, above, near, far)

    def _rotate(self, root: int, node: int, up: dict[int, int | None], down: dict[int, int | None]) -> int:
        """Replace a node by its child on the side `up`; return the root of the tree."""
        child = up[node]
        if child is None:
            return root
        inner = up[node] = down[child]
        if inner is not None:
            self._parent[inner] = node
        above = self._parent[child] = self._parent[node]
        if above is None:
            root = child
            self._is_red[child] = False
        elif self._left[above] == node:
            self._left[above] = child
        else:
            self._right[above] = child
        down[child] = node
        self._parent[node] = child
        return root
