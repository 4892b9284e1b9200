"""Matches a name by walking the tree.

A node turns a state into the ordered list of states in which it can end, the preferred ways first, each state once.
Where nothing asks what a group took, a state is only a position, so there are few of them and no pattern is
catastrophic; where something does, the number of steps is limited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from assignor.reference.matching.chars import WORD
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
    Place,
    Repeat,
    Same,
    most,
)
from assignor.reference.matching.text import deep

STEPS = 1_000_000
"""How many steps one name may take."""


class TooManySteps(Exception):  # noqa: N818  # it becomes a public error
    """The name took more than `STEPS`."""


Taken: TypeAlias = tuple[tuple[int, int] | None, ...]


class State(NamedTuple):
    """Where a way through the tree stands, and what each group took on it; no groups where nothing asks for them."""

    at: int
    groups: Taken


def matches(node: Node, name: str) -> bool:
    """Whether the pattern matches the whole name.

    Raises:
        TooManySteps: That takes too many steps: with back-references it may, and with loops many deep on long names.
    """
    with deep():
        start = State(0, (None,) * (_asked(node) + 1))
        return any(end.at == len(name) for end in _Walk(name).ends(node, start))


def _asked(node: Node) -> int:
    """The highest group that anything asks for; -1 where nothing does."""
    match node:
        case One() | At():
            return -1
        case Concat(nodes) | Either(nodes):
            return max(map(_asked, nodes), default=-1)
        case Same(group):
            return group
        case IfTaken(group, taken, other):
            return max(group, _asked(taken), _asked(other))
    return _asked(node.node)


class _Walk:
    def __init__(self, name: str) -> None:
        self._name = name
        self._steps = 0
        self._known: dict[tuple[int, int], list[State]] = {}

    def ends(self, node: Node, start: State) -> list[State]:
        """The states in which the node can end, from one in which it starts."""
        ends = self._reached(node, start)
        self._steps += 1 + len(ends)
        if self._steps > STEPS:
            raise TooManySteps
        return ends

    def _reached(self, node: Node, start: State) -> list[State]:
        match node:
            case One(chars):
                found = self._name[start.at : start.at + 1] in chars
                return [State(start.at + 1, start.groups)] if found else []
            case Concat(nodes):
                states = [start]
                for inner in nodes:
                    states = _each_once(end for state in states for end in self.ends(inner, state))
                return states
            case Either(nodes):
                return _each_once(end for inner in nodes for end in self.ends(inner, start))
            case Repeat():
                # Loops within loops are walked once from each position, unless it matters what groups took.
                place = (id(node), start.at)
                if start.groups or place not in self._known:
                    self._known[place] = self._repeat(node, start)
                return self._known[place]
            case Group(group, inner):
                return [State(end.at, _with(end.groups, group, (start.at, end.at))) for end in self.ends(inner, start)]
            case Atomic(inner):
                return self.ends(inner, start)[:1]
            case At(place):
                return [start] if self._is_at(place, start.at) else []
            case Around(ahead, negated, inner):
                ends = self.ends(inner, start)[:1] if ahead else self._behind(inner, start)
                if negated:
                    return [] if ends else [start]
                return [State(start.at, end.groups) for end in ends]
            case Same(group, folded):
                return self._same(group, folded, start)
            case IfTaken(group, taken, other):
                return self.ends(taken if start.groups[group] is not None else other, start)

    def _repeat(self, node: Repeat, start: State) -> list[State]:
        if node.greed is Greed.POSSESSIVE:
            return self._possessive(node, start)
        found: dict[State, None] = {}
        self._iterate(node, 0, start, set(), found)
        return list(found)

    def _iterate(
        self, node: Repeat, done: int, state: State, seen: set[tuple[int, State]], found: dict[State, None]
    ) -> None:
        """Goes on from a state in which so many iterations are done."""
        # Past the least number, the count says nothing more unless there is a most.
        count = min(done, node.least) if node.most is None else done
        if (count, state) in seen:
            return
        seen.add((count, state))
        enough = done >= node.least
        if enough and node.greed is Greed.LAZY:
            found.setdefault(state)
        if node.most is None or done < node.most:
            for end in self.ends(node.node, state):
                if end.at == state.at:
                    found.setdefault(end)
                else:
                    self._iterate(node, done + 1, end, seen, found)
        if enough and node.greed is Greed.GREEDY:
            found.setdefault(state)

    def _possessive(self, node: Repeat, state: State) -> list[State]:
        done = 0
        while node.most is None or done < node.most:
            ends = self.ends(node.node, state)
            if not ends:
                break
            stuck = ends[0].at == state.at
            state = ends[0]
            done += 1
            if stuck:
                return [state]
        return [state] if done >= node.least else []

    def _behind(self, node: Node, here: State) -> list[State]:
        """The nearest way to match up to here."""
        length = most(node)
        furthest = 0 if length is None else max(0, here.at - length)
        for at in range(here.at, furthest - 1, -1):
            for end in self.ends(node, State(at, here.groups)):
                if end.at == here.at:
                    return [end]
        return []

    def _same(self, group: int, folded: bool, start: State) -> list[State]:
        taken = start.groups[group]
        if taken is None:
            return []
        text = self._name[slice(*taken)]
        behind = self._name[start.at : start.at + len(text)]
        same = behind.lower() == text.lower() if folded else behind == text
        return [State(start.at + len(text), start.groups)] if same else []

    def _is_at(self, place: Place, at: int) -> bool:
        before, behind = (0 <= index < len(self._name) and self._name[index] in WORD for index in (at - 1, at))
        match place:
            case Place.START:
                return at == 0
            case Place.END:
                return at == len(self._name)
            case Place.BOUNDARY:
                return before != behind
            case Place.INSIDE:
                return before == behind
            case Place.WORD_START:
                return not before and behind
            case Place.WORD_END:
                return before and not behind


def _each_once(states: Iterable[State]) -> list[State]:
    return list(dict.fromkeys(states))


def _with(groups: Taken, group: int, span: tuple[int, int]) -> Taken:
    """What the groups took, with this one; where nothing asks for it, it is not kept."""
    return (*groups[:group], span, *groups[group + 1 :]) if group < len(groups) else groups
