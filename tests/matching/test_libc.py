"""Tests that the dialect librdkafka matches as this machine's libc does."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from assignor import match_topics
from assignor.errors import InvalidPatternError, UnsupportedPatternError
from tests.matching import libc
from tests.support.engines import Engine

pytestmark = pytest.mark.skipif(not libc.IS_GLIBC, reason="librdkafka's patterns are defined by glibc's regcomp")

NAMES = ["a", "b", "aa", "ab", "ba", "aab", "aba", "abab", "a-b", "-", "a.b", "A", "_", "b1", "a{1}", " ", "]", "^"]

CHARACTERS = st.sampled_from("abA1_-.é)}]:,")
PLACES = st.sampled_from(["^", "$", "\\b", "\\B", "\\<", "\\>", "\\`", "\\'"])
ESCAPES = st.sampled_from(["\\w", "\\W", "\\s", "\\S", "\\.", "\\*", "\\{", "\\n", "\\", "\\1", "\\2"])
MEMBERS = st.sampled_from(
    [
        "a",
        "b",
        "-",
        "]",
        "^",
        "[",
        "\\",
        "é",
        "a-c",
        "c-a",
        "--a",
        "[:alpha:]",
        "[:foo:]",
        "[=a=]",
        "[.-.]",
        "[.ab.]",
        "[:",
    ]
)
BRACKETS = st.builds("[{}{}]".format, st.sampled_from(["", "^"]), st.lists(MEMBERS, max_size=4).map("".join))
ATOMS = st.one_of(CHARACTERS, CHARACTERS, st.just("."), PLACES, ESCAPES, BRACKETS)
OPERATORS = st.sampled_from(
    [
        "",
        "",
        "",
        "*",
        "+",
        "?",
        "**",
        "{2}",
        "{,2}",
        "{1,}",
        "{2,3}",
        "{,}",
        "{0}",
        "{",
        "{}",
        "{3,2}",
        "{1\\,2}",
        "{40000}",
    ]
)


def _branches(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draw one to three alternatives of at most three atoms each."""
    items = st.tuples(atoms, OPERATORS).map("".join)
    return st.lists(st.lists(items, max_size=3).map("".join), min_size=1, max_size=3).map("|".join)


def _grouped(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draw atoms, or alternatives of them in a group, which is sometimes not closed."""
    groups = st.builds("({}{}".format, _branches(atoms), st.sampled_from([")"] * 9 + [""]))
    return st.one_of(atoms, groups)


# The depth is limited, because glibc is slow on nested counts.
PATTERNS = st.builds(
    "{}{}{}".format, st.sampled_from(["^", "^", "^("]), _branches(_grouped(_grouped(ATOMS))), st.sampled_from(["", "$"])
)


@given(pattern=PATTERNS)
@example(pattern="^(a\\b|-)+$")
@example(pattern="^(\\ba|-)*$")
@example(pattern="^(a(\\b){2})+")
@example(pattern="^(\\B\\`)+")
@example(pattern="^[^é]é*$")
@example(pattern="^(a*)b\\1$")
@example(pattern="^a)|(^)")
@example(pattern="^{1}")
def test_drawn_patterns_match_as_in_libc(engine: Engine, pattern: str) -> None:
    try:
        found = match_topics(pattern, NAMES, dialect="librdkafka", include_internal=True, engine=engine)
    except InvalidPatternError:
        assert libc.search(pattern, NAMES) is None
    except UnsupportedPatternError:
        assume(False)
    else:
        assert libc.search(pattern, NAMES) == found


def test_both_locales_agree_on_ascii() -> None:
    for pattern in ["^[a-z]+", "^[^a]", "^\\w.\\W", "^[[:punct:]]", "^a{2}|-$", "^[[=a=]b]"]:
        assert libc.answer(pattern, NAMES, "C") == libc.answer(pattern, NAMES, "C.UTF-8")
