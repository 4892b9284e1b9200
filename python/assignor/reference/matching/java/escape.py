"""Escapes, inside and outside of classes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from assignor.reference.matching.char_set import ALL, DIGITS, NONE, WORD, CharSet
from assignor.reference.matching.java.cursor import Cursor
from assignor.reference.matching.java.names import ASCII_NAMES
from assignor.reference.matching.scanner import unsupported
from assignor.reference.matching.syntax import EMPTY, Assert, Assertion, CharClass, Node

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OCTAL = "01234567"
_HEXADECIMAL = "0123456789abcdefABCDEF"


class Special(enum.Enum):
    """Escapes that are not characters: a boundary between graphemes, a line break, a grapheme.

    Names have no combining characters and no line breaks.
    """

    ANYWHERE = r"\b{g}"
    LINE_BREAK = r"\R"
    GRAPHEME = r"\X"


@dataclass(frozen=True, slots=True)
class Number:
    r"""`\1`: the first digit of a group number."""

    digit: int


@dataclass(frozen=True, slots=True)
class Name:
    r"""`\k<name>`."""

    name: str


Escape: TypeAlias = int | CharSet | Assertion | Special | Number | Name
"""Meaning of an escape: a character code (possibly a surrogate), a set, an assertion, or an instance of `Special`,
`Number` or `Name`."""

_CONTROLS = {"a": 0x07, "e": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09}

_SETS: dict[str, CharSet] = {
    "d": DIGITS,
    "D": ALL - DIGITS,
    "h": frozenset(" "),
    "H": ALL - {" "},
    "s": frozenset(" "),
    "S": ALL - {" "},
    "v": NONE,
    "V": ALL,
    "w": WORD,
    "W": ALL - WORD,
}

_ASSERTIONS: dict[str, Assertion | Special] = {
    "A": Assertion.START,
    "G": Assertion.START,
    "Z": Assertion.END,
    "z": Assertion.END,
    "B": Assertion.NOT_WORD_BOUNDARY,
    "R": Special.LINE_BREAK,
    "X": Special.GRAPHEME,
}


def escape(cursor: Cursor, in_class: bool, in_range: bool) -> Escape:
    r"""Parse the escape at the cursor. `\v` is a set, but at either end of a range it is one character."""
    start = cursor.at
    char = cursor.raw(cursor.at + 1)
    cursor.at += 2
    if char in "0xuN":
        return {"0": _octal, "x": _hexadecimal, "u": _utf16, "N": _named}[char](cursor, start)
    if char == "c":
        if cursor.ended():
            raise cursor.invalid(start, "a control character without its letter")
        return ord(cursor.read()) ^ 64
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char == "v" and in_range:
        return 0x0B
    if char in _SETS:
        return _SETS[char]
    if not in_class:
        if char in "123456789":
            return Number(int(char))
        if char in _ASSERTIONS:
            return _ASSERTIONS[char]
        if char == "b":
            return _boundary(cursor, start)
        if char == "k":
            if cursor.read() != "<":
                raise cursor.invalid(start, "a reference without a name")
            return Name(group_name(cursor, start))
    if char in _LETTERS or char in "123456789":
        raise cursor.invalid(start, "unknown escape")
    return ord(char)


def node_of(found: Escape) -> Node:
    """Return the node of an escape that is neither a character nor a backreference."""
    if isinstance(found, frozenset):
        return CharClass(found)
    if isinstance(found, Assertion):
        return Assert(found)
    if found is Special.ANYWHERE:
        return EMPTY
    return CharClass(ALL if found is Special.GRAPHEME else NONE)


def _boundary(cursor: Cursor, start: int) -> Assertion | Special:
    # Other text in braces is parsed as a quantifier, which is invalid here.
    if cursor.peek() != "{" or cursor.raw(cursor.at + 1) != "g":
        return Assertion.WORD_BOUNDARY
    cursor.at += 2
    if cursor.read() != "}":
        raise cursor.invalid(start, "unknown boundary")
    return Special.ANYWHERE


def group_name(cursor: Cursor, start: int) -> str:
    """Parse the name of a group up to `>`, with the cursor at its first character."""
    name = ""
    char = cursor.read()
    if char not in _LETTERS:
        raise cursor.invalid(start, "the name of the group does not start with a letter")
    while char in _LETTERS or char in "0123456789":
        name += char
        char = cursor.read()
    if char != ">":
        raise cursor.invalid(start, "the name of the group is not closed")
    return name


def _octal(cursor: Cursor, start: int) -> int:
    char = cursor.read()
    if char not in _OCTAL:
        raise cursor.invalid(start, "an octal escape without digits")
    code = int(char)
    for _ in range(2 if code <= 3 else 1):
        char = cursor.read()
        if char not in _OCTAL:
            cursor.back()
            break
        code = code * 8 + int(char)
    return code


def _hexadecimal(cursor: Cursor, start: int) -> int:
    malformed = "a malformed hexadecimal escape"
    first = cursor.read()
    if first in _HEXADECIMAL:
        second = cursor.read()
        if second not in _HEXADECIMAL:
            raise cursor.invalid(start, malformed)
        return int(first + second, 16)
    if first != "{" or cursor.peek() not in _HEXADECIMAL:
        raise cursor.invalid(start, malformed)
    code = 0
    while True:
        char = cursor.read()
        if char == "}":
            return code
        if char not in _HEXADECIMAL:
            raise cursor.invalid(start, malformed)
        code = code * 16 + int(char, 16)
        if code > 0x10FFFF:
            raise cursor.invalid(start, "the character code is too high")


def _utf16(cursor: Cursor, start: int) -> int:
    r"""Parse four hexadecimal digits, and a second `\u` escape if the two are a surrogate pair."""
    high = _four_digits(cursor, start)
    if 0xD800 <= high < 0xDC00:
        behind = cursor.at
        if cursor.read() == "\\" and cursor.read() == "u":
            low = _four_digits(cursor, start)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        cursor.at = behind
    return high


def _four_digits(cursor: Cursor, start: int) -> int:
    code = 0
    for _ in range(4):
        char = cursor.read()
        if char not in _HEXADECIMAL:
            raise cursor.invalid(start, "a malformed Unicode escape")
        code = code * 16 + int(char, 16)
    return code


def _named(cursor: Cursor, start: int) -> int:
    """Parse a character name in braces."""
    if cursor.read() != "{":
        raise cursor.invalid(start, "a character name without braces")
    first = cursor.at
    while cursor.read() != "}":
        if cursor.ended():
            raise cursor.invalid(start, "the character name is not closed")
    name = cursor.between(first, cursor.at - 1).strip("".join(map(chr, range(33)))).upper()
    known = ASCII_NAMES.split(";")
    if name in known:
        return known.index(name)
    if not name or not set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -()"):
        raise cursor.invalid(start, "unknown character name")
    # Only Java's own table shows whether the name exists.
    raise unsupported(cursor.origin(start), "the name of a non-ASCII character")
