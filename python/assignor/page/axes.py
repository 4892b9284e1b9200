"""Axes, parameters, tooltips and colours that the charts of a page share.

All charts have the parameters `chosen` (true if one group is chosen) and `matching` (a list with true for each group
that matches the search, by rank; null for all groups). Charts with a row per group also have `visible`: the same for
the first of these groups. Charts with a time axis have `since` and `until` in milliseconds. The script of the page
sets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency

with dependency("altair"):
    import altair as alt

if TYPE_CHECKING:
    from assignor.page.palette import Theme
    from assignor.page.tables import Tables

LABEL_WIDTH = 230
"""Largest width of the labels of a y axis in pixels; a narrow screen has less."""

_ROW = 22
_TITLE = 21
_TIME = "%Y-%m-%d %H:%M:%S"
_FORMATS = {
    "milliseconds": "%H:%M:%S.%L",
    "seconds": "%H:%M:%S",
    "minutes": "%H:%M",
    "hours": "%H:%M",
    "day": "%d %b",
    "date": "%d %b",
    "week": "%d %b",
    "month": "%b %Y",
    "quarter": "%b %Y",
    "year": "%Y",
}
ALL = "!chosen"
MATCHING = "matching === null || matching[datum.rank]"
VISIBLE = "visible === null || visible[datum.rank]"
POWERS = [0, *(10**power for power in range(10))]
"""Values of the labels of a logarithmic axis of counts."""

COUNT_LABEL = "format(datum.value, '~s')"
"""Expression for the text of a label on a logarithmic axis of counts.

