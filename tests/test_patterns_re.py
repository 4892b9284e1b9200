"""The reference reads patterns of the dialect python as the `re` of the running interpreter does."""

from __future__ import annotations

import re
import sys
import warnings
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

import pattern_grammar
from assignor.reference.matching import python
from assignor.reference.matching.text import PatternFault
from assignor.reference.matching.walk import TooManySteps, matches


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


def answer_of_reference(pattern: str, names: list[str]) -> PatternFault | TooManySteps | list[str]:
    """What the reference refuses, or the names that it matches."""
    try:
        node = python.parse(pattern)
        return [name for name in names if matches(node, name)]
    except (PatternFault, TooManySteps) as fault:
        return fault


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


def compare(pattern: str, names: list[str]) -> None:
    """Asserts that both answer the same, where both can."""
    found = answer_of_reference(pattern, names)
    if changed(pattern) or isinstance(found, TooManySteps) or (isinstance(found, PatternFault) and not found.invalid):
        return
    try:
        expected = answer_of_re(pattern, names)
    except SystemError:
        # `re` can lose what a group took in a possessive repetition ("please report a bug for the re module").
        assert re.search(r"[*+?}]\+", pattern)
        return
    if isinstance(expected, Fault) and isinstance(found, PatternFault):
        # `re` refuses the name of an unknown character or group at once, the reference only if nothing else is wrong.
        if expected.position is not None and pattern.isascii() and r"\N{" not in pattern:
            assert (expected.position, found.reason) == (found.position, found.reason)
        return
    assert expected == found


NAMES = st.lists(pattern_grammar.names(), min_size=1, max_size=8)


@given(pattern_grammar.patterns("python"), NAMES)
@example(r"(?:()|b\1){2}$", ["b", "bb"])
@example(r"(?:^|a){2}$", ["a"])
@example(r"(?:(a)|b)*\1$", ["aba", "abb"])
@example("(?i)[^\u0131]", ["i", "I", "a"])
@example("(?=(a))*b", ["b"])
def test_drawn_patterns_mean_what_they_mean_to_re(pattern: str, names: list[str]) -> None:
    compare(pattern, names)


@given(pattern_grammar.patterns("python", wrong=True), NAMES)
@example("*\\", ["a"])
@example(r"[\x61-\d]", ["a"])
@example("(?(1_0)a)", ["a"])
def test_wrong_patterns_are_refused_where_re_refuses_them(pattern: str, names: list[str]) -> None:
    compare(pattern, names)


@given(st.one_of(pattern_grammar.noise(), pattern_grammar.mutations(pattern_grammar.patterns("python"))), NAMES)
@example("a{,}", ["aaa"])
@example("(?x) a (?#\\)) b # c", ["ab"])
def test_noise_is_refused_or_means_what_it_means_to_re(pattern: str, names: list[str]) -> None:
    compare(pattern, names)
