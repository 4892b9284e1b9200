r"""Repetition in glibc, which loses some assertions of the copies that it makes.

glibc expands `x{2,}` to `xxx*` and marks the copies. To check an assertion (`^`, `\b`, ...), it copies the node after
the assertion. If that node is a copy already, glibc reuses it, and the assertion is not checked: `^(b|$a){2}` matches
"ba". If another assertion was met since the last character, the assertion is always checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from assignor.reference.matching.char_set import CharSet
from assignor.reference.matching.repetition import repeat
from assignor.reference.matching.scanner import unsupported
from assignor.reference.matching.syntax import (
    EMPTY,
    Assert,
    Assertion,
    Backreference,
    Capture,
    CharClass,
    Node,
    Repetition,
    alternation,
    concat,
    max_length,
    min_length,
)

MAX_COPIES_SIZE = 10_000
"""Maximum number of parts of all copies."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A backreference to a group."""

    group: int
    position: int


@dataclass(frozen=True, slots=True)
class Grouped:
    """A group. Its capture matters only if a backreference refers to it."""

    group: int
    part: GlibcNode


@dataclass(frozen=True, slots=True)
class Row:
    """A concatenation."""

    parts: tuple[GlibcNode, ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """An alternation."""

    parts: tuple[GlibcNode, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """A repetition; `most` is None if unbounded."""

    part: GlibcNode
    least: int
    most: int | None
    position: int


GlibcNode: TypeAlias = CharSet | Assertion | Reference | Grouped | Row | Branches | Times
"""A part of a pattern before copying."""

NOTHING = Row(())


class _Met(NamedTuple):
    """Assertion state: since the last character, some path met an assertion (`yes`), and some path met none (`no`)."""

    yes: bool
    no: bool

    def either(self, other: _Met) -> _Met:
        return _Met(self.yes or other.yes, self.no or other.no)


NO = _Met(yes=False, no=True)
YES = _Met(yes=True, no=False)


class _Flow(NamedTuple):
    """Assertion state after a part, for each state before it."""

    after_none: _Met
    after_assertion: _Met

    def behind(self, met: _Met) -> _Met:
        if not met.yes:
            return self.after_none
        return self.after_none.either(self.after_assertion) if met.no else self.after_assertion

    def then(self, following: _Flow) -> _Flow:
        return _Flow(following.behind(self.after_none), following.behind(self.after_assertion))

    def either(self, other: _Flow) -> _Flow:
        return _Flow(self.after_none.either(other.after_none), self.after_assertion.either(other.after_assertion))

    def again(self) -> _Flow:
        """Return the flow of any number of iterations; more than two iterations have no further effect."""
        once = self.either(THROUGH)
        return once.then(once)


THROUGH = _Flow(NO, YES)


class _Asserted(NamedTuple):
    assertion: Assertion
    copy_follows: bool


class _Group(NamedTuple):
    group: int
    inner: _Unrolled


class _Concat(NamedTuple):
    parts: list[_Unrolled]


class _Alternation(NamedTuple):
    parts: list[_Unrolled]


class _Many(NamedTuple):
    """Any number of iterations, and the effect of an iteration on the assertion state."""

    inner: _Unrolled
    flow: _Flow


_Unrolled: TypeAlias = Node | _Asserted | _Group | _Concat | _Alternation | _Many
"""A part whose copies are written out; a `Node` has no assertions."""


AMBIGUOUS = "a backreference that glibc may match incorrectly"
"""If a group can match in several ways, glibc confuses them unpredictably."""


def tree(part: GlibcNode) -> Node:
    """Return the tree of a pattern."""
    used: dict[int, int] = {}
    _references(part, None, used)
    _groups(part, None, used)
    unroller = _Unroller(used)
    written, _ = unroller.unroll(part, copied=False, following=False)
    node, _ = _resolve_assertions(written, NO, unroller.position)
    return node


def _references(part: GlibcNode, repeated: int | None, used: dict[int, int]) -> None:
    """Collect the groups with backreferences. Each may have only one backreference, which must not be repeated."""
    match part:
        case Reference(group, position):
            if repeated is not None:
                raise unsupported(repeated, AMBIGUOUS)
            if group in used:
                raise unsupported(position, AMBIGUOUS)
            used[group] = position
        case Grouped(_, inner):
            _references(inner, repeated, used)
        case Row(parts) | Branches(parts):
            for inner in parts:
                _references(inner, repeated, used)
        case Times(inner, _, most, position):
            _references(inner, position if repeated is None and most != 1 else repeated, used)


def _groups(part: GlibcNode, copied: int | None, used: dict[int, int]) -> None:
    """Raise if a group with a backreference is copied or has assertions."""
    match part:
        case Grouped(group, inner):
            if copied is not None and group in used:
                raise unsupported(copied, AMBIGUOUS)
            if group in used and _has_assertion(inner):
                raise unsupported(used[group], AMBIGUOUS)
            _groups(inner, copied, used)
        case Row(parts) | Branches(parts):
            for inner in parts:
                _groups(inner, copied, used)
        case Times(inner, least, most, position):
            copies = (least, most) != (0, None) and most != 1
            _groups(inner, position if copied is None and copies else copied, used)


def is_nothing(part: GlibcNode) -> bool:
    """Return True if glibc creates no node for the part."""
    return isinstance(part, Row) and all(map(is_nothing, part.parts))


def _has_assertion(part: GlibcNode) -> bool:
    match part:
        case Assertion():
            return True
        case Grouped(_, inner) | Times(inner):
            return _has_assertion(inner)
        case Row(parts) | Branches(parts):
            return any(map(_has_assertion, parts))
    return False


class _Unroller:
    def __init__(self, used: dict[int, int]) -> None:
        self._used = used
        self._size = 0
        self.position = 0  # position of the last repetition that was written out

    def unroll(self, part: GlibcNode, *, copied: bool, following: bool) -> tuple[_Unrolled, bool]:
        """Write out a part; return it, and True if its first node is a copy.

        Args:
            part: The part.
            copied: True if the part is in a copy.
            following: True if the part after it is a copy.
        """
        self._size += 1
        if self._size > MAX_COPIES_SIZE:
            raise unsupported(self.position, "a high repetition count of a part with assertions")
        match part:
            case frozenset():
                return CharClass(part), copied
            case Reference(group):
                return Backreference(group, folded=False), copied
            case Assertion():
                return _Asserted(part, following), copied
            case Grouped(group, inner) if group in self._used:
                # glibc creates the nodes of groups after all copies.
                written, _ = self.unroll(inner, copied=copied, following=False)
                return _Group(group, written), False
            case Grouped(_, inner):
                return (
                    (_Concat([]), False)
                    if is_nothing(inner)
                    else self.unroll(inner, copied=copied, following=following)
                )
            case Row(parts):
                row: list[_Unrolled] = []
                for inner in reversed(parts):
                    written, following = self.unroll(inner, copied=copied, following=following)
                    row.insert(0, written)
                return _Concat(row), following
            case Branches(parts):
                branches = [self.unroll(inner, copied=copied, following=following)[0] for inner in parts]
                return _Alternation(branches), copied
            case Times(inner, fewest, highest, position):
                self.position = position
                if _has_assertion(inner):
                    return self._copies(part, copied, following)
                written, first = self.unroll(inner, copied=copied, following=following)
                node, _ = _resolve_assertions(written, NO, position)
                return repeat(node, fewest, highest, position), first if fewest > 0 else copied

    def _copies(self, times: Times, copied: bool, following: bool) -> tuple[_Unrolled, bool]:
        """Write out `x{2,4}` as `xx((x)?x)?` and `x{2,}` as `xxx*`; every `x` except the first is a copy."""
        row: list[_Unrolled] = []
        if times.most is None:
            inner, _ = self.unroll(times.part, copied=copied or times.least > 0, following=copied)
            row.append(_Many(inner, _flow(inner).again()))
            following = copied
        elif times.most > times.least:
            row.append(self._optional(times, times.most - times.least, copied, following))
            following = copied
        for index in reversed(range(times.least)):
            copy, following = self.unroll(times.part, copied=copied or index > 0, following=following)
            row.insert(0, copy)
        return _Concat(row), following

    def _optional(self, times: Times, number: int, copied: bool, following: bool) -> _Unrolled:
        """Write out `((x)?x)?` with `number` copies of `x`."""
        copies: list[_Unrolled] = []
        for index in reversed(range(number)):
            copy, following = self.unroll(times.part, copied=copied or times.least + index > 0, following=following)
            copies.insert(0, copy)
        found: _Unrolled = _Concat([])
        for copy in copies:
            found = _Alternation([_Concat([found, copy]), _Concat([])])
        return found


def _flow(written: _Unrolled) -> _Flow:
    match written:
        case _Asserted(_, copy_follows):
            return THROUGH if copy_follows else _Flow(YES, YES)
        case _Group(_, inner):
            return _flow(inner)
        case _Concat(parts):
            flow = THROUGH
            for part in parts:
                flow = flow.then(_flow(part))
            return flow
        case _Alternation(parts):
            flow = _flow(parts[0])
            for part in parts[1:]:
                flow = flow.either(_flow(part))
            return flow
        case _Many(_, flow):
            return flow
    if max_length(written) == 0:
        return THROUGH
    return _Flow(NO, YES.either(NO) if min_length(written) == 0 else NO)


def _resolve_assertions(written: _Unrolled, met: _Met, position: int) -> tuple[Node, _Met]:
    """Remove the assertions that glibc does not check; return the node and the assertion state after it."""
    match written:
        case _Asserted(assertion, copy_follows):
            if not copy_follows or not met.no:
                return Assert(assertion), YES
            if not met.yes:
                return EMPTY, met
            raise unsupported(position, "a repetition in which an assertion follows another one in some matches only")
        case _Group(group, inner):
            node, met = _resolve_assertions(inner, met, position)
            return Capture(group, node), met
        case _Concat(parts):
            nodes: list[Node] = []
            for part in parts:
                node, met = _resolve_assertions(part, met, position)
                if node != EMPTY:
                    nodes.append(node)
            return concat(nodes), met
        case _Alternation(parts):
            found = [_resolve_assertions(part, met, position) for part in parts]
            behind = found[0][1]
            for _, other in found:
                behind = behind.either(other)
            return alternation([node for node, _ in found]), behind
        case _Many(inner, flow):
            met = flow.behind(met)
            node, _ = _resolve_assertions(inner, met, position)
            return Repetition(node, 0, None), met
    if max_length(written) == 0:
        return written, met
    return written, met.either(NO) if min_length(written) == 0 else NO
