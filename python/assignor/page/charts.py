"""Charts of a page: Vega-Lite specifications, made with altair, that read the tables of the page by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency

with dependency("altair"):
    import altair as alt

from assignor.page import load_charts
from assignor.page.axes import (
    ALL,
    IN_TIME,
    LABEL_WIDTH,
    as_rows,
    bounds,
    counts,
    of_height,
    row_axis,
    rows_of,
    size,
    time_axis,
    tips,
    when,
    whole_axis,
    with_silences,
)
from assignor.page.palette import FAMILIES, mark

if TYPE_CHECKING:
    from assignor.page.data import Row
    from assignor.page.tables import Tables

_CHARACTER = 7
_OVERVIEW_HEIGHT = 84
_BARS_HEIGHT = 150
_OF_BINS = "matching === null ? datum.rank < 0 : matching[datum.rank]"


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
        found["load"] = load_charts.load(tables)
    if tables.what_if_members:
        found["what-if"] = load_charts.what_if(tables)
    if tables.scales:
        found["scale"] = load_charts.scale(tables)
    if any(row["lag"] for row in tables.lag_of_topics):
        found["lag"] = load_charts.lag(tables)
    if tables.lag_over_time:
        found["lag-over-time"] = load_charts.lag_over_time(tables)
    return {name: _plain(chart) for name, chart in found.items()}


def _plain(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart, without the configuration that altair adds."""
    found: dict[str, Any] = chart.to_dict()
    found.pop("config", None)
    return found


def _overview(tables: Tables) -> Any:
    brush = alt.selection_interval(name="brush", encodings=["x"])
    chart = (
        _bins(tables, alt.Chart(alt.NamedData("bins")).transform_filter(_OF_BINS))
        .mark_rect()
        .encode(
            x=whole_axis(tables),
            x2=alt.X2("end:T"),
            y=counts("count", "rebalances"),
            y2=alt.Y2(datum=0),
            tooltip=tips(begin="from (UTC)", count="rebalances"),
        )
    )
    return of_height(chart, tables, _OVERVIEW_HEIGHT, _bin(tables), brush)


def _bins(tables: Tables, chart: Any) -> Any:
    """Return a chart of sums of rebalances and moves in time bins of the length `bin`."""
    start, end = bounds(tables)
    return (
        chart.transform_calculate(bin_="floor(datum.start / bin) * bin")
        .transform_aggregate(count="sum(rebalances)", moved="sum(moved)", groupby=["bin_"])
        .transform_calculate(start=f"max(datum.bin_, {start})", end=f"min(datum.bin_ + bin, {end})")
        .transform_calculate(**when("start", "begin"))
    )


def _bin(tables: Tables) -> Any:
    return alt.param(name="bin", value=tables.step)


def _timeline(tables: Tables) -> Any:
    causes = list(tables.causes)
    points = (
        rows_of("rebalances")
        .transform_calculate(
            row=f"{ALL} ? datum.group : datum.cause",
            at="clamp((datum.first + datum.last) / 2, since, until)",
            **when("first", "begin"),
            **when("last", "to"),
        )
        .mark_point(filled=True, opacity=0.9)
        .encode(
            x=time_axis("at"),
            y=row_axis(),
            size=size("rebalances", tables),
            color=alt.Color("family:N", scale=alt.Scale(domain=list(range(len(FAMILIES)))), legend=None),
            shape=alt.Shape(
                "cause:N", scale=alt.Scale(domain=causes, range=[mark(cause).shape for cause in causes]), legend=None
            ),
            tooltip=tips(
                group="group",
                cause="most likely cause",
                rebalances="rebalances",
                generations="generations",
                begin="first (UTC)",
                to="last (UTC)",
                moved="partitions moved",
                details="causes and evidence",
            ),
        )
    )
    layers = alt.layer(*(_storm_bands() if tables.storms else ()), points)
    return as_rows(with_silences(layers, tables), tables, "rebalances")


