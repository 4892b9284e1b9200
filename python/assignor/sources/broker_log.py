"""Log files of brokers, such as server.log: when rebalances began, and why.

A broker logs a line with the reason when a rebalance of a classic group begins, and lines about members and epochs of
other groups. The lines of all files are sorted by time, so that rotated files and the files of several brokers can be
given in any order.
"""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from typing import IO, TYPE_CHECKING, NamedTuple

from assignor.errors import IllegalArgumentError
from assignor.lines import format_count
from assignor.sources.log_lines import MARK, read_message
from assignor.sources.log_zones import Zone, chosen_offset, describe_offset
from assignor.sources.logged_reasons import read_event
from assignor.sources.logged_rebalances import LoggedRebalance, TimedEvent, rebalances_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from assignor.cluster.folder import Recording
    from assignor.sources.log_lines import LogTime
    from assignor.sources.log_zones import Generations
    from assignor.sources.logged_reasons import Event

__all__ = ["BrokerLog", "LoggedRebalance", "read_broker_log"]

_LONGEST_LINE = 1 << 18
_EXPECTED = (
    "expected lines of a Kafka broker such as '[...] INFO [GroupCoordinator ...] Preparing to rebalance group ...'"
)


class BrokerLog(NamedTuple):
    """Rebalances that brokers logged.

    Attributes:
        rebalances: The rebalances, by time.
        notes: Sentences on the files: those without such lines, and the time zones that were found.
    """

    rebalances: tuple[LoggedRebalance, ...]
    notes: tuple[str, ...]


class _File(NamedTuple):
    path: Path
    events: list[tuple[str, LogTime, str, Event]]
    lines: int
    undated: int
    has_info: bool
    has_levels: bool
    damage: str


def read_broker_log(paths: Sequence[Path], recording: Recording, zone: Zone | None = None) -> BrokerLog:
    """Read the log files of the brokers of a recording.

    A time without a time zone is one of `zone`. Without `zone`, the offset from UTC is the one, in whole quarters of an
    hour, with which most rebalances of the file precede the records of their generations; it is UTC if there are none.

    Args:
        paths: Log files, also compressed with gzip.
        recording: The recording of the same cluster.
        zone: Time zone of the lines that do not show one.

    Raises:
        IllegalArgumentError: A file cannot be read, or no file has a line about a rebalance.
    """
    files = [_read(path) for path in dict.fromkeys(paths)]
    notes = [note for file in files for note in _notes(file)]
    if not any(file.events for file in files):
        raise IllegalArgumentError(f"{_problem(files[0])}; {_EXPECTED}")
    timed, found = _timed(files, recording, zone)
    return BrokerLog(tuple(rebalances_of(timed)), (*notes, *found))


def _read(path: Path) -> _File:
    """Read the lines of the group coordinators in a file."""
    found: list[tuple[str, LogTime, str, Event]] = []
    lines = undated = 0
    has_info = has_levels = False
    damage = ""
    try:
        with path.open("rb") as raw:
            for line in _lines(raw):
                has_info = has_info or b"INFO" in line
                has_levels = has_levels or b"WARN" in line or b"ERROR" in line
                if MARK not in line:
                    continue
                message = read_message(line.decode("utf-8", "replace").rstrip("\r\n"))
                event = None if message is None else read_event(message.text)
                if message is None or event is None:
                    continue
                lines += 1
                if message.time is None:
                    undated += 1
                else:
                    found.append((message.broker, message.time, message.text, event))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        damage = str(error) or type(error).__name__
    except OSError as error:
        raise IllegalArgumentError(f"cannot read the broker log {path}: {error.strerror or error}") from error
    return _File(path, found, lines, undated, has_info, has_levels, damage)


def _lines(raw: IO[bytes]) -> Iterator[bytes]:
    is_compressed = raw.peek(2)[:2] == b"\x1f\x8b"  # type: ignore[attr-defined]  # a buffered file
    file: IO[bytes] = gzip.GzipFile(fileobj=raw) if is_compressed else raw  # type: ignore[assignment]  # has `readline`, too
    while line := file.readline(_LONGEST_LINE):
        yield line


def _problem(file: _File) -> str:
    """Return what is wrong with a file without dated lines about groups."""
    if file.lines:
        return f"{file.path}: its {format_count(file.lines, 'line')} about groups have no date"
    if file.has_levels and not file.has_info:
        return (
            f"{file.path} has lines of level WARN or ERROR, and none of level INFO, at which group coordinators log "
            "(loggers kafka.coordinator.group and org.apache.kafka.coordinator.group)"
        )
    return f"{file.path} has no line about a group"


def _notes(file: _File) -> Iterator[str]:
    if file.damage:
        yield f"{file.path} is damaged ({file.damage}): the lines before the damage are read."
    if not file.events:
        yield f"{_problem(file)}."
    elif file.undated:
        yield f"{file.path}: {format_count(file.undated, 'line')} about groups without a date are left out."


def _timed(files: Sequence[_File], recording: Recording, zone: Zone | None) -> tuple[list[TimedEvent], list[str]]:
    """Return the events of all files by time, each once, and notes on the time zones that were found."""
    from assignor.sources.log_zones import generations_of

    needs_zone = zone is None and any(time.offset is None for file in files for _, time, _, _ in file.events)
    groups = {event.group for file in files for *_, event in file.events} if needs_zone else set()
    generations: Generations = generations_of(recording, groups) if needs_zone else {}
    found: dict[tuple[str, int, str], TimedEvent] = {}
    notes: dict[str, list[str]] = defaultdict(list)
    for file in files:
        offset, note = _offset_of(file, generations, zone)
        if note:
            notes[note].append(str(file.path))
        for broker, time, text, event in file.events:
            if time.offset is not None:
                at = time.local - time.offset
            else:
                at = time.local - offset if zone is None else zone.to_utc(time.local)
            found.setdefault((broker, at, text), TimedEvent(at, event))
    return sorted(found.values(), key=lambda each: each.at), list(_joined(notes))


def _joined(notes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for note, paths in notes.items():
        more = f" and {len(paths) - 3} more files" if len(paths) > 3 else ""
        yield f"{', '.join(paths[:3])}{more}: {note}"


def _offset_of(file: _File, generations: Generations, zone: Zone | None) -> tuple[int, str]:
    """Return the offset of the lines without a time zone, and a note if it had to be found."""
    if zone is not None or all(time.offset is not None for _, time, _, _ in file.events):
        return 0, ""
    lines = ((time.local, event) for _, time, _, event in file.events if time.offset is None)
    offset, is_found = chosen_offset(lines, generations)
    if not is_found:
        return (
            0,
            "the times have no time zone and match no record, so they are taken as UTC; --broker-log-zone sets it.",
        )
    return offset, f"the times are in {describe_offset(offset)}, with which they match the records."
