"""Explanation of a topic pattern: what it matches, and probable mistakes in it."""

from __future__ import annotations

import functools
import itertools
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import InvalidPatternError, UnsupportedPatternError
from assignor.lines import escape
from assignor.matching import TopicPattern, match_topics
from assignor.matching.topic_names import INTERNAL_TOPICS
from assignor.validation import DIALECTS, read_names

if TYPE_CHECKING:
    from assignor.names import Dialect, Engine

__all__ = ["Explanation", "explain_pattern"]

_HOW = {
    "java": "must match the whole name, by java.util.regex",
    "re2j": "must match the whole name, by RE2/J on the broker",
    "librdkafka": "must match a part of the name, by glibc's POSIX extended regular expressions",
    "python": "must match a prefix of the name, by Python's re",
}
_META = frozenset(r"\^$.|?*+()[]{}")
_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_COUNT = re.compile(r"\{\d*,?\d*\}")
_GROUP = re.compile(r"\(\?(?:#[^)]*\)|P?<\w+>|<?[=!]|P=\w+\)|[a-zA-Z-]*[:)]|>|\|)")
_NAMED = re.compile(r"\\[NpPxk]\{[^}]*\}")
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")
_SHOWN = 5

_EXAMINED = 2_000
"""Maximum number of characters of a pattern in which mistakes are looked for, and which the text shows."""

_HINTS = 8
"""Maximum number of hints of one kind."""

_PLACES = 50
"""Maximum number of positions in a hint."""

_SECONDS = 0.5
"""Time after which the pattern is not compared with further patterns and topics."""

_FAST = 0.01
"""Time in seconds of a match below which the next match has twice the number of topics; otherwise it has one."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Result of `explain_pattern`; `str` returns it as readable text without control characters.

    Attributes:
        pattern: The pattern.
        dialect: Dialect of the pattern.
        how: What the pattern must match in this dialect.
        matches: Topics that the pattern matches, in the order given; None if no topics were given.
        hints: Sentences about probable mistakes.
    """

    pattern: str
    dialect: Dialect
    how: str
    matches: tuple[str, ...] | None
    hints: tuple[str, ...]

    def __str__(self) -> str:
        pattern = self.pattern[:_EXAMINED]
        shown = f"{pattern!r}{'…' if len(pattern) < len(self.pattern) else ''}"
        lines = [f"{shown} ({self.dialect}): {self.how}."]
        if self.matches is not None:
            lines.append(f"It matches {_some(self.matches)}.")
        return "\n".join(map(escape, [*lines, *(f"* {hint}" for hint in self.hints)]))


def explain_pattern(
    pattern: str,
    dialect: Dialect = "java",
    topics: Iterable[str] | None = None,
    *,
    include_internal: bool = False,
    engine: Engine = "rust",
) -> Explanation:
    r"""Explain what a pattern matches, and report probable mistakes in it.

    It looks for globs (`logs-*`), unescaped dots, a missing `.*` at the end of a pattern that must match the whole
    name, characters that no topic name contains, letters in the wrong case, and differences between the dialects.

    It examines the first 2,000 characters of a pattern, gives at most 8 hints of a kind, and compares no further
    patterns after half a second. The last hints say what was left out. So the text has less than 64 KB, and the hints
    take less than a second.

    Args:
        pattern: The pattern, as it is passed to the client.
        dialect: Dialect of the pattern: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        topics: Topic names. If given, hints name the topics that they concern.
        include_internal: True if the pattern may match Kafka's internal topics.
        engine: `"rust"` or `"reference"`.

    Returns:
        The explanation.

    Raises:
        AssignorError: As for `match_topics`.

    Example:
        >>> print(explain_pattern("logs-*", topics=["logs-a", "logs-"]))
        'logs-*' (java): must match the whole name, by java.util.regex.
        It matches 1 topic: logs-.
        * '-*' at position 4 matches any number of '-'. For any characters write '-.*' (1 more topic: logs-a).
        * The pattern must match the whole name. With '.*' at the end it matches 1 more topic: logs-a.
        * Dialect python also matches 1 topic: logs-a.
    """
    names = None if topics is None else read_names(topics, "explain_pattern")
    probe = _Probe(pattern, dialect, names, include_internal, engine)
    hints = [hint for check in _CHECKS for hint in _first(check(probe), probe)]
    return Explanation(
        pattern,
        dialect,
        "is a topic name, not a pattern, because it does not begin with '^'" if probe.is_name else _HOW[dialect],
        None if names is None else probe.found,
        (*hints, *probe.left_out()),
    )


