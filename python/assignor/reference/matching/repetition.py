"""Repetition as in engines that copy the repeated node, where each copy may match the empty text.

In the syntax tree, an iteration that consumes no character ends the repetition. The results differ only if the repeated
node matches the empty text at some positions only: `(?:^|b){2}` matches "b", by the empty text and then the letter.
Such a repetition becomes a concatenation of copies.
"""

from __future__ import annotations

from enum import IntEnum

from assignor.reference.matching.limits import MAX_COPIES_SIZE
from assignor.reference.matching.scanner import unsupported
from assignor.reference.matching.syntax import (
    Alternation,
    Atomic,
    Capture,
    CharClass,
    Concat,
    Conditional,
    Node,
    Repetition,
    concat,
)


class _Nullability(IntEnum):
    """Condition under which a node matches the empty text: never, at some positions, or always."""

    NEVER = 0
    AT_ASSERTIONS = 1
    ALWAYS = 2


class Copies:
    """A writer of the copies of a pattern, whose total size is limited."""

    def __init__(self) -> None:
        self._left = MAX_COPIES_SIZE

    def repeat(self, node: Node, least: int, most: int | None, position: int) -> Node:
        """Return the repetition of a node.

        These engines only test whether a name matches, so the order of preference does not matter.
        """
        if least < 2 or _nullability(node) is not _Nullability.AT_ASSERTIONS:
            return Repetition(node, least, most)
        written = _size(node) * (least + 1)
        if written > self._left:
            construct = "a high repetition count of a part that matches the empty text at some positions"
            raise unsupported(position, construct)
        self._left -= written
        copies = [node] * least
        if most != least:
            copies.append(Repetition(node, 0, None if most is None else most - least))
        return concat(copies)


def _nullability(node: Node) -> _Nullability:
    match node:
        case CharClass():
            return _Nullability.NEVER
        case Concat(nodes):
            return min(map(_nullability, nodes), default=_Nullability.ALWAYS)
        case Alternation(nodes):
            return max(map(_nullability, nodes), default=_Nullability.NEVER)
        case Repetition(_, 0):
            return _Nullability.ALWAYS
        case Repetition(inner) | Capture(_, inner) | Atomic(inner):
            return _nullability(inner)
    return _Nullability.AT_ASSERTIONS


def _size(node: Node) -> int:
    match node:
        case Concat(nodes) | Alternation(nodes):
            return 1 + sum(map(_size, nodes))
        case Repetition(inner) | Capture(_, inner) | Atomic(inner):
            return 1 + _size(inner)
        case Conditional(_, taken, other):
            return 1 + _size(taken) + _size(other)
    return 1
