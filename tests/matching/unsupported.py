"""Constructs that dialects accept but the engine does not support, as listed in docs/matching.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from assignor.names import Dialect

if TYPE_CHECKING:
    from assignor.errors import UnsupportedPatternError

TOO_LARGE = (
    "characters; the limit is",
    "nested groups",
    "parts in total",
    "backreferences to more than",
    "a high repetition count of",
    "too many repetitions",
)
"""Constructs of patterns that are too large, in any dialect."""

REVIEWED: dict[Dialect, tuple[str, ...]] = {
    "java": (
        *TOO_LARGE,
        "the name of a non-ASCII character",
        "a backreference to a group whose capture Java may keep after backtracking",
        "a look-behind that can match more characters than Java computes",
        "a construct with which Java fails while matching",
    ),
    "re2j": (
        *TOO_LARGE,
        "a case-insensitive letter from U+1C80 to U+1C88, for which RE2/J does not terminate",
        "neighbouring alternatives that begin with the same letter, one only in upper case and one in either case, "
        "which RE2/J 1.8 matches incorrectly",
    ),
    "librdkafka": (
        *TOO_LARGE,
        "a repetition with an assertion (^, $, \\b, ...) that glibc does not check in every iteration",
        "a backreference that glibc may match incorrectly",
    ),
    "python": (
        *TOO_LARGE,
        "the name of a non-ASCII character",
        "a non-ASCII group name",
        "a conditional on a group inside that group",
        "a backreference to a group inside a possessive repetition",
    ),
}
"""Parts of the errors' `construct`, by dialect."""

TOO_MANY_STEPS = "takes more than 1000000 steps"
"""Part of the construct of an error that is raised when a name is matched, not when the pattern is parsed."""


def assert_reviewed(error: UnsupportedPatternError) -> None:
    """Raise AssertionError unless the error is for a reviewed construct, or for too many steps on a name."""
    assert is_reviewed(error) or TOO_MANY_STEPS in error.construct, error


def is_reviewed(error: UnsupportedPatternError) -> bool:
    """Return True if the error is for one of the reviewed constructs."""
    return any(words in error.construct for words in REVIEWED[cast(Dialect, error.dialect)])
