"""A backtracking matcher.

A node maps a start state to the distinct end states of its matches, in order of preference. Without backreferences a
state is only a position, so there are few states, and backtracking is polynomial. With backreferences there can be many
states. The number of steps per name is limited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from assignor.reference.matching.char_set import WORD
from assignor.reference.matching.limits import CAPTURES_PER_STEP, MAX_STEPS
from assignor.reference.matching.scanner import deep
from assignor.reference.matching.syntax import (
    Alternation,
    Assert,
    Assertion,
    Atomic,
    Backreference,
    Capture,
    CharClass,
    Concat,
    Conditional,
    Greed,
    LookAround,
    Node,
    Repetition,
    max_length,
)


class TooManySteps(Exception):  # noqa: N818  # it becomes a public error
    """A match that took more than `MAX_STEPS` steps."""


Captured: TypeAlias = tuple[tuple[int, int] | None, ...]


class State(NamedTuple):
    """A position in the name, and the captures of the referenced groups up to it."""

    at: int
    groups: Captured


def matches(node: Node, name: str) -> bool:
    """Return True if the pattern matches the whole name.

    Raises:
        TooManySteps: The match takes too many steps, which can happen with backreferences, or with deeply nested loops
            and long names.
    """
    with deep():
        places = {group: place for place, group in enumerate(sorted(_referenced_groups(node)))}
        start = State(0, (None,) * len(places))
        return any(end.at == len(name) for end in _Backtracker(name, places).ends(node, start))


def _referenced_groups(node: Node) -> set[int]:
    """Return the groups that backreferences and conditionals refer to."""
    match node:
        case CharClass() | Assert():
            return set()
        case Concat(nodes) | Alternation(nodes):
            return set().union(*map(_referenced_groups, nodes))
        case Backreference(group):
            return {group}
        case Conditional(group, taken, other):
            return {group} | _referenced_groups(taken) | _referenced_groups(other)
    return _referenced_groups(node.node)


class _Backtracker:
    """A search in a name; `places` has the place of each referenced group in `State.groups`."""

    def __init__(self, name: str, places: dict[int, int]) -> None:
        self._name = name
        self._places = places
        self._step = 1 + len(places) // CAPTURES_PER_STEP
        self._steps = 0
        self._memo: dict[tuple[int, int], list[State]] = {}
        self._widths: dict[int, int | None] = {}

    def ends(self, node: Node, start: State) -> list[State]:
        """Return the end states of a node's matches from a state; count one step, and more for each end state."""
        ends = self._match_node(node, start)
        self._steps += 1 + len(ends) * self._step
        if self._steps > MAX_STEPS:
            raise TooManySteps
        return ends

    def _match_node(self, node: Node, start: State) -> list[State]:
        match node:
            case CharClass(chars):
                found = self._name[start.at : start.at + 1] in chars
                return [State(start.at + 1, start.groups)] if found else []
            case Concat(nodes):
                states = [start]
                for inner in nodes:
                    if not states:
                        break  # the other nodes would cost time and no steps
                    states = _distinct(end for state in states for end in self.ends(inner, state))
                return states
            case Alternation(nodes):
                return _distinct(end for inner in nodes for end in self.ends(inner, start))
            case Repetition():
                # Nested loops are tried once per position, unless captures matter.
                key = (id(node), start.at)
                if start.groups or key not in self._memo:
                    self._memo[key] = self._repeat(node, start)
                return self._memo[key]
            case Capture(group, inner):
                return self._capture(group, inner, start)
            case Atomic(inner):
                return self.ends(inner, start)[:1]
            case Assert(assertion):
                return [start] if self._holds(assertion, start.at) else []
            case LookAround(ahead, negated, inner):
                ends = self.ends(inner, start)[:1] if ahead else self._look_behind(inner, start)
                if negated:
                    return [] if ends else [start]
                return [State(start.at, end.groups) for end in ends]
            case Backreference(group, folded):
                return self._same(group, folded, start)
            case Conditional(group, taken, other):
                return self.ends(taken if start.groups[self._places[group]] is not None else other, start)

    def _capture(self, group: int, node: Node, start: State) -> list[State]:
        ends = self.ends(node, start)
        place = self._places.get(group)
        if place is None:
            return ends
        return [State(end.at, (*end.groups[:place], (start.at, end.at), *end.groups[place + 1 :])) for end in ends]

    def _repeat(self, node: Repetition, start: State) -> list[State]:
        if node.greed is Greed.POSSESSIVE:
            return self._possessive(node, start)
        found: dict[State, None] = {}
        self._iterate(node, 0, start, set(), found)
        return list(found)

    def _iterate(
        self, node: Repetition, done: int, state: State, seen: set[tuple[int, State]], found: dict[State, None]
    ) -> None:
        """Continue from a state after `done` iterations."""
        # Past the minimum count, the number of iterations matters only if there is a maximum count.
        count = min(done, node.least) if node.most is None else done
        if (count, state) in seen:
            return
        seen.add((count, state))
        may_end = done >= node.least
        if may_end and node.greed is Greed.LAZY:
            found.setdefault(state)
        if node.most is None or done < node.most:
            for end in self.ends(node.node, state):
                if end.at == state.at:
                    found.setdefault(end)
                else:
                    self._iterate(node, done + 1, end, seen, found)
        if may_end and node.greed is Greed.GREEDY:
            found.setdefault(state)

    def _possessive(self, node: Repetition, state: State) -> list[State]:
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

    def _look_behind(self, node: Node, here: State) -> list[State]:
        """Return the match that ends at the current position and starts nearest to it."""
        if id(node) not in self._widths:
            self._widths[id(node)] = max_length(node)
        length = self._widths[id(node)]
        furthest = 0 if length is None else max(0, here.at - length)
        for at in range(here.at, furthest - 1, -1):
            for end in self.ends(node, State(at, here.groups)):
                if end.at == here.at:
                    return [end]
        return []

    def _same(self, group: int, folded: bool, start: State) -> list[State]:
        taken = start.groups[self._places[group]]
        if taken is None:
            return []
        text = self._name[slice(*taken)]
        behind = self._name[start.at : start.at + len(text)]
        same = behind.lower() == text.lower() if folded else behind == text
        return [State(start.at + len(text), start.groups)] if same else []

    def _holds(self, assertion: Assertion, at: int) -> bool:
        before, behind = (0 <= index < len(self._name) and self._name[index] in WORD for index in (at - 1, at))
        match assertion:
            case Assertion.START:
                return at == 0
            case Assertion.END:
                return at == len(self._name)
            case Assertion.WORD_BOUNDARY:
                return before != behind
            case Assertion.NOT_WORD_BOUNDARY:
                return before == behind
            case Assertion.WORD_START:
                return not before and behind
            case Assertion.WORD_END:
                return before and not behind


def _distinct(states: Iterable[State]) -> list[State]:
    return list(dict.fromkeys(states))
