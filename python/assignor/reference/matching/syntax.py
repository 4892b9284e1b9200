"""What a pattern means, whatever the dialect it was written in: the tree that every parser of a dialect makes.

Flags are gone by then: a parser has put them into the sets of characters. The tree speaks of the *whole* name: a
dialect that looks for a prefix, or anywhere in the name, says so by "any characters" before and after.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from assignor.reference.matching.chars import ALL, Chars

LONGEST = 249
"""The length of the longest topic name that Kafka allows."""


class Greed(enum.Enum):
    """Which ways of a repetition come first."""

    GREEDY = "more before fewer"
    LAZY = "fewer before more"
    POSSESSIVE = "as many as there are, each in its first way, and no other way"


class Place(enum.Enum):
    """A place in a name, which takes no character."""

    START = "before the first character"
    END = "behind the last one"
    BOUNDARY = "between a character of a word and none"
    INSIDE = "anywhere else"
    WORD_START = "a boundary with the word behind it"
    WORD_END = "a boundary with the word before it"


@dataclass(frozen=True, slots=True)
class One:
    """One character of the set."""

    chars: Chars


@dataclass(frozen=True, slots=True)
class Concat:
    """One after the other; none of them is the empty text."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of them, the earlier ones first."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same several times, `most` None without bound. An iteration that takes no character is the last one."""

    node: Node
    least: int
    most: int | None
    greed: Greed = Greed.GREEDY


@dataclass(frozen=True, slots=True)
class Group:
    """What a group takes, kept for `Same` and `IfTaken`. Groups are numbered from 1."""

    group: int
    node: Node


@dataclass(frozen=True, slots=True)
class Atomic:
    """The first way only: what follows may not ask for another."""

    node: Node


@dataclass(frozen=True, slots=True)
class At:
    """A place."""

    place: Place


@dataclass(frozen=True, slots=True)
class Around:
    """Whether the node does, or does not, match from here on (`ahead`) or up to here; takes no character."""

    ahead: bool
    negated: bool
    node: Node


@dataclass(frozen=True, slots=True)
class Same:
    """The text that the group took last, ASCII letters in either case if `folded`; no match where it took none."""

    group: int
    folded: bool


@dataclass(frozen=True, slots=True)
class IfTaken:
    """The one if the group took anything yet, else the other."""

    group: int
    taken: Node
    other: Node


Node: TypeAlias = One | Concat | Either | Repeat | Group | Atomic | At | Around | Same | IfTaken

EMPTY = Concat(())
ANYTHING = Repeat(One(ALL), 0, None)


def concat(nodes: list[Node]) -> Node:
    """One after the other."""
    return nodes[0] if len(nodes) == 1 else Concat(tuple(nodes))


def either(nodes: list[Node]) -> Node:
    """One of them."""
    return nodes[0] if len(nodes) == 1 else Either(tuple(nodes))


def literal(text: str) -> Node:
    """The characters of a text, one after the other."""
    return concat([One(ALL & {char}) for char in text])


def least(node: Node) -> int:
    """The fewest characters that it takes."""
    match node:
        case One():
            return 1
        case Concat(nodes):
            return sum(map(least, nodes))
        case Either(nodes):
            return min(map(least, nodes))
        case Repeat(inner, times):
            return times * least(inner)
        case Group(_, inner) | Atomic(inner):
            return least(inner)
        case IfTaken(_, taken, other):
            return min(least(taken), least(other))
    return 0


def most(node: Node) -> int | None:
    """The most characters that it takes; None where there is no bound."""
    match node:
        case One():
            return 1
        case Concat(nodes):
            found = [most(inner) for inner in nodes]
            return None if None in found else sum(length or 0 for length in found)
        case Either(nodes):
            found = [most(inner) for inner in nodes]
            return None if None in found else max(length or 0 for length in found)
        case Repeat(inner, _, times):
            length = most(inner)
            if length == 0 or times == 0:
                return 0
            return None if length is None or times is None else length * times
        case Group(_, inner) | Atomic(inner):
            return most(inner)
        case IfTaken(_, taken, other):
            both = most(taken), most(other)
            return None if None in both else max(length or 0 for length in both)
        case Same():
            return None
    return 0


def parts(node: Node) -> int:
    """How many sets and places there are once repetitions are spelled out, as far as they fit into a name."""
    match node:
        case One() | At() | Same():
            return 1
        case Concat(nodes) | Either(nodes):
            return 1 + sum(map(parts, nodes))
        case Repeat(inner, times, limit):
            fits = LONGEST // max(1, least(inner))
            bounded = limit is not None and limit <= fits
            return parts(inner) * max(1, limit if bounded and limit is not None else min(times, fits) + 1)
        case IfTaken(_, taken, other):
            return parts(taken) + parts(other)
    return parts(node.node)
