"""The quantifiers of `re`, and how often it does what may take no character."""

from __future__ import annotations

from assignor.reference.matching.python.tokens import Tokens
from assignor.reference.matching.syntax import (
    Around,
    At,
    Atomic,
    Concat,
    Either,
    Greed,
    Group,
    IfTaken,
    Node,
    One,
    Repeat,
    Same,
    concat,
    least,
)
from assignor.reference.matching.text import invalid, unsupported

_DIGITS = "0123456789"
_MOST = (1 << 32) - 1

LARGEST = 10_000
"""How many nodes a pattern may have once its repetitions are spelled out."""


def bounds(tokens: Tokens, token: str) -> tuple[int, int | None] | None:
    """How often a quantifier repeats, of which the first token is taken; None where a `{` is a plain character."""
    if token != "{":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[token]
    here = tokens.at
    if tokens.next == "}":
        return None
    low = tokens.take_some(None, _DIGITS)
    high = tokens.take_some(None, _DIGITS) if tokens.eat(",") else low
    if not tokens.eat("}"):
        tokens.back(here)
        return None
    least_times, most_times = _times(low, here) or 0, _times(high, here)
    if most_times is not None and most_times < least_times:
        raise invalid(here, "a least number above the most")
    return least_times, most_times


def _times(digits: str, at: int) -> int | None:
    if not digits:
        return None
    if len(digits.lstrip("0")) > 10 or len(digits) > 4300 or int(digits) >= _MOST:
        raise invalid(at, "a number of repetitions too large")
    return int(digits)


def greed(tokens: Tokens) -> Greed:
    """Which ways come first, by what is behind the quantifier."""
    if tokens.eat("?"):
        return Greed.LAZY
    return Greed.POSSESSIVE if tokens.eat("+") else Greed.GREEDY


def spelled_out(node: Node, asked: set[int]) -> Node:
    """The tree with the iterations that `re` never cuts short spelled out.

    The walk ends a repetition with the first iteration that takes no character. `re` does so too, but only behind the
    least number of iterations: `(?:^|a){2}` matches `a`. Where that shows, those iterations are one after the other.
    Groups that nothing asks for are left out: each would make more states for the walk.
    """
    return _Speller(asked, _has(node, (Atomic, Same, IfTaken))).spelled_out(node)


class _Speller:
    def __init__(self, asked: set[int], ordered: bool) -> None:
        self._asked = asked
        self._ordered = ordered
        self._left = LARGEST

    def spelled_out(self, node: Node) -> Node:
        match node:
            case Concat(nodes):
                return Concat(tuple(map(self.spelled_out, nodes)))
            case Either(nodes):
                return Either(tuple(map(self.spelled_out, nodes)))
            case Group(group, inner):
                inner = self.spelled_out(inner)
                return Group(group, inner) if group in self._asked else inner
            case Atomic(inner):
                return Atomic(self.spelled_out(inner))
            case Around(ahead, negated, inner):
                return Around(ahead, negated, self.spelled_out(inner))
            case IfTaken(group, taken, other):
                return IfTaken(group, self.spelled_out(taken), self.spelled_out(other))
            case Repeat(inner, low, high, ways):
                shows = low > 0 and least(inner) == 0 and (self._ordered or _has(inner, (At, Around)))
                inner = self.spelled_out(inner)
                return self._one_by_one(inner, low, high, ways) if shows else Repeat(inner, low, high, ways)
        return node

    def _one_by_one(self, node: Node, low: int, high: int | None, ways: Greed) -> Node:
        once = Atomic(node) if ways is Greed.POSSESSIVE else node
        self._left -= low * _size(once)
        if self._left < 0:
            raise unsupported(0, "so many repetitions of what may be empty")
        rest: list[Node] = [] if high == low else [Repeat(node, 0, None if high is None else high - low, ways)]
        return concat([once] * low + rest)


def _has(node: Node, kinds: tuple[type, ...]) -> bool:
    """Whether any part is of the kinds; a possessive repetition is atomic."""
    if isinstance(node, kinds):
        return True
    match node:
        case Concat(nodes) | Either(nodes):
            return any(_has(inner, kinds) for inner in nodes)
        case Repeat(inner, _, _, ways):
            return (ways is Greed.POSSESSIVE and Atomic in kinds) or _has(inner, kinds)
        case Group(_, inner) | Atomic(inner) | Around(_, _, inner):
            return _has(inner, kinds)
        case IfTaken(_, taken, other):
            return _has(taken, kinds) or _has(other, kinds)
    return False


def _size(node: Node) -> int:
    """How many nodes there are."""
    match node:
        case Concat(nodes) | Either(nodes):
            return 1 + sum(map(_size, nodes))
        case Group(_, inner) | Atomic(inner) | Around(_, _, inner) | Repeat(inner):
            return 1 + _size(inner)
        case IfTaken(_, taken, other):
            return 1 + _size(taken) + _size(other)
        case One() | At() | Same():
            return 1
