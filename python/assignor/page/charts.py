"""Charts of a page: Vega-Lite specifications, made with altair, that read the tables of the page by name.

All charts have the parameter `chosen` (a group id, or null for all groups). Those with a time axis have `since` and
`until` in milliseconds. The script of the page sets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from assignor.page.palette import FAMILIES, Theme, mark

if TYPE_CHECKING:
    from assignor.page.data import Row
    from assignor.page.tables import Tables

LABEL_WIDTH = 230
"""Largest width of the labels of a y axis in pixels; a narrow screen has less."""

_ROW = 22
_CHARACTER = 7
_TITLE = 21
_OVERVIEW_HEIGHT = 84
_BARS_HEIGHT = 150
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
_ALL = "chosen === null"
_OF_GROUP = f"{_ALL} || datum.group === chosen"
_IN_TIME = "datum.start >= since && datum.start < until"


def charts(tables: Tables) -> dict[str, dict[str, Any]]:
    """Return the specifications by name; charts without data are omitted.

    Args:
        tables: The tables of the page, whose names are the names of the data sets.
    """
    found: dict[str, Any] = {}
    if tables.rebalances:
        found["overview"] = _overview(tables)
        found["timeline"] = _timeline(tables)
    if any(row["moved"] for row in tables.rebalances):
        found["moves"] = _moves(tables)
    if any(row["unowned_most"] for row in tables.rebalances):
        found["unowned"] = _unowned(tables)
    if tables.members:
        found["load"] = _load(tables)
    if tables.what_if_members:
        found["what-if"] = _what_if(tables)
    if any(row["lag"] for row in tables.lag_of_topics):
        found["lag"] = _lag(tables)
    return {name: _plain(chart) for name, chart in found.items()}


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
        "rect": {"color": theme.accent},
        "point": {"color": theme.accent},
        "rule": {"color": theme.muted},
        "range": {"category": list(theme.families)},
        "style": {
            "alarm": {"color": theme.alarm},
            "now": {"color": theme.text},
            "after": {"color": theme.accent},
        },
    }


def _plain(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart, without the configuration that altair adds."""
    found: dict[str, Any] = chart.to_dict()
    found.pop("config", None)
    return found


def _params(tables: Tables, *, is_timed: bool = True) -> list[Any]:
    found = [alt.param(name="chosen", value=None), alt.param(name="labelWidth", value=LABEL_WIDTH)]
    if is_timed:
        start, end = bounds(tables)
        found += [alt.param(name="since", value=start), alt.param(name="until", value=end)]
    return found


def bounds(tables: Tables) -> tuple[int, int]:
    """Return the start of the first time bin and the end of the last one in milliseconds."""
    step = tables.step
    return tables.since // step * step, tables.until // step * step + step


def _time_axis(field: str, title: str | None = None) -> Any:
    """Return the x axis of the chosen time range, in UTC."""
    return alt.X(
        f"{field}:T",
        title=title,
        scale=alt.Scale(
            type="utc",
            domainMin=alt.ExprRef("since"),
            domainMax=alt.ExprRef("until"),
            nice=False,
        ),
        axis=_time_labels(),
    )


def _time_labels() -> Any:
    return alt.Axis(
        labelOverlap=True,
        tickCount=alt.ExprRef("max(2, round(width / 120))"),
        labelFlush=True,
        grid=True,
        format=_FORMATS,
    )


def _whole_axis(tables: Tables) -> Any:
    start, end = bounds(tables)
    scale = alt.Scale(type="utc", domainMin=alt.ExprRef(str(start)), domainMax=alt.ExprRef(str(end)), nice=False)
    return alt.X("start:T", title=None, scale=scale, axis=_time_labels())


def _when(field: str, name: str) -> dict[str, str]:
    """Return a calculated field with the time in UTC as text."""
    return {name: f"utcFormat(datum.{field}, '{_TIME}')"}


def _overview(tables: Tables) -> Any:
    brush = alt.selection_interval(name="brush", encodings=["x"])
    return (
        alt.Chart(alt.NamedData("rebalances"))
        .transform_filter(_OF_GROUP)
        .transform_aggregate(count="sum(rebalances)", groupby=["start", "end"])
        .transform_calculate(**_when("start", "from"))
        .mark_rect()
        .encode(
            x=_whole_axis(tables),
            x2=alt.X2("end:T"),
            y=_counts("count", "rebalances"),
            y2=alt.Y2(datum=0),
            tooltip=[_tip("from", "from (UTC)"), _tip("count", "rebalances", is_number=True)],
        )
        .add_params(*_params(tables), brush)
        .properties(width="container", height=_OVERVIEW_HEIGHT)
    )


def _counts(field: str, title: str) -> Any:
    """Return a y axis of counts on which 1 and 10,000 are both visible."""
    return alt.Y(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="symlog", constant=1),
        axis=alt.Axis(
            values=[0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000],
            format="~s",
            labelOverlap=True,
            minExtent=_width(_TITLE),
        ),
    )