`Axis.format` would give all labels the unit of the largest value: 0M, 0M, 1M.
"""

_NUMBERS = {
    *("after", "count", "idle_members", "lag", "least_loaded", "mean_load", "members", "most_loaded", "moved", "now"),
    *("of", "partitions", "rate", "rebalances", "topics", "unowned_last", "unowned_most"),
}
"""Fields of tooltips that are numbers."""

IN_TIME = "datum.end > since && datum.start < until"


def config(theme: Theme) -> dict[str, Any]:
    """Return the configuration of all charts in the colours of a theme."""
    axis = {
        "labelColor": theme.muted,
        "titleColor": theme.muted,
        "gridColor": theme.line,
        "domainColor": theme.line,
        "tickColor": theme.line,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    }
    return {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"ticks": False, "domain": False, "labelPadding": 8},
        "bar": {"color": theme.accent},
        "line": {"color": theme.accent},
        "rect": {"color": theme.accent},
        "point": {"color": theme.accent},
        "rule": {"color": theme.muted},
        "range": {"category": list(theme.families)},
        "style": {
            "alarm": {"color": theme.alarm},
            "silence": {"color": theme.muted, "opacity": 0.25},
            "now": {"color": theme.text},
            "after": {"color": theme.accent},
        },
    }


def params(tables: Tables, *, is_timed: bool = True) -> list[Any]:
    """Return the parameters that the script of the page sets."""
    found = [
        alt.param(name="chosen", value=False),
        alt.param(name="matching", value=None),
        alt.param(name="labelWidth", value=LABEL_WIDTH),
    ]
    if is_timed:
        start, end = bounds(tables)
        found += [alt.param(name="since", value=start), alt.param(name="until", value=end)]
    return found


def bounds(tables: Tables) -> tuple[int, int]:
    """Return the start of the first time bin and the end of the last one in milliseconds."""
    step = tables.step
    return tables.since // step * step, tables.until // step * step + step


def time_axis(field: str) -> Any:
    """Return the x axis of the chosen time range, in UTC."""
    return _times(field, "since", "until")


def whole_axis(tables: Tables) -> Any:
    """Return the x axis of the whole time range, in UTC."""
    return _times("start", *bounds(tables))


def _times(field: str, first: str | int, last: str | int) -> Any:
    """Return an x axis from a time to another; each is an expression or a number of milliseconds."""
    start, end = (alt.ExprRef(str(each)) for each in (first, last))
    labels = alt.Axis(
        labelOverlap=True,
        tickCount=alt.ExprRef("max(2, round(width / 120))"),
        labelFlush=True,
        grid=True,
        format=_FORMATS,
    )
    scale = alt.Scale(type="utc", domainMin=start, domainMax=end, nice=False)
    return alt.X(f"{field}:T", title=None, scale=scale, axis=labels)


def when(field: str, name: str) -> dict[str, str]:
    """Return a calculated field with the time in UTC as text."""
    return {name: f"utcFormat(datum.{field}, '{_TIME}')"}


def logarithmic(**labels: Any) -> dict[str, Any]:
    """Return the scale and the labels of an axis of counts on which 1 and 10,000 are both visible."""
    axis = alt.Axis(values=POWERS, labelExpr=COUNT_LABEL, labelOverlap=True, **labels)
    return {"scale": alt.Scale(type="symlog", constant=1), "axis": axis}


def counts(field: str, title: str) -> Any:
    """Return a y axis of counts."""
    return alt.Y(f"{field}:Q", title=title, **logarithmic(minExtent=_width(_TITLE)))


def tips(**titles: str) -> list[Any]:
    """Return the lines of a tooltip: the titles of fields, in their order. Numbers get separators of thousands."""
    return [
        alt.Tooltip(f"{field}:Q", title=title, format=",")
        if field in _NUMBERS
        else alt.Tooltip(f"{field}:N", title=title, format="")
        for field, title in titles.items()
    ]


def row_axis() -> Any:
    """Return a y axis with a row per group or, if one group is chosen, per value of the calculated field."""
    return alt.Y(
        "row:N",
        title=None,
        sort=alt.EncodingSortField("rank", op="min"),
        axis=alt.Axis(grid=True, zindex=0, minExtent=_width(), labelLimit=_width(), labelOverlap=False),
    )


def _width(title: int = 0) -> Any:
    """Return the width of the labels of a y axis without that of its title, so that the x axes of charts align."""
    return alt.ExprRef(f"max(0, labelWidth - {title})")


def size(field: str, tables: Tables) -> Any:
    """Return an area that grows with the logarithm of a count."""
    most = max((row[field] or 0 for row in tables.rebalances), default=1)
    scale = alt.Scale(type="log", domain=[1, max(most, 100)], range=[60, 240], clamp=True)
    return alt.Size(f"{field}:Q", scale=scale, legend=None)


def rows_of(name: str, *, is_timed: bool = True, groups: str = VISIBLE) -> Any:
    """Return a chart of the rows of a data set that belong to the chosen groups and, if they are timed, time range."""
    chart = alt.Chart(alt.NamedData(name)).transform_filter(groups)
    return chart.transform_filter(IN_TIME) if is_timed else chart


def with_silences(chart: Any, tables: Tables) -> Any:
    """Return a chart with a time axis on a band for each silence of the log."""
    if not tables.silences:
        return chart
    bands = (
        alt.Chart(alt.NamedData("silences"))
        .transform_calculate(from_="max(datum.since, since)", to_="min(datum.until, until)")
        .transform_filter("datum.from_ < datum.to_")
        .mark_rect(style="silence")
        .encode(x=time_axis("from_"), x2=alt.X2("to_:T"), tooltip=tips(text="silence"))
    )
    return alt.layer(bands, chart)


def of_height(chart: Any, tables: Tables, height: int, *more: Any) -> Any:
    """Return a chart with this height in pixels, and with the parameters."""
    return chart.add_params(*params(tables), *more).properties(width="container", height=height)


def as_rows(chart: Any, tables: Tables, name: str, *more: Any, where: str = "", is_timed: bool = True) -> Any:
    """Return a chart with a row per group, and with the parameters.

    The script sets the height and chooses the groups.

    Args:
        chart: The chart.
        tables: The tables of the page.
        name: Data set of the chart.
        more: Other parameters.
        where: Field that is not 0 in the rows that the chart shows; empty for all rows.
        is_timed: True if the chart has a time axis.
    """
    meta = {"rowHeight": _ROW, "rows": name, "where": where}
    sized = chart.properties(width="container", height=_ROW, usermeta=meta)
    visible = alt.param(name="visible", value=None)
    return sized.add_params(*params(tables, is_timed=is_timed), visible, *more)
