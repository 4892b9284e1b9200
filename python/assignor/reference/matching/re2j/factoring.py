"""Alternatives that RE2/J 1.8 factors incorrectly.

RE2/J factors a common first part out of neighbouring alternatives. Its comparison of single letters ignores whether
case matters, and it stores a letter that matches in either case as the upper-case letter. So for
`O[0-9]+|[oO]rders`, it takes `O` out of both, and no longer matches `orders`.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from assignor.reference.matching.char_set import NONE, UPPER, CharSet
from assignor.reference.matching.syntax import Alternation, CharClass, Concat, Repetition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignor.reference.matching.syntax import Node

__all__ = ["can_be_misfactored"]


def can_be_misfactored(alternatives: Sequence[Node]) -> bool:
    """Return True if RE2/J may factor two neighbouring alternatives incorrectly.

    This is the case if, after the parts that they share, both begin with the same letter: one with the upper-case
    letter only, the other with the letter in either case. RE2/J factors some of these correctly; they are rejected,
    too.
    """
    waiting = [list(flatten(alternatives))]
    while waiting:
        groups = [(first, list(group)) for first, group in groupby(waiting.pop(), lambda nodes: nodes[:1])]
        firsts = [set(first_chars(first[0])) if first else set() for first, _ in groups]
        if any(differ_in_case(left, right) for left, right in pairwise(firsts)):
            return True
        waiting += [[nodes[1:] for nodes in group] for first, group in groups if first and len(group) > 1]
    return False


def flatten(alternatives: Sequence[Node]) -> Iterator[list[Node]]:
    """Yield the parts of each alternative; a nested alternation counts as several alternatives of the outer one."""
    for alternative in alternatives:
        if isinstance(alternative, Alternation):
            yield from flatten(alternative.nodes)
        else:
            yield list(split(alternative))


def split(node: Node) -> Iterator[Node]:
    """Yield the nodes that follow each other in a node."""
    if isinstance(node, Concat):
        for each in node.nodes:
            yield from split(each)
    else:
        yield node


def differ_in_case(left: set[CharSet], right: set[CharSet]) -> bool:
    """Return True if `left` or `right` has an upper-case letter alone, and the other has the letter in either case."""
    return any(
        chars <= UPPER and len(chars) == 1 and chars | {char.lower() for char in chars} in others
        for heads, others in ((left, right), (right, left))
        for chars in heads
    )


def first_chars(node: Node) -> list[CharSet]:
    """Return the sets of characters with which a node can begin.

    For an alternation of single characters, also return their union, because RE2/J makes one set of them.
    """
    match node:
        case CharClass(chars):
            return [chars]
        case Repetition(inner, least, most) if least == most:
            return first_chars(inner)
        case Concat(nodes):
            return first_chars(nodes[0]) if nodes else []
        case Alternation(nodes):
            found = [chars for each in nodes for chars in first_chars(each)]
            is_single = all(isinstance(each, CharClass) for each in nodes)
            return [*found, NONE.union(*found)] if is_single else found
    return []
