"""Matching of one pattern, or of the subscriptions of a whole group, against topic names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assignor import _core
from assignor._engine import choose
from assignor.model import Subscription
from assignor.validation import check_name, read_bool, read_entries, read_items, read_subscribed_names, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.names import Dialect, Engine

__all__ = ["match_topics", "resolve"]


def match_topics(
    pattern: str,
    topics: Iterable[str],
    *,
    dialect: Dialect = "java",
    include_internal: bool = False,
    engine: Engine = "rust",
) -> list[str]:
    """Return the topics that a pattern matches.

    Args:
        pattern: The pattern, as it is passed to the client.
        topics: Topic names. A mapping whose keys are topic names is accepted too.
        dialect: Dialect of the pattern: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        include_internal: True if the pattern may match Kafka's internal topics.
        engine: `"rust"` or `"reference"`.

    Returns:
        Matching topics, in the order of `topics`.

    Raises:
        InvalidPatternError: The pattern is invalid in its dialect; the error has the position and the reason.
        UnsupportedPatternError: The pattern is valid, but this package cannot match it exactly (docs/matching.md lists
            all unsupported constructs).
        IllegalArgumentError: The dialect is unknown, or a topic name is longer than 249 characters or not printable
            ASCII.
        WrongTypeError: The pattern is not a `str`, or `topics` is not an iterable of `str`.

    Example:
        >>> topics = ["orders", "orders-eu", "us-orders"]
        >>> match_topics("orders", topics), match_topics("orders", topics, dialect="python")
        (['orders'], ['orders', 'orders-eu'])
    """
    implementation = choose(engine, _core.match_topics, "matching.pattern")
    return implementation(pattern, read_topic_names(topics), dialect, check_flag(include_internal))


def resolve(
    subscriptions: Mapping[str, Subscription | Iterable[str]],
    topics: Iterable[str],
    *,
    include_internal: bool = False,
    engine: Engine = "rust",
) -> dict[str, list[str]]:
    """Resolve the patterns and names of a whole group to topics that exist.

    Each distinct pattern is matched once. Members with the same names and patterns share one list if they have a
    pattern; copy it before you change it.

    Args:
        subscriptions: Member id to a `Subscription` or an iterable of topic names, as for `assign`.
        topics: Names of the existing topics. A mapping whose keys are topic names is accepted too.
        include_internal: True if patterns may match Kafka's internal topics.
        engine: `"rust"` or `"reference"`.

    Returns:
        Member id to the distinct topics of the member: names in the order of the subscription, then other topics that
        match a pattern, in the order of `topics`. Names of topics that do not exist are left out.

    Raises:
        InvalidPatternError, UnsupportedPatternError: A pattern is invalid or not supported; the message names the
            member.
        AssignorError: Invalid input, as for `assign`.

    Example:
        >>> group = {"a": Subscription(pattern="orders.*"), "b": ["mail", "gone"]}
        >>> resolve(group, ["mail", "orders", "orders-eu"])
        {'a': ['orders', 'orders-eu'], 'b': ['mail']}
        >>> resolve({"a": Subscription(["mail"], pattern=["orders", "orders-.*"])}, ["orders-eu", "orders", "mail"])
        {'a': ['mail', 'orders-eu', 'orders']}
    """
    names = _distinct(read_topic_names(topics))
    if not isinstance(subscriptions, Mapping):
        raise wrong_type("subscriptions", "a mapping of member ids to subscriptions", subscriptions)
    owners: dict[tuple[str, str], str] = {}
    wanted: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {}
    for member, subscription in read_items(subscriptions, "subscriptions"):
        owner = f"member '{check_name(member, 'a member id')}'"
        if not isinstance(subscription, Subscription):
            wanted[member] = read_subscribed_names(subscription, owner), ()
            continue
        patterns = tuple((pattern, subscription.dialect) for pattern in subscription.patterns)
        wanted[member] = subscription.topics, patterns
        for pattern in patterns:
            owners.setdefault(pattern, owner)
    implementation = choose(engine, _core.match_each, "matching.pattern")
    each = [(pattern, dialect, owner) for (pattern, dialect), owner in owners.items()]
    found = dict(zip(owners, implementation(each, names, check_flag(include_internal)), strict=True))
    existing = frozenset(names)
    lists: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], list[str]] = {}
    resolved = {}
    for member, of_member in wanted.items():
        topics_of_member = lists.get(of_member)
        if topics_of_member is None:
            topics_of_member = _union(of_member[0], [found[pattern] for pattern in of_member[1]], names, existing)
            if of_member[1]:
                lists[of_member] = topics_of_member
        resolved[member] = topics_of_member
    return resolved


def _union(
    wanted: tuple[str, ...], matching: list[list[str]], topics: list[str], existing: frozenset[str]
) -> list[str]:
    """Return the existing names, then the other topics that are in a list of matches, in the order of `topics`."""
    named = dict.fromkeys(topic for topic in wanted if topic in existing)
    if not named and len(matching) == 1:
        return matching[0]
    matched = frozenset().union(*matching)
    return [*named, *(topic for topic in topics if topic in matched and topic not in named)]


def check_flag(include_internal: object) -> bool:
    """Return `include_internal` if it is a bool."""
    return read_bool(include_internal, "include_internal")


def _distinct(names: list[str]) -> list[str]:
    try:
        return list(dict.fromkeys(names))
    except (TypeError, ValueError):
        return names  # an unhashable element is not a str; the engine raises the error that names it


def read_topic_names(topics: object) -> list[str]:
    """Return the elements of an iterable of topic names; the engine checks each of them."""
    if type(topics) in (list, tuple, dict):  # most topics: a copy takes less time than a loop
        return list(topics)  # type: ignore[call-overload,no-any-return]  # it is one of these
    entries = read_entries(topics, "topics", "an iterable of topic names")
    return [entry for entry in entries]  # type: ignore[misc]  # noqa: C416 - `list` reads `__len__`, which may be wrong
