"""Charts of load and lag: partitions of each member now and in what-ifs, and lag now and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from assignor.page.axes import (
    ALL,
    COUNT_LABEL,
    IN_TIME,
    OF_GROUP,
    POWERS,
    as_rows,
    counts,
    params,
    row_axis,
    time_axis,
    tip,
    when,
)

if TYPE_CHECKING:
    from assignor.page.tables import Tables

_LINES_HEIGHT = 190


def load(tables: Tables) -> Any:
    """Return a point per member: its partitions."""
    chart = (
        alt.Chart(alt.NamedData("members"))
        .transform_filter(OF_GROUP)
        .transform_calculate(row=f"{ALL} ? datum.group : datum.label")
        .mark_point(filled=True, size=90, opacity=0.75)
        .encode(
            x=_partitions("partitions"),
            y=row_axis(),
            tooltip=[
                tip("group", "group"),
                tip("member", "member"),
                tip("host", "host"),
                tip("partitions", "partitions", is_number=True),
                tip("topics", "topics", is_number=True),
            ],
        )
    )
    return as_rows(chart, tables, is_timed=False)


def _partitions(field: str) -> Any:
    axis = alt.Axis(tickMinStep=1, format=",d", labelOverlap=True)
    return alt.X(f"{field}:Q", title="partitions of a member", scale=alt.Scale(zero=True, nice=True), axis=axis)


def what_if(tables: Tables) -> Any:
    """Return the partitions of each member now and after a what-if."""
    base = (
        alt.Chart(alt.NamedData("what_if_members"))
        .transform_filter(OF_GROUP)
        .transform_calculate(
            row=f"{ALL} ? datum.group : datum.label", after="scenario === 'less' ? datum.less : datum.more"
        )
    )
    tips = [tip("group", "group"), tip("member", "member")]
    tips += [tip("now", "now", is_number=True), tip("after", "after", is_number=True)]
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
            .encode(x=_partitions(name), y=row_axis(), tooltip=tips)
        )
    return as_rows(alt.layer(*layers), tables, alt.param(name="scenario", value="less"), is_timed=False)


def lag(tables: Tables) -> Any:
    """Return a bar per group, or per topic of the chosen one."""
    scale = alt.Scale(type="symlog", constant=1)
    axis = alt.Axis(values=POWERS, labelExpr=COUNT_LABEL, labelOverlap=True)
    chart = (
        alt.Chart(alt.NamedData("lag_of_topics"))
        .transform_filter(OF_GROUP)
        .transform_calculate(row=f"{ALL} ? datum.group : datum.topic")
        .transform_aggregate(lag="sum(lag)", rank="min(rank)", partitions="sum(partitions)", groupby=["row"])
        .mark_bar(height=12)
        .encode(
            x=alt.X("lag:Q", title="records behind the end of the log", scale=scale, axis=axis),
            y=row_axis(),
            tooltip=[
                tip("row", "group or topic"),
                tip("lag", "records", is_number=True),
                tip("partitions", "partitions", is_number=True),
            ],
        )
    )
    return as_rows(chart, tables, is_timed=False)


def lag_over_time(tables: Tables) -> Any:
    """Return a line per group: the highest lag in each time bin."""
    return (
        alt.Chart(alt.NamedData("lag_over_time"))
        .transform_filter(OF_GROUP)
        .transform_filter(IN_TIME)
        .transform_calculate(**when("start", "at"))
        .mark_line(point={"size": 36}, strokeWidth=1.5, opacity=0.8)
        .encode(
            x=time_axis("start"),
            y=counts("lag", "records behind"),
            detail="group:N",
            tooltip=[tip("group", "group"), tip("at", "at (UTC)"), tip("lag", "records", is_number=True)],
        )
        .add_params(*params(tables))
        .properties(width="container", height=_LINES_HEIGHT)
    )
