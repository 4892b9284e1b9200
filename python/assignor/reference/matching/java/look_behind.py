"""Look-behinds, which go back as far as the length that Java computes for them."""

from __future__ import annotations

from assignor.reference.matching.char_set import ALL
from assignor.reference.matching.java.cursor import Cursor
from assignor.reference.matching.java.width import MAX_INT, Width, wrapped
from assignor.reference.matching.syntax import (
    EMPTY,
    MAX_NAME_LENGTH,
    Alternation,
    CharClass,
    Concat,
    LookAround,
    Node,
    Repetition,
    max_length,
    min_length,
)

_NOTHING = CharClass(frozenset())


def look_behind(cursor: Cursor, body: Node, width: Width, negated: bool, start: int) -> Node:
    """Return a look-behind that goes back no further than Java does."""
    if not width.bounded:
        raise cursor.invalid(start, "a look-behind without an obvious maximum length")
    fewest = min(min_length(body), MAX_INT)
    found = max_length(body)
    longest = MAX_INT if found is None else min(found, MAX_INT)
    # If the maximum length overflowed, it is negative. Java then starts after the position, because it subtracts the
    # length from the position. This difference can overflow, too.
    needed = wrapped(MAX_INT + width.most + 1) if width.most < 0 else 0
    if (width.most >= 0 and max(fewest, width.least) > width.most) or needed > MAX_NAME_LENGTH:
        return EMPTY if negated else _NOTHING
    if 0 <= width.most < min(longest, MAX_NAME_LENGTH):
        cursor.note_unsupported(start, "a look-behind that can match more characters than Java computes")
        return _NOTHING
    around = LookAround(False, negated, body)
    if needed <= fewest:
        return around
    room = LookAround(False, negated, Repetition(CharClass(ALL), needed, needed))
    return Alternation((room, around)) if negated else Concat((room, around))
