"""Text for people: counts, times, partitions as ranges, topic ids, members, wrapping, and control characters."""

from __future__ import annotations

import base64
import json
import re
import textwrap
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

Span = tuple[str, int, int]
"""Topic, first partition and number of partitions."""

_TOPICS_SHOWN = 6
_TOPICS_OF_EVENT_SHOWN = 12
_RUNS_SHOWN = 8
_UNIQUE_PART = 8
_SECOND_MS = 1000
_MINUTE_MS = 60_000
_DAY_MS = 86_400_000


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
        topics[topics_shown:] = [f"and {format_count(len(topics) - topics_shown, 'more topic')}"]
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


def format_partitions(partitions: Sequence[Any]) -> str:
    """Return sorted partitions of an event as text: pairs of topic and id, or dicts with `topic` and `partition`."""
    pairs = [(each["topic"], each["partition"]) if isinstance(each, dict) else tuple(each) for each in partitions]
    text = escape(format_spans(spans_of(pairs), _TOPICS_OF_EVENT_SHOWN))
    return text if len(pairs) == 1 else f"{format_count(len(pairs), 'partition')}: {text}"


def format_topic_id(topic_id: UUID | bytes) -> str:
    """Return a topic id as Kafka prints it: its 16 bytes in URL-safe base64, without padding."""
    data = topic_id if isinstance(topic_id, bytes) else topic_id.bytes
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def format_time(milliseconds: int | None) -> str:
    """Return a time in UTC; the number itself if it is not a time of the years 1970 to 9999."""
    if milliseconds is None:
        return "unknown"
    try:
        found = datetime.fromtimestamp(milliseconds // _SECOND_MS, UTC)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)
    if milliseconds < 0:
        return str(milliseconds)
    return f"{found:%Y-%m-%d %H:%M:%S}.{milliseconds % _SECOND_MS:03}"


def format_duration(milliseconds: int) -> str:
    """Return a length of time as people say it, with the units that fit.

    Example:
        >>> [format_duration(each) for each in (45_000, 1_144_000, 466_560_000)]
        ['45.0 s', '19 min 4 s', '5.4 d']
    """
    if milliseconds < _SECOND_MS:
        return f"{milliseconds} ms"
    if milliseconds < 2 * _MINUTE_MS:
        return f"{milliseconds / _SECOND_MS:.1f} s"
    if milliseconds >= 2 * _DAY_MS:
        return f"{milliseconds / _DAY_MS:.1f} d"
    seconds = round(milliseconds / _SECOND_MS)
    hours, rest = divmod(seconds, 3600)
    (first, large), (second, small) = (
        ((hours, "h"), (rest // 60, "min"))
        if hours
        else (
            (rest // 60, "min"),
            (rest % 60, "s"),
        )
    )
    return f"{first} {large} {second} {small}" if second else f"{first} {large}"


def member_name(event: Mapping[str, Any]) -> str:
    """Return the name of the member of a `member` event.

    It is the instance id of a static member, else the client id and a part of the member id.
    """
    if event["instance_id"]:
        return str(event["instance_id"])
    client, member = event["client_id"], event["member"]
    if not client:
        return str(member)
    unique = member.removeprefix(f"{client}-")[:_UNIQUE_PART]
    host = f" on {event['client_host'].removeprefix('/')}" if event["client_host"] else ""
    return f"{client} {unique}{host}"


def wrap(line: str, width: int | None) -> Sequence[str]:
    """Split a line that is longer than the width; the continuation is indented. A width of None means no limit."""
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def escape(text: str) -> str:
    r"""Escape the characters that are not printable, as JSON does: names are input, and must not control the terminal.

    These are C0 and C1 controls, DEL, line separators, lone surrogates, and the other invisible characters of Unicode,
    such as bidirectional controls. Spaces other than U+0020 are escaped, too. Escaped text stays as it is.

    Example:
        >>> print(escape("a\n\x1b[2J\u202eb"))
        a\n\u001b[2J\u202eb
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return _SHORT.get(character) or (f"\\u{code:04x}" if code <= _LAST_OF_FOUR_DIGITS else f"\\U{code:08x}")


def json_text(value: object, *, ascii_only: bool = False, indent: int | None = None) -> str:
    """Return a value as JSON whose strings have no raw control characters, see `escape_json`.

    Args:
        value: The value.
        ascii_only: True to escape all characters other than ASCII.
        indent: Number of spaces of a level; None for one line.
    """
    return escape_json(json.dumps(value, ensure_ascii=ascii_only, indent=indent))


def escape_json(text: str) -> str:
    r"""Escape the characters in JSON that can control a terminal, and those that UTF-8 cannot encode.

    JSON itself escapes C0 controls. This adds DEL, C1, bidirectional controls, line separators and lone surrogates.
    They occur only in strings, so the value stays the same, but a pair of surrogates becomes one character.
    """
    if text.isascii() and _DELETE not in text:
        return text
    return _CONTROLS_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_LAST_OF_FOUR_DIGITS = 0xFFFF
_DELETE = "\x7f"
_CONTROLS_IN_JSON = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
