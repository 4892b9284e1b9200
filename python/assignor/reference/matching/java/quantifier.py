"""Quantifiers: `?`, `*`, `+`, and counts in braces."""

from __future__ import annotations

from dataclasses import dataclass

from assignor.reference.matching.java.cursor import Cursor
from assignor.reference.matching.java.width import MAX_INT, Step, Times, width_of
from assignor.reference.matching.syntax import EMPTY, Greed, Node, Repetition


@dataclass(frozen=True, slots=True)
class Quantifier:
    """Counts and greed of a repetition.

    Attributes:
        least: Minimum count.
        most: Maximum count; None if unbounded.
        greed: Order in which counts are tried.
    """

    least: int
    most: int | None
    greed: Greed

    def is_optional(self) -> bool:
        """Return True if the counts are 0 and 1."""
        return (self.least, self.most) == (0, 1)

    def times(self, steps: list[Step]) -> Step:
        """Return the length that Java computes for the repeated part."""
        return Times(width_of(steps), self.least, MAX_INT if self.most is None else self.most)

    def of(self, node: Node) -> Node:
        """Return the repetition of a node."""
        return node if node == EMPTY else Repetition(node, self.least, self.most, self.greed)


def quantifier_at(cursor: Cursor) -> Quantifier | None:
    """Parse the quantifier at the cursor, if there is one."""
    start = cursor.at
    fewest: int
    longest: int | None
    match cursor.peek():
        case "?":
            fewest, longest = 0, 1
        case "*":
            fewest, longest = 0, None
        case "+":
            fewest, longest = 1, None
        case "{":
            fewest, longest = _counts(cursor)
        case _:
            return None
    if longest is not None and longest < fewest:
        raise cursor.invalid(start, "the maximum repetition count is lower than the minimum")
    greed = {"?": Greed.LAZY, "+": Greed.POSSESSIVE}.get(cursor.next(), Greed.GREEDY)
    if greed is not Greed.GREEDY:
        cursor.next()
    return Quantifier(fewest, longest, greed)


def _counts(cursor: Cursor) -> tuple[int, int | None]:
    """Parse the counts in braces; the cursor stops at the closing brace."""
    start = cursor.at
    if cursor.raw(start + 1) not in "0123456789":
        raise cursor.invalid(start, "a repetition without a count")
    cursor.at += 1
    fewest = _count(cursor, start)
    longest: int | None = fewest
    if cursor.peek() == ",":
        longest = None if cursor.next() == "}" else _count(cursor, start)
    if cursor.peek() != "}":
        raise cursor.invalid(start, "the repetition count is not closed")
    return fewest, longest


def _count(cursor: Cursor, start: int) -> int:
    count = 0
    while cursor.peek() in "0123456789":
        count = count * 10 + int(cursor.peek())
        if count > MAX_INT:
            raise cursor.invalid(start, "the repetition count is too high")
        cursor.next()
    return count
