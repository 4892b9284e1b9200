"""Repetition as engines do it that copy what is repeated: every copy may be empty, wherever it stands.

In the tree an iteration that takes no character is the last one, which is as good unless what is repeated is empty at
some places only: `(?:^|b){2}` matches "b", first nothing and then the letter. There the copies are written out.
"""

from __future__ import annotations

from enum import IntEnum

from assignor.reference.matching.syntax import Atomic, Concat, Either, Group, IfTaken, Node, One, Repeat, concat
from assignor.reference.matching.text import unsupported

LARGEST = 10_000
"""How many nodes copies may come to."""


class _Empty(IntEnum):
    """Whether a node matches the empty text."""

    NEVER = 0
    AT_PLACES = 1
    ALWAYS = 2


def repeat(node: Node, least: int, most: int | None, position: int) -> Node:
    """The same several times.

    Which ways come first is left open, as it is to engines that only say whether a name matches.
    """
    if least < 2 or _empty(node) is not _Empty.AT_PLACES:
        return Repeat(node, least, most)
    if _size(node) * (least + 1) > LARGEST:
        raise unsupported(position, "a high count of what is empty at some places only")
    copies = [node] * least
    if most != least:
        copies.append(Repeat(node, 0, None if most is None else most - least))
    return concat(copies)


def _empty(node: Node) -> _Empty:
    match node:
        case One():
            return _Empty.NEVER
        case Concat(nodes):
            return min(map(_empty, nodes), default=_Empty.ALWAYS)
        case Either(nodes):
            return max(map(_empty, nodes), default=_Empty.NEVER)
        case Repeat(_, 0):
            return _Empty.ALWAYS
        case Repeat(inner) | Group(_, inner) | Atomic(inner):
            return _empty(inner)
    return _Empty.AT_PLACES


def _size(node: Node) -> int:
    match node:
        case Concat(nodes) | Either(nodes):
            return 1 + sum(map(_size, nodes))
        case Repeat(inner) | Group(_, inner) | Atomic(inner):
            return 1 + _size(inner)
        case IfTaken(_, taken, other):
            return 1 + _size(taken) + _size(other)
    return 1
