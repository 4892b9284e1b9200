"""POSIX bracket expressions as in glibc with the collation of the C locale."""

from __future__ import annotations

from assignor.reference.matching.char_set import ALL, NONE, POSIX, CharSet, among, between
from assignor.reference.matching.scanner import PatternError, Scanner, invalid


def bracket(text: Scanner) -> CharSet:
    """Parse a bracket expression."""
    start = text.at
    text.take()
    negated = text.eat("^")
    chars = NONE
    first = True
    while first or text.look() != "]":
        position = text.at
        element = _element(text, start, first)
        # A hyphen before the closing bracket is a literal.
        if isinstance(element, str) and text.look() == "-" and text.look(1) != "]":
            text.take()
            last = _element(text, start, True)
            # The C locale has no order of non-ASCII characters.
            if not isinstance(last, str) or not element <= last or not last.isascii():
                raise invalid(position, "a character range that the C locale does not have")
            chars |= between(element, last)
        else:
            chars |= among(element) if isinstance(element, str) else element
        first = False
    text.take()
    return ALL - chars if negated else chars


def _element(text: Scanner, start: int, hyphen: bool) -> str | CharSet:
    """Parse an element in brackets: a character, which may be an end of a range, or a class."""
    position = text.at
    char = text.take()
    if not char:
        raise _open(start)
    if char == "[" and text.look() in (".", "=", ":"):
        return _symbol(text, start, position)
    if char == "-" and not hyphen and text.look() != "]":
        raise invalid(position, "a hyphen that is neither part of a range nor first or last in brackets")
    return char


def _symbol(text: Scanner, start: int, position: int) -> str | CharSet:
    """Parse `[.a.]`, `[=a=]` or `[:alpha:]` after its first bracket."""
    kind = text.take()
    name = ""
    while not text.eat(kind + "]"):
        if text.is_at_end():
            raise _open(start)
        name += text.take()
    if kind == ":" and name in POSIX:
        return POSIX[name]
    if kind == ":" or len(name) != 1 or not name.isascii():
        raise invalid(position, "a character class or collating element that the C locale does not have")
    return name if kind == "." else among(name)


def _open(start: int) -> PatternError:
    return invalid(start, "the bracket expression is not closed")
