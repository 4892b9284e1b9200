"""Parser of alternatives, sequences, groups and repetitions."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from assignor.reference.matching.char_set import ALL, CharSet
from assignor.reference.matching.java import references
from assignor.reference.matching.java.brackets import character_class
from assignor.reference.matching.java.cursor import FAILURE, Cursor
from assignor.reference.matching.java.escape import Escape, Name, Number, Special, escape, group_name, node_of
from assignor.reference.matching.java.look_behind import look_behind
from assignor.reference.matching.java.properties import property_at
from assignor.reference.matching.java.quantifier import quantifier_at
from assignor.reference.matching.java.width import (
    Add,
    AlternationStep,
    Cluster,
    Inner,
    Loop,
    Many,
    Reference,
    Step,
    Width,
    width_of,
)
from assignor.reference.matching.limits import MAX_REFERENCED_GROUPS
from assignor.reference.matching.syntax import (
    EMPTY,
    Alternation,
    Assert,
    Assertion,
    Atomic,
    Backreference,
    Capture,
    CharClass,
    Concat,
    Greed,
    LookAround,
    Node,
    concat,
    min_length,
)


@dataclass(frozen=True, slots=True)
class _SizedNode:
    """A node, the length that Java computes for it, and whether Java repeats it by a loop over characters."""

    node: Node
    steps: list[Step]
    is_property: bool = False


class _Kind(enum.Enum):
    """Kind of a group."""

    FLAGS = ")"
    PLAIN = ":"
    CAPTURING = ""
    ATOMIC = ">"
    AHEAD = "="
    NOT_AHEAD = "!"
    BEHIND = "<="
    NOT_BEHIND = "<!"


class Parser:
    """Parser of a pattern."""

    def __init__(self, pattern: str) -> None:
        self._cursor = Cursor(pattern)
        self._names: dict[str, int] = {}
        # Number of opened groups.
        self._groups = 0
        # Groups whose capture Java keeps after backtracking.
        self._kept: set[int] = set()
        self._references: list[tuple[int, int]] = []
        self._referenced: set[int] = set()
        # Position of the first `\b{g}`.
        self._boundary: int | None = None
        # True if Java wrongly moves the position from which `\b{g}` searches.
        self._is_moved = False

    def pattern(self) -> Node:
        """Parse the whole pattern."""
        cursor = self._cursor
        node = self._alternatives().node
        if cursor.peek() == ")" and not cursor.ended():
            raise cursor.invalid(cursor.at, "unmatched closing parenthesis")
        if not cursor.at_end():
            raise cursor.invalid(cursor.at, "an incomplete escape at the end of the pattern")
        unsure = [position for group, position in self._references if group in self._kept]
        is_limited = len(self._referenced) <= MAX_REFERENCED_GROUPS
        if unsure and is_limited and not references.are_exact(node, self._kept & self._referenced):
            cursor.note_unsupported(
                unsure[0], "a backreference to a group whose capture Java may keep after backtracking"
            )
        if self._boundary is not None and self._is_moved:
            cursor.note_unsupported(self._boundary, FAILURE)
        cursor.check_supported()
        return node

    def _alternatives(self) -> _SizedNode:
        parts = [self._sequence()]
        while self._cursor.peek() == "|":
            self._cursor.next()
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        widths = tuple(width_of(part.steps) for part in parts)
        return _SizedNode(Alternation(tuple(part.node for part in parts)), [AlternationStep(widths)])

    def _sequence(self) -> _SizedNode:
        cursor = self._cursor
        nodes: list[Node] = []
        steps: list[Step] = []
        while True:
            start = cursor.at
            char = cursor.peek()
            if char == "(":
                group = self._group()
                if group is None:
                    continue
                part = group
            elif char in "|)" or (char == "\0" and cursor.ended()):
                break
            elif char in "*+?":
                raise cursor.invalid(start, "nothing to repeat")
            else:
                part = self._repeated(self._single(char))
            if part.node != EMPTY:
                nodes.append(part.node)
            steps.extend(part.steps)
        return _SizedNode(concat(nodes), steps)

    def _single(self, char: str) -> _SizedNode:
        cursor = self._cursor
        if char == "[":
            return self._of_class(character_class(cursor, True))
        if char == "\\" and cursor.raw(cursor.at + 1) in "pP":
            return self._of_class(property_at(cursor))
        if char in "^$":
            cursor.next()
            return _SizedNode(Assert(Assertion.START if char == "^" else Assertion.END), [])
        if char == ".":
            cursor.next()
            return _property(ALL)
        return self._literal()

    def _of_class(self, chars: CharSet) -> _SizedNode:
        return _SizedNode(CharClass(chars), [Cluster()]) if self._cursor.flags.canonical else _property(chars)

    def _literal(self) -> _SizedNode:
        """Parse a run of literal characters, or one escape that is not a character."""
        cursor = self._cursor
        sets: list[CharSet] = []
        # Index of the last character.
        last = cursor.at
        while True:
            char = cursor.peek()
            if char in "*+?{":
                # A quantifier applies only to the last character.
                if len(sets) > 1:
                    cursor.at = last
                    sets.pop()
                break
            if char in "$.^([|)" or (char == "\0" and cursor.ended()):
                break
            if char == "\\":
                if cursor.raw(cursor.at + 1) in "pP":
                    break
                start = cursor.at
                found = escape(cursor, False, False)
                if not isinstance(found, int):
                    if not sets:
                        return self._of_escape(found, start)
                    if isinstance(found, Name):
                        self._group_named(found.name, start)
                    cursor.at = start
                    break
                last = start
                code = found
            else:
                last = cursor.at
                cursor.next()
                code = ord(char)
            sets.append(cursor.folded(code))
        if len(sets) == 1:
            return _property(sets[0])
        return _SizedNode(Concat(tuple(map(CharClass, sets))), [Add(len(sets), len(sets))])

    def _of_escape(self, found: Escape, start: int) -> _SizedNode:
        if isinstance(found, frozenset):
            return _property(found)
        if found is Special.GRAPHEME:
            return _SizedNode(node_of(found), [Cluster()])
        if found is Special.LINE_BREAK:
            return _SizedNode(node_of(found), [Add(1, 2)])
        if isinstance(found, Number):
            return self._reference(self._group_number(found.digit), start)
        if isinstance(found, Name):
            return self._reference(self._group_named(found.name, start), start)
        if found is Special.ANYWHERE and self._boundary is None:
            self._boundary = start
        return _SizedNode(node_of(found), [])

    def _reference(self, group: int, start: int) -> _SizedNode:
        self._references.append((group, start))
        if group not in self._referenced:
            self._referenced.add(group)
            if len(self._referenced) > MAX_REFERENCED_GROUPS:
                construct = f"backreferences to more than {MAX_REFERENCED_GROUPS} groups"
                self._cursor.note_unsupported(start, construct)
        return _SizedNode(Backreference(group, self._cursor.flags.fold), [Reference()])

    def _group_named(self, name: str, start: int) -> int:
        if name not in self._names:
            raise self._cursor.invalid(start, "unknown group name")
        return self._names[name]

    def _group_number(self, first: int) -> int:
        """Parse the rest of a group number. A digit belongs to it only if a group with the longer number exists."""
        group = first
        while self._cursor.peek() in "0123456789":
            longer = group * 10 + int(self._cursor.peek())
            if longer > self._groups:
                break
            group = longer
            self._cursor.read()
        return group

    def _group(self) -> _SizedNode | None:
        """Parse a group and its quantifier; return None if it only sets flags."""
        cursor = self._cursor
        start, flags, first = cursor.at, cursor.flags, self._groups + 1
        cursor.enter()
        kind = self._kind(start)
        if kind is _Kind.FLAGS:
            cursor.leave()
            return None
        body = self._alternatives()
        cursor.leave()
        if cursor.read() != ")":
            raise cursor.invalid(start, "the group is not closed")
        cursor.flags = flags
        return self._whole(kind, body, first, start)

    def _kind(self, start: int) -> _Kind:
        """Parse the kind of a group; the cursor moves from the parenthesis to the body of the group."""
        cursor = self._cursor
        if cursor.next() != "?":
            self._groups += 1
            return _Kind.CAPTURING
        kind = cursor.raw(cursor.at + 1)
        cursor.at += 2
        if kind in ":=!>":
            return _Kind(kind)
        if kind == "<":
            sign = cursor.read()
            if sign in "=!":
                return _Kind(kind + sign)
            cursor.back()
            name = group_name(cursor, start)
            self._groups += 1
            if name in self._names:
                raise cursor.invalid(start, "duplicate group name")
            self._names[name] = self._groups
            return _Kind.CAPTURING
        cursor.back()
        self._set_flags()
        sign = cursor.read()
        if sign == ")":
            return _Kind.FLAGS
        if sign != ":":
            raise cursor.invalid(start, "unknown group type")
        return _Kind.PLAIN

    def _whole(self, kind: _Kind, body: _SizedNode, first: int, start: int) -> _SizedNode:
        """Return a group with its quantifier; `first` is the number of the group itself or of the first group in it."""
        match kind:
            case _Kind.CAPTURING:
                return self._repeated_group(_SizedNode(Capture(first, body.node), body.steps), first, True)
            case _Kind.AHEAD | _Kind.NOT_AHEAD:
                whole = _SizedNode(LookAround(True, kind is _Kind.NOT_AHEAD, body.node), [])
            case _Kind.BEHIND | _Kind.NOT_BEHIND:
                negated = kind is _Kind.NOT_BEHIND
                whole = _SizedNode(look_behind(self._cursor, body.node, width_of(body.steps), negated, start), [])
            case _Kind.ATOMIC:
                whole = _SizedNode(Atomic(body.node), [Inner(tuple(body.steps), False)])
            case _:
                return self._repeated_group(body, first, False)
        self._kept.update(range(first, self._groups + 1))
        self._is_moved = True
        return self._repeated(whole)

    def _set_flags(self) -> None:
        cursor = self._cursor
        on = True
        while True:
            char = cursor.peek()
            if char == "i":
                cursor.flags = replace(cursor.flags, fold=on)
            elif char == "u":
                cursor.flags = replace(cursor.flags, unicode=on)
            elif char == "x":
                cursor.flags = replace(cursor.flags, comments=on)
            elif char == "d":
                cursor.flags = replace(cursor.flags, unix_lines=on)
            elif char == "U":
                cursor.flags = replace(cursor.flags, classes=on, unicode=on)
            elif char == "c":
                cursor.flags = replace(cursor.flags, canonical=on)
            elif char == "-" and on:
                on = False
            elif char not in "ms":
                return
            cursor.next()

    def _repeated(self, part: _SizedNode) -> _SizedNode:
        """Return a part with its quantifier."""
        quantifier = quantifier_at(self._cursor)
        if quantifier is None:
            return part
        steps: list[Step]
        is_loop = part.is_property and quantifier.most is None and quantifier.greed is Greed.GREEDY
        self._is_moved = self._is_moved or not is_loop
        if is_loop:
            steps = [Many(quantifier.least)]
        elif quantifier.is_optional():
            steps = [Inner(tuple(part.steps), True)]
        else:
            steps = [quantifier.times(part.steps)]
        return _SizedNode(quantifier.of(part.node), steps)

    def _repeated_group(self, part: _SizedNode, first: int, capturing: bool) -> _SizedNode:
        """Return a group with its quantifier.

        `first` is the number of the group if it is `capturing`, else of the first group in it.
        """
        quantifier = quantifier_at(self._cursor)
        if quantifier is None:
            return part
        width = width_of(part.steps)
        within = range(first, self._groups + 1)
        steps: list[Step]
        if quantifier.greed is Greed.POSSESSIVE or (width.one_way and not quantifier.is_optional()):
            self._is_moved = True
        if quantifier.greed is Greed.POSSESSIVE:
            self._kept.update(within)
            steps = [Inner(tuple(part.steps), True) if quantifier.is_optional() else quantifier.times(part.steps)]
        elif quantifier.is_optional():
            steps = [AlternationStep((width, Width()))]
        elif width.one_way:
            self._kept.update(
                group for group in within if not capturing or group != first or min_length(part.node) == 0
            )
            steps = [quantifier.times(part.steps)]
        else:
            steps = [Loop()]
        return _SizedNode(quantifier.of(part.node), steps)


def _property(chars: CharSet) -> _SizedNode:
    return _SizedNode(CharClass(chars), [Add(1, 1)], True)
