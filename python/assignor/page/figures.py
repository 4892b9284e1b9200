"""Parts of all sections of a page: heading and text, chart, and the table with the numbers of a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.lines import format_count
from assignor.page.cells import Column, escape, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignor.page.cells import Filter
    from assignor.page.data import Row

ICONS = {
    "circle": '<circle cx="7" cy="7" r="5.5"/>',
    "square": '<rect x="2" y="2" width="10" height="10"/>',
    "diamond": '<path d="M7 0 13 7 7 14 1 7Z"/>',
    "triangle-up": '<path d="M7 1 13.5 12.5H.5Z"/>',
    "cross": '<path d="M5 1h4v4h4v4H9v4H5V9H1V5h4Z"/>',
}
TITLES = {
    "findings": "Findings",
    "rebalances": "Rebalances",
    "storms": "Storms",
    "costs": "Cost of rebalances",
    "moves": "Moved partitions",
    "unowned": "Partitions without an owner",
    "load": "Load",
    "what-if": "What if",
    "scale": "Numbers of members",
    "lag": "Lag",
    "tasks": "Tasks",
    "groups": "Groups",
}

GROUP = Column("group", "group", "group")
TOPIC = Column("topic", "topic", "name")
MEMBER = Column("member", "member", "name")
MEMBER_ID = Column("member_id", "member id", "name")
"""Columns that several tables have."""


def counted(*fields: str) -> tuple[Column, ...]:
    """Return columns of numbers with the names of their fields as headings."""
    return tuple(Column(field, field, "number") for field in fields)


class Chart(NamedTuple):
    """Chart of a section, and its description for readers who cannot see it."""

    name: str
    description: str


def section(name: str, text: str, content: Iterator[str]) -> Iterator[str]:
    """Yield a section with its heading and a text."""
    yield f'<section id="{name}" aria-labelledby="title-{name}">\n<h2 id="title-{name}">{TITLES[name]}</h2>\n'
    if text:
        yield f"<p>{escape(text)}</p>\n"
    yield from content
    yield "</section>\n"


def figure(chart: Chart) -> str:
    """Return the place of a chart, with its description."""
    return (
        f'<figure><div class="chart" id="chart-{chart.name}" role="img" aria-label="{escape(chart.description)}">'
        f'</div><p class="note" id="cut-{chart.name}" hidden></p></figure>\n'
    )


def numbers(
    name: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    groups: dict[str, int],
    times: Filter | None = None,
    caption: str = "",
) -> Iterator[str]:
    """Yield a table that opens below its chart."""
    caption = caption or f"Numbers of {TITLES.get(name, name).lower()}"
    yield f'<details><summary>Table: <span id="count-{name}">{format_count(len(rows), "row")}</span></summary>\n'
    yield from table(name, caption, columns, rows, groups, times)
    yield "</details>\n"


def with_count(name: str, content: Iterator[str]) -> Iterator[str]:
    """Yield a hidden element, in which the script puts the number of rows, and a table without a summary."""
    yield f'<span id="count-{name}" hidden></span>'
    yield from content
