"""Cursor over a pattern as in Java's parser: quoted characters are replaced by escapes, and comments are skipped."""

from __future__ import annotations

from dataclasses import dataclass

from assignor.reference.matching.char_set import ALL, NONE, CharSet, both_cases
from assignor.reference.matching.scanner import PatternError, Scanner, invalid, unsupported

FAILURE = "a construct with which Java fails while matching"
"""Constructs with which Java throws an exception, or loses its position, while matching a name."""

_PARTNERS = {"İ": "i", "ı": "i", "ſ": "s", "\u212a": "k"}


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags that affect parsing. The flags `m` and `s` have no effect, since no name has a line break.

    Attributes:
        fold: `i`: ignore the case of ASCII letters.
        unicode: `u`: ignore the case of Unicode letters.
        comments: `x`: skip white space and comments.
        unix_lines: `d`: only a line feed ends a line, and so a comment.
        classes: `U`: POSIX classes are those of Unicode.
        canonical: `c`: canonical equivalence; it affects only the length that Java computes for a class.
    """

    fold: bool = False
    unicode: bool = False
    comments: bool = False
    unix_lines: bool = False
    classes: bool = False
    canonical: bool = False


class Cursor:
    """The characters of a pattern, and the position of the next one. After the end, every character is NUL.

    Attributes:
        at: Index of the next character.
        flags: Flags at the next character.
    """

    def __init__(self, pattern: str) -> None:
        self._chars, self._origins = _unquoted(pattern)
        self._depth = Scanner("")
        self._first_unsupported: PatternError | None = None
        self.at = 0
        self.flags = Flags()

    def ended(self) -> bool:
        """Return True at the end of the pattern or after it."""
        return self.at >= len(self._chars)

    def at_end(self) -> bool:
        """Return True exactly at the end of the pattern, not after it."""
        return self.at == len(self._chars)

    def raw(self, index: int) -> str:
        """Return the character at an index, without skipping comments."""
        return self._chars[index] if index < len(self._chars) else "\0"

    def between(self, first: int, end: int) -> str:
        """Return the characters between two indices."""
        return "".join(self._chars[first:end])

    def peek(self) -> str:
        """Skip comments; return the next character without consuming it."""
        while self.flags.comments:
            if self.raw(self.at) in "\t\n\x0b\x0c\r ":
                self.at += 1
            elif self.raw(self.at) == "#":
                while self.raw(self.at) != "\0" and not self._ends_line(self.raw(self.at)):
                    self.at += 1
            else:
                break
        return self.raw(self.at)

    def next(self) -> str:
        """Advance by one character, and peek."""
        self.at += 1
        return self.peek()

    def read(self) -> str:
        """Skip comments; consume and return the next character."""
        char = self.peek()
        self.at += 1
        return char

    def back(self) -> None:
        """Go back by one character, even into a comment."""
        self.at = max(0, self.at - 1)

    def _ends_line(self, char: str) -> bool:
        return char == "\n" or (not self.flags.unix_lines and char in "\r\x85\u2028\u2029")

    def origin(self, index: int) -> int:
        """Return the position in the pattern of the character at an index."""
        return self._origins[min(index, len(self._chars))]

    def invalid(self, index: int, reason: str) -> PatternError:
        """Return the error for an invalid pattern; convert the index to a position in the pattern."""
        return invalid(self.origin(index), reason)

    def note_unsupported(self, index: int, construct: str) -> None:
        """Note an unsupported construct at an index; it is reported only if Java accepts the rest of the pattern."""
        if self._first_unsupported is None:
            self._first_unsupported = unsupported(self.origin(index), construct)

    def check_supported(self) -> None:
        """Raise the error for the first unsupported construct, if there is any."""
        if self._first_unsupported is not None:
            raise self._first_unsupported

    def enter(self) -> None:
        """Enter a nested group or class; raise at the maximum depth."""
        self._depth.at = self.origin(self.at)
        self._depth.enter()

    def leave(self) -> None:
        """Leave a nested group or class."""
        self._depth.leave()

    def folded(self, code: int) -> CharSet:
        """Return the characters that a literal matches under the flags."""
        char = chr(code)
        if not self.flags.fold:
            return ALL & {char}
        if self.flags.unicode:
            char = _PARTNERS.get(char, char)
        return both_cases(ALL & {char}) if char in ALL else NONE


def _unquoted(pattern: str) -> tuple[list[str], list[int]]:
    r"""Replace each character in `\Q...\E` by an escape; return the characters and their positions in the pattern."""
    chars: list[str] = []
    origins: list[int] = []

    def put(text: str, origin: int) -> None:
        chars.extend(text)
        origins.extend([origin] * len(text))

    at = 0
    quoted = first = False
    while at < len(pattern):
        char, behind = pattern[at], pattern[at + 1 : at + 2]
        if char == "\\" and quoted and behind == "E":
            quoted = False
            at += 1
        elif char == "\\" and not quoted and behind == "Q":
            quoted = first = True
            at += 2
            continue
        elif char == "\\" and not quoted and behind:
            put(char, at)
            put(behind, at + 1)
            at += 1
        elif first and "0" <= char <= "9":
            # The first digit must not become part of an escape before the quote.
            put("\\x3" + char, at)
        elif not quoted or char >= "\x80" or char.isalnum():
            put(char, at)
        else:
            put("\\" + char, at)
        first = False
        at += 1
    origins.append(len(pattern))
    return chars, origins
