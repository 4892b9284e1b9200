"""Sections of a page: what each chart shows, in words, and the table with its numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from assignor.page.cells import NOT_KNOWN, Column, Filter, escape, format_step, number, table
from assignor.page.palette import mark
from assignor.recording.lines import format_count, format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignor.page.data import Row
    from assignor.page.tables import Tables

_ICONS = {
    "circle": '<circle cx="7" cy="7" r="5.5"/>',
    "square": '<rect x="2" y="2" width="10" height="10"/>',
    "diamond": '<path d="M7 0 13 7 7 14 1 7Z"/>',
    "triangle-up": '<path d="M7 1 13.5 12.5H.5Z"/>',
}
_TITLES = {
    "findings": "Findings",
    "rebalances": "Rebalances",
    "storms": "Storms",
    "moves": "Moved partitions",
    "unowned": "Partitions without an owner",
    "load": "Load",
    "what-if": "What if",
    "lag": "Lag",
    "groups": "Groups",
}


class _Chart(NamedTuple):
    """Chart of a section, and its description for readers who cannot see it."""

    name: str
    description: str


def body(title: str, found: Tables, charts: set[str]) -> Iterator[str]:
    """Yield the header, the filters and the sections.

    Args:
        title: Name of the recording or the cluster.
        found: The tables.
        charts: Names of the charts.
    """
    groups = {group: place for place, group in enumerate(found.shown)}
    yield '<a class="skip" href="#main">Skip to the findings</a>\n'
    yield from _header(title, found)
    yield '<main id="main" tabindex="-1">\n'
    yield from _section("findings", _findings_text(found), _findings(found, groups))
    yield from _filters(found)
    yield from _rebalances(found, groups, charts)
    yield from _storms(found, groups)
    yield from _moves(found, charts)
    yield from _load(found, groups, charts)
    yield from _what_if(found, groups, charts)
    yield from _lag(found, groups, charts)
    yield from _groups(found, groups)
    yield "</main>\n"


def _header(title: str, found: Tables) -> Iterator[str]:
    yield f"<header>\n<h1>Consumer groups of {escape(title)}</h1>\n"
    if found.until > found.since:
        yield f'<p class="muted">{format_time(found.since)[:19]} to {format_time(found.until)[:19]} UTC</p>\n'
    yield '<dl class="facts">\n'
    facts = {
        "records": found.total["records"],
        "groups": found.total["groups"],
        "rebalances": found.total["rebalances"],
        "storms": found.total["storms"],
        "errors": found.severities["error"],
        "warnings": found.severities["warning"],
    }
    for name, value in facts.items():
        if value is not None:
            yield f"<div><dt>{name}</dt><dd>{number(value, name)}</dd></div>\n"
    yield '</dl>\n<nav aria-label="Sections"><ul>'
    for name, text in _TITLES.items():
        if name not in {"unowned", "storms"}:
            yield f'<li><a href="#{name}">{text}</a></li>'
    yield "</ul></nav>\n</header>\n"


def _section(name: str, text: str, content: Iterator[str]) -> Iterator[str]:
    yield f'<section id="{name}" aria-labelledby="title-{name}">\n<h2 id="title-{name}">{_TITLES[name]}</h2>\n'
    if text:
        yield f"<p>{escape(text)}</p>\n"
    yield from content
    yield "</section>\n"


def _figure(chart: _Chart) -> str:
    return (
        f'<figure><div class="chart" id="chart-{chart.name}" role="img" aria-label="{escape(chart.description)}">'
        "</div></figure>\n"
    )


def _numbers(
    name: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    groups: dict[str, int],
    times: Filter | None = None,
    caption: str = "",
) -> Iterator[str]:
    """Yield a table that opens below its chart."""
    caption = caption or f"Numbers of {_TITLES.get(name, name).lower()}"
    yield f'<details><summary>Table: <span id="count-{name}">{format_count(len(rows), "row")}</span></summary>\n'
    yield from table(name, caption, columns, rows, groups, times)
    yield "</details>\n"


def _findings_text(found: Tables) -> str:
    if not found.findings:
        return "There are no findings."
    counts = [
        format_count(found.severities[severity], name)
        for severity, name in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if found.severities[severity]
    ]
    text = f"{', '.join(counts)}; the most severe first."
    if found.left_out["findings"]:
        text += f" {found.left_out['findings']:,} more are in report.json."
    return text


def _findings(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    if not found.findings:
        return
    columns = (
        Column("severity", "severity", "severity"),
        Column("group", "group", "name"),
        Column("text", "finding", "long", more="evidence"),
        Column("since", "since (UTC)", "time"),
        Column("until", "until (UTC)", "time"),
    )
    yield '<span id="count-findings" hidden></span>'
    yield from table("findings", "Findings", columns, found.findings, groups, Filter("since", "until"), is_cards=True)


def _filters(found: Tables) -> Iterator[str]:
    yield '<section class="filters needs-script" aria-label="Filters" hidden>\n<form id="filters">\n'
    yield '<label class="wide" for="group"><span>group</span><select id="group"><option value="">all groups</option>'
    for place, group in enumerate(found.shown):
        yield f'<option value="{place}">{escape(group) or "(empty id)"}</option>'
    yield "</select></label>\n"
    for name, value in (("from", 0), ("to", 1)):
        yield f'<label class="range" for="{name}"><span>{name} <output id="{name}-value" for="{name}"></output></span>'
        yield f'<input id="{name}" type="range" min="0" max="1" value="{value}" step="1"></label>\n'
    yield '<button type="button" id="reset">Show all</button>\n</form>\n'
    yield '<p class="status muted" id="status" role="status"></p>\n</section>\n'


def _rebalances(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    step = format_step(found.step)
    text = (
        f"Each mark counts the rebalances of a group that have the same most likely cause and begin within {step}. "
        "A larger mark counts more rebalances. Colour and shape show the cause."
    )
    if found.storms:
        text += " A red band is a rebalance storm."
    if found.left_out["groups"]:
        text += (
            f" The page shows {len(found.shown)} groups, those with the most severe findings and the most rebalances; "
            f"{format_count(found.left_out['groups'], 'more group')} with "
            f"{format_count(found.left_out['rebalances'], 'rebalance')} are not shown."
        )
    yield from _section(
        "rebalances",
        text if "timeline" in charts else "There are no rebalances.",
        _of_rebalances(found, groups, charts),
    )


def _of_rebalances(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    if "timeline" not in charts:
        return
    total = sum(row["rebalances"] for row in found.rebalances)
    by_group = Counter[str]()
    for row in found.rebalances:
        by_group[row["group"]] += row["rebalances"]
    most, count = by_group.most_common(1)[0]
    summary = f"{format_count(total, 'rebalance')} of {format_count(len(by_group), 'group')}; {most} has {count:,}."
    hint = "Drag over this chart to choose a time range, or use the sliders above."
    yield f'<p class="note needs-script" hidden>{hint}</p>\n'
    yield _figure(_Chart("overview", f"Bars: rebalances over time. {summary} The table below has the numbers."))
    yield '<ul class="legend" aria-label="Most likely causes">\n'
    for cause, number_of in found.causes.items():
        family, shape = mark(cause)
        icon = f'<svg viewBox="0 0 14 14" aria-hidden="true" fill="var(--family-{family})">{_ICONS[shape]}</svg>'
        total_of = f'<span class="muted">{number(number_of, "cause")}</span>'
        yield f'<li data-cause="{escape(cause)}">{icon}<span>{escape(cause)} {total_of}</span></li>\n'
    yield "</ul>\n"
    yield _figure(
        _Chart("timeline", f"Rebalances of each group over time by cause. {summary} The table below has the numbers.")
    )
    columns = (
        Column("group", "group", "name"),
        Column("cause", "most likely cause"),
        Column("rebalances", "rebalances", "number"),
        Column("first", "first (UTC)", "time"),
        Column("last", "last (UTC)", "time"),
        Column("generations", "generations"),
        Column("joined", "members joined", "number"),
        Column("left", "members left", "number"),
        Column("moved", "partitions moved", "number"),
        Column("not_known", "rebalances whose moves are not known", "number"),
        Column("unowned_most", "without an owner, at most", "number", NOT_KNOWN),
        Column("unowned_last", "without an owner, at the end", "number", NOT_KNOWN),
    )
    yield from _numbers("rebalances", columns, found.rebalances, groups, Filter("start", "end"))


def _storms(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    if not found.storms:
        return
    text = "A storm is at least 20 rebalances within a minute that leave the membership unchanged."
    if found.left_out["storms"]:
        text += f" {format_count(found.left_out['storms'], 'storm')} with fewer rebalances are not listed."
    columns = (
        Column("group", "group", "name"),
        Column("rebalances", "rebalances", "number"),
        Column("since", "since (UTC)", "time"),
        Column("until", "until (UTC)", "time", "lasts at the end"),
        Column("unowned", "without an owner at the end", "number"),
        Column("partitions", "changed owners or had none", "number"),
        Column("which", "which", "long"),
    )
    yield from _section(
        "storms",
        text,
        _with_count(
            "storms", table("storms", "Storms", columns, found.storms, groups, Filter("since", "until"), is_cards=True)
        ),
    )


def _with_count(name: str, content: Iterator[str]) -> Iterator[str]:
    yield f'<span id="count-{name}" hidden></span>'
    yield from content


def _moves(found: Tables, charts: set[str]) -> Iterator[str]:
    moved = sum(row["moved"] for row in found.rebalances)
    unknown = sum(row["not_known"] for row in found.rebalances)
    text = (
        f"Partitions that have another owner after a rebalance, in bins of {format_step(found.step)}. "
        "The numbers are in the table of rebalances."
    )
    if unknown:
        text += f" Moves of {format_count(unknown, 'rebalance')} are not known."
    if not moved:
        text = "No partition moved to another owner."
    chart = _Chart(
        "moves", f"Bars: moved partitions over time; {moved:,} in total. The table of rebalances has the numbers."
    )
    yield from _section("moves", text, iter([_figure(chart)] if "moves" in charts else []))
    if "unowned" in charts:
        owners = {row["group"] for row in found.rebalances if row["unowned_most"]}
        chart = _Chart(
            "unowned",
            f"Partitions of subscribed topics without an owner over time, in {format_count(len(owners), 'group')}.",
        )
        text = (
            "Partitions of subscribed topics that no member owns after a rebalance: the larger the mark, the more. "
            "The numbers are in the table of rebalances, the partitions in the findings and storms."
        )
        yield from _section("unowned", text, iter([_figure(chart)]))


def _load(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    if "load" not in charts:
        yield from _section("load", "The groups have no members at the end.", iter(()))
        return
    text = (
        "Partitions of each member at the end of the log. Each circle is a member. Choose a group to see the members "
        "by name."
    )
    if found.left_out["members"]:
        text += f" {format_count(found.left_out['members'], 'member')} with a load in between are not listed."
    columns = (
        Column("group", "group", "name"),
        Column("member", "member", "name"),
        Column("partitions", "partitions", "number"),
        Column("topics", "topics", "number"),
        Column("host", "host"),
        Column("member_id", "member id", "name"),
    )
    chart = _Chart(
        "load", f"Partitions of {format_count(len(found.members), 'member')} by group. The table below has the numbers."
    )
    yield from _section("load", text, _chart_and_table(chart, "members", columns, found.members, groups))


def _chart_and_table(
    chart: _Chart, name: str, columns: Sequence[Column], rows: Sequence[Row], groups: dict[str, int]
) -> Iterator[str]:
    yield _figure(chart)
    yield from _numbers(name, columns, rows, groups)


def _what_if(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    if "what-if" not in charts:
        text = "Not computed: no group has members, one of Kafka's assignors and known topics."
        yield from _section("what-if", text, iter(()))
        return
    text = (
        "Load of each member now, and after the group's assignor computes the assignment again: the member with the "
        "most partitions leaves, or a member with the same subscription joins."
    )
    yield from _section("what-if", text, _of_what_if(found, groups))


def _of_what_if(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    yield '<fieldset class="choice needs-script" aria-label="What if" hidden>'
    for value, label in (("less", "one member fewer"), ("more", "one member more")):
        checked = " checked" if value == "less" else ""
        yield f'<label><input type="radio" name="scenario" value="{value}"{checked}>{label}</label>'
    yield "</fieldset>\n"
    yield '<ul class="legend" aria-label="Marks">'
    for label, style, shape in (
        ("now", 'fill="none" stroke="var(--text)" stroke-width="1.5"', "circle"),
        ("after", 'fill="var(--accent)"', "diamond"),
    ):
        yield f'<li><svg viewBox="0 0 14 14" aria-hidden="true" {style}>{_ICONS[shape]}</svg>{label}</li>'
    yield "</ul>\n"
    yield _figure(
        _Chart(
            "what-if",
            "Partitions of each member now and after one member leaves or joins. The tables below have the numbers.",
        )
    )
    columns = (
        Column("group", "group", "name"),
        Column("what_if", "what if"),
        Column("members", "members", "number"),
        Column("fewest", "fewest partitions", "number"),
        Column("most", "most partitions", "number"),
        Column("idle", "idle members", "number"),
        Column("moved", "partitions that change owners", "number"),
    )
    yield from _numbers("what_if", columns, found.what_if, groups, caption="What-ifs of each group")
    by_member = (
        Column("group", "group", "name"),
        Column("member", "member", "name"),
        Column("now", "now", "number", "not in the group"),
        Column("less", "one member fewer", "number", "leaves"),
        Column("more", "one member more", "number"),
        Column("member_id", "member id", "name"),
    )
    yield from _numbers("what_if_members", by_member, found.what_if_members, groups, caption="What-ifs of each member")


def _lag(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    if found.lag is None:
        text = "Lag is not known: the ends of the partitions were not read."
        yield from _section("lag", text, iter(()))
        return
    total = sum(row["lag"] for row in found.lag_of_topics)
    unknown = sum(row["not_known"] for row in found.lag_of_topics)
    text = "Records between the committed offset and the end of each partition, when the ends were last read."
    if unknown:
        text += f" The lag of {format_count(unknown, 'partition')} is not known; the table says why."
    if found.left_out["lag"]:
        text += f" {format_count(found.left_out['lag'], 'partition')} with less lag are not listed."
    chart = _Chart("lag", f"Bars: lag by group, {total:,} records in total. The tables below have the numbers.")
    content = _lag_tables(found, groups) if found.lag else iter(())
    yield from _section("lag", text, _joined([_figure(chart)] if "lag" in charts else [], content))


def _lag_tables(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    columns = (
        Column("group", "group", "name"),
        Column("topic", "topic", "name"),
        Column("lag", "lag", "number"),
        Column("partitions", "partitions", "number"),
        Column("not_known", "partitions whose lag is not known", "number"),
    )
    yield from _numbers("lag_of_topics", columns, found.lag_of_topics, groups, caption="Lag of topics")
    of_partitions = (
        Column("group", "group", "name"),
        Column("topic", "topic", "name"),
        Column("partition", "partition", "number"),
        Column("lag", "lag", "number", NOT_KNOWN),
        Column("committed", "committed offset", "number", "none"),
        Column("end_offset", "end of the partition", "number", NOT_KNOWN),
        Column("problem", "problem"),
        Column("member", "member", "name", "no owner"),
    )
    yield from _numbers("lag", of_partitions, found.lag or [], groups, caption="Lag of partitions")


def _joined(first: Sequence[str], then: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from then


def _groups(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    columns = (
        Column("group", "group", "name"),
        Column("kind", "kind"),
        Column("state", "state"),
        Column("protocol", "protocol"),
        Column("generation", "generation", "number"),
        Column("rebalances", "rebalances", "number"),
        Column("members", "members", "number"),
        Column("partitions", "partitions", "number"),
        Column("unowned", "without an owner", "number", NOT_KNOWN),
    )
    text = "State at the end of the log."
    if found.left_out["groups"]:
        text += f" {format_count(found.left_out['groups'], 'more group')} are in report.json."
    yield from _section("groups", text, _with_count("groups", table("groups", "Groups", columns, found.groups, groups)))
