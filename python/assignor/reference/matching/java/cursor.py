"""A position in the pattern as Java's parser sees it: quotes are escapes by then, and comments are no part of it."""

from __future__ import annotations

from dataclasses import dataclass

from assignor.reference.matching.char_set import ALL, NONE, CharSet, both_cases
from assignor.reference.matching.scanner import PatternFault, Scanner, invalid, unsupported

FAILURE = "a construct with which Java fails while matching"
"""Where Java throws, or forgets where it stands, once it matches a name."""

_PARTNERS = {"İ": "i", "ı": "i", "ſ": "s", "\u212a": "k"}


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags that change what is read; those of line breaks do not, as no name has one.

    Attributes:
        fold: `i`: letters match in either case.
        unicode: `u`: those of Unicode too.
        comments: `x`: white space and comments mean nothing.
        unix_lines: `d`: only a line feed ends a line.
        classes: `U`: the classes of POSIX are those of Unicode.
        canonical: `c`: canonical equivalence; it changes only how long Java thinks that a class is.
    """

    fold: bool = False
    unicode: bool = False
    comments: bool = False
    unix_lines: bool = False
    classes: bool = False
    canonical: bool = False


class Cursor:
    """The characters of a pattern and the position of the next one. Behind the end there are NULs without end.

    Attributes:
        at: Index of the next character.
        flags: The flags that hold there.
    """

    def __init__(self, pattern: str) -> None:
        self._chars, self._origins = _unquoted(pattern)
        self._depth = Scanner("")
        self._doubt: PatternFault | None = None
        self.at = 0
        self.flags = Flags()

    def ended(self) -> bool:
        """Whether all of it is read."""
        return self.at >= len(self._chars)

    def at_end(self) -> bool:
        """Whether all of it is read and nothing behind the end."""
        return self.at == len(self._chars)

    def raw(self, index: int) -> str:
        """The character at an index, whatever the flags."""
        return self._chars[index] if index < len(self._chars) else "\0"

    def between(self, first: int, end: int) -> str:
        """The characters between two indices."""
        return "".join(self._chars[first:end])

    def peek(self) -> str:
        """The next character that is no comment, without taking it."""
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
        """Goes one character further, and peeks."""
        self.at += 1
        return self.peek()

    def read(self) -> str:
        """Takes the next character that is no comment."""
        char = self.peek()
        self.at += 1
        return char

    def back(self) -> None:
        """Goes one character back, be it of a comment."""
        self.at = max(0, self.at - 1)

    def _ends_line(self, char: str) -> bool:
        return char == "\n" or (not self.flags.unix_lines and char in "\r\x85\u2028\u2029")

    def origin(self, index: int) -> int:
        """Where an index lies in the pattern."""
        return self._origins[min(index, len(self._chars))]

    def refuse(self, index: int, reason: str) -> PatternFault:
        """What Java refuses, at an index."""
        return invalid(self.origin(index), reason)

    def doubt(self, index: int, construct: str) -> None:
        """What Java accepts and we cannot do, at an index; it counts only if Java accepts all the rest."""
        if self._doubt is None:
            self._doubt = unsupported(self.origin(index), construct)

    def settle(self) -> None:
        """Raises the first doubt, if there is any."""
        if self._doubt is not None:
            raise self._doubt

    def enter(self) -> None:
        """Goes one level deeper."""
        self._depth.at = self.origin(self.at)
        self._depth.enter()

    def leave(self) -> None:
        """Comes back from that level."""
        self._depth.leave()

    def folded(self, code: int) -> CharSet:
        """The characters that a literal one matches under the flags."""
        char = chr(code)
        if not self.flags.fold:
            return ALL & {char}
        if self.flags.unicode:
            char = _PARTNERS.get(char, char)
        return both_cases(ALL & {char}) if char in ALL else NONE


def _unquoted(pattern: str) -> tuple[list[str], list[int]]:
    r"""The pattern with an escape for each character in `\Q...\E`, and where each of its characters comes from."""
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
            # The first digit must not become a part of an escape before the quote.
            put("\\x3" + char, at)
        elif not quoted or char >= "\x80" or char.isalnum():
            put(char, at)
        else:
            put("\\" + char, at)
        first = False
        at += 1
    origins.append(len(pattern))
    return chars, origins
