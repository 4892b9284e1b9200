"""Lines of a broker's log file: the time, the broker and the message of the group coordinator.

A line can have a prefix of journald, of a container, or of a collector of logs. It may also be a JSON object with the
line as a value. The layout of log4j is the administrator's choice, so only what Kafka itself writes is fixed:
`[GroupCoordinator id=1 ...] message`.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

__all__ = ["MARK", "QUARTER_MS", "LogTime", "Message", "read_message"]

MARK = b"[GroupCoordinator "
"""Bytes that each line of a group coordinator has."""

QUARTER_MS = 900_000
"""Offsets of time zones are whole quarters of an hour, in milliseconds."""

_MOST_BEHIND_MS = 60_000
"""Longest time between a line and the time that journald or a container gives it."""

_MESSAGE = re.compile(r"\[GroupCoordinator (?:id=)?(\w+)(?: topic=\S+ partition=\d+)?\]:? (.*)", re.DOTALL)
_TIME = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|[+-]\d\d:?\d\d(?!\d))?"
)
_LOGGER = re.compile(r" \((?:[\w$]+\.)*[\w$]+\)(?: \[[^\[\]]*\])*$")
_TEXT_KEYS = ("log", "message", "MESSAGE", "msg")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class LogTime(NamedTuple):
    """Time of a line.

    Attributes:
        local: Milliseconds since 1970 if the time was in UTC.
        offset: Offset of its time zone from UTC in milliseconds; None if the line does not show it.
    """

    local: int
    offset: int | None


class Message(NamedTuple):
    """Message of a group coordinator.

    Attributes:
        broker: Id of the broker, as the line has it.
        time: Time of the line; None if it has no date.
        text: The message, without the name of the logger.
    """

    broker: str
    time: LogTime | None
    text: str


def read_message(line: str) -> Message | None:
    """Return the message of a group coordinator in a line; None for a line of another logger.

    Args:
        line: The line, without its line break.

    Example:
        >>> read_message("[2026-11-25 13:00:00,123] INFO [GroupCoordinator 0]: Stabilized group g (kafka.X)")
        Message(broker='0', time=LogTime(local=1795611600123, offset=None), text='Stabilized group g')
        >>> read_message("[2026-11-25 13:00:00,123] INFO [Log partition=orders-0] Rolled (kafka.log.Log)")
    """
    others = ""
    if line.startswith("{"):
        others, line = _unwrapped(line)
    found = _MESSAGE.search(line)
    if found is None:
        return None
    text = found[2].rstrip()
    return Message(found[1], _time_of(f"{others} {line[: found.start()]}"), _LOGGER.sub("", text))


def _unwrapped(line: str) -> tuple[str, str]:
    """Return the other texts of a JSON object, and the line that it contains."""
    try:
        values = json.loads(line)
    except ValueError:
        return "", line
    if not isinstance(values, dict):
        return "", line
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    key = next((key for key in _TEXT_KEYS if MARK.decode() in texts.get(key, "")), None)
    if key is None:
        return "", line
    micros = texts.get("__REALTIME_TIMESTAMP", "")  # of `journalctl --output json`
    if micros.isascii() and micros.isdigit() and len(micros) < 18:
        texts["__REALTIME_TIMESTAMP"] = f"{(_EPOCH + int(micros) // 1000 * _MILLISECOND).isoformat()}"
    inner = texts.pop(key)
    return " ".join(value for value in texts.values() if len(value) < 100), inner


def _time_of(prefix: str) -> LogTime | None:
    """Return the time that is closest to the message, which is log4j's. An earlier one may show its time zone."""
    times = [time for found in _TIME.finditer(prefix) if (time := _read_time(found)) is not None]
    if not times:
        return None
    last = times[-1]
    if last.offset is not None:
        return last
    for other in times[:-1]:
        if other.offset is None:
            continue
        apart = last.local - (other.local - other.offset)
        offset = round(apart / QUARTER_MS) * QUARTER_MS
        if abs(apart - offset) <= _MOST_BEHIND_MS:
            return LogTime(last.local, offset)
    return last


def _read_time(found: re.Match[str]) -> LogTime | None:
    """Return a time in a line; None if there is no such date."""
    try:
        seconds = datetime(*map(int, found.groups()[:6]), tzinfo=UTC)  # type: ignore[misc,arg-type]  # six numbers
    except ValueError:
        return None
    local = (seconds - _EPOCH) // _MILLISECOND + int((found[7] or "").ljust(3, "0")[:3])
    return LogTime(local, None if found[8] is None else read_offset(found[8]))


def read_offset(text: str) -> int:
    """Return an offset such as `Z`, `+01:00` or `-0330` in milliseconds."""
    if text in {"Z", "UTC"}:
        return 0
    digits = text[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-minutes if text[0] == "-" else minutes) * 60_000