def _first(hints: Iterator[str], probe: _Probe) -> list[str]:
    """Return the first hints of a kind, and note if there are more."""
    first = list(itertools.islice(hints, _HINTS))
    probe.has_more_hints |= len(first) == _HINTS and next(hints, None) is not None
    return first


class _Part(NamedTuple):
    """A character, escape, character class or start of a group in a pattern, with its position."""

    text: str
    position: int


class _Probe:
    """A pattern and the topics that it matches, for comparison with other patterns.

    Attributes:
        is_late: True if a comparison was left out because the time was over.
        has_more_hints: True if hints were left out because there were many of a kind.
    """

    def __init__(
        self, pattern: str, dialect: Dialect, topics: tuple[str, ...] | None, include_internal: bool, engine: Engine
    ) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.topics = topics
        self._match = functools.partial(match_topics, include_internal=include_internal, engine=engine)
        self._end = time.monotonic() + _SECONDS
        self.found = tuple(self._match(pattern, topics or (), dialect=dialect))
        self.is_name = dialect == "librdkafka" and not pattern.startswith("^")
        self.parts = list(_parts(pattern[:_EXAMINED]))
        self.is_late = False
        self.has_more_hints = False

    def has_time(self) -> bool:
        """Return True if there is time for another comparison; note it if there is not."""
        self.is_late |= time.monotonic() > self._end
        return not self.is_late

    def left_out(self) -> Iterator[str]:
        """Yield sentences that say what the hints do not cover."""
        if len(self.pattern) > _EXAMINED:
            yield f"Only the first {_EXAMINED} of {len(self.pattern)} characters were examined for mistakes."
        if self.has_more_hints:
            yield f"Further hints were left out: there are at most {_HINTS} of a kind."
        if self.is_late:
            yield "Other patterns and dialects were not compared completely, because it takes too long."

    def matches(self, pattern: str, dialect: Dialect | None = None) -> tuple[str, ...] | None:
        """Return the topics that a pattern matches; None if it is invalid or not supported, or if the time is over."""
        topics = self.topics or ()
        found: list[str] = []
        start, count = 0, 1
        while self.has_time():
            begin = time.monotonic()
            try:
                found += self._match(pattern, topics[start : start + count], dialect=dialect or self.dialect)
            except (InvalidPatternError, UnsupportedPatternError):
                return None
            start, count = start + count, 2 * count if time.monotonic() - begin < _FAST else 1
            if start >= len(topics):
                return tuple(found)
        return None

    def more(self, pattern: str) -> tuple[str, ...]:
        """Return the topics that another pattern matches and this one does not."""
        return _without(self.matches(pattern) or (), self.found)

    def without(self, pattern: str) -> tuple[str, ...]:
        """Return the topics that this pattern matches and another one does not."""
        kept = self.matches(pattern)
        return () if kept is None else _without(self.found, kept)


def _plain_name(probe: _Probe) -> Iterator[str]:
    if probe.is_name and _META.difference(".").intersection(probe.pattern):
        more = probe.more(f"^{probe.pattern}")
        yield f"librdkafka reads it as the name of one topic. A pattern must begin with '^'{_in_parentheses(more)}."


def _globs(probe: _Probe) -> Iterator[str]:
    if probe.is_name:
        return
    for part, star in zip(probe.parts, probe.parts[1:], strict=False):
        if star.text == "*" and part.text in _LEGAL - {"."}:
            corrected = f"{probe.pattern[: star.position]}.{probe.pattern[star.position :]}"
            what = f"'{part.text}*' at position {part.position} matches any number of '{part.text}'"
            more = _in_parentheses(probe.more(corrected))
            yield f"{what}. For any characters write '{part.text}.*'{more}."


def _dots(probe: _Probe) -> Iterator[str]:
    if probe.is_name:
        return
    texts = [part.text for part in probe.parts] + [""]
    bare = {
        part.position: None
        for part, after in zip(probe.parts, texts[1:], strict=True)
        if part.text == "." and not after.startswith(("*", "+", "?", "{"))
    }
    if bare:
        corrected = "".join(f"\\{char}" if place in bare else char for place, char in enumerate(probe.pattern))
        only = probe.without(corrected)
        places = ", ".join(map(str, itertools.islice(bare, _PLACES)))
        where = f"position {places}{', …' if len(bare) > _PLACES else ''}"
        fewer = f"; the pattern then no longer matches {_some(only)}" if only else ""
        yield f"'.' at {where} matches any character. To match a dot write '\\.'{fewer}."


