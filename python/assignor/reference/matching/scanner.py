"""A scanner over the text of a pattern, for the parsers; and errors that name a position in the pattern."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

MAX_DEPTH = 100
"""How deep groups and classes may nest."""


_FRAMES = 10_000
"""The highest number of frames that parsers and the matcher need: each level of a pattern takes several."""


@contextlib.contextmanager
def deep() -> Iterator[None]:
    """Let Python recur as deep as patterns may nest."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class PatternFault(Exception):  # noqa: N818  # it becomes one of two public errors
    """A pattern that cannot be used.

    Attributes:
        invalid: Whether the dialect itself refuses it; else it is the engine that cannot match it exactly.
        position: Index of the character at which the reason lies.
        reason: What was wrong, or the construct that is not supported.
    """

    def __init__(self, invalid: bool, position: int, reason: str) -> None:
        super().__init__(invalid, position, reason)
        self.invalid = invalid
        self.position = position
        self.reason = reason


class Scanner:
    """A pattern being read from left to right.

    Attributes:
        at: Position of the next character.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._depth = 0
        self.at = 0

    def is_at_end(self) -> bool:
        """Whether all of it is read."""
        return self.at >= len(self._pattern)

    def look(self, further: int = 0) -> str:
        """The character so many behind the next one, without taking it; `""` behind the end."""
        return self._pattern[self.at + further : self.at + further + 1]

    def take(self) -> str:
        """Takes the next character; `""` at the end."""
        char = self.look()
        self.at += len(char)
        return char

    def eat(self, expected: str) -> bool:
        """Takes the given characters if they are the next ones."""
        found = self._pattern.startswith(expected, self.at)
        if found:
            self.at += len(expected)
        return found

    def take_while(self, kind: Callable[[str], bool]) -> str:
        """Takes characters as long as they are of a kind."""
        start = self.at
        while not self.is_at_end() and kind(self.look()):
            self.at += 1
        return self._pattern[start : self.at]

    def enter(self) -> None:
        """Enter a nested group or class; raise at the maximum depth. `leave` goes back."""
        if self._depth == MAX_DEPTH:
            raise unsupported(self.at, f"more than {MAX_DEPTH} nested groups")
        self._depth += 1

    def leave(self) -> None:
        """Leave the level that `enter` entered."""
        self._depth -= 1


def invalid(position: int, reason: str) -> PatternFault:
    """What the dialect itself refuses."""
    return PatternFault(True, position, reason)


def unsupported(position: int, construct: str) -> PatternFault:
    """What the dialect accepts and the engine cannot match exactly; the construct is named as a noun."""
    return PatternFault(False, position, construct)
