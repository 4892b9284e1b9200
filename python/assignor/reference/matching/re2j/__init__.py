"""The dialect re2j, of the broker: RE2/J 1.8 without flags, on the whole name.

RE2/J matches with an automaton, so the tree has neither preferences nor captures. Of the inline flags only `i` has an
effect, because names have no line breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.matching.char_set import ALL
from assignor.reference.matching.re2j import classes
from assignor.reference.matching.re2j.factoring import can_be_misfactored
from assignor.reference.matching.repetition import Copies
from assignor.reference.matching.scanner import Scanner, invalid, unsupported
from assignor.reference.matching.syntax import Assert, Assertion, CharClass, alternation, concat

if TYPE_CHECKING:
    from assignor.reference.matching.syntax import Node

MAX_COUNT = 1000
"""Maximum count of a repetition."""

ASSERTIONS = {"A": Assertion.START, "z": Assertion.END, "b": Assertion.WORD_BOUNDARY, "B": Assertion.NOT_WORD_BOUNDARY}


def parse(pattern: str) -> Node:
    """Parse a pattern into a tree that matches whole names."""
    parser = _Parser(pattern)
    while not parser.text.is_at_end():
        parser.repeated = parser.read(parser.text.look())
    if len(parser.groups) > 1:
        raise invalid(parser.groups[-1].position, "the group is not closed")
    return parser.groups[0].close()


class _Open:
    """An open group, or the whole pattern.

    Attributes:
        position: Position of the opening parenthesis.
        folded: True if case is ignored after the group.
        items: Nodes of the current branch.
    """

    def __init__(self, position: int, folded: bool) -> None:
        self.position = position
        self.folded = folded
        self.items: list[Node] = []
        self._branches: list[Node] = []

    def branch(self) -> None:
        self._branches.append(concat(self.items))
        self.items = []

    def close(self) -> Node:
        self.branch()
        if can_be_misfactored(self._branches):
            raise unsupported(
                self.position,
                "neighbouring alternatives that begin with the same letter, one only in upper case and one in either "
                "case, which RE2/J 1.8 matches incorrectly",
            )
        return alternation(self._branches)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.text = Scanner(pattern)
        self.folded = False
        self.names: set[str] = set()
        self.groups = [_Open(0, False)]
        self._copies = Copies()
        self.piled = 0  # number of quantifiers of the last item
        self.repeated = False  # True if the last item read is a repetition

    def read(self, char: str) -> bool:
        """Parse one item; return whether it is a repetition."""
        position = self.text.at
        if char in "*+?":
            self.text.take()
            self.repeat(position, int(char == "+"), 1 if char == "?" else None)
            return True
        if char == "{":
            counts = self.counts()
            if counts is None:
                self.literal()
            else:
                self.repeat(position, *counts)
            # RE2/J counts a literal brace as a repetition when it looks for nested quantifiers: `a{*` is invalid.
            return True
        if char == "(":
            self.open()
        elif char == ")":
            self.close()
        elif char == "[":
            self.push(CharClass(classes.bracketed(self.text, self.folded)))
        elif char == "\\":
            self.escape()
        elif char == "|":
            self.text.take()
            self.groups[-1].branch()
        elif char in "^$":
            self.assertion(1, Assertion.START if char == "^" else Assertion.END)
        elif char == ".":
            self.text.take()
            self.push(CharClass(ALL))
        else:
            self.literal()
        return False

    def push(self, node: Node) -> None:
        self.piled = 0
        self.groups[-1].items.append(node)

    def assertion(self, length: int, assertion: Assertion) -> None:
        self.text.at += length
        self.push(Assert(assertion))

    def literal(self) -> None:
        """Parse the next character as a literal."""
        position = self.text.at
        code = ord(self.text.take())
        self.push(CharClass(classes.between(code, code, self.folded, position)))

    def escape(self) -> None:
        position = self.text.at
        letter = self.text.look(1)
        if letter in ASSERTIONS:
            self.assertion(2, ASSERTIONS[letter])
        elif letter == "Q":
            self.text.at += 2
            while not self.text.is_at_end() and not self.text.eat("\\E"):
                self.literal()
        else:
            chars = classes.escaped(self.text, self.folded)
            if chars is None:
                code = classes.character(self.text)
                chars = classes.between(code, code, self.folded, position)
            self.push(CharClass(chars))

    def repeat(self, position: int, least: int, most: int | None) -> None:
        """Repeat the last item. The quantifier is consumed except for the `?` of a lazy one."""
        self.text.eat("?")
        if self.repeated:
            raise invalid(position, "nested quantifiers")
        items = self.groups[-1].items
        if not items:
            raise invalid(position, "nothing to repeat")
        # Flags can separate two quantifiers, as in `a*(?i)*`. The tree gets deeper without a group, so count a level.
        if self.piled > 0:
            self.text.enter()
        items[-1] = self._copies.repeat(items[-1], least, most, position)
        self.piled += 1

    def counts(self) -> tuple[int, int | None] | None:
        """Parse the counts of `{2}`, `{2,}` or `{2,3}`; consume nothing if the brace is a literal."""
        position = self.text.at
        self.text.take()
        counts = self.bounds()
        if counts is None or not self.text.eat("}"):
            self.text.at = position
            return None
        least, most = counts
        if least > MAX_COUNT or (most is not None and (most > MAX_COUNT or most < least)):
            raise invalid(position, "a repetition count that is too high, or lower than the minimum")
        return counts

    def bounds(self) -> tuple[int, int | None] | None:
        least = self.number()
        if least is None:
            return None
        if not self.text.eat(","):
            return least, least
        if self.text.look() == "}":
            return least, None
        most = self.number()
        return None if most is None else (least, most)

    def number(self) -> int | None:
        """Parse a number without leading zeros; one with more digits than the maximum becomes the maximum plus one."""
        digits = self.text.take_while(lambda char: char in "0123456789")
        if not digits or (len(digits) > 1 and digits[0] == "0"):
            return None
        return int(digits) if len(digits) <= len(str(MAX_COUNT)) else MAX_COUNT + 1

    def open(self) -> None:
        self.text.reject_look_around("re2j")
        position = self.text.at
        before = self.folded
        if self.text.eat("(?P<") or self.text.eat("(?<"):
            self.name(position)
        elif self.text.eat("(?"):
            if not self.flags(position):
                return
        else:
            self.text.take()
        self.text.enter()
        self.groups.append(_Open(position, before))

    def name(self, position: int) -> None:
        start = self.text.at
        name = self.text.take_while(lambda char: char != ">")
        if not self.text.eat(">"):
            raise invalid(position, "the group name is not closed")
        if not name or not all(char.isascii() and (char.isalnum() or char == "_") for char in name):
            raise invalid(start, "a group name with a character other than letters, digits and _")
        if name in self.names:
            raise invalid(start, "duplicate group name")
        self.names.add(name)

    def flags(self, position: int) -> bool:
        """Parse flags; return True if they open a group, False if they apply to the rest of the current group."""
        folded, negated, found = self.folded, False, False
        while True:
            char = self.text.take()
            if char == "i":
                folded, found = not negated, True
            elif char in ("m", "s", "U"):
                found = True
            elif char == "-" and not negated:
                negated, found = True, False
            elif char in (":", ")") and (found or not negated):
                self.folded = folded
                return char == ":"
            else:
                raise invalid(position, "unknown group type or flag")

    def close(self) -> None:
        if len(self.groups) == 1:
            raise invalid(self.text.at, "unmatched closing parenthesis")
        group = self.groups.pop()
        self.text.take()
        self.text.leave()
        self.folded = group.folded
        self.push(group.close())
