"""A backtracking matcher.

A node maps a start state to the distinct end states of its matches, in order of preference. Without backreferences a
state is only a position, so there are few states, and backtracking is polynomial. With backreferences there can be many
states. The number of steps per name is limited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from assignor.reference.matching.char_set import WORD
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

MAX_STEPS = 1_000_000
"""Maximum number of steps per name."""


class TooManySteps(Exception):  # noqa: N818  # it becomes a public error
    """A match that took more than `MAX_STEPS` steps."""


Captured: TypeAlias = tuple[tuple[int, int] | None, ...]


class State(NamedTuple):
    """A position in the name, and the captures of groups up to it; without backreferences `groups` is empty."""

    at: int
    groups: Captured


def matches(node: Node, name: str) -> bool:
    """Return True if the pattern matches the whole name.

    Raises:
        TooManySteps: The match takes too many steps, which can happen with backreferences, or with deeply nested loops
            and long names.
    """
    with deep():
        start = State(0, (None,) * (_highest_reference(node) + 1))
        return any(end.at == len(name) for end in _Backtracker(name).ends(node, start))


def _highest_reference(node: Node) -> int:
    """Return the highest group number that a backreference or conditional refers to; -1 without either."""
    match node:
        case CharClass() | Assert():
            return -1
        case Concat(nodes) | Alternation(nodes):
            return max(map(_highest_reference, nodes), default=-1)
        case Backreference(group):
            return group
        case Conditional(group, taken, other):
            return max(group, _highest_reference(taken), _highest_reference(other))
    return _highest_reference(node.node)


class _Backtracker:
    def __init__(self, name: str) -> None:
        self._name = name
        self._steps = 0
        self._memo: dict[tuple[int, int], list[State]] = {}

    def ends(self, node: Node, start: State) -> list[State]:
        """Return the end states of a node's matches from a state; count one step, and one more for each end state."""
        ends = self._match_node(node, start)
        self._steps += 1 + len(ends)
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
                return [
                    State(end.at, _with_capture(end.groups, group, (start.at, end.at)))
                    for end in self.ends(inner, start)
                ]
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
                return self.ends(taken if start.groups[group] is not None else other, start)

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
        length = max_length(node)
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


def _with_capture(groups: Captured, group: int, span: tuple[int, int]) -> Captured:
    """Return the captures with a new one for a group; ignore it for a group above the highest referenced one."""
    return (*groups[:group], span, *groups[group + 1 :]) if group < len(groups) else groups
