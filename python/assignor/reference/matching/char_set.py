"""Sets of the characters that a topic name can have.

Kafka's names consist of `[a-zA-Z0-9._-]`. The sets cover all printable ASCII characters, so that patterns can also be
matched against names that Kafka does not allow. Other characters cannot occur in a name and are in no set.
"""

from __future__ import annotations

from typing import TypeAlias

CharSet: TypeAlias = frozenset[str]

NONE: CharSet = frozenset()
ALL: CharSet = frozenset(map(chr, range(ord(" "), ord("~") + 1)))
DIGITS: CharSet = frozenset("0123456789")
LOWER: CharSet = frozenset("abcdefghijklmnopqrstuvwxyz")
UPPER: CharSet = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
LETTERS: CharSet = LOWER | UPPER
WORD: CharSet = LETTERS | DIGITS | {"_"}

POSIX: dict[str, CharSet] = {
    "alnum": LETTERS | DIGITS,
    "alpha": LETTERS,
    "blank": frozenset(" "),
    "cntrl": NONE,
    "digit": DIGITS,
    "graph": ALL - {" "},
    "lower": LOWER,
    "print": ALL,
    "punct": ALL - LETTERS - DIGITS - {" "},
    "space": frozenset(" "),
    "upper": UPPER,
    "xdigit": DIGITS | set("abcdefABCDEF"),
}
"""The POSIX classes."""


def between(first: str, last: str) -> CharSet:
    """Return the characters from `first` to `last`, both included, that a name can have.

    Example:
        >>> sorted(between("x", "é"))
        ['x', 'y', 'z', '{', '|', '}', '~']
    """
    return frozenset(char for char in ALL if first <= char <= last)


def among(text: str) -> CharSet:
    """Return the characters of a text that a name can have."""
    return ALL & set(text)


def both_cases(chars: CharSet) -> CharSet:
    """Return the set plus the other case of each of its letters.

    Example:
        >>> sorted(both_cases(among("a-Z")))
        ['-', 'A', 'Z', 'a', 'z']
    """
    return chars | {char.swapcase() for char in chars}
