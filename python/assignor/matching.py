"""Which topics a subscription means: patterns in the dialects in use, once or again and again while topics come and go.

| dialect | a pattern matches | who reads it so |
|---|---|---|
| `java` | the whole name, as java.util.regex | the Java client |
| `re2j` | the whole name, as RE2/J | the broker, for members of the KIP-848 protocol |
| `librdkafka` | anywhere in the name, as POSIX extended, if it begins with `^`; else a name | confluent-kafka |
| `python` | a prefix of the name, as `re.match` of CPython 3.11 | kafka-python, aiokafka |

Topics that the broker keeps for itself (`__consumer_offsets`, `__transaction_state`, `__share_group_state`) are left
out unless asked for, as clients do. The broker does not leave them out, and a name that is no pattern means itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor._core import TopicPattern
from assignor._engine import choose
from assignor.errors import IllegalArgumentError
from assignor.model import Subscription
from assignor.reference.matching import pattern as reference
from assignor.validation import check_name, read_names, shown, wrong_type

if TYPE_CHECKING:
    from assignor._engine import Engine

__all__ = ["TopicMatcher", "TopicPattern", "match_topics", "resolve"]


def match_topics(
    pattern: str,
    topics: Iterable[str],
    *,
    dialect: str = "java",
    include_internal: bool = False,
    engine: Engine = "rust",
) -> list[str]:
    """Says which topics a pattern matches.

    Args:
        pattern: The pattern, as the client has it.
        topics: Names of topics; a mapping of topics to partitions is fine.
        dialect: Who reads the pattern: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        include_internal: Whether it may match topics that the broker keeps for itself.
        engine: `"rust"` or `"reference"`.

    Returns:
        The topics that it matches, in the order of `topics`.

    Raises:
        InvalidPatternError: The dialect refuses the pattern; it says where and why.
        UnsupportedPatternError: The dialect accepts it, and what it means cannot be matched exactly here
            (docs/matching.md lists all such constructs).
        IllegalArgumentError: An unknown dialect, or a name that Kafka could not have.
        WrongTypeError: A pattern that is no `str`, or topics that are no iterable of them.

    Example:
        >>> topics = ["orders", "orders-eu", "us-orders"]
        >>> match_topics("orders", topics), match_topics("orders", topics, dialect="python")
        (['orders'], ['orders', 'orders-eu'])
    """
    verb = choose(engine, _core.match_topics, reference.match_topics)
    return verb(pattern, _names(topics), dialect, _flag(include_internal))


def resolve(
    subscriptions: Mapping[str, Subscription | Iterable[str]],
    topics: Iterable[str],
    *,
    include_internal: bool = False,
    engine: Engine = "rust",
) -> dict[str, list[str]]:
    """Turns the patterns and names of a whole group into topics that exist.

    Each distinct pattern is tried once, and members with the same pattern share one list: copy it before you change it.

    Args:
        subscriptions: Member id to a `Subscription` or an iterable of topic names, as `assign` takes it.
        topics: Names of the topics that exist; a mapping of topics to partitions is fine.
        include_internal: Whether patterns may match topics that the broker keeps for itself.
        engine: `"rust"` or `"reference"`.

    Returns:
        Member id to its topics, each once: those that its pattern matches in the order of `topics`, those that it names
        in its own order. Names that are no topics are left out.

    Raises:
        InvalidPatternError, UnsupportedPatternError: A pattern that cannot be used; the message names the member.
        AssignorError: Input that cannot be meant, as `assign` says it.

    Example:
        >>> group = {"a": Subscription(pattern="orders.*"), "b": ["mail", "gone"]}
        >>> resolve(group, ["mail", "orders", "orders-eu"])
        {'a': ['orders', 'orders-eu'], 'b': ['mail']}
    """
    names = _each_once(_names(topics))
    if not isinstance(subscriptions, Mapping):
        raise wrong_type("subscriptions", "a mapping of member ids to subscriptions", subscriptions)
    owners: dict[tuple[str, str], str] = {}
    patterns: dict[str, tuple[str, str]] = {}
    wanted: dict[str, tuple[str, ...]] = {}
    for member, subscription in subscriptions.items():
        owner = f"member '{check_name(member, 'a member id')}'"
        if not isinstance(subscription, Subscription):
            wanted[member] = read_names(subscription, owner)
        elif subscription.pattern is None:
            wanted[member] = subscription.topics
        else:
            patterns[member] = subscription.pattern, subscription.dialect
            owners.setdefault(patterns[member], owner)
            wanted[member] = ()
    verb = choose(engine, _core.match_each, reference.match_each)
    each = [(pattern, dialect, owner) for (pattern, dialect), owner in owners.items()]
    found = dict(zip(owners, verb(each, names, _flag(include_internal)), strict=True))
    existing = frozenset(names)
    return {
        member: found[patterns[member]]
        if member in patterns
        else [topic for topic in dict.fromkeys(of_member) if topic in existing]
        for member, of_member in wanted.items()
    }


class TopicMatcher:
    """Which topics each of many patterns matches, while topics and patterns come and go.

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
        self._core = _core.Matcher(dialect, _flag(include_internal))
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
        return self._gained(self._core.add_topics(_names(topics)))

    def remove_topics(self, topics: Iterable[str]) -> dict[Hashable, list[str]]:
        """Remove topics; those that are not there change nothing.

        Returns:
            Key to the topics that its pattern lost; only keys with any.
        """
        return self._gained(self._core.remove_topics(_names(topics)))

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
        except BaseException:  # the key's own code, or Ctrl-C: without a key the pattern would be nobody's
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
        return _restored, (self._dialect, self._include_internal, patterns, self._core.topics())

    def __repr__(self) -> str:
        return f"<TopicMatcher: {self._dialect} dialect, {len(self._numbers)} patterns>"


def _restored(
    dialect: str, include_internal: bool, patterns: list[tuple[Hashable, str]], topics: list[str]
) -> TopicMatcher:
    """A matcher with these patterns and topics."""
    matcher = TopicMatcher(dialect, include_internal)
    matcher.add_topics(topics)
    for key, pattern in patterns:
        matcher.add_pattern(key, pattern)
    return matcher


def _flag(include_internal: object) -> bool:
    if not isinstance(include_internal, bool):
        raise wrong_type("include_internal", "a bool", include_internal)
    return include_internal


def _each_once(names: list[str]) -> list[str]:
    try:
        return list(dict.fromkeys(names))
    except TypeError:
        return names  # what has no hash is no name either, and is refused as that


def _names(topics: object) -> list[str]:
    """Names of topics, of which each is a `str`."""
    if isinstance(topics, (str, bytes, bytearray)) or not isinstance(topics, Iterable):
        raise wrong_type("topics", "an iterable of topic names", topics)
    return list(topics)
