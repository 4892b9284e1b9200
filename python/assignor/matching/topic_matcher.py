"""Incremental matching of many patterns against topics, while patterns and topics change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.errors import IllegalArgumentError
from assignor.matching.patterns import check_flag, read_topic_names
from assignor.validation import is_raised_below, shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from assignor.names import Dialect

__all__ = ["TopicMatcher"]


class TopicMatcher:
    """Topics that each of many patterns matches, kept up to date while topics and patterns change.

    A new topic is compared only with the patterns that could match it. A new pattern is compared only with the topics
    that it could match. A method that raises an error changes nothing. A matcher is not thread-safe. It can be copied
    and pickled.

    Args:
        dialect: Dialect of the patterns: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        include_internal: True if patterns may match Kafka's internal topics.

    Order: topics in the order in which they were added; keys in the order in which their patterns were added.

    Raises:
        IllegalArgumentError: The dialect is unknown.

    Example:
        >>> matcher = TopicMatcher()
        >>> matcher.add_topics(["orders", "orders-eu", "mail"])
        {}
        >>> matcher.add_pattern("shop", "orders.*")
        {'shop': ['orders', 'orders-eu']}
        >>> matcher.add_topics(["orders-us", "payments"])
        {'shop': ['orders-us']}
        >>> matcher.remove_topics(["orders"])
        {'shop': ['orders']}
        >>> matcher.matches("shop")
        ['orders-eu', 'orders-us']
    """

    def __init__(self, dialect: Dialect = "java", include_internal: bool = False) -> None:
        self._core = _core.Matcher(dialect, check_flag(include_internal))
        self._dialect = dialect
        self._include_internal = include_internal
        self._numbers: dict[Hashable, int] = {}
        self._patterns: dict[int, tuple[Hashable, str]] = {}

    def add_topics(self, topics: Iterable[str]) -> dict[Hashable, list[str]]:
        """Add topics; topics that were added before have no effect.

        Returns:
            Key to the topics that its pattern gained. Keys without gained topics are left out.

        Raises:
            IllegalArgumentError: A topic name is longer than 249 characters or not printable ASCII.
            UnsupportedPatternError: Matching a pattern against a name takes too many steps.
        """
        return self._gained(self._core.add_topics(read_topic_names(topics)))

    def remove_topics(self, topics: Iterable[str]) -> dict[Hashable, list[str]]:
        """Remove topics; unknown topics have no effect.

        Returns:
            Key to the topics that its pattern lost. Keys without lost topics are left out.
        """
        return self._gained(self._core.remove_topics(read_topic_names(topics)))

    def add_pattern(self, key: Hashable, pattern: str) -> dict[Hashable, list[str]]:
        """Add a pattern under a key, which may be any hashable object.

        Returns:
            The key to the topics that its pattern matches; an empty dict if it matches no topic.

        Raises:
            IllegalArgumentError: The key already has a pattern.
            WrongTypeError: The key is not hashable, or the pattern is not a `str`.
            InvalidPatternError: The pattern is invalid in its dialect.
            UnsupportedPatternError: The pattern is valid, but this package cannot match it exactly.
        """
        if self._find(key) is not None:
            raise IllegalArgumentError(f"key {shown(key)} already has a pattern; remove it first")
        number, found = self._core.add_pattern(pattern, f"key {shown(key)}")
        try:
            self._patterns[number] = key, pattern
            self._numbers[key] = number
        except BaseException:  # the key's `__hash__` fails, or Ctrl-C: the pattern has no key yet
            self._core.remove_pattern(number)
            self._patterns.pop(number, None)
            raise
        return {key: found} if found else {}

    def remove_pattern(self, key: Hashable) -> dict[Hashable, list[str]]:
        """Remove the pattern of a key.

        Returns:
            The key to the topics that its pattern matched; an empty dict if it matched no topic.

        Raises:
            IllegalArgumentError: The key has no pattern.
        """
        number = self._number(key)
        lost = self._core.remove_pattern(number)
        own, _ = self._patterns.pop(number)
        self._numbers.pop(own, None)
        return {key: lost} if lost else {}

    def matches(self, key: Hashable) -> list[str]:
        """Return a new list of the topics that the pattern of a key matches.

        Raises:
            IllegalArgumentError: The key has no pattern.
        """
        return self._core.matches(self._number(key))

    def _number(self, key: Hashable) -> int:
        number = self._find(key)
        if number is None:
            raise IllegalArgumentError(f"key {shown(key)} has no pattern")
        return number

    def _find(self, key: Hashable) -> int | None:
        try:
            return self._numbers.get(key)
        except (TypeError, ValueError) as error:
            if is_raised_below(error):
                raise
            raise wrong_type("key", "a hashable object", key) from error

    def _gained(self, changes: list[tuple[int, list[str]]]) -> dict[Hashable, list[str]]:
        return {self._patterns[number][0]: topics for number, topics in changes}

    def __reduce__(self) -> tuple[Any, ...]:
        """Support `copy` and `pickle`; the copy has the same patterns and topics in the same order."""
        patterns = list(self._patterns.values())
        return _rebuild, (self._dialect, self._include_internal, patterns, self._core.topics())

    def __repr__(self) -> str:
        return f"<TopicMatcher: {self._dialect} dialect, {len(self._numbers)} patterns>"


def _rebuild(
    dialect: Dialect, include_internal: bool, patterns: list[tuple[Hashable, str]], topics: list[str]
) -> TopicMatcher:
    """Return a matcher with these patterns and topics."""
    matcher = TopicMatcher(dialect, include_internal)
    matcher.add_topics(topics)
    for key, pattern in patterns:
        matcher.add_pattern(key, pattern)
    return matcher
