"""The constructs that the engine may refuse though their dialect accepts them, as docs/matching.md lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignor.errors import UnsupportedPatternError

TOO_LARGE = ("groups within each other", "parts in all", "a high count of", "so many repetitions")
"""Patterns that are too large in any dialect."""

REVIEWED = {
    "java": (
        *TOO_LARGE,
        "the name of a character outside of ASCII",
        "a back-reference to a group that may have been taken on a way that failed",
        "a look-behind that is longer than its maximum length in Java",
        "a construct at which Java itself fails while it matches",
    ),
    "re2j": (*TOO_LARGE, "a letter from U+1C80 to U+1C88 without its case"),
    "librdkafka": (
        *TOO_LARGE,
        "a repetition in which a place follows another one or not",
        "a back-reference that glibc may get wrong",
    ),
    "python": (
        *TOO_LARGE,
        "a character name beyond ASCII",
        "a group name beyond ASCII",
        "a condition on a group within itself",
        "a reference into a possessive repetition",
    ),
}
"""By dialect, words of the errors' `construct`."""

TOO_MANY_STEPS = "a search of over"
"""The construct of an error that a pattern does not raise by itself, but on a name."""


def check_reviewed(error: UnsupportedPatternError) -> None:
    """Raise AssertionError unless the error is for a reviewed construct, or for too many steps on a name."""
    assert is_reviewed(error) or TOO_MANY_STEPS in error.construct, error


def is_reviewed(error: UnsupportedPatternError) -> bool:
    """Return whether the error is for a pattern with one of the reviewed constructs."""
    return any(words in error.construct for words in REVIEWED[error.dialect])
