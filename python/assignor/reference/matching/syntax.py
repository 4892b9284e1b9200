"""Syntax tree of a pattern, common to all dialects.

The tree has no flags; parsers apply them to the character sets. The tree matches the *whole* name; the parser of a
dialect that matches any part of the name adds "any text" before and after.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from assignor.reference.matching.char_set import ALL, CharSet

MAX_NAME_LENGTH = 249
"""Maximum length of a topic name in Kafka."""


class Greed(enum.Enum):
    """The order in which a repetition tries its counts."""

    GREEDY = "higher counts first"
    LAZY = "lower counts first"
    POSSESSIVE = "only the highest count, with the preferred match of each iteration"


class Assertion(enum.Enum):
    """An assertion about a position in a name."""

    START = "at the start of the name"
    END = "at the end of the name"
    WORD_BOUNDARY = "between a word character and something else"
    NOT_WORD_BOUNDARY = "not at a word boundary"
    WORD_START = "at the start of a word"
    WORD_END = "at the end of a word"


@dataclass(frozen=True, slots=True)
class CharClass:
    """One character of the set."""

    chars: CharSet


@dataclass(frozen=True, slots=True)
class Concat:
    """One node after the other; without nodes, the empty text."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of several nodes; earlier ones are preferred."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A node several times; `most` is None if unbounded. An iteration that consumes no character ends it."""

    node: Node
    least: int
    most: int | None
    greed: Greed = Greed.GREEDY


@dataclass(frozen=True, slots=True)
class Capture:
    """A capturing group. Groups are numbered from 1."""

    group: int
    node: Node


@dataclass(frozen=True, slots=True)
class Atomic:
    """The preferred match of a node, without backtracking into it."""

    node: Node


@dataclass(frozen=True, slots=True)
class Assert:
    """An assertion about a position, which consumes no character."""

    assertion: Assertion


@dataclass(frozen=True, slots=True)
class LookAround:
    """Look-ahead (`ahead`) or look-behind: a node must match, or must not if `negated`; consumes no character."""

    ahead: bool
    negated: bool
    node: Node


@dataclass(frozen=True, slots=True)
class Backreference:
    """The text that a group captured last, in either case if `folded`; no match if the group captured nothing."""

    group: int
    folded: bool


@dataclass(frozen=True, slots=True)
class Conditional:
    """One of two nodes: `taken` if a group has captured, else `other`."""

    group: int
    taken: Node
    other: Node


Node: TypeAlias = (
    CharClass | Concat | Alternation | Repetition | Capture | Atomic | Assert | LookAround | Backreference | Conditional
)

EMPTY = Concat(())
ANY_TEXT = Repetition(CharClass(ALL), 0, None)


def concat(nodes: list[Node]) -> Node:
    """Return the concatenation of nodes."""
    return nodes[0] if len(nodes) == 1 else Concat(tuple(nodes))


def alternation(nodes: list[Node]) -> Node:
    """Return the alternation of nodes."""
    return nodes[0] if len(nodes) == 1 else Alternation(tuple(nodes))


def literal(text: str) -> Node:
    """Return the node that matches a text."""
    return concat([CharClass(ALL & {char}) for char in text])


def min_length(node: Node) -> int:
    """Return the minimum length of a match."""
    match node:
        case CharClass():
            return 1
        case Concat(nodes):
            return sum(map(min_length, nodes))
        case Alternation(nodes):
            return min(map(min_length, nodes))
        case Repetition(inner, times):
            return times * min_length(inner)
        case Capture(_, inner) | Atomic(inner):
            return min_length(inner)
        case Conditional(_, taken, other):
            return min(min_length(taken), min_length(other))
    return 0


def max_length(node: Node) -> int | None:
    """Return the maximum length of a match; None if unbounded."""
    match node:
        case CharClass():
            return 1
        case Concat(nodes):
            found = [max_length(inner) for inner in nodes]
            return None if None in found else sum(length or 0 for length in found)
        case Alternation(nodes):
            found = [max_length(inner) for inner in nodes]
            return None if None in found else max(length or 0 for length in found)
        case Repetition(inner, _, times):
            length = max_length(inner)
            if length == 0 or times == 0:
                return 0
            return None if length is None or times is None else length * times
        case Capture(_, inner) | Atomic(inner):
            return max_length(inner)
        case Conditional(_, taken, other):
            both = max_length(taken), max_length(other)
            return None if None in both else max(length or 0 for length in both)
        case Backreference():
            return None
    return 0


def parts(node: Node) -> int:
    """Return the number of nodes, without groups, after repetitions are unrolled.

    A repetition is unrolled to its maximum count if that many iterations fit into the longest name. Otherwise it is
    unrolled to its minimum count, limited to the iterations that fit, plus one.
    """
    match node:
        case CharClass() | Assert() | Backreference():
            return 1
        case Concat(nodes) | Alternation(nodes):
            return 1 + sum(map(parts, nodes))
        case Repetition(inner, times, limit):
            fits = MAX_NAME_LENGTH // max(1, min_length(inner))
            bounded = limit is not None and limit <= fits
            return parts(inner) * max(1, limit if bounded and limit is not None else min(times, fits) + 1)
        case Conditional(_, taken, other):
            return parts(taken) + parts(other)
    return parts(node.node)
