"""Tests that both engines give equal results for any pattern of any dialect, and that no pattern crashes or hangs them.

Patterns, valid and invalid, are drawn from a grammar of each dialect and from noise. The tests compare the matching
topics, or the class and text of the error. The reference of the dialect python is `re`, whose errors have other texts
and which matches constructs that the Rust engine does not support; there only the class of an error is compared.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from assignor import TopicMatcher, assign, errors, match_topics, resolve
from assignor.model import Subscription
from assignor.names import Dialect
from assignor.validation import DIALECTS
from tests.matching import grammar
from tests.matching.unsupported import TOO_MANY_STEPS, assert_reviewed
from tests.support.engines import ENGINES, Engine

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
FUZZED = 200_000 if LONG else 4_000

NAMES = st.lists(grammar.names(), min_size=1, max_size=8)


def any_pattern(dialect: Dialect) -> st.SearchStrategy[str]:
    """Draw a valid or invalid pattern of a dialect, or noise."""
    valid, wrong = grammar.patterns(dialect), grammar.patterns(dialect, wrong=True)
    return st.one_of(valid, wrong, grammar.noise(), grammar.mutations(valid))


def answer(pattern: str, names: list[str], dialect: Dialect, engine: Engine) -> list[str] | tuple[type[Exception], str]:
    """Return the topics that match, or class and message of the error."""
    try:
        return match_topics(pattern, names, dialect=dialect, include_internal=True, engine=engine)
    except errors.AssignorError as error:
        if isinstance(error, errors.UnsupportedPatternError):
            assert_reviewed(error)
        return type(error), str(error)


def without_words(
    found: list[str] | tuple[type[Exception], str],
) -> list[str] | tuple[type[Exception], str]:
    """Return the answer without the message of an error."""
    return (found[0], "") if isinstance(found, tuple) else found


def answers(pattern: str, names: list[str], dialect: Dialect) -> dict[str, object]:
    """Return the answers of both engines, and of all functions of the Rust engine."""
    rust, reference = (answer(pattern, names, dialect, engine) for engine in ENGINES)
    if isinstance(reference, tuple) and TOO_MANY_STEPS in reference[1]:
        reference = rust  # the reference counts more steps, and reaches the limit earlier
    if dialect == "python" and isinstance(rust, tuple):
        rust, reference = without_words(rust), without_words(reference)
        if rust == (errors.UnsupportedPatternError, ""):
            reference = rust  # `re` may match a construct that the Rust engine does not support
    if isinstance(rust, tuple):
        return {"rust": rust, "reference": reference}
    # The engine matches many names in sorted order, few one by one.
    padding = [f"pad-{number}" for number in range(40)]
    group = {text: Subscription(pattern=text, dialect=dialect) for text in (pattern, "^p", "^q", "^r", "^s")}
    together = resolve(group, [*padding, *names], include_internal=True)[pattern]
    found: dict[str, object] = {
        "rust": list(dict.fromkeys(rust)),
        "reference": reference if isinstance(reference, tuple) else list(dict.fromkeys(reference)),
        "resolve": [name for name in together if name not in padding],
    }
    for order, first in (("topics first", names), ("pattern first", [])):
        matcher = TopicMatcher(dialect, include_internal=True)
        matcher.add_topics(first)
        matcher.add_pattern("k", pattern)
        matcher.add_topics(names)
        found[order] = matcher.matches("k")
        matcher.add_topics([*names, *padding])
        found[f"{order}, many"] = [name for name in matcher.matches("k") if name not in padding]
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_engines_agree_on_names_with_several_patterns(dialect: Dialect, data: st.DataObject) -> None:
    names = data.draw(NAMES)
    patterns = data.draw(st.lists(grammar.patterns(dialect), max_size=3))
    listed = data.draw(st.lists(st.one_of(st.sampled_from([*names, "gone"]), grammar.patterns(dialect)), max_size=4))
    member = Subscription(tuple(listed), pattern=tuple(patterns), dialect=dialect)
    try:
        each = [
            [match_topics(it, names, dialect=dialect, engine=engine) for it in member.patterns] for engine in ENGINES
        ]
    except (errors.InvalidPatternError, errors.UnsupportedPatternError):
        reject()
    matched, _ = each
    # `match_topics` keeps duplicates; a subscription has each topic once.
    union = {*names}.intersection(member.topics).union(*matched)

    for engine in ENGINES:
        (found,) = resolve({"a": member}, names, engine=engine).values()
        assert (union, len(union)) == (set(found), len(found))
        expected = [topic for topic in dict.fromkeys(member.topics) if topic in names]
        assert expected == found[: len(expected)]
    topics = dict.fromkeys(names, 1)
    by_name = assign(topics, {"a": sorted(union), "b": names[:1]})
    for engine in ENGINES:
        assert by_name == assign(topics, {"a": member, "b": names[:1]}, engine=engine)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_engines_agree_on_any_pattern(dialect: Dialect, data: st.DataObject) -> None:
    found = answers(data.draw(any_pattern(dialect)), data.draw(NAMES), dialect)

    assert dict.fromkeys(found, found["rust"]) == found


TEXTS = st.sampled_from(["a", "b", "ab", "ba", "", "A", "[ab]", "(a|b)", "(ab|a|)", "a?", "b{2}", "a{1,2}", "[^a]"])
OPENS = st.sampled_from(["", "", "^", ".*", ".+", ".", ".{2,}", "(?!ab)", "(?=.*b)", "(?i)", "(^|a)", ".*?", ".*+"])
ENDS = st.sampled_from(
    ["", "", "$", ".*", ".+", ".", ".{2,}", "(?<!ab)", "(?<=b)", "($|a)", ".*?", ".*+", "{249}", "{250}"]
)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(
    ways=st.lists(
        st.tuples(OPENS, st.lists(TEXTS, max_size=4).map("".join), ENDS).map("".join), min_size=1, max_size=3
    ),
    names=st.lists(st.text("aabb-A", min_size=1, max_size=5), min_size=1, max_size=8),
)
def test_literal_lookup_equals_search(dialect: Dialect, ways: list[str], names: list[str]) -> None:
    found = answers("|".join(ways), [*names, "a" * 248, "a" * 249, "b" * 249], dialect)

    assert dict.fromkeys(found, found["rust"]) == found


def test_comparison_detects_different_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    from assignor.reference.matching import backtracking

    monkeypatch.setattr(backtracking, "WORD", frozenset())

    assert {"rust": ["a"], "reference": []}.items() <= answers(r"\ba", ["a"], "java").items()


WORKER = """
import faulthandler, json, sys
from assignor import errors, match_topics
names = json.loads(sys.stdin.readline())
counts = {"matched": 0, "InvalidPatternError": 0, "UnsupportedPatternError": 0}
for line in sys.stdin:
    dialect, pattern = json.loads(line)
    print(line, end="", flush=True)
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        match_topics(pattern, names, dialect=dialect)
        counts["matched"] += 1
    except (errors.InvalidPatternError, errors.UnsupportedPatternError) as error:
        counts[type(error).__name__] += 1
