"""Tests that `TopicMatcher` finds the same as a complete rematch after any change."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from assignor import TopicMatcher, errors, match_topics
from assignor.names import Dialect

NAMES = [
    f"{first}{second}" for first in ("a", "ab", "b", "__consumer_offsets", "t-1") for second in ("", "-dlq", ".v2")
]
PATTERNS = [
    "a.*",
    "ab?",
    ".*-dlq",
    "a|b|t-1",
    ".*",
    "(a|b).+",
    "[^_]*[.]v\\d",
    "(?!a).*",
    ".*(?<!dlq)",
    "(a)b?\\1?.*",
    "__.*",
    "x",
]
MANY = [f"topic-{number}" for number in range(200)]


class Model(RuleBasedStateMachine):
    """A matcher, and patterns and topics that are completely rematched after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.matcher = TopicMatcher()
        self.topics: list[str] = []
        self.patterns: dict[int, str] = {}

    def found(self) -> dict[object, list[str]]:
        return {key: match_topics(pattern, self.topics) for key, pattern in self.patterns.items()}

    @rule(names=st.lists(st.sampled_from(NAMES), max_size=5))
    def add_topics(self, names: list[str]) -> None:
        before = self.found()
        self.topics += [name for name in dict.fromkeys(names) if name not in self.topics]
        gained = self.matcher.add_topics(names)
        assert changes(before, self.found()) == gained

    @rule(names=st.lists(st.sampled_from(MANY), min_size=40, max_size=60))
    def add_many_topics(self, names: list[str]) -> None:
        self.add_topics(names)

    @rule(names=st.lists(st.sampled_from([*NAMES, *MANY[:20]]), max_size=8))
    def remove_topics(self, names: list[str]) -> None:
        before = self.found()
        self.topics = [topic for topic in self.topics if topic not in names]
        lost = self.matcher.remove_topics(names)
        assert changes(self.found(), before) == lost

    @rule(key=st.integers(0, 5), pattern=st.sampled_from(PATTERNS))
    def add_pattern(self, key: int, pattern: str) -> None:
        if key in self.patterns:
            with pytest.raises(errors.IllegalArgumentError, match=f"key {key} already has a pattern"):
                self.matcher.add_pattern(key, pattern)
            return
        self.patterns[key] = pattern
        found = match_topics(pattern, self.topics)
        assert ({key: found} if found else {}) == self.matcher.add_pattern(key, pattern)

    @rule(key=st.integers(0, 5))
    def remove_pattern(self, key: int) -> None:
        if key not in self.patterns:
            with pytest.raises(errors.IllegalArgumentError, match=f"key {key} has no pattern"):
                self.matcher.remove_pattern(key)
            return
        found = match_topics(self.patterns.pop(key), self.topics)
        assert ({key: found} if found else {}) == self.matcher.remove_pattern(key)

    @invariant()
    def equals_complete_rematch(self) -> None:
        assert self.found() == {key: self.matcher.matches(key) for key in self.patterns}


def changes(before: dict[object, list[str]], after: dict[object, list[str]]) -> dict[object, list[str]]:
    """Return the topics that `after` has and `before` does not; keys without any are left out."""
    found = {key: [topic for topic in topics if topic not in before[key]] for key, topics in after.items()}
    return {key: topics for key, topics in found.items() if topics}


TestModel = Model.TestCase


def test_internal_topics_are_excluded_by_default() -> None:
    topics = ["__consumer_offsets", "__mine"]
    cases: list[tuple[Dialect, bool, list[str]]] = [
        ("java", False, ["__mine"]),
        ("java", True, topics),
        ("re2j", False, topics),
    ]
    for dialect, include_internal, expected in cases:
        matcher = TopicMatcher(dialect, include_internal)
        matcher.add_pattern(1, "__.*")

        assert {1: expected} == matcher.add_topics(topics)
        assert {1: expected} == matcher.remove_topics(topics)


