"""Explain what a topic pattern matches, and report probable mistakes in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import InvalidPatternError, UnsupportedPatternError
from assignor.matching import TopicPattern, match_topics
from assignor.matching.topic_names import INTERNAL_TOPICS
from assignor.validation import DIALECTS, read_names

if TYPE_CHECKING:
    from assignor._engine import Engine

__all__ = ["Explanation", "explain_pattern"]

_HOW = {
    "java": "the whole name has to match, as java.util.regex reads the pattern",
    "re2j": "the whole name has to match, as RE2/J reads the pattern on the broker",
    "librdkafka": "it is found anywhere in the name, as POSIX extended",
    "python": "the beginning of the name has to match, as Python's re reads the pattern",
}
_META = frozenset(r"\^$.|?*+()[]{}")
_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_GROUP = re.compile(r"\(\?(?:#[^)]*\)|P?<\w+>|<?[=!]|P=\w+\)|[a-zA-Z-]*[:)]|>|\|)")
_NAMED = re.compile(r"\\[NpPxk]\{[^}]*\}")
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain_pattern` found; `str` of it is text for people.

    Attributes:
        pattern: The pattern.
        dialect: Who reads it.
        how: How the dialect compares it with names.
        matches: The topics that it matches, in the order given; None where no topics were given.
        hints: Sentences about what may be a mistake; empty where nothing was found.
    """

    pattern: str
    dialect: str
    how: str
    matches: tuple[str, ...] | None
    hints: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.pattern!r} ({self.dialect}): {self.how}."]
        if self.matches is not None:
            lines.append(f"It matches {_some(self.matches)}.")
        return "\n".join([*lines, *(f"* {hint}" for hint in self.hints)])


def explain_pattern(
    pattern: str,
    dialect: str = "java",
    topics: Iterable[str] | None = None,
    *,
    include_internal: bool = False,
    engine: Engine = "rust",
) -> Explanation:
    r"""Explain what a pattern matches, and report probable mistakes in it.

    It looks for globs (`logs-*`), dots that stand for any character, patterns that lack a `.*` where whole names have
    to match, characters that no topic has, letters of the other case, and for what other dialects make of the pattern.

    Args:
        pattern: The pattern, as the client has it.
        dialect: Who reads it: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
        topics: Names of topics; with them hints say which names it is about.
        include_internal: Whether it may match topics that the broker keeps for itself.
        engine: `"rust"` or `"reference"`.

    Returns:
        What was found.

    Raises:
        AssignorError: As `match_topics` raises it.

    Example:
        >>> print(explain_pattern("logs-*", topics=["logs-a", "logs-"]))
        'logs-*' (java): the whole name has to match, as java.util.regex reads the pattern.
        It matches 1 topic: logs-.
        * '-*' at position 4 is any number of '-', not any characters; for those write '-.*' (1 topic more: logs-a).
        * whole names have to match: with '.*' at the end it would match 1 topic: logs-a as well.
        * dialect python also matches 1 topic: logs-a.
    """
    names = None if topics is None else read_names(topics, "explain_pattern")
    probe = _Probe(pattern, dialect, names, include_internal, engine)
    found = probe.found
    return Explanation(
        pattern,
        dialect,
        "it is a name, not a pattern, since it does not begin with '^'" if probe.is_name else _HOW[dialect],
        None if names is None else found,
        tuple(hint for look in _LOOKS for hint in look(probe, found)),
    )


class _Part(NamedTuple):
    """A character of a pattern, or an escape or a class as a whole, and where it begins."""

    text: str
    position: int


class _Probe:
    """A pattern with the topics that it matches, and what another pattern would match in its place."""

    def __init__(
        self, pattern: str, dialect: str, topics: tuple[str, ...] | None, include_internal: bool, engine: Engine
    ) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.topics = topics
        self._options = {"include_internal": include_internal, "engine": engine}
        self.found = tuple(
            match_topics(pattern, topics or (), dialect=dialect, include_internal=include_internal, engine=engine)
        )
        self.is_name = dialect == "librdkafka" and not pattern.startswith("^")
        self.parts = list(_parts(pattern))

    def matches(self, pattern: str, dialect: str | None = None) -> tuple[str, ...] | None:
        """What a pattern matches; None where it cannot be used."""
        try:
            return tuple(match_topics(pattern, self.topics or (), dialect=dialect or self.dialect, **self._options))  # type: ignore[arg-type]  # both options are as match_topics has them
        except (InvalidPatternError, UnsupportedPatternError):
            return None

    def more(self, pattern: str, found: tuple[str, ...]) -> tuple[str, ...]:
        """What another pattern would match besides."""
        return _without(self.matches(pattern) or (), found)

    def without(self, pattern: str, found: tuple[str, ...]) -> tuple[str, ...]:
        """What another pattern would no longer match."""
        kept = self.matches(pattern)
        return () if kept is None else _without(found, kept)