faulthandler.cancel_dump_traceback_later()
print(json.dumps(counts))
"""

PIECES = [*r"\[](){}?*+|^$.-&,:<>=!#abAB019 _", "(?", "(?:", "(?=", "(?!", "(?<", "(?<=", "(?P<n>", "(?i)", "(?x)"]
PIECES += [
    r"\Q",
    r"\E",
    r"\p{L}",
    r"\p{",
    r"\1",
    r"\k<",
    r"\x",
    "[[:",
    ":]",
    "{2,",
    "{9999",
    "a*",
    "(a+)+",
    "(a|aa)*",
    "é",
    "\0",
    "\n",
]


def drawn(rng: random.Random) -> str:
    """Draw any text; sometimes it is long or repetitive."""
    text = "".join(rng.choices(PIECES, k=rng.choice([1, 3, 8, 20])))
    return text * rng.choice([50, 500]) if rng.random() < 0.02 else text


@pytest.mark.timeout(3600 if LONG else 300)
def test_no_pattern_crashes_or_hangs_the_matcher() -> None:
    rng = random.Random(FUZZED)
    asked: list[Any] = [["a" * 249, "ab" * 100, "b", "0", "a-b_c.d", "a" * 120 + "!"]]
    asked += [[rng.choice(DIALECTS), drawn(rng)] for _ in range(FUZZED)]
    lines = "".join(json.dumps(line) + "\n" for line in asked)

    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000 if LONG else 240,
    )

    last = done.stdout.splitlines()[-1]
    assert ("", 0) == (done.stderr, done.returncode), f"the last pattern: {last}"
    counts = json.loads(last)
    assert FUZZED == sum(counts.values())
    assert min(counts["matched"], counts["InvalidPatternError"]) > FUZZED / 10
