"""The dialect librdkafka: one exact name, or, with a leading `^`, a POSIX extended regular expression.

The expression is that of glibc's `regcomp`, and matches any part of the name. glibc reads a pattern by the locale of
the process. This module assumes UTF-8 characters and the collation of the C locale, which a Python process and most
services have. librdkafka only tests whether a name matches, so the tree has no preferences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.matching.char_set import ALL, WORD, among
from assignor.reference.matching.librdkafka import brackets
from assignor.reference.matching.librdkafka.copies import (
    NOTHING,
    Branches,
    Grouped,
    Reference,
    Row,
    Times,
    is_nothing,
    tree,
)
from assignor.reference.matching.scanner import Scanner, invalid
from assignor.reference.matching.syntax import (
    ANY_TEXT,
    Alternation,
    Assert,
    Assertion,
    Capture,
    Concat,
    Repetition,
    concat,
    literal,
    max_length,
)

if TYPE_CHECKING:
    from assignor.reference.matching.librdkafka.copies import GlibcNode
    from assignor.reference.matching.syntax import Node

MAX_COUNT = 0x7FFF
"""Maximum count of a repetition (`RE_DUP_MAX`)."""

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
    found = tree(parser.groups[0].close(parser))
    return concat([found, ANY_TEXT] if _starts(found) else [ANY_TEXT, found, ANY_TEXT])


def _starts(node: Node) -> bool:
    """Return True if every alternative begins at the start of the name."""
    match node:
        case Assert(assertion):
            return assertion is Assertion.START
        case Concat(nodes):
            return next((_starts(inner) for inner in nodes if max_length(inner) != 0 or _starts(inner)), False)
        case Alternation(nodes):
            return all(map(_starts, nodes))
        case Capture(_, inner):
            return _starts(inner)
        case Repetition(inner, least):
            return least > 0 and _starts(inner)
    return False


class _Open:
    """An open group, or the whole pattern.

    Attributes:
        position: Position of the opening parenthesis.
        group: Number of the group.
        parts: Nodes of the current branch.
    """

    def __init__(self, position: int, group: int, closed: frozenset[int]) -> None:
        self.position = position
        self.group = group
        self.parts: list[GlibcNode] = []
        self._branches: list[GlibcNode] = []
        self._before = closed  # a branch must not refer to a group of another branch
        self._within = closed

    def branch(self, parser: _Parser) -> None:
        self._branches.append(Row(tuple(self.parts)))
        self.parts = []
        self._within |= parser.closed
        parser.closed = self._before

    def close(self, parser: _Parser) -> GlibcNode:
        self.branch(parser)
        parser.closed |= self._within
        return self._branches[0] if len(self._branches) == 1 else Branches(tuple(self._branches))


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.text = Scanner(pattern)
        self.count = 0  # number of opened groups
        self.closed: frozenset[int] = frozenset()  # closed groups 1 to 9, which backreferences may refer to
        self.groups = [_Open(0, 0, self.closed)]

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
            self.repeated(self.item())

    def open(self) -> None:
        position = self.text.at
        self.text.take()
        self.text.enter()
        self.count += 1
        self.groups.append(_Open(position, self.count, self.closed))

    def close(self) -> GlibcNode:
        group = self.groups.pop()
        self.text.take()
        self.text.leave()
        part = group.close(self)
        if group.group <= 9:
            self.closed |= {group.group}
        return Grouped(group.group, part)

    def repeated(self, part: GlibcNode) -> None:
        """Add a part with its quantifiers."""
        piled = False
        # A quantifier after an assertion does not repeat it.
        while not isinstance(part, Assertion) and self.text.look() in ("*", "+", "?", "{"):
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
                part = NOTHING
            elif not is_nothing(part):
                part = Times(part, least, most, position)
        self.groups[-1].parts.append(part)

    def item(self) -> GlibcNode:
        position = self.text.at
        if self.text.look() == "[":
            return brackets.bracket(self.text)
        char = self.text.take()
        if char in ("^", "$"):
            return Assertion.START if char == "^" else Assertion.END
        if char == ".":
            return ALL
        if char == "\\":
            return self.escape(position)
        if char in ("*", "+", "?", "{"):
            raise invalid(position, "nothing to repeat")
        return among(char)

    def escape(self, position: int) -> GlibcNode:
        char = self.text.take()
        if not char:
            raise invalid(position, "a backslash at the end of the pattern")
        if char in "123456789":
            if int(char) not in self.closed:
                raise invalid(position, "a backreference to a group that is not closed before it")
            return Reference(int(char), position)
        return ASSERTIONS.get(char) or CLASSES.get(char, among(char))

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
