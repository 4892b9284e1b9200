"""The Rust engine reads patterns of the dialect python as the `re` of the running interpreter does.

The reference of this dialect is `re` itself, so only the Rust engine is compared.
"""

from __future__ import annotations

import re
import sys
import warnings
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from assignor import match_topics
from assignor.errors import InvalidPatternError, UnsupportedPatternError
from tests.matching import grammar
from tests.matching.refusals import check_reviewed


class Fault(NamedTuple):
    """Why `re` refuses a pattern; it does not always say where."""

    position: int | None


def answer_of_re(pattern: str, names: list[str]) -> Fault | list[str]:
    """What `re` refuses, or the names that it matches."""
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
    """What the engine refuses, or the names that it matches; None where the dialect may accept what it refuses."""
    try:
        return match_topics(pattern, names, dialect="python", include_internal=True)
    except InvalidPatternError as error:
        return error
    except UnsupportedPatternError as error:
        check_reviewed(error)
        return None


def changed(pattern: str) -> bool:
    """Whether the version that runs may answer otherwise than 3.11, by what is known of it."""
    # From 3.12 on, a condition asks for a group by an identifier or by plain digits, and by nothing else.
    if sys.version_info >= (3, 12) and re.search(r"\(\?\((?![A-Za-z_]\w*\)|[0-9]+\))", pattern):
        return True
    # 3.13 has no flag t.
    if sys.version_info >= (3, 13) and re.search(r"\(\?[a-zA-Z-]*t", pattern):
        return True
    # 3.14 has another way to write the end, \z.
    return sys.version_info >= (3, 14) and r"\z" in pattern


def both(pattern: str, names: list[str]) -> tuple[object, object]:
    """What `re` answers and what the engine does; twice the same where they cannot be compared."""
    found = answer_of_ours(pattern, names)
    if found is None or changed(pattern):
        return found, found
    try:
        expected = answer_of_re(pattern, names)
    except SystemError:
        # `re` can lose what a group took in a possessive repetition ("please report a bug for the re module").
        return True, re.search(r"[*+?}]\+", pattern) is not None
    if isinstance(expected, Fault) and isinstance(found, InvalidPatternError):
        # `re` refuses the name of an unknown character or group at once, we only if nothing else is wrong.
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
def test_drawn_patterns_mean_what_they_mean_to_re(pattern: str, names: list[str]) -> None:
    expected, found = both(pattern, names)

    assert expected == found


@given(pattern=grammar.patterns("python", wrong=True), names=NAMES)
@example(pattern="*\\", names=["a"])
@example(pattern=r"[\x61-\d]", names=["a"])
@example(pattern="(?(1_0)a)", names=["a"])
def test_wrong_patterns_are_refused_where_re_refuses_them(pattern: str, names: list[str]) -> None:
    expected, found = both(pattern, names)

    assert expected == found


@given(
    pattern=st.one_of(grammar.noise(), grammar.mutations(grammar.patterns("python"))),
    names=NAMES,
)
@example(pattern="a{,}", names=["aaa"])
@example(pattern="(?x) a (?#\\)) b # c", names=["ab"])
def test_noise_is_refused_or_means_what_it_means_to_re(pattern: str, names: list[str]) -> None:
    expected, found = both(pattern, names)

    assert expected == found
