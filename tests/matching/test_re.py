"""Tests that the Rust engine matches patterns of the dialect python as the running interpreter's `re` does.

The reference of this dialect is `re` itself, so only the Rust engine is compared.
"""

from __future__ import annotations

import re
import warnings
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from assignor import match_topics
from assignor.errors import InvalidPatternError, UnsupportedPatternError
from tests.matching import grammar
from tests.matching.re_versions import changed
from tests.matching.unsupported import assert_reviewed


class Fault(NamedTuple):
    """Error of `re` for a pattern; its position may be unknown."""

    position: int | None


def answer_of_re(pattern: str, names: list[str]) -> Fault | list[str]:
    """Return the error of `re`, or the names that it matches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = re.compile(pattern)
        except re.error as fault:
            return Fault(fault.pos)
        except (OverflowError, RecursionError, ValueError):
            return Fault(None)
    return [name for name in names if compiled.match(name)]


def answer_of_ours(pattern: str, names: list[str]) -> InvalidPatternError | list[str] | None:
    """Return the engine's error, or the names that it matches; None for an unsupported construct."""
    try:
        return match_topics(pattern, names, dialect="python", include_internal=True)
    except InvalidPatternError as error:
        return error
    except UnsupportedPatternError as error:
        assert_reviewed(error)
        return None


def both(pattern: str, names: list[str]) -> tuple[object, object]:
    """Return the answers of `re` and of the engine; equal values if they cannot be compared."""
    found = answer_of_ours(pattern, names)
    if found is None or changed(pattern):
        return found, found
    try:
        expected = answer_of_re(pattern, names)
    except SystemError:
        # `re` can lose a capture in a possessive repetition ("please report a bug for the re module").
        return True, re.search(r"[*+?}]\+", pattern) is not None
    if isinstance(expected, Fault) and isinstance(found, InvalidPatternError):
        # `re` rejects an unknown character or group name when it reads it, this package only if nothing else is wrong.
        if expected.position is not None and pattern.isascii() and r"\N{" not in pattern:
            return (expected.position, found.reason), (found.position, found.reason)
        return found, found
    return expected, found


NAMES = st.lists(grammar.names(), min_size=1, max_size=8)


@given(pattern=grammar.patterns("python"), names=NAMES)
@example(pattern=r"(?:()|b\1){2}$", names=["b", "bb"])
@example(pattern=r"(?:^|a){2}$", names=["a"])
@example(pattern=r"(?:(a)|b)*\1$", names=["aba", "abb"])
@example(pattern="(?i)[^\u0131]", names=["i", "I", "a"])
@example(pattern="(?=(a))*b", names=["b"])
def test_drawn_patterns_match_as_in_re(pattern: str, names: list[str]) -> None:
    expected, found = both(pattern, names)

    assert expected == found


@given(
    pattern=st.one_of(
        grammar.patterns("python", wrong=True), grammar.noise(), grammar.mutations(grammar.patterns("python"))
    ),
    names=NAMES,
)
@example(pattern="*\\", names=["a"])
@example(pattern=r"[\x61-\d]", names=["a"])
@example(pattern="(?(1_0)a)", names=["a"])
@example(pattern="a{,}", names=["aaa"])
@example(pattern="(?x) a (?#\\)) b # c", names=["ab"])
def test_invalid_patterns_and_random_text_match_or_fail_at_the_position_of_re(pattern: str, names: list[str]) -> None:
    expected, found = both(pattern, names)

    assert expected == found
