"""Tests that the dialect librdkafka matches as this machine's libc does."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from assignor import match_topics
from assignor.errors import InvalidPatternError, UnsupportedPatternError
from tests.matching import grammar, libc
from tests.support.engines import Engine

pytestmark = pytest.mark.skipif(not libc.IS_GLIBC, reason="librdkafka's patterns are defined by glibc's regcomp")

NAMES = ["a", "b", "aa", "ab", "ba", "aab", "aba", "abab", "a-b", "-", "a.b", "A", "_", "b1", "a{1}", " ", "]", "^"]

PATTERNS = st.one_of(
    grammar.patterns("librdkafka"),
    grammar.patterns("librdkafka", wrong=True),
    grammar.mutations(grammar.patterns("librdkafka")),
).map(lambda pattern: "^" + pattern.removeprefix("^").replace("\0", ""))
"""Patterns that begin with ^, because others are the name of a topic, and without NUL, which ends a pattern in C."""


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
