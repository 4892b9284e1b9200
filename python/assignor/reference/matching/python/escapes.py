"""What a backslash means to `re`, in a set and outside of one."""

from __future__ import annotations

from assignor.reference.matching.chars import ALL, DIGITS, LETTERS, WORD, Chars, among
from assignor.reference.matching.python.names import character_named
from assignor.reference.matching.python.tokens import Tokens
from assignor.reference.matching.syntax import Place
from assignor.reference.matching.text import invalid

_CONTROLS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_SPACE = among(" ")
CLASSES: dict[str, Chars] = {
    "d": DIGITS,
    "D": ALL - DIGITS,
    "s": _SPACE,
    "S": ALL - _SPACE,
    "w": WORD,
    "W": ALL - WORD,
}
"""The classes of characters, as far as names go: Unicode and ASCII are the same there."""
PLACES = {"A": Place.START, "Z": Place.END, "b": Place.BOUNDARY, "B": Place.INSIDE}

_OCTAL = "01234567"
_DECIMAL = "0123456789"
_HEXADECIMAL = "0123456789abcdefABCDEF"
_LENGTHS = {"x": 2, "u": 4, "U": 8}


def code_in_class(tokens: Tokens, char: str, start: int) -> int | None:
    """The code that an escape stands for in a set; the escape's first token is taken. None for an unknown name."""
    if char in _OCTAL:
        return _octal(char + tokens.take_some(2, _OCTAL), start)
    if char in _DECIMAL:
        raise invalid(start, "an unknown escape")
    return _CONTROLS[char] if char in _CONTROLS else _code(tokens, char, start)


def code_or_group(tokens: Tokens, char: str, start: int) -> tuple[int | None, int | None]:
    """The code or the group that an escape outside of a set stands for; neither for an unknown name."""
    if char == "0":
        return _octal(char + tokens.take_some(2, _OCTAL), start), None
    if char in _DECIMAL:
        digits = char + tokens.take_some(1, _DECIMAL)
        if len(digits) == 2 and set(digits) <= set(_OCTAL):
            third = tokens.take_some(1, _OCTAL)
            if third:
                return _octal(digits + third, start), None
        return None, int(digits)
    return (_CONTROLS[char] if char in _CONTROLS and char != "b" else _code(tokens, char, start)), None


def _code(tokens: Tokens, char: str, start: int) -> int | None:
    if char in _LENGTHS:
        digits = tokens.take_some(_LENGTHS[char], _HEXADECIMAL)
        if len(digits) < _LENGTHS[char]:
            raise invalid(start, "an incomplete escape")
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise invalid(start, "an escape beyond Unicode")
        return code
    if char == "N":
        if not tokens.eat("{"):
            raise invalid(tokens.at, "no { behind \\N")
        return character_named(tokens.name("}", "character name"))
    if char in LETTERS:
        raise invalid(start, "an unknown escape")
    return ord(char)


def _octal(digits: str, start: int) -> int:
    code = int(digits, 8)
    if code > 0o377:
        raise invalid(start, "an octal escape above 377")
    return code
