"""Charts of load and lag: partitions of each member now and in what-ifs, and lag now and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency

with dependency("altair"):
    import altair as alt

from assignor.page.axes import (
    ALL,
    MATCHING,
    as_rows,
    counts,
    logarithmic,
    of_height,
    row_axis,
    rows_of,
    time_axis,
    tips,
    when,
    with_silences,
)

if TYPE_CHECKING:
    from assignor.page.tables import Tables

_LINES_HEIGHT = 190


def load(tables: Tables) -> Any:
    """Return a point per member: its partitions."""
    chart = (
        rows_of("members", is_timed=False)
        .transform_calculate(row=f"{ALL} ? datum.group : datum.label")
        .mark_point(filled=True, size=90, opacity=0.75)
        .encode(
            x=_partitions("partitions"),
            y=row_axis(),
            tooltip=tips(
                group="group",
                member="member",
                host="host",
                partitions="partitions",
                topics="topics",
                rate="records per second",
            ),
        )
    )
    return as_rows(chart, tables, "members", is_timed=False)


def _partitions(field: str) -> Any:
    axis = alt.Axis(tickMinStep=1, format=",d", labelOverlap=True)
    return alt.X(f"{field}:Q", title="partitions of a member", scale=alt.Scale(zero=True, nice=True), axis=axis)


def what_if(tables: Tables) -> Any:
    """Return the partitions of each member now and after a what-if."""
    base = rows_of("what_if_members", is_timed=False).transform_calculate(
        row=f"{ALL} ? datum.group : datum.label", after="scenario === 'less' ? datum.less : datum.more"
    )
    lines = tips(group="group", member="member", now="now", after="after")
    change = (
        base.transform_filter("isValid(datum.now) && isValid(datum.after)")
        .mark_rule(opacity=0.6)
        .encode(x=_partitions("now"), x2=alt.X2("after:Q"), y=row_axis())
    )
    layers = [change]
    for name, is_filled, shape in (("now", False, "circle"), ("after", True, "diamond")):
        style = "after" if is_filled else "now"
        layers.append(
            base.transform_filter(f"isValid(datum.{name})")
            .mark_point(filled=is_filled, size=80, shape=shape, style=style, strokeWidth=1.5)
            .encode(x=_partitions(name), y=row_axis(), tooltip=lines)
        )
    return as_rows(
        alt.layer(*layers), tables, "what_if_members", alt.param(name="scenario", value="less"), is_timed=False
    )


def scale(tables: Tables) -> Any:
    """Return a line per group: the partitions of the most loaded member against the number of members."""
    axis = alt.Axis(tickMinStep=1, format=",d", labelOverlap=True)
    base = rows_of("scales", is_timed=False, groups=MATCHING).encode(
        x=alt.X("members:Q", title="members", axis=axis, scale=alt.Scale(zero=False)),
        y=counts("most_loaded", "partitions of a member"),
        detail="group:N",
        tooltip=tips(
            group="group",
            members="members",
            good="good",
            idle_members="idle members",
            least_loaded="fewest partitions",
            most_loaded="most partitions",
            moved="partitions that change owners",
        ),
    )
    today = base.transform_filter("datum.is_today")
    layers = (
        base.mark_line(strokeWidth=1.5, opacity=0.6, point={"size": 12}),
        base.transform_filter("datum.is_good").mark_point(filled=True, shape="diamond", size=70, style="after"),
        today.mark_point(filled=False, shape="circle", size=140, strokeWidth=1.5, style="now"),
    )
    return of_height(alt.layer(*layers), tables, _LINES_HEIGHT)


def lag(tables: Tables) -> Any:
    """Return a bar per group, or per topic of the chosen one."""
    chart = (
        rows_of("lag_of_topics", is_timed=False)
        .transform_calculate(row=f"{ALL} ? datum.group : datum.topic")
        .transform_aggregate(lag="sum(lag)", rank="min(rank)", partitions="sum(partitions)", groupby=["row"])
        .mark_bar(height=12)
        .encode(
            x=alt.X("lag:Q", title="records behind the end of the log", **logarithmic()),
            y=row_axis(),
            tooltip=tips(row="group or topic", lag="records", partitions="partitions"),
        )
    )
    return as_rows(chart, tables, "lag_of_topics", is_timed=False)


def lag_over_time(tables: Tables) -> Any:
    """Return a line per group: the highest lag in each time bin."""
    chart = (
        rows_of("lag_over_time", groups=MATCHING)
        .transform_calculate(**when("start", "at"))
        .mark_line(point={"size": 36}, strokeWidth=1.5, opacity=0.8)
        .encode(
            x=time_axis("start"),
            y=counts("lag", "records behind"),
            detail="group:N",
            tooltip=tips(group="group", at="at (UTC)", lag="records"),
        )
    )
    return of_height(with_silences(chart, tables), tables, _LINES_HEIGHT)
