"""Character classes in brackets, with Java's rules for unions and intersections."""

from __future__ import annotations

from assignor.reference.matching.char_set import ALL, NONE, CharSet, between, both_cases
from assignor.reference.matching.java.cursor import FAILURE, Cursor
from assignor.reference.matching.java.escape import escape
from assignor.reference.matching.java.properties import property_at

_FOLDED_APART = {0x49, 0x4B, 0x53, 0x69, 0x6B, 0x73, 0xB5, 0xC5, 0xE5, 0xFF}
"""Characters that are an operand of their own with the flags i and u."""


class _Singles:
    """Operand that represents all single characters of the class."""


_SINGLES = _Singles()


def character_class(cursor: Cursor, closed: bool) -> CharSet:
    """Parse a class, with the cursor at its bracket.

    If `closed` is False, there are no brackets: parse the right side of `&&`, with the cursor one character before it.
    """
    cursor.enter()
    found = _members(cursor, closed)
    cursor.leave()
    return found


def _members(cursor: Cursor, closed: bool) -> CharSet:
    start = cursor.at
    # As in Java, all single characters of the class are one operand, so those after `&&` also belong to its left side.
    singles: set[str] = set()
    pending = False
    terms: list[tuple[bool, CharSet | _Singles]] = []
    # The last operand; None after a single character. Java uses it if the right side of `&&` is empty.
    last: CharSet | _Singles | None = None
    char = cursor.next()
    negated = char == "^" and cursor.raw(cursor.at - 1) == "["
    if negated:
        char = cursor.next()
    while True:
        if char == "[":
            last = character_class(cursor, True)
            terms.append((False, last))
            char = cursor.peek()
            continue
        if char == "&":
            behind = cursor.at
            if cursor.next() == "&":
                right = _right_side(cursor)
                if pending:
                    if not terms:
                        last = _SINGLES
                    terms.append((False, _SINGLES))
                    pending = False
                if right is not None:
                    last = right
                elif not terms:
                    raise cursor.invalid(behind, "an intersection without operands")
                if last is None:
                    # If the left side matches while Java matches a name, Java throws an exception.
                    cursor.note_unsupported(behind, FAILURE)
                else:
                    terms.append((bool(terms), last))
                char = cursor.peek()
                continue
            cursor.back()
        elif char == "\0" and cursor.ended():
            raise cursor.invalid(start, "the character class is not closed")
        elif char == "]" and (pending or terms):
            if closed:
                cursor.next()
            break
        last = _item(cursor, singles)
        if last is None:
            pending = True
        else:
            terms.append((False, last))
        char = cursor.peek()
    if pending:
        terms.append((False, _SINGLES))
    found = NONE
    for both, operand in terms:
        chars = frozenset(singles) if isinstance(operand, _Singles) else operand
        found = found & chars if both else found | chars
    return ALL - found if negated else found


def _right_side(cursor: Cursor) -> CharSet | None:
    """Parse the right side of `&&`, with the cursor at the second `&`; return None if it is empty."""
    right: CharSet | None = None
    char = cursor.next()
    while char not in "]&":
        if char == "[":
            chars = character_class(cursor, True)
        else:
            cursor.back()
            chars = character_class(cursor, False)
        right = chars if right is None else right | chars
        char = cursor.peek()
    return right


def _item(cursor: Cursor, singles: set[str]) -> CharSet | None:
    """Parse a character, range or escape. Add a single character to `singles`; return any other item as a set."""
    start = cursor.at
    first: object
    if cursor.peek() == "\\":
        if cursor.raw(cursor.at + 1) in "pP":
            return property_at(cursor)
        first = escape(cursor, True, cursor.raw(cursor.at + 2) == "-")
        if isinstance(first, frozenset):
            return first
    else:
        first = ord(cursor.peek())
        cursor.next()
    if not isinstance(first, int):
        raise cursor.invalid(start, "an escape that is not a character")
    if cursor.peek() == "-" and cursor.raw(cursor.at + 1) not in "[]":
        last: object
        if cursor.next() == "\\":
            last = escape(cursor, True, True)
        else:
            last = ord(cursor.peek())
            cursor.next()
        if not isinstance(last, int) or last < first:
            raise cursor.invalid(start, "a character range that ends before it starts")
        chars = between(chr(first), chr(last))
        return both_cases(chars) if cursor.flags.fold else chars
    chars = cursor.folded(first)
    if first < 256 and not (cursor.flags.fold and cursor.flags.unicode and first in _FOLDED_APART):
        singles |= chars
        return None
    return chars