def _plain_name(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:
    if probe.is_name and _META.difference(".").intersection(probe.pattern):
        more = probe.more(f"^{probe.pattern}", found)
        yield f"librdkafka takes it for the name of one topic; a pattern begins with '^'{_besides(more)}."


def _globs(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:
    if probe.is_name:
        return
    for part, star in zip(probe.parts, probe.parts[1:], strict=False):
        if star.text == "*" and part.text in _LEGAL - {"."}:
            corrected = f"{probe.pattern[: star.position]}.{probe.pattern[star.position :]}"
            what = f"'{part.text}*' at position {part.position} is any number of '{part.text}', not any characters"
            yield f"{what}; for those write '{part.text}.*'{_besides(probe.more(corrected, found))}."


def _dots(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:
    if probe.is_name:
        return
    texts = [part.text for part in probe.parts] + [""]
    bare = {
        part.position: None
        for part, after in zip(probe.parts, texts[1:], strict=True)
        if part.text == "." and after not in {*"*+?{"}
    }
    if bare:
        corrected = "".join(f"\\{char}" if place in bare else char for place, char in enumerate(probe.pattern))
        only = probe.without(corrected, found)
        where = f"position {', '.join(map(str, bare))}"
        because = f" ({_some(only)} only because of that)" if only else ""
        yield f"the dot at {where} stands for any character{because}; for a dot write '\\.'."


def _whole_names(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:
    if probe.dialect not in ("java", "re2j") or probe.pattern.endswith((".*", "$")):
        return
    more = probe.more(f"(?:{probe.pattern}).*", found)
    if more:
        yield f"whole names have to match: with '.*' at the end it would match {_some(more)} as well."
    elif probe.topics is None and probe.pattern.startswith("^"):
        yield "whole names have to match, so '^' says nothing; for names that begin so, end the pattern with '.*'."


def _prefixes(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:
    if probe.dialect != "python" or probe.pattern.endswith((".*", "$", r"\Z")):
        return
    longer = probe.without(f"(?:{probe.pattern})$", found)
    if longer:
        yield f"a beginning is enough: with '$' at the end it would not match {_some(longer)}."


def _impossible(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG001 - all looks are alike
    for part in probe.parts:
        if len(part.text) == 1 and part.text not in _LEGAL | _META and not _VERBOSE.match(probe.pattern):
            yield f"no topic has {part.text!r} (position {part.position}); names are of [a-zA-Z0-9._-]."


def _nothing(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:
    if found or not probe.topics:
        return
    other_case = probe.more(f"(?i){probe.pattern}", ()) if probe.dialect != "librdkafka" else ()
    if other_case:
        yield f"it matches nothing; in upper or lower case alike ('(?i)') it would match {_some(other_case)}."
    left_out = INTERNAL_TOPICS.intersection(probe.topics)
    if left_out and match_topics(probe.pattern, left_out, dialect=probe.dialect, include_internal=True):
        yield "the topics that it matches are internal ones, which are left out unless include_internal says otherwise."


def _other_dialects(probe: _Probe, found: tuple[str, ...]) -> Iterator[str]:
    for dialect in DIALECTS:
        if dialect == probe.dialect or (dialect == "librdkafka" and not probe.pattern.startswith("^")):
            continue
        try:
            TopicPattern(probe.pattern, dialect)
        except InvalidPatternError as error:
            yield f"dialect {dialect} refuses it: {error.reason} (position {error.position})."
            continue
        except UnsupportedPatternError:
            continue
        others = probe.matches(probe.pattern, dialect) or ()
        more, fewer = _without(others, found), _without(found, others)
        differences = [f"also matches {_some(more)}"] * bool(more) + [f"does not match {_some(fewer)}"] * bool(fewer)
        if differences:
            yield f"dialect {dialect} {' and '.join(differences)}."


_LOOKS = (_plain_name, _globs, _dots, _whole_names, _prefixes, _impossible, _nothing, _other_dialects)


def _parts(pattern: str) -> Iterator[_Part]:
    """The pattern in pieces, read as all dialects roughly do."""
    place = 0
    while place < len(pattern):
        end = place + 1
        if pattern.startswith("\\Q", place):
            end = pattern.find("\\E", place) + 2 if "\\E" in pattern[place:] else len(pattern)
        elif named := _NAMED.match(pattern, place):
            end = named.end()
        elif pattern[place] == "\\":
            end = place + 2
        elif pattern[place] == "[":
            end = _end_of_class(pattern, place)
        elif group := _GROUP.match(pattern, place):
            end = group.end()
        yield _Part(pattern[place:end], place)
        place = end


def _end_of_class(pattern: str, start: int) -> int:
    """Where a class ends, which may have others in it."""
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
    """The topics that are not among the others."""
    known = frozenset(others)
    return tuple(topic for topic in topics if topic not in known)


def _some(topics: tuple[str, ...]) -> str:
    """How many topics, and the first of them."""
    if not topics:
        return "no topic"
    count = "1 topic" if len(topics) == 1 else f"{len(topics)} topics"
    return f"{count}: {', '.join(topics[:_SHOWN])}{', …' if len(topics) > _SHOWN else ''}"


def _besides(topics: tuple[str, ...]) -> str:
    return f" ({_some(topics).replace(':', ' more:', 1)})" if topics else ""