def test_failed_change_changes_nothing() -> None:
    matcher = TopicMatcher()
    matcher.add_topics(["a" * 200])
    hard = "(a*)" * 7 + "".join(rf"\{group}" for group in range(1, 8)) + "c"

    with pytest.raises(errors.InvalidPatternError, match=r"key 'k': java pattern '\(', position"):
        matcher.add_pattern("k", "(")
    with pytest.raises(errors.UnsupportedPatternError, match="takes more than 1000000 steps"):
        matcher.add_pattern("k", hard)
    with pytest.raises(errors.IllegalArgumentError, match="cannot match a pattern against topic 'ö'"):
        matcher.add_topics(["b", "ö"])
    with pytest.raises(errors.WrongTypeError, match="topics must be an iterable of topic names, not str"):
        matcher.add_topics("b")
    with pytest.raises(errors.WrongTypeError, match="key 'k': pattern must be a str, not int: 7"):
        matcher.add_pattern("k", 7)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(errors.WrongTypeError, match=r"key must be a hashable object, not list: \[\]"):
        matcher.add_pattern([], "a")  # type: ignore[arg-type]  # deliberately wrong type

    assert {"k": ["a" * 200]} == matcher.add_pattern("k", ".*")


def test_topics_with_failed_matches_are_not_added() -> None:
    matcher = TopicMatcher()
    matcher.add_pattern("hard", "(a*)" * 7 + "".join(rf"\{group}" for group in range(1, 8)) + "c")

    for names in (["b", "a" * 200], [*MANY, "a" * 200]):
        with pytest.raises(errors.UnsupportedPatternError, match="takes more than 1000000 steps"):
            matcher.add_topics(names)

    assert {} == matcher.add_pattern("any", ".*")


def test_unknown_dialect_raises() -> None:
    with pytest.raises(errors.IllegalArgumentError, match=r"dialect must be one of 'java', .*, not 'perl'"):
        TopicMatcher("perl")  # type: ignore[arg-type]  # deliberately unknown


def test_failing_key_leaves_no_pattern() -> None:
    class Key:
        """A key whose second comparison fails."""

        compared = 0

        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            Key.compared += 1
            if Key.compared > 1:
                raise RuntimeError("no more")
            return False

    matcher = TopicMatcher()
    first = Key()
    matcher.add_pattern(first, "a.*")
    with pytest.raises(RuntimeError, match="no more"):
        matcher.add_pattern(Key(), "b.*")

    assert {first: ["a1"]} == matcher.add_topics(["b1", "a1"])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda matcher: pickle.loads(pickle.dumps(matcher))])
def test_copies_are_equal_and_independent(copied: Callable[[TopicMatcher], TopicMatcher]) -> None:
    matcher = TopicMatcher("python", include_internal=True)
    matcher.add_topics(["b", "__consumer_offsets", "a1", "a2"])
    matcher.add_pattern(1, "a|_")
    matcher.remove_topics(["a1"])

    other = copied(matcher)
    assert {1: ["a3"]} == matcher.add_topics(["a3"])
    assert ["__consumer_offsets", "a2"] == other.matches(1)
    assert {1: ["a1"]} == other.add_topics(["a1"])
    assert repr(matcher) == repr(other) == "<TopicMatcher: python dialect, 1 patterns>"


def test_topics_are_renumbered_after_many_changes() -> None:
    matcher = TopicMatcher()
    matcher.add_pattern("all", ".*")
    matcher.add_pattern("odd", ".*[13579]")
    matcher.add_topics(["kept-1", "kept-2"])
    for turn in range(10):
        names = [f"t{turn}-{number}" for number in range(1000)]
        assert names == matcher.add_topics(names)["all"]
        assert names == matcher.remove_topics(names)["all"]
        assert ["kept-1", "kept-2"] == matcher.matches("all")
        assert ["kept-1"] == matcher.matches("odd")

    assert {"all": ["kept-3"], "odd": ["kept-3"]} == matcher.add_topics(["kept-3"])
    assert {"all": ["kept-1"], "odd": ["kept-1"]} == matcher.remove_topics(["kept-1"])
    assert ["kept-2", "kept-3"] == matcher.matches("all")


def test_other_threads_run_during_a_search() -> None:
    ticks: list[int] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(len(ticks))

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    matcher = TopicMatcher()
    matcher.add_topics([f"{'a' * 40}{number}" for number in range(60)])
    before = len(ticks)
    matcher.add_pattern("hard", r"(a*)(a*)(a*)\1\2\3x")
    during = len(ticks) - before
    done.set()
    ticking.join(60)

    assert during > 5