def _tip(field: str, title: str, *, is_number: bool = False) -> Any:
    return alt.Tooltip(f"{field}:Q" if is_number else f"{field}:N", title=title, format="," if is_number else "")


def _rows(field: str = "row") -> Any:
    """Return a y axis with a row per group; for one group, per value of the calculated field."""
    return alt.Y(
        f"{field}:N",
        title=None,
        sort=alt.EncodingSortField("rank", op="min"),
        axis=alt.Axis(grid=True, zindex=0, minExtent=_width(), labelLimit=_width(), labelOverlap=False),
    )


def _width(title: int = 0) -> Any:
    """Return the width of the labels of a y axis without that of its title: times are aligned in all charts."""
    return alt.ExprRef(f"max(0, labelWidth - {title})")


def _timeline(tables: Tables) -> Any:
    causes = list(tables.causes)
    points = (
        alt.Chart(alt.NamedData("rebalances"))
        .transform_filter(_OF_GROUP)
        .transform_filter(_IN_TIME)
        .transform_calculate(
            row=f"{_ALL} ? datum.group : datum.cause",
            at="(datum.first + datum.last) / 2",
            **_when("first", "from"),
            **_when("last", "to"),
        )
        .mark_point(filled=True, opacity=0.9)
        .encode(
            x=_time_axis("at"),
            y=_rows(),
            size=_size("rebalances", tables),
            color=alt.Color("family:N", scale=alt.Scale(domain=list(range(len(FAMILIES)))), legend=None),
            shape=alt.Shape(
                "cause:N", scale=alt.Scale(domain=causes, range=[mark(cause).shape for cause in causes]), legend=None
            ),
            tooltip=[
                _tip("group", "group"),
                _tip("cause", "most likely cause"),
                _tip("rebalances", "rebalances", is_number=True),
                _tip("generations", "generations"),
                _tip("from", "first (UTC)"),
                _tip("to", "last (UTC)"),
                _tip("moved", "partitions moved", is_number=True),
            ],
        )
    )
    return (
        alt.layer(*(_storm_bands() if tables.storms else ()), points)
        .add_params(*_params(tables))
        .properties(width="container", height=_ROW, usermeta={"rowHeight": _ROW})
    )


def _size(field: str, tables: Tables) -> Any:
    """Return an area that grows with the logarithm of a count."""
    most = max((row[field] or 0 for row in tables.rebalances), default=1)
    scale = alt.Scale(type="log", domain=[1, max(most, 100)], range=[60, 240], clamp=True)
    return alt.Size(f"{field}:Q", scale=scale, legend=None)


def _storm_bands() -> list[Any]:
    """Return a band per storm: in the row of its group, or over all rows of the chosen group."""
    base = (
        alt.Chart(alt.NamedData("storms"))
        .transform_filter(_OF_GROUP)
        .transform_calculate(
            row="datum.group",
            from_="max(datum.since, since)",
            to_="min(isValid(datum.until) ? datum.until : datum.last, until)",
            **_when("since", "first"),
        )
        .transform_filter("datum.from_ < datum.to_")
        .mark_rect(style="alarm", fillOpacity=0.16, strokeOpacity=0.7, strokeWidth=1)
        .encode(
            x=_time_axis("from_"),
            x2=alt.X2("to_:T"),
            tooltip=[
                _tip("group", "rebalance storm of"),
                _tip("first", "since (UTC)"),
                _tip("rebalances", "rebalances", is_number=True),
            ],
        )
    )
    return [
        base.transform_filter(_ALL).encode(y=_rows()),
        base.transform_filter(f"!({_ALL})"),
    ]


def _moves(tables: Tables) -> Any:
    return (
        alt.Chart(alt.NamedData("rebalances"))
        .transform_filter(_OF_GROUP)
        .transform_filter(_IN_TIME)
        .transform_aggregate(count="sum(moved)", of="sum(rebalances)", groupby=["start", "end"])
        .transform_calculate(**_when("start", "from"))
        .mark_rect()
        .encode(
            x=_time_axis("start"),
            x2=alt.X2("end:T"),
            y=_counts("count", "partitions moved"),
            y2=alt.Y2(datum=0),
            tooltip=[
                _tip("from", "from (UTC)"),
                _tip("count", "partitions moved", is_number=True),
                _tip("of", "rebalances", is_number=True),
            ],
        )
        .add_params(*_params(tables))
        .properties(width="container", height=_BARS_HEIGHT)
    )


def _unowned(tables: Tables) -> Any:
    return (
        alt.Chart(alt.NamedData("rebalances"))
        .transform_filter(_OF_GROUP)
        .transform_filter(_IN_TIME)
        .transform_filter("datum.unowned_most > 0")
        .transform_calculate(row="datum.group", at="(datum.first + datum.last) / 2", **_when("last", "to"))
        .mark_point(filled=True, style="alarm", shape="square", opacity=0.8)
        .encode(
            x=_time_axis("at"),
            y=_rows(),
            size=_size("unowned_most", tables),
            tooltip=[
                _tip("group", "group"),
                _tip("to", "until (UTC)"),
                _tip("unowned_most", "without an owner, at most", is_number=True),
                _tip("unowned_last", "without an owner, at the end", is_number=True),
            ],
        )
        .add_params(*_params(tables))
        .properties(width="container", height=_ROW, usermeta={"rowHeight": _ROW})
    )


