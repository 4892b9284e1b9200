"""Order in which a java.util.PriorityQueue returns elements with equal keys.

Source: java.util.PriorityQueue of OpenJDK 17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Element = TypeVar("Element")


class JavaQueue(Generic[Element]):
    """Binary heap in an array, whose first element has the least key.

    Elements with equal keys have no fixed order: it follows from where each comparison of the heap puts them.

    Args:
        key: Function that returns the key of an element. Keys of elements in the queue must not change.
        elements: Elements to add, in this order.

    Example:
        >>> queue = JavaQueue(lambda word: len(word), ["a", "b", "c", "d"])
        >>> [queue.take() for _ in range(4)]
        ['a', 'd', 'c', 'b']
    """

    def __init__(self, key: Callable[[Element], float], elements: Iterable[Element] = ()) -> None:
        self._key = key
        self._elements: list[Element] = []
        for element in elements:
            self.add(element)

    def __len__(self) -> int:
        """Return the number of elements."""
        return len(self._elements)

    def add(self, element: Element) -> None:
        """Add an element at the end; it goes up while its key is less than that of its parent."""
        elements, place = self._elements, len(self._elements)
        elements.append(element)
        while place > 0:
            parent = (place - 1) // 2
            if self._key(element) >= self._key(elements[parent]):
                break
            elements[place] = elements[parent]
            place = parent
        elements[place] = element

    def take(self) -> Element:
        """Remove and return the first element; the last one takes its place and goes down below all lesser keys."""
        elements = self._elements
        first, last = elements[0], elements.pop()
        if not elements:
            return first
        place, child = 0, 1
        while child < len(elements):
            if child + 1 < len(elements) and self._key(elements[child + 1]) < self._key(elements[child]):
                child += 1
            if self._key(last) <= self._key(elements[child]):
                break
            elements[place] = elements[child]
            place, child = child, 2 * child + 1
        elements[place] = last
        return first
