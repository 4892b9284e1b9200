r"""The dialect librdkafka: one exact name, or, with a leading `^`, a POSIX extended regular expression.

The expression is that of glibc's `regcomp`, and matches any part of the name. glibc reads a pattern by the locale of
the process. This module assumes UTF-8 characters and the collation of the C locale, which a Python process and most
services have. librdkafka only tests whether a name matches, so the tree has no preferences.

glibc expands `x{2,}` to `xxx*`, and does not check an assertion (`^`, `\b`, ...) before a node that is a copy:
`^(b|$a){2}` matches "ba". Patterns for which this could change the result are not supported.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assignor.reference.matching.char_set import ALL, WORD, among
from assignor.reference.matching.librdkafka import brackets
from assignor.reference.matching.repetition import Copies
from assignor.reference.matching.scanner import PatternError, Scanner, invalid, unsupported
from assignor.reference.matching.syntax import (
    ANY_TEXT,
    EMPTY,
    Alternation,
    Assert,
    Assertion,
    Backreference,
    Capture,
    CharClass,
    Concat,
    Repetition,
    alternation,
    concat,
    literal,
    max_length,
)

if TYPE_CHECKING:
    from assignor.reference.matching.syntax import Node

MAX_COUNT = 0x7FFF
"""Maximum count of a repetition (`RE_DUP_MAX`)."""

UNCHECKED = "a repetition with an assertion (^, $, \\b, ...) that glibc does not check in every iteration"

AMBIGUOUS = "a backreference that glibc may match incorrectly"
"""A group with a backreference that can match in several ways: glibc may compare the text of the wrong match."""

ASSERTIONS = {
    "<": Assertion.WORD_START,
    ">": Assertion.WORD_END,
    "b": Assertion.WORD_BOUNDARY,
    "B": Assertion.NOT_WORD_BOUNDARY,
    "`": Assertion.START,
    "'": Assertion.END,
}

CLASSES = {"w": WORD, "W": ALL - WORD, "s": among(" "), "S": ALL - {" "}}


def parse(pattern: str) -> Node:
    """Parse a pattern into a tree that matches whole names."""
    if "\0" in pattern:
        raise invalid(pattern.index("\0"), "a NUL character, which ends a pattern in C")
    if not pattern.startswith("^"):
        return literal(pattern)
    parser = _Parser(pattern)
    while not parser.text.is_at_end():
        parser.read(parser.text.look())
    if len(parser.groups) > 1:
        raise invalid(parser.groups[-1].position, "the group is not closed")
    if parser.refused:
        raise parser.refused
    found, _ = parser.groups[0].close(parser)
    return concat([found, ANY_TEXT] if _starts(found) else [ANY_TEXT, found, ANY_TEXT])


def _starts(node: Node) -> bool:
    """Return True if every alternative begins at the start of the name."""
    match node:
        case Assert(assertion):
            return assertion is Assertion.START
        case Concat(nodes):
            for inner in nodes:
                starts = _starts(inner)
                if starts or max_length(inner) != 0:
                    return starts
            return False
        case Alternation(nodes):
            return all(map(_starts, nodes))
        case Capture(_, inner):
            return _starts(inner)
        case Repetition(inner, least):
            return least > 0 and _starts(inner)
    return False


class _Assertions(enum.IntEnum):
    """Where a part of a pattern has assertions."""

    NOWHERE = 0
    AT_ENDS = 1  # the node after the assertion is the node after the part
    INSIDE = 2  # before a node of the part

    def then(self, following: _Assertions) -> _Assertions:
        """Return where the assertions of a part and of the part after it are."""
        return _Assertions.INSIDE if self else following


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern that a quantifier may follow.

    Attributes:
        node: The part.
        groups: Groups of the part.
        used: Groups to which backreferences before the part refer.
        assertions: Where the part has assertions.
    """

    node: Node
    groups: range
    used: frozenset[int]
    assertions: _Assertions = _Assertions.NOWHERE


