"""Short text and HTML of values of any size, for the interactive interpreter and for notebooks."""

from __future__ import annotations

import html
import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from assignor.lines import escape, format_count, format_spans, spans_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assignor import Plan

    Partitions = Sequence[tuple[str, int]]

MOST_CHARACTERS = 500
"""Largest number of characters of the text of a value."""

LIMITS = ((20, 100), (6, 60), (3, 40), (2, 30), (1, 30), (0, 20))
"""Numbers of entries of each container and of characters of each string; the first short enough text is shown."""

MOST_ROWS = 20
"""Largest number of rows of a table."""

MOST_NAME = 100
"""Largest number of characters of a member id in a table."""

PROBLEMS = {
    "unowned": "without an owner",
    "doubly_owned": "assigned more than once",
    "not_subscribed": "assigned to a member that does not subscribe to the topic",
    "unknown": "assigned, but does not exist",
}
"""Fields of `Findings` and their meaning."""


def short_repr(name: str, fields: Mapping[str, object]) -> str:
    """Return the call of a constructor as text; long containers and strings are cut.

    Example:
        >>> short_repr("Balance", {"min": 0, "idle": ("a", "b")})
        "Balance(min=0, idle=('a', 'b'))"
        >>> short_repr("Numbers", {"found": list(range(1_000))})
        'Numbers(found=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, … 980 more])'
    """
    for entries, characters in LIMITS:
        text = _call(name, fields, entries, characters)
        if len(text) <= MOST_CHARACTERS:
            return text
    return f"{text[: MOST_CHARACTERS - 1]}…"


def _call(name: str, fields: Mapping[str, object], entries: int, characters: int) -> str:
    arguments = (f"{field}={_text(value, entries, characters)}" for field, value in fields.items())
    return f"{name}({', '.join(arguments)})"


def _text(value: Any, entries: int, characters: int) -> str:
    text = partial(_text, entries=entries, characters=characters)
    if isinstance(value, str):
        return repr(value) if len(value) <= characters else f"{value[:characters]!r}…"
    if isinstance(value, dict):
        pairs = (f"{text(key)}: {text(entry)}" for key, entry in value.items())
        return f"{{{_joined(pairs, len(value), entries)}}}"
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _call(type(value).__name__, value._asdict(), entries, characters)
    if isinstance(value, tuple):
        return f"({_joined(map(text, value), len(value), entries)}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{_joined(map(text, value), len(value), entries)}]"
    if hasattr(value, "dtype"):
        return f"array([{_joined(map(str, value[:entries]), len(value), entries)}], dtype={value.dtype})"
    return repr(value)


def _joined(texts: Iterable[str], length: int, entries: int) -> str:
    left_out = [f"… {length - entries:,} more"] if length > entries else []
    return ", ".join([*itertools.islice(texts, entries), *left_out])


def plan_html(plan: Plan) -> str:
    """Return a table of the first members of a plan with their partitions."""
    members, topics, counts = plan.members, plan.topics, plan.counts()
    spans = plan.spans()
    shown = spans.member < MOST_ROWS
    spans_of_member: dict[int, list[tuple[str, int, int]]] = {}
    for member, topic, start, count in zip(*(column[shown].tolist() for column in spans), strict=True):
        spans_of_member.setdefault(member, []).append((topics[topic], start, count))
    rows = (
        (_name(member), f"{count:,}", format_spans(spans_of_member.get(number, ())))
        for number, (member, count) in enumerate(zip(members[:MOST_ROWS], counts.tolist(), strict=False))
    )
    title = ", ".join(
        (
            f"Plan of {plan.assignor} ({plan.group_protocol}): {format_count(len(members), 'member')}",
            format_count(len(topics), "topic"),
            format_count(int(counts.sum()), "partition"),
        )
    )
    return _table(title, ("member", "count", "partitions"), rows, len(members), "member")


def diff_html(added: Mapping[str, Partitions], revoked: Mapping[str, Partitions], moved: int) -> str:
    """Return a table of the first members of a `Diff` with the partitions that they gain and lose."""
    members = list(dict.fromkeys([*added, *revoked]))
    rows = ((_name(member), *_counted(added.get(member, [])), *_counted(revoked.get(member, []))) for member in members)
    title = f"Diff: {format_count(moved, 'partition')} moved"
    return _table(title, ("member", "count", "added", "count", "revoked"), rows, len(members), "member")


def _counted(partitions: Partitions) -> tuple[str, str]:
    return f"{len(partitions):,}", format_spans(spans_of(partitions)) if partitions else ""


def findings_html(
    partitions: Mapping[str, Partitions], pairs: Mapping[str, Sequence[tuple[str, tuple[str, int]]]]
) -> str:
    """Return a table of the first problems in a `Findings`: of partitions, and of pairs of member and partition."""
    rows = itertools.chain(
        ((f"{topic}[{id}]", PROBLEMS[kind], "") for kind, found in partitions.items() for topic, id in found),
        (
            (f"{topic}[{id}]", PROBLEMS[kind], _name(member))
            for kind, found in pairs.items()
            for member, (topic, id) in found
        ),
    )
    length = sum(map(len, (*partitions.values(), *pairs.values())))
    title = f"Findings: {format_count(length, 'problem')}"
    return _table(title, ("partition", "problem", "member"), rows, length, "problem")


def _name(name: str) -> str:
    return name if len(name) <= MOST_NAME else f"{name[:MOST_NAME]}…"


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], length: int, noun: str) -> str:
    """Return the first rows as a table, and a last row that says how many are left out."""

    def lines() -> Iterator[str]:
        yield f"<table><caption>{html.escape(title)}</caption>"
        yield f"<thead><tr>{''.join(f'<th>{name}</th>' for name in head)}</tr></thead><tbody>"
        for row in itertools.islice(rows, MOST_ROWS):
            yield f"<tr>{''.join(f'<td>{html.escape(escape(cell))}</td>' for cell in row)}</tr>"
        if length > MOST_ROWS:
            yield f'<tr><td colspan="{len(head)}">and {format_count(length - MOST_ROWS, f"more {noun}")}</td></tr>'
        yield "</tbody></table>"

    return "\n".join(lines())