def _load(tables: Tables) -> Any:
    return (
        alt.Chart(alt.NamedData("members"))
        .transform_filter(_OF_GROUP)
        .transform_calculate(row=f"{_ALL} ? datum.group : datum.label")
        .mark_point(filled=True, size=90, opacity=0.75)
        .encode(
            x=_partitions("partitions"),
            y=_rows(),
            tooltip=[
                _tip("group", "group"),
                _tip("member", "member"),
                _tip("host", "host"),
                _tip("partitions", "partitions", is_number=True),
                _tip("topics", "topics", is_number=True),
            ],
        )
        .add_params(*_params(tables, is_timed=False))
        .properties(width="container", height=_ROW, usermeta={"rowHeight": _ROW})
    )


def _partitions(field: str) -> Any:
    axis = alt.Axis(tickMinStep=1, format=",d", labelOverlap=True)
    return alt.X(f"{field}:Q", title="partitions of a member", scale=alt.Scale(zero=True, nice=True), axis=axis)


def _what_if(tables: Tables) -> Any:
    base = (
        alt.Chart(alt.NamedData("what_if_members"))
        .transform_filter(_OF_GROUP)
        .transform_calculate(
            row=f"{_ALL} ? datum.group : datum.label", after="scenario === 'less' ? datum.less : datum.more"
        )
    )
    tips = [_tip("group", "group"), _tip("member", "member")]
    tips += [_tip("now", "now", is_number=True), _tip("after", "after", is_number=True)]
    change = (
        base.transform_filter("isValid(datum.now) && isValid(datum.after)")
        .mark_rule(opacity=0.6)
        .encode(x=_partitions("now"), x2=alt.X2("after:Q"), y=_rows())
    )
    layers = [change]
    for name, is_filled, shape in (("now", False, "circle"), ("after", True, "diamond")):
        style = "after" if is_filled else "now"
        layers.append(
            base.transform_filter(f"isValid(datum.{name})")
            .mark_point(filled=is_filled, size=80, shape=shape, style=style, strokeWidth=1.5)
            .encode(x=_partitions(name), y=_rows(), tooltip=tips)
        )
    return (
        alt.layer(*layers)
        .add_params(*_params(tables, is_timed=False), alt.param(name="scenario", value="less"))
        .properties(width="container", height=_ROW, usermeta={"rowHeight": _ROW})
    )


def _lag(tables: Tables) -> Any:
    scale = alt.Scale(type="symlog", constant=1)
    axis = alt.Axis(values=[0, *(10**power for power in range(10))], format="~s", labelOverlap=True)
    return (
        alt.Chart(alt.NamedData("lag_of_topics"))
        .transform_filter(_OF_GROUP)
        .transform_calculate(row=f"{_ALL} ? datum.group : datum.topic")
        .transform_aggregate(lag="sum(lag)", rank="min(rank)", partitions="sum(partitions)", groupby=["row"])
        .mark_bar(height=12)
        .encode(
            x=alt.X("lag:Q", title="records behind the end of the log", scale=scale, axis=axis),
            y=_rows(),
            tooltip=[
                _tip("row", "of"),
                _tip("lag", "records", is_number=True),
                _tip("partitions", "partitions", is_number=True),
            ],
        )
        .add_params(*_params(tables, is_timed=False))
        .properties(width="container", height=_ROW, usermeta={"rowHeight": _ROW})
    )


def label_width(tables: Tables) -> int:
    """Return the width of the longest name of a group in pixels, or `LABEL_WIDTH` if that is less."""
    return min(LABEL_WIDTH, max((_CHARACTER * len(group) for group in tables.shown), default=0) + _CHARACTER)


def data_sets(tables: Tables) -> dict[str, list[Row]]:
    """Return the tables that the charts read, with the rank of each group, colour numbers and labels.

    Args:
        tables: The tables of the page.
    """
    rank = {group: number for number, group in enumerate(tables.shown)}

    def ranked(rows: list[Row]) -> list[Row]:
        return [{**row, "rank": rank.get(row["group"], len(rank))} for row in rows]

    return {
        "rebalances": [{**row, "family": mark(row["cause"]).family} for row in ranked(tables.rebalances)],
        "storms": [{**row, "last": tables.until} for row in ranked(tables.storms)],
        "members": _labelled(ranked(tables.members)),
        "what_if_members": _labelled(ranked(tables.what_if_members)),
        "lag_of_topics": ranked(tables.lag_of_topics),
    }


def _labelled(rows: list[Row]) -> list[Row]:
    """Add a label to members, which is their name; if members of a group share it, with a number."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for row in rows:
        key = (row["group"], row["member"])
        seen[key] = number = seen.get(key, 0) + 1
        found.append({**row, "label": row["member"] if number == 1 else f"{row['member']} ({number})"})
    return found
