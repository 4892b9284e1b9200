"""Sets of characters in a pattern of `re`: `[...]`. There is no `&&` and no set within a set."""

from __future__ import annotations

from assignor.reference.matching.chars import ALL, NONE, Chars
from assignor.reference.matching.python.escapes import CLASSES, code_in_class
from assignor.reference.matching.python.flags import Mode
from assignor.reference.matching.python.state import State
from assignor.reference.matching.text import invalid


def read_set(state: State, mode: Mode, start: int) -> Chars:
    """Reads on behind a `[`."""
    tokens = state.tokens
    negated = tokens.eat("^")
    chars: Chars = NONE
    first = True
    while True:
        token = tokens.take()
        if token == "]" and not first:
            break
        first = False
        low = _member(state, token, start)
        if not tokens.eat("-"):
            chars |= _chars(mode, low)
            continue
        last = tokens.take()
        if last == "]":
            chars |= _chars(mode, low) | mode.span(ord("-"), ord("-"))
            break
        high = _member(state, last, start)
        # The position is the one that `re` gives: it counts an escape as two characters, however long it is.
        at = tokens.at - len(token) - 1 - len(last)
        if isinstance(low, frozenset) or isinstance(high, frozenset):
            raise invalid(at, "a bad range")
        if low is not None and high is not None:
            if high < low:
                raise invalid(at, "a bad range")
            chars |= mode.span(low, high)
    return ALL - chars if negated else chars


def _chars(mode: Mode, member: int | Chars | None) -> Chars:
    return mode.span(member, member) if isinstance(member, int) else member or NONE


def _member(state: State, token: str, start: int) -> int | Chars | None:
    """The code or the class that a token begins; None for an unknown name."""
    if not token:
        raise invalid(start, "a set without an end")
    if token[0] != "\\":
        return ord(token)
    if token[1] in CLASSES:
        return CLASSES[token[1]]
    at = state.tokens.at - 2
    code = code_in_class(state.tokens, token[1], at)
    if code is None:
        state.doubt(at, "a character name beyond ASCII")
    return code
