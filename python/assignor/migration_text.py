"""Answers of `assignor.migration.migrate` as text and as a Markdown table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import escape, format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assignor.migration import BrokerSettings, ClientCount, Migration, Placement

_NAMES_SHOWN = 5
"""Number of members of a blocker that the text names."""

_UNKNOWN = "?"

_HEADER = ("group", "verdict", "members", "load", "idle", "moved", "rolling", "join", "leave", "restart")


_BUSIEST = "busiest"
"""Header of the column that the table has if the traffic of a group is known."""


def text_lines(found: Sequence[Migration], settings: BrokerSettings) -> Iterator[str]:
    """Yield the lines of `assignor migrate`: a table, and the reason, the path and the notes of each group."""
    rows = [_HEADER, *map(_cells, found)]
    has_weights = any(each.before is not None and each.before.most_weight is not None for each in found)
    if has_weights:
        rows = [(*row, last) for row, last in zip(rows, (_BUSIEST, *map(_busiest, found)), strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(size) if place < 2 else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
    yield ""
    yield "load: fewest-most partitions of a member, today > after the switch; idle: members without partitions"
    yield "moved: partitions with another owner after the switch; rolling: while members are replaced one after another"
    yield "join, leave, restart: partitions that move then, with today's assignor > with the broker's; ?: not known"
    if has_weights:
        yield "busiest: records per second, or weight, of the member with the most, today > after the switch"
    for migration in found:
        yield ""
        yield f"{escape(migration.group)}: {migration.verdict or 'not known'}, {escape(migration.reason)}"
        for line in _details(migration):
            yield f"  {escape(line)}"
    if settings.assumed:
        yield ""
        yield f"Kafka's defaults are assumed for {', '.join(settings.assumed)}; give others with --broker-setting"


def markdown(found: Iterable[Migration]) -> Iterator[str]:
    """Yield the lines of a Markdown table with a row per group, for a ticket."""
    header = ("group", "verdict", "reason", "members that block", "path", "load", "moved")
    yield _markdown_row(header)
    yield _markdown_row(["---"] * len(header))
    for migration in found:
        names = migration.blocking
        blocking = ", ".join(names[:_NAMES_SHOWN])
        if len(names) > _NAMES_SHOWN:
            blocking += f" and {len(names) - _NAMES_SHOWN:,} more"
        yield _markdown_row(
            (
                migration.group,
                migration.verdict or "not known",
                migration.reason,
                blocking,
                migration.path or "",
                _cells(migration)[3],
                _number(migration.moved),
            )
        )


def _markdown_row(cells: Iterable[str]) -> str:
    shown = (escape(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _details(migration: Migration) -> Iterator[str]:
    if migration.path is not None:
        yield f"path: {migration.path}"
    for blocker in migration.blockers:
        if blocker.members:
            names = ", ".join(blocker.members[:_NAMES_SHOWN])
            more = len(blocker.members) - _NAMES_SHOWN
            yield f"blocks ({blocker.kind}): {names}{f' and {more:,} more' if more > 0 else ''}"
    for blocker in migration.blockers[1:]:
        yield f"also: {blocker.reason}"
    if migration.clients:
        yield f"clients: {'; '.join(map(_client, migration.clients))}"
    if migration.after is not None and migration.after.idle:
        names = ", ".join(migration.after.idle[:_NAMES_SHOWN])
        more = len(migration.after.idle) - _NAMES_SHOWN
        yield f"without partitions after the switch: {names}{f' and {more:,} more' if more > 0 else ''}"
    yield from migration.notes
    if migration.problem is not None:
        yield migration.problem
    if migration.unknown:
        yield f"not known: {'; '.join(migration.unknown)}"


def _client(count: ClientCount) -> str:
    library, version = count.library, count.version
    name = " ".join(filter(None, (library, version)))
    if library is None:
        name = "an unknown client" + (f" that {version}" if version else "")
    return f"{format_count(count.members, 'member')} with {name} (new protocol: {count.support})"


def _cells(migration: Migration) -> tuple[str, ...]:
    before, after = migration.before, migration.after
    load, idle = _UNKNOWN, _UNKNOWN
    if before is not None:
        load = f"{_load(before)} > {_UNKNOWN if after is None else _load(after)}"
        idle = f"{len(before.idle)} > {_UNKNOWN if after is None else len(after.idle)}"
    later = []
    for name in ("join", "leave", "restart"):
        today, then = (
            None if each is None else getattr(each, name) for each in (migration.later_today, migration.later)
        )
        later.append(f"{_number(today)} > {_number(then)}")
    members = _UNKNOWN if migration.members is None else f"{migration.members:,}"
    return (
        escape(migration.group),
        migration.verdict or "not known",
        members,
        load,
        idle,
        _number(migration.moved),
        _number(migration.rolling),
        *later,
    )


def _busiest(migration: Migration) -> str:
    before, after = (None if each is None else each.most_weight for each in (migration.before, migration.after))
    return f"{_weight(before)} > {_weight(after)}"


def _weight(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,.1f}"


def _load(placement: Placement) -> str:
    least, most = placement.least_loaded, placement.most_loaded
    return "-" if least is None else f"{least:,}-{most:,}"


def _number(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{value:,}"
