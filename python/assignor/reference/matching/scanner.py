"""Scanner over the text of a pattern, and errors with a position in the pattern."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from assignor.reference.matching.limits import MAX_DEPTH

_FRAMES = 10_000
"""Maximum number of stack frames of parsers and matcher; each nesting level takes several."""


@contextlib.contextmanager
def deep() -> Iterator[None]:
    """Raise Python's recursion limit to what the maximum nesting depth needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class PatternError(Exception):
    """A pattern that is invalid or not supported.

    Attributes:
        invalid: True if the pattern is invalid in its dialect; False if the engine cannot match it exactly.
        position: Index of the character with the problem.
        reason: What is wrong, or the unsupported construct.
    """

    def __init__(self, invalid: bool, position: int, reason: str) -> None:
        super().__init__(invalid, position, reason)
        self.invalid = invalid
        self.position = position
        self.reason = reason


class Scanner:
    """A scanner that reads a pattern from left to right.

    Attributes:
        at: Position of the next character.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._depth = 0
        self.at = 0

    def is_at_end(self) -> bool:
        """Return True at the end of the pattern."""
        return self.at >= len(self._pattern)

    def look(self, further: int = 0) -> str:
        """Return the character `further` characters after the next one, without consuming it; `""` after the end."""
        return self._pattern[self.at + further : self.at + further + 1]

    def take(self) -> str:
        """Consume and return the next character; `""` at the end."""
        char = self.look()
        self.at += len(char)
        return char

    def eat(self, expected: str) -> bool:
        """Consume the expected characters if they are next; return True if they are."""
        found = self._pattern.startswith(expected, self.at)
        if found:
            self.at += len(expected)
        return found

    def take_while(self, kind: Callable[[str], bool]) -> str:
        """Consume and return characters while they satisfy a predicate."""
        start = self.at
        while not self.is_at_end() and kind(self.look()):
            self.at += 1
        return self._pattern[start : self.at]

    def reject_look_around(self, dialect: str) -> None:
        """Raise if a look-around group is next, for a dialect that has none.

        Other errors of such a group would not name the cause.
        """
        for start in ("(?=", "(?!", "(?<=", "(?<!"):
            if self._pattern.startswith(start, self.at):
                raise invalid(self.at, f"look-around '{start}' is not supported by dialect {dialect}")

    def enter(self) -> None:
        """Enter a nested group or class; raise at the maximum depth."""
        if self._depth == MAX_DEPTH:
            raise unsupported(self.at, f"more than {MAX_DEPTH} nested groups")
        self._depth += 1

    def leave(self) -> None:
        """Leave a nested group or class."""
        self._depth -= 1


def invalid(position: int, reason: str) -> PatternError:
    """Return the error for a pattern that is invalid in its dialect."""
    return PatternError(True, position, reason)


def unsupported(position: int, construct: str) -> PatternError:
    """Return the error for a valid pattern that the engine cannot match exactly; `construct` is a noun phrase."""
    return PatternError(False, position, construct)