def _storm_bands() -> list[Any]:
    """Return a band per storm: in the row of its group, or over all rows of the chosen group."""
    base = (
        rows_of("storms", is_timed=False)
        .transform_calculate(
            row="datum.group",
            from_="max(datum.since, since)",
            to_="min(isValid(datum.until) ? datum.until : datum.last, until)",
            **when("since", "first"),
        )
        .transform_filter("datum.from_ < datum.to_")
        .mark_rect(style="alarm", fillOpacity=0.16, strokeOpacity=0.7, strokeWidth=1)
        .encode(
            x=time_axis("from_"),
            x2=alt.X2("to_:T"),
            tooltip=tips(group="rebalance storm of", first="since (UTC)", rebalances="rebalances"),
        )
    )
    return [
        base.transform_filter(ALL).encode(y=row_axis()),
        base.transform_filter(f"!({ALL})"),
    ]


def _moves(tables: Tables) -> Any:
    chart = (
        _bins(tables, alt.Chart(alt.NamedData("bins")).transform_filter(_OF_BINS).transform_filter(IN_TIME))
        .mark_rect(clip=True)
        .encode(
            x=time_axis("start"),
            x2=alt.X2("end:T"),
            y=counts("moved", "partitions moved"),
            y2=alt.Y2(datum=0),
            tooltip=tips(begin="from (UTC)", moved="partitions moved", count="rebalances"),
        )
    )
    return of_height(with_silences(chart, tables), tables, _BARS_HEIGHT, _bin(tables))


def _unowned(tables: Tables) -> Any:
    chart = (
        rows_of("rebalances")
        .transform_filter("datum.unowned_most > 0")
        .transform_calculate(
            row="datum.group", at="clamp((datum.first + datum.last) / 2, since, until)", **when("last", "to")
        )
        .mark_point(filled=True, style="alarm", shape="square", opacity=0.8)
        .encode(
            x=time_axis("at"),
            y=row_axis(),
            size=size("unowned_most", tables),
            tooltip=tips(
                group="group",
                to="until (UTC)",
                unowned_most="without an owner, at most",
                unowned_last="without an owner, at the end",
            ),
        )
    )
    return as_rows(with_silences(chart, tables), tables, "rebalances", where="unowned_most")


def label_width(tables: Tables) -> int:
    """Return the width of the longest name of a group in pixels, or `LABEL_WIDTH` if that is less."""
    return min(LABEL_WIDTH, max((_CHARACTER * len(group) for group in tables.shown), default=0) + _CHARACTER)


def data_sets(tables: Tables) -> dict[str, list[Row]]:
    """Return the tables that the charts read, with labels of members.

    The script adds the rank of each group, the colour number of each cause, and the ends of time bins. The data set
    `bins` of the charts is made by the script: the rows of `totals`, with the rank -1, and those of `rebalances`.

    Args:
        tables: The tables of the page.
    """
    return {
        "rebalances": [_without_end(row) for row in tables.rebalances],
        "totals": [_without_end(row) for row in tables.totals],
        "storms": [{**row, "last": tables.until} for row in tables.storms],
        "silences": tables.silences,
        "members": _labelled(tables.members),
        "what_if_members": _labelled(tables.what_if_members),
        "scales": tables.scales,
        "lag_of_topics": tables.lag_of_topics,
        "lag_over_time": tables.lag_over_time,
        "groups": tables.groups,
    }


def _without_end(row: Row) -> Row:
    """Return a row without its end, which follows from the length of its time bin."""
    return {name: value for name, value in row.items() if name != "end"}


def _labelled(rows: list[Row]) -> list[Row]:
    """Add a label to each member: its name, followed by a number if an earlier member of the group has the same one."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for row in rows:
        key = (row["group"], row["member"])
        seen[key] = number = seen.get(key, 0) + 1
        found.append({**row, "label": row["member"] if number == 1 else f"{row['member']} ({number})"})
    return found
