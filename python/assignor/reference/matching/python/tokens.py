"""The tokens that `re` reads a pattern in: characters, each backslash with the character behind it."""

from __future__ import annotations

from assignor.reference.matching.text import Text, invalid


class Tokens:
    """A pattern as tokens, with the next one already read: a lone backslash at the end shows when it becomes the next.

    Attributes:
        text: The pattern.
        next: The next token: a character, a backslash and a character, or `""` at the end.
    """

    def __init__(self, pattern: str) -> None:
        self.text = Text(pattern)
        self.next = ""
        self._read()

    def _read(self) -> None:
        self.next = self.text.take()
        if self.next == "\\":
            if self.text.done():
                raise invalid(self.text.at - 1, "a backslash at the end")
            self.next += self.text.take()

    @property
    def at(self) -> int:
        """Position of the next token."""
        return self.text.at - len(self.next)

    def take(self) -> str:
        """Takes the next token."""
        taken = self.next
        self._read()
        return taken

    def eat(self, expected: str) -> bool:
        """Takes the next token if it is the expected character."""
        found = self.next == expected
        if found:
            self._read()
        return found

    def take_some(self, most: int | None, of: str) -> str:
        """Takes as many of the characters as there are, but not more than so many."""
        taken = ""
        while self.next and self.next in of and (most is None or len(taken) < most):
            taken += self.take()
        return taken

    def name(self, end: str, kind: str) -> str:
        """Takes a name of that kind and the character that ends it."""
        name, start = "", self.at
        while True:
            token = self.take()
            if not token:
                raise invalid(start, f"{kind} without an end" if name else f"no {kind}")
            if token == end:
                if not name:
                    raise invalid(start, f"no {kind}")
                return name
            name += token

    def back(self, at: int) -> None:
        """Goes back to a token's position."""
        self.text.at = at
        self._read()
