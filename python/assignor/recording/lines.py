"""Lines of text for a terminal: counts, partitions as ranges, wrapping, and escaping of control characters."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_TOPICS_SHOWN = 6
_RUNS_SHOWN = 8


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


def format_spans(spans: Iterable[tuple[str, int, int]], topics_shown: int = _TOPICS_SHOWN) -> str:
    """Return spans of (topic, first partition, number of partitions) as text; long lists are cut."""
    runs: dict[str, list[str]] = {}
    for topic, start, length in spans:
        runs.setdefault(topic, []).append(f"{start}" if length == 1 else f"{start}–{start + length - 1}")
    topics = [f"{topic}[{_format_runs(found)}]" for topic, found in runs.items()]
    if len(topics) > topics_shown:
        topics[topics_shown:] = [f"and {len(topics) - topics_shown} more topics"]
    return " ".join(topics) or "no partitions"


def _format_runs(runs: list[str]) -> str:
    shown = " ".join(runs[:_RUNS_SHOWN])
    return shown if len(runs) <= _RUNS_SHOWN else f"{shown} …{len(runs) - _RUNS_SHOWN} more"


def spans_of(partitions: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Yield the spans of consecutive ids in a sorted sequence of partitions."""
    current: tuple[str, int, int] | None = None
    for topic, partition in partitions:
        if current is not None and (topic, partition) == (current[0], current[1] + current[2]):
            current = (*current[:2], current[2] + 1)
            continue
        if current is not None:
            yield current
        current = (topic, partition, 1)
    if current is not None:
        yield current


def wrap(line: str, width: int | None) -> Sequence[str]:
    """Split a line that is longer than the width; the continuation is indented. None is no limit."""
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def escape(text: str) -> str:
    """Escape control characters: client ids and group names are untrusted, and must not control the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
