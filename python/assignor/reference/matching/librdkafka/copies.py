r"""What a pattern means once glibc has written out the copies of what is repeated: some of its places are lost.

glibc makes `x{2,}` into `xxx*` and remembers which nodes are copies. A place (`^`, `\b`, ...) holds for what follows it
by a copy of that, and where a copy follows already, glibc takes it for one of these and asks for nothing: `^(b|$a){2}`
matches "ba". Only where another place was met since the last character, a place is asked for whatever follows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from assignor.reference.matching.chars import Chars
from assignor.reference.matching.iterations import repeat
from assignor.reference.matching.syntax import (
    EMPTY,
    At,
    Group,
    Node,
    One,
    Place,
    Repeat,
    Same,
    concat,
    either,
    least,
    most,
)
from assignor.reference.matching.text import unsupported

LARGEST = 10_000
"""How many places and what stands between them copies may come to."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A back-reference to a group."""

    group: int
    position: int


@dataclass(frozen=True, slots=True)
class Grouped:
    """A group, which is kept where something refers to it."""

    group: int
    part: Part


@dataclass(frozen=True, slots=True)
class Row:
    """One after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """One of them."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """The same several times, `most` None without bound."""

    part: Part
    least: int
    most: int | None
    position: int


Part: TypeAlias = Chars | Place | Reference | Grouped | Row | Branches | Times
"""A part of a pattern as it is written."""

NOTHING = Row(())


class _Met(NamedTuple):
    """Whether a place was met since the last character: on some ways it was, on some it was not."""

    yes: bool
    no: bool

    def either(self, other: _Met) -> _Met:
        return _Met(self.yes or other.yes, self.no or other.no)


NO = _Met(yes=False, no=True)
YES = _Met(yes=True, no=False)


class _Flow(NamedTuple):
    """What is met behind a part, where no place or where one was met before it."""

    after_none: _Met
    after_place: _Met

    def behind(self, met: _Met) -> _Met:
        if not met.yes:
            return self.after_none
        return self.after_none.either(self.after_place) if met.no else self.after_place

    def then(self, following: _Flow) -> _Flow:
        return _Flow(following.behind(self.after_none), following.behind(self.after_place))

    def either(self, other: _Flow) -> _Flow:
        return _Flow(self.after_none.either(other.after_none), self.after_place.either(other.after_place))

    def again(self) -> _Flow:
        """Of the part any number of times; two times can show all that more would."""
        once = self.either(THROUGH)
        return once.then(once)


THROUGH = _Flow(NO, YES)


class _Placed(NamedTuple):
    place: Place
    copy_follows: bool


class _Group(NamedTuple):
    group: int
    inner: _Written


class _Concat(NamedTuple):
    parts: list[_Written]


class _Either(NamedTuple):
    parts: list[_Written]


class _Many(NamedTuple):
    """As often as there are, and what is met on the way through it."""

    inner: _Written
    flow: _Flow


_Written: TypeAlias = Node | _Placed | _Group | _Concat | _Either | _Many
"""A part with its copies written out; there is no place in a node."""


MISTAKEN = "a back-reference that glibc may get wrong"
"""There are several ways to take the group then, and glibc mixes them up without a rule."""


def tree(part: Part) -> Node:
    """The tree of a pattern."""
    used: dict[int, int] = {}
    _references(part, None, used)
    _groups(part, None, used)
    writer = _Writer(used)
    written, _ = writer.write(part, copied=False, following=False)
    node, _ = _settle(written, NO, writer.position)
    return node


def _references(part: Part, repeated: int | None, used: dict[int, int]) -> None:
    """Collects the groups that are referred to, and where: once each, and in no repetition."""
    match part:
        case Reference(group, position):
            if repeated is not None:
                raise unsupported(repeated, MISTAKEN)
            if group in used:
                raise unsupported(position, MISTAKEN)
            used[group] = position
        case Grouped(_, inner):
            _references(inner, repeated, used)
        case Row(parts) | Branches(parts):
            for inner in parts:
                _references(inner, repeated, used)
        case Times(inner, _, most, position):
            _references(inner, position if repeated is None and most != 1 else repeated, used)


def _groups(part: Part, copied: int | None, used: dict[int, int]) -> None:
    """Refuses groups that are referred to and have copies or places."""
    match part:
        case Grouped(group, inner):
            if copied is not None and group in used:
                raise unsupported(copied, MISTAKEN)
            if group in used and _has_place(inner):
                raise unsupported(used[group], MISTAKEN)
            _groups(inner, copied, used)
        case Row(parts) | Branches(parts):
            for inner in parts:
                _groups(inner, copied, used)
        case Times(inner, least, most, position):
            copies = (least, most) != (0, None) and most != 1
            _groups(inner, position if copied is None and copies else copied, used)


def is_nothing(part: Part) -> bool:
    """Whether glibc has no node for it at all."""
    return isinstance(part, Row) and all(map(is_nothing, part.parts))


def _has_place(part: Part) -> bool:
    match part:
        case Place():
            return True
        case Grouped(_, inner) | Times(inner):
            return _has_place(inner)
        case Row(parts) | Branches(parts):
            return any(map(_has_place, parts))
    return False


class _Writer:
    def __init__(self, used: dict[int, int]) -> None:
        self._used = used
        self._size = 0
        self.position = 0  # of the last repetition that was written out

    def write(self, part: Part, *, copied: bool, following: bool) -> tuple[_Written, bool]:
        """Writes a part out, and says whether the first node of it is a copy.

        Args:
            part: What is written.
            copied: Whether it is in a copy.
            following: Whether what follows it is a copy.
        """
        self._size += 1
        if self._size > LARGEST:
            raise unsupported(self.position, "a high count of what has places in it")
        match part:
            case frozenset():
                return One(part), copied
            case Reference(group):
                return Same(group, folded=False), copied
            case Place():
                return _Placed(part, following), copied
            case Grouped(group, inner) if group in self._used:
                # The nodes of groups are made after all copies.
                written, _ = self.write(inner, copied=copied, following=False)
                return _Group(group, written), False
            case Grouped(_, inner):
                return (
                    (_Concat([]), False) if is_nothing(inner) else self.write(inner, copied=copied, following=following)
                )
            case Row(parts):
                row: list[_Written] = []
                for inner in reversed(parts):
                    written, following = self.write(inner, copied=copied, following=following)
                    row.insert(0, written)
                return _Concat(row), following
            case Branches(parts):
                branches = [self.write(inner, copied=copied, following=following)[0] for inner in parts]
                return _Either(branches), copied
            case Times(inner, fewest, highest, position):
                self.position = position
                if _has_place(inner):
                    return self._copies(part, copied, following)
                written, first = self.write(inner, copied=copied, following=following)
                node, _ = _settle(written, NO, position)
                return repeat(node, fewest, highest, position), first if fewest > 0 else copied

    def _copies(self, times: Times, copied: bool, following: bool) -> tuple[_Written, bool]:
        """`x{2,4}` is `xx((x)?x)?`, `x{2,}` is `xxx*`: all but the first `x` are copies."""
        row: list[_Written] = []
        if times.most is None:
            inner, _ = self.write(times.part, copied=copied or times.least > 0, following=copied)
            row.append(_Many(inner, _flow(inner).again()))
            following = copied
        elif times.most > times.least:
            row.append(self._optional(times, times.most - times.least, copied, following))
            following = copied
        for index in reversed(range(times.least)):
            copy, following = self.write(times.part, copied=copied or index > 0, following=following)
            row.insert(0, copy)
        return _Concat(row), following

    def _optional(self, times: Times, number: int, copied: bool, following: bool) -> _Written:
        """`((x)?x)?`, so often."""
        copies: list[_Written] = []
        for index in reversed(range(number)):
            copy, following = self.write(times.part, copied=copied or times.least + index > 0, following=following)
            copies.insert(0, copy)
        found: _Written = _Concat([])
        for copy in copies:
            found = _Either([_Concat([found, copy]), _Concat([])])
        return found


def _flow(written: _Written) -> _Flow:
    match written:
        case _Placed(_, copy_follows):
            return THROUGH if copy_follows else _Flow(YES, YES)
        case _Group(_, inner):
            return _flow(inner)
        case _Concat(parts):
            flow = THROUGH
            for part in parts:
                flow = flow.then(_flow(part))
            return flow
        case _Either(parts):
            flow = _flow(parts[0])
            for part in parts[1:]:
                flow = flow.either(_flow(part))
            return flow
        case _Many(_, flow):
            return flow
    if most(written) == 0:
        return THROUGH
    return _Flow(NO, YES.either(NO) if least(written) == 0 else NO)


def _settle(written: _Written, met: _Met, position: int) -> tuple[Node, _Met]:
    """Leaves the places out that are not asked for; says what was met behind the part."""
    match written:
        case _Placed(place, copy_follows):
            if not copy_follows or not met.no:
                return At(place), YES
            if not met.yes:
                return EMPTY, met
            raise unsupported(position, "a repetition in which a place follows another one or not")
        case _Group(group, inner):
            node, met = _settle(inner, met, position)
            return Group(group, node), met
        case _Concat(parts):
            nodes: list[Node] = []
            for part in parts:
                node, met = _settle(part, met, position)
                if node != EMPTY:
                    nodes.append(node)
            return concat(nodes), met
        case _Either(parts):
            found = [_settle(part, met, position) for part in parts]
            behind = found[0][1]
            for _, other in found:
                behind = behind.either(other)
            return either([node for node, _ in found]), behind
        case _Many(inner, flow):
            met = flow.behind(met)
            node, _ = _settle(inner, met, position)
            return Repeat(node, 0, None), met
    if most(written) == 0:
        return written, met
    return written, met.either(NO) if least(written) == 0 else NO
