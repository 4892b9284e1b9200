"""A compiled topic pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError, InvalidPatternError, UnsupportedPatternError
from assignor.reference.matching import python
from assignor.reference.matching.backtracking import TooManySteps, matches
from assignor.reference.matching.char_set import ALL
from assignor.reference.matching.dialect import PARSERS, excludes_internal
from assignor.reference.matching.limits import MAX_LENGTH, MAX_PARTS, MAX_STEPS
from assignor.reference.matching.scanner import PatternError, unsupported
from assignor.reference.matching.syntax import MAX_NAME_LENGTH, parts
from assignor.validation import check_dialect, check_name, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assignor.names import Dialect

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
"""Kafka's internal topics (Topic.INTERNAL_TOPICS)."""


class Pattern:
    """A compiled pattern of a dialect; errors name the `owner`.

    The pattern may match internal topics if `include_internal` is True. A pattern of the broker's dialect, and a plain
    name, may always match them.
    """

    def __init__(self, pattern: str, dialect: str, include_internal: bool = False, owner: str | None = None) -> None:
        check_dialect(dialect, "dialect")
        self._details = (check_name(pattern, f"{owner}: pattern" if owner else "a pattern"), dialect)
        try:
            self._matches = _compile(pattern, dialect)
        except PatternError as fault:
            kind = InvalidPatternError if fault.invalid else UnsupportedPatternError
            raise kind(fault.reason, *self._details, fault.position, owner) from None
        self._shows_internal = include_internal or not excludes_internal(dialect, pattern)

    def matches(self, topic: str) -> bool:
        """Return True if the pattern matches the name."""
        try:
            found = self._matches(topic)
        except TooManySteps:
            construct = f"matching the topic '{topic}' takes more than {MAX_STEPS} steps"
            raise UnsupportedPatternError(construct, *self._details) from None
        return found and (self._shows_internal or topic not in INTERNAL_TOPICS)


def _compile(pattern: str, dialect: str) -> Callable[[str], bool]:
    """Return the function that tests whether the pattern matches a name."""
    if len(pattern) > MAX_LENGTH:
        raise unsupported(0, f"a pattern of {len(pattern)} characters; the limit is {MAX_LENGTH}")
    if dialect == "python":
        compiled = python.compile_pattern(pattern)
        return lambda name: python.matches(compiled, name)
    node = PARSERS[dialect](pattern)
    if parts(node) > MAX_PARTS:
        raise unsupported(0, f"repetitions with more than {MAX_PARTS} parts in total")
    return lambda name: matches(node, name)


def check_topic(topic: object) -> str:
    """Return the name if it is printable ASCII and not longer than Kafka allows, else raise."""
    name = check_name(topic, "a topic")
    if len(name) > MAX_NAME_LENGTH or not ALL.issuperset(name):
        kafka = "a topic name has 1 to 249 characters of [a-zA-Z0-9._-]"
        raise IllegalArgumentError(f"cannot match a pattern against topic {shown(name)}: {kafka}")
    return name


def match_topics(pattern: str, topics: Iterable[str], dialect: Dialect, include_internal: bool) -> list[str]:
    """Return the topics that a pattern matches, in the order of `topics`."""
    found = Pattern(pattern, dialect, include_internal)
    return [topic for topic in map(check_topic, topics) if found.matches(topic)]


def match_each(patterns: list[tuple[str, str, str]], topics: Iterable[str], include_internal: bool) -> list[list[str]]:
    """Return the topics that each pattern matches. `patterns` has (pattern, dialect, owner); `topics` are distinct."""
    each = [check_topic(topic) for topic in topics]
    found = [Pattern(pattern, dialect, include_internal, owner) for pattern, dialect, owner in patterns]
    return [[topic for topic in each if pattern.matches(topic)] for pattern in found]