def _whole_names(probe: _Probe) -> Iterator[str]:
    if probe.dialect not in ("java", "re2j") or probe.pattern.endswith((".*", "$")):
        return
    more = probe.more(f"(?:{probe.pattern}).*")
    if more:
        yield f"The pattern must match the whole name. With '.*' at the end it matches {_more(more)}."
    elif probe.topics is None and probe.pattern.startswith("^"):
        yield "The pattern must match the whole name, so '^' has no effect. To match a prefix, add '.*' at the end."


def _prefixes(probe: _Probe) -> Iterator[str]:
    if probe.dialect != "python" or probe.pattern.endswith((".*", "$", r"\Z")):
        return
    longer = probe.without(f"(?:{probe.pattern})$")
    if longer:
        yield f"The pattern needs to match only a prefix of the name. With '$' at the end it rejects {_some(longer)}."


def _impossible(probe: _Probe) -> Iterator[str]:
    for part in probe.parts:
        if len(part.text) == 1 and part.text not in _LEGAL | _META and not _VERBOSE.match(probe.pattern):
            yield f"No topic name contains {part.text!r} (position {part.position}). Names consist of [a-zA-Z0-9._-]."


def _nothing(probe: _Probe) -> Iterator[str]:
    if probe.found or not probe.topics:
        return
    other_case = probe.more(f"(?i){probe.pattern}") if probe.dialect != "librdkafka" else ()
    if other_case:
        yield f"It matches no topic. With '(?i)', which ignores case, it matches {_some(other_case)}."
    left_out = INTERNAL_TOPICS.intersection(probe.topics) if probe.has_time() else frozenset()
    if left_out and match_topics(probe.pattern, left_out, dialect=probe.dialect, include_internal=True):
        yield "It matches only internal topics, which are left out unless include_internal is set."


def _other_dialects(probe: _Probe) -> Iterator[str]:
    for dialect in DIALECTS:
        if dialect == probe.dialect or (dialect == "librdkafka" and not probe.pattern.startswith("^")):
            continue
        if not probe.has_time():
            return
        try:
            TopicPattern(probe.pattern, dialect)
        except InvalidPatternError as error:
            yield f"Dialect {dialect} rejects it: {error.reason} (position {error.position})."
            continue
        except UnsupportedPatternError:
            continue
        others = probe.matches(probe.pattern, dialect)
        if others is None:
            others = () if probe.has_time() else probe.found
        more, fewer = _without(others, probe.found), _without(probe.found, others)
        differences = [f"also matches {_some(more)}"] * bool(more) + [f"does not match {_some(fewer)}"] * bool(fewer)
        if differences:
            yield f"Dialect {dialect} {' and '.join(differences)}."


_CHECKS = (_plain_name, _globs, _dots, _whole_names, _prefixes, _impossible, _nothing, _other_dialects)


def _parts(pattern: str) -> Iterator[_Part]:
    """Split a pattern into parts, by a rough grammar that fits all dialects."""
    place = 0
    while place < len(pattern):
        end = place + 1
        if pattern.startswith("\\Q", place):
            quote = pattern.find("\\E", place)
            end = quote + 2 if quote >= 0 else len(pattern)
        elif named := _NAMED.match(pattern, place):
            end = named.end()
        elif pattern[place] == "\\":
            end = place + 2
        elif pattern[place] == "[":
            end = _end_of_class(pattern, place)
        elif found := _GROUP.match(pattern, place) or _COUNT.match(pattern, place):
            end = found.end()
        yield _Part(pattern[place:end], place)
        place = end


def _end_of_class(pattern: str, start: int) -> int:
    """Return the end of a character class, which may contain other classes."""
    depth, place = 0, start
    while place < len(pattern):
        first = place == start + 1 or (place == start + 2 and pattern[start + 1] == "^")
        if pattern[place] == "\\":
            place += 1
        elif pattern[place] == "[":
            depth += 1
        elif pattern[place] == "]" and not first:
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    return len(pattern)


def _without(topics: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topics that are not in `others`."""
    known = frozenset(others)
    return tuple(topic for topic in topics if topic not in known)


def _some(topics: tuple[str, ...]) -> str:
    """Return the number of topics and the first of them as text."""
    if not topics:
        return "no topic"
    count = "1 topic" if len(topics) == 1 else f"{len(topics)} topics"
    return f"{count}: {', '.join(topics[:_SHOWN])}{', …' if len(topics) > _SHOWN else ''}"


def _more(topics: tuple[str, ...]) -> str:
    return _some(topics).replace(" ", " more ", 1)


def _in_parentheses(topics: tuple[str, ...]) -> str:
    return f" ({_more(topics)})" if topics else ""
