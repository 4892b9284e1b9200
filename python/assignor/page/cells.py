"""Cells and tables of HTML: numbers, times and names, which are escaped."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.lines import escape as escape_control
from assignor.lines import format_time
from assignor.replay.event_text import group_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assignor.page.data import Row

NOT_KNOWN = "not known"
"""Text for a number that is not in the log."""

_MOST_ROWS = {"findings": 300}
_MOST_ROWS_OF_OTHERS = 100

SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}


class Column(NamedTuple):
    """Column of a table.

    Attributes:
        field: Field of the row.
        label: Heading.
        kind: `text` (short), `name`, `group`, `long` (sentences), `number`, `time` or `severity`.
        missing: Text of a cell without a value.
        more: Field with lines of text that the cell shows when the reader opens it; an empty text has nothing to open.
    """

    field: str
    label: str
    kind: str = "text"
    missing: str = ""
    more: str = ""


class Filter(NamedTuple):
    """Fields of the time range of a row; rows of other time ranges can be hidden."""

    start: str
    end: str | None


def rows_in_html(name: str) -> int:
    """Return the largest number of rows of a table in the HTML; the script adds the others from the page's data."""
    return _MOST_ROWS.get(name, _MOST_ROWS_OF_OTHERS)


def escape(text: Any) -> str:
    """Return text as HTML; control characters are shown as escapes."""
    return html.escape(escape_control(str(text)), quote=True)


def group_cell(group: str) -> str:
    """Return a group id as HTML; quotation marks show an empty one."""
    return html.escape(group_title(group), quote=True)


def escape_lines(text: str) -> str:
    r"""Return text of several lines as HTML; only `\n` separates lines."""
    return "\n".join(map(escape, text.split("\n")))


def format_step(milliseconds: int) -> str:
    """Return the length of a time bin."""
    for unit, length in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)):
        if milliseconds % length == 0:
            number = milliseconds // length
            return f"{number:,} {unit}{'' if number == 1 else 's'}"
    return f"{milliseconds} ms"


def time(milliseconds: int) -> str:
    """Return a time element."""
    shown = format_time(milliseconds)
    return f'<time datetime="{shown.replace(" ", "T")}Z">{shown}</time>'


def number(value: int, column: str = "") -> str:
    """Return a data element with a number."""
    return f'<data data-column="{column}" value="{value}">{value:,}</data>'


def table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    groups: Mapping[str, int],
    times: Filter | None = None,
    *,
    is_cards: bool = False,
) -> Iterator[str]:
    """Yield a table of the first rows, see `rows_in_html`, which the script can filter and continue.

    Args:
        name: Name of the table.
        caption: Name of the table, for readers who cannot see the heading before it.
        columns: The columns; the first is the heading of the row.
        rows: The rows.
        groups: Index of each group in the list of the filter.
        times: Fields of the time range of a row.
        is_cards: True if a row is a block on a narrow screen.
    """
    yield f'<p class="note" id="none-{name}" hidden>No rows for this choice of group and time.</p>\n'
    style = "scroll flat" if is_cards else "scroll"
    yield f'<div class="{style}" tabindex="0" role="region" aria-label="{escape(caption)}">\n'
    most = rows_in_html(name)
    columns_of_script = escape(json.dumps([[each.field, each.kind, each.missing, each.more] for each in columns]))
    start, end = times or ("", "")
    yield f'<table data-name="{name}" data-columns="{columns_of_script}" data-start="{start}" data-end="{end}"'
    yield f"{' class=cards' if is_cards else ''}>\n<thead><tr>"
    for column in columns:
        yield f'<th scope="col"{_class(column)}>{escape(column.label)}</th>'
    yield "</tr></thead>\n<tbody>\n"
    for row in rows[:most]:
        yield f"<tr{_range(row, groups, times)}>"
        for place, column in enumerate(columns):
            label = f' data-label="{escape(column.label)}"' if is_cards and place else ""
            tag = "td" if place else "th"
            scope = "" if place else ' scope="row"'
            value = _cell(row.get(column.field), column)
            if column.more and row[column.more]:
                lines = escape_lines(row[column.more])
                value = (
                    f"<details><summary>{value}</summary>"
                    f'<div class="muted lines" data-column="{column.more}">{lines}</div></details>'
                )
            yield f"<{tag}{scope}{_class(column)}{label}>{value}</{tag}>"
        yield "</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"
    if len(rows) > most:
        left_out = f"{len(rows) - most:,} more rows need a script."
        yield f'<p class="note" id="more-{name}">{left_out}</p>\n'


def _class(column: Column) -> str:
    kind = "name" if column.kind == "group" else column.kind
    return f' class="{kind}"' if kind in {"number", "name", "long"} else ""


def _range(row: Row, groups: Mapping[str, int], times: Filter | None) -> str:
    group = groups.get(row["group"])
    found = f' data-group="{"" if group is None else group}"'
    if times is not None and row[times.start] is not None:
        found += f' data-start="{row[times.start]}"'
    if times is not None and times.end is not None and row[times.end] is not None:
        found += f' data-end="{row[times.end]}"'
    return found


def _cell(value: Any, column: Column) -> str:
    if value is None:
        return escape(column.missing)
    if column.kind == "number":
        return number(value, column.field)
    if column.kind == "time":
        return time(value)
    if column.kind == "severity":
        return f'<span class="severity {escape(value)}">{SEVERITIES[value]}</span>'
    if column.kind == "group":
        return group_cell(value)
    return escape(value)
