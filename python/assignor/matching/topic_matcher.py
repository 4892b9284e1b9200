"""Incremental matching: keep the topics of many patterns up to date while both change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.errors import IllegalArgumentError
from assignor.matching.patterns import check_flag, read_topic_names
from assignor.validation import shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

__all__ = ["TopicMatcher"]


class TopicMatcher:
    """The topics that each of many patterns matches, kept up to date while topics and patterns change.

    A new topic is tried on the patterns that could match it, a new pattern on the topics that it could match; nothing
    else is looked at again. A method that fails changes nothing. One thread at a time may call; copies and pickles are
    on their own.

    Args:
        dialect: Who reads the patterns: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        include_internal: Whether patterns may match topics that the broker keeps for itself.

    Order: topics as they were added; keys as their patterns were added.

    Raises:
        IllegalArgumentError: An unknown dialect.

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

    def __init__(self, dialect: str = "java", include_internal: bool = False) -> None:
        self._core = _core.Matcher(dialect, check_flag(include_internal))
        self._dialect = dialect
        self._include_internal = include_internal
        self._numbers: dict[Hashable, int] = {}
        self._patterns: dict[int, tuple[Hashable, str]] = {}

    def add_topics(self, topics: Iterable[str]) -> dict[Hashable, list[str]]:
        """Add topics; those that are there already change nothing.

        Returns:
            Key to the topics that its pattern gained; only keys with any.

        Raises:
            IllegalArgumentError: A name that Kafka could not have.
            UnsupportedPatternError: A pattern takes too many steps on a name.
        """
        return self._gained(self._core.add_topics(read_topic_names(topics)))

    def remove_topics(self, topics: Iterable[str]) -> dict[Hashable, list[str]]:
        """Remove topics; those that are not there change nothing.

        Returns:
            Key to the topics that its pattern lost; only keys with any.
        """
        return self._gained(self._core.remove_topics(read_topic_names(topics)))

    def add_pattern(self, key: Hashable, pattern: str) -> dict[Hashable, list[str]]:
        """Add a pattern under a key, which is any hashable object.

        Returns:
            The key to the topics that it gained; empty where it matches none yet.

        Raises:
            IllegalArgumentError: The key has a pattern already.
            WrongTypeError: The key is not hashable, or the pattern no `str`.
            InvalidPatternError: The dialect refuses the pattern.
            UnsupportedPatternError: The dialect accepts it, and it cannot be matched exactly here.
        """
        if self._find(key) is not None:
            raise IllegalArgumentError(f"key {shown(key)} has a pattern already; remove it first")
        number, found = self._core.add_pattern(pattern, f"key {shown(key)}")
        try:
            self._patterns[number] = key, pattern
            self._numbers[key] = number
        except BaseException:  # the key's own code, or Ctrl-C: a pattern must not stay without a key
            self._core.remove_pattern(number)
            self._patterns.pop(number, None)
            raise
        return {key: found} if found else {}

    def remove_pattern(self, key: Hashable) -> dict[Hashable, list[str]]:
        """Remove the pattern of a key.

        Returns:
            The key to the topics that it lost; empty where it matched none.

        Raises:
            IllegalArgumentError: The key has no pattern.
        """
        number = self._number(key)
        lost = self._core.remove_pattern(number)
        own, _ = self._patterns.pop(number)
        self._numbers.pop(own, None)
        return {key: lost} if lost else {}

    def matches(self, key: Hashable) -> list[str]:
        """The topics that the pattern of a key matches; a new list.

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
        except TypeError as error:
            raise wrong_type("key", "a hashable object", key) from error

    def _gained(self, changes: list[tuple[int, list[str]]]) -> dict[Hashable, list[str]]:
        return {self._patterns[number][0]: topics for number, topics in changes}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies know the same patterns and topics, in the same order."""
        patterns = list(self._patterns.values())
        return _rebuild, (self._dialect, self._include_internal, patterns, self._core.topics())

    def __repr__(self) -> str:
        return f"<TopicMatcher: {self._dialect} dialect, {len(self._numbers)} patterns>"


def _rebuild(
    dialect: str, include_internal: bool, patterns: list[tuple[Hashable, str]], topics: list[str]
) -> TopicMatcher:
    """Return a matcher with these patterns and topics."""
    matcher = TopicMatcher(dialect, include_internal)
    matcher.add_topics(topics)
    for key, pattern in patterns:
        matcher.add_pattern(key, pattern)
    return matcher
