"""Sets of the characters that a topic name can have.

Kafka's names are of `[a-zA-Z0-9._-]`. The sets span all printable ASCII, which lets a pattern be tried on a name
that is not legal; what lies outside cannot occur in a name, and so is in no set.
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
"""The classes of POSIX."""


def between(first: str, last: str) -> CharSet:
    """The characters from the first to the last, both included, as far as a name can have them.

    Example:
        >>> sorted(between("x", "é"))
        ['x', 'y', 'z', '{', '|', '}', '~']
    """
    return frozenset(char for char in ALL if first <= char <= last)


def among(text: str) -> CharSet:
    """The characters of a text, as far as a name can have them."""
    return ALL & set(text)


def both_cases(chars: CharSet) -> CharSet:
    """The set with the other case of each of its letters.

    Example:
        >>> sorted(both_cases(among("a-Z")))
        ['-', 'A', 'Z', 'a', 'z']
    """
    return chars | {char.swapcase() for char in chars}
