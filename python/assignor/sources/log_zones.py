"""Time zone of a broker's log file: given by the user, or found by comparing its lines with a recording."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assignor import _core
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import groups_of, scan
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.sources.log_lines import QUARTER_MS, read_offset

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from assignor.cluster.folder import Recording
    from assignor.sources.logged_reasons import Event

    Generations = Mapping[tuple[str, int], Sequence[int]]

__all__ = ["Zone", "chosen_offset", "describe_offset", "generations_of"]

_OFFSET = re.compile(r"(?:UTC)?([+-]\d\d:?\d\d|Z)|UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_CLOCK_MS = 2_000
_LONGEST_MS = 600_000
_WIDEST = range(-14 * 4, 14 * 4 + 1)
_GROUP_RECORDS = [b"\x00\x02", b"\x00\x03", b"\x00\x0b", b"\x00\x11"]


class Zone:
    """Time zone that a user names: an offset from UTC such as `+01:00`, or a name such as `Europe/Berlin`.

    Args:
        name: The offset or the name.

    Raises:
        IllegalArgumentError: There is no such time zone.

    Example:
        >>> Zone("+01:00").to_utc(3_600_000)
        0
    """

    def __init__(self, name: str) -> None:
        self._offset: int | None = None
        if found := _OFFSET.fullmatch(name):
            self._offset = read_offset(found[1] or "UTC")
            return
        try:
            self._zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise IllegalArgumentError(
                f"time zone {name!r} is not known: expected an offset such as +01:00 or a name such as Europe/Berlin"
            ) from error

    def to_utc(self, local: int) -> int:
        """Return the time of a local time; both in milliseconds. A time that occurs twice is the earlier one."""
        if self._offset is not None:
            return local - self._offset
        try:
            naive = (_EPOCH + local * _MILLISECOND).replace(tzinfo=self._zone)
            return (naive.astimezone(UTC) - _EPOCH) // _MILLISECOND
        except OverflowError:  # in the first or the last year of a datetime
            return local


def describe_offset(offset: int) -> str:
    """Return an offset in milliseconds as text.

    Example:
        >>> describe_offset(-12_600_000)
        'UTC-03:30'
    """
    if offset == 0:
        return "UTC"
    minutes = abs(offset) // 60_000
    return f"UTC{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


def generations_of(recording: Recording, groups: Collection[str]) -> Generations:
    """Return the times of the records of some groups, by group and generation or epoch, each list sorted."""
    found: dict[tuple[str, int], list[int]] = {}
    wanted, kinds = pa.array(sorted(groups), pa.string()), pa.array(_GROUP_RECORDS, pa.binary())
    machine = _core.Replay(topics_table(None), is_compared=False)
    for batch in scan(recording, ["partition", "offset", "timestamp", "key", "value"]):
        is_group = pc.is_in(pc.binary_slice(batch["key"].cast(pa.binary()), 0, 2), kinds)
        records = batch.filter(pc.fill_null(is_group, False))
        for start, ids in groups_of(records["key"]):
            part = records.slice(start, len(ids)).filter(pc.is_in(ids, wanted))
            for events in map(pa.record_batch, machine.push(part)):
                rows = events.select(["group", "generation", "at"]).filter(pc.equal(events["event"], "generation"))
                for row in rows.to_pylist():
                    found.setdefault((row["group"], row["generation"]), []).append(row["at"])
    for times in found.values():
        times.sort()
    return found


def chosen_offset(lines: Iterable[tuple[int, Event]], generations: Generations) -> tuple[int, bool]:
    """Return the offset with which most lines precede the record of their generation, and whether any line does.

    Of several such offsets, the one with which the records follow soonest is chosen.

    Args:
        lines: Local time of each line, and what it says.
        generations: Times of records, from `generations_of`.
    """
    counts: Counter[int] = Counter()
    waits: Counter[int] = Counter()
    for local, event in lines:
        if event.what not in {"prepare", "epoch"} or event.generation is None:
            continue
        times = generations.get((event.group, event.generation + (event.what == "prepare")), ())
        longest = _LONGEST_MS if event.what == "prepare" else _CLOCK_MS
        for quarters in _WIDEST if times else ():
            at = local - quarters * QUARTER_MS
            place = bisect_left(times, at - _CLOCK_MS)
            if place < len(times) and times[place] - at <= longest:
                counts[quarters] += 1
                waits[quarters] += times[place] - at
    if not counts:
        return 0, False
    best = max(counts, key=lambda quarters: (counts[quarters], -waits[quarters], quarters == 0))
    return best * QUARTER_MS, True