class _Open:
    """An open group, or the whole pattern.

    Attributes:
        position: Position of the opening parenthesis.
        group: Number of the group.
        used: Groups to which backreferences before the group refer.
    """

    def __init__(self, position: int, group: int, closed: frozenset[int], used: frozenset[int]) -> None:
        self.position = position
        self.group = group
        self.used = used
        self._nodes: list[Node] = []  # nodes of the current branch
        self._branches: list[Node] = []
        self._current = _Assertions.NOWHERE  # assertions of the current branch
        self._assertions = _Assertions.NOWHERE  # assertions of the other branches
        self._before = closed  # a branch must not refer to a group of another branch
        self._within = closed

    def push(self, node: Node, assertions: _Assertions) -> None:
        if node != EMPTY:
            self._nodes.append(node)
            self._current = self._current.then(assertions)

    def branch(self, parser: _Parser) -> None:
        self._branches.append(concat(self._nodes))
        self._nodes = []
        self._assertions = max(self._assertions, self._current)
        self._current = _Assertions.NOWHERE
        self._within |= parser.closed
        parser.closed = self._before

    def close(self, parser: _Parser) -> tuple[Node, _Assertions]:
        self.branch(parser)
        parser.closed |= self._within
        return alternation(self._branches), self._assertions


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.text = Scanner(pattern)
        self._copies = Copies()
        self.count = 0  # number of opened groups
        self.closed: frozenset[int] = frozenset()  # closed groups 1 to 9, which backreferences may refer to
        self.used: frozenset[int] = frozenset()  # groups to which backreferences refer
        self.asserting: set[int] = set()  # groups that contain assertions
        self.copied: dict[int, int] = {}  # group -> position of the outermost repetition that copies it
        self.groups = [_Open(0, 0, self.closed, self.used)]
        # The first construct that is not supported. It is raised after parsing, because an invalid pattern is reported
        # as invalid.
        self.refused: PatternError | None = None

    def refuse(self, position: int, construct: str) -> None:
        self.refused = self.refused or unsupported(position, construct)

    def read(self, char: str) -> None:
        """Parse one item."""
        if char == "(":
            self.open()
        elif char == "|":
            self.text.take()
            self.groups[-1].branch(self)
        # Outside of groups, a closing parenthesis is a literal.
        elif char == ")" and len(self.groups) > 1:
            self.repeated(self.close())
        else:
            used = self.used
            node = self.item()
            # A quantifier after an assertion does not repeat it.
            if isinstance(node, Assert):
                self.groups[-1].push(node, _Assertions.AT_ENDS)
            else:
                self.repeated(_Part(node, range(0), used))

    def open(self) -> None:
        self.text.reject_look_around("librdkafka")
        position = self.text.at
        self.text.take()
        self.text.enter()
        self.count += 1
        self.groups.append(_Open(position, self.count, self.closed, self.used))

    def close(self) -> _Part:
        open_group = self.groups.pop()
        self.text.take()
        self.text.leave()
        group = open_group.group
        node, assertions = open_group.close(self)
        if group <= 9:
            self.closed |= {group}
        if assertions:
            self.asserting.add(group)
        return _Part(Capture(group, node), range(group, self.count + 1), open_group.used, assertions)

    def repeated(self, part: _Part) -> None:
        """Add a part with its quantifiers."""
        piled = False
        while self.text.look() in ("*", "+", "?", "{"):
            position = self.text.at
            operator = self.text.take()
            if operator == "{":
                least, most = self.counts(position)
            else:
                least, most = int(operator == "+"), 1 if operator == "?" else None
            # `a**` makes the tree deeper without a group, so count a level.
            if piled:
                self.text.enter()
            piled = True
            if most == 0:
                self.used = part.used
                part = replace(part, node=EMPTY)
            elif part.node != EMPTY:
                part = self.times(part, least, most, position)
        self.groups[-1].push(part.node, part.assertions)

    def times(self, part: _Part, least: int, most: int | None, position: int) -> _Part:
        """Return the repetition of a part."""
        assertions = part.assertions
        if most != 1:
            if self.used != part.used:
                self.refuse(position, AMBIGUOUS)
            if (least, most) != (0, None):
                if not _checks_copies(part, least, most):
                    self.refuse(position, UNCHECKED)
                self.copied.update(dict.fromkeys(part.groups, position))
            # The node after the assertion is the one that glibc adds for the other iterations.
            if assertions is _Assertions.AT_ENDS and least != most:
                assertions = _Assertions.INSIDE
        try:
            node = self._copies.repeat(part.node, least, most, position)
        except PatternError as error:
            self.refused = self.refused or error
            node = EMPTY
        return replace(part, node=node, assertions=assertions)

    def item(self) -> Node:
        position = self.text.at
        if self.text.look() == "[":
            return CharClass(brackets.bracket(self.text))
        char = self.text.take()
        if char in ("^", "$"):
            return Assert(Assertion.START if char == "^" else Assertion.END)
        if char == ".":
            return CharClass(ALL)
        if char == "\\":
            return self.escape(position)
        if char in ("*", "+", "?", "{"):
            raise invalid(position, "nothing to repeat")
        return CharClass(among(char))

    def escape(self, position: int) -> Node:
        char = self.text.take()
        if not char:
            raise invalid(position, "a backslash at the end of the pattern")
        if char in "123456789":
            if int(char) not in self.closed:
                raise invalid(position, "a backreference to a group that is not closed before it")
            return self.refer(int(char), position)
        if char in ASSERTIONS:
            return Assert(ASSERTIONS[char])
        return CharClass(CLASSES.get(char, among(char)))

    def refer(self, group: int, position: int) -> Node:
        """Return a backreference. A group may have one, must not be copied, and must not contain assertions."""
        if group in self.used or group in self.asserting:
            self.refuse(position, AMBIGUOUS)
        elif group in self.copied:
            self.refuse(self.copied[group], AMBIGUOUS)
        self.used |= {group}
        return Backreference(group, folded=False)

    def counts(self, position: int) -> tuple[int, int | None]:
        """Parse the counts of `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}` after the brace."""
        least = most = self.number(position)
        if self.text.eat(",") or self.text.eat("\\,"):
            least, most = least or 0, self.number(position)
        if least is None or not self.text.eat("}"):
            raise invalid(position, "a brace without a repetition count")
        if least > MAX_COUNT or (most is not None and (most > MAX_COUNT or most < least)):
            raise invalid(position, "a repetition count that is too high, or lower than the minimum")
        return least, most

    def number(self, position: int) -> int | None:
        """Parse an optional number before a comma or the closing brace."""
        number = None
        while self.text.look() not in ("}", ",") and self.text.look() + self.text.look(1) != "\\,":
            # An escaped zero is a zero; other escaped digits are backreferences.
            if self.text.look(1) == "0":
                self.text.eat("\\")
            digit = self.text.take()
            if digit == "" or digit not in "0123456789":
                raise invalid(position, "a brace without a repetition count")
            number = min((number or 0) * 10 + int(digit), MAX_COUNT + 1)
        return number


def _checks_copies(part: _Part, least: int, most: int | None) -> bool:
    """Return True if the copies of a part match as if glibc checked all assertions.

    In each copy except the first, glibc does not check assertions before a node of the part. If the next copy follows
    directly (`x{2}`, but not `x+`, which is `xx*`), it also does not check those at the end. A part that consumes no
    character has all its iterations at one position, so it is enough that the first or the last copy is checked
    completely.
    """
    if part.assertions is _Assertions.AT_ENDS:
        return max_length(part.node) == 0 or (least, most) == (1, None)
    return part.assertions is _Assertions.NOWHERE or (max_length(part.node) == 0 and least <= 1)
