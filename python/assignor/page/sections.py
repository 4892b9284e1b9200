"""Sections of a page: what each chart shows, in words, and the table with its numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

from assignor.lines import format_count, format_time
from assignor.page import cost_sections, load_sections, task_sections
from assignor.page.cells import NOT_KNOWN, Column, Filter, escape, format_step, number, table
from assignor.page.figures import GROUP, ICONS, TITLES, Chart, counted, figure, numbers, section, with_count
from assignor.page.palette import mark
from assignor.page.tables import FIRST_GROUPS
from assignor.replay.event_text import group_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.page.data import Live
    from assignor.page.tables import Tables

_SILENCES_SHOWN = 5


def body(title: str, found: Tables, charts: set[str], live: Live | None = None) -> Iterator[str]:
    """Yield the header, the filters and the sections.

    Args:
        title: Name of the recording or the cluster.
        found: The tables.
        charts: Names of the charts.
        live: How the browser gets newer pages; None for a page in a file.
    """
    groups = {group: place for place, group in enumerate(found.shown)}
    yield '<a class="skip" href="#main">Skip to the findings</a>\n'
    yield from _header(title, found, charts)
    yield from _live(live)
    yield '<main id="main" tabindex="-1">\n'
    yield from section("findings", _findings_text(found), itertools.chain(_notes(found), _findings(found, groups)))
    yield from _filters()
    yield from _rebalances(found, groups, charts)
    yield from _storms(found, groups)
    yield from cost_sections.costs(found, groups)
    yield from _moves(found, charts)
    yield from load_sections.load(found, groups, charts)
    yield from load_sections.what_if(found, groups, charts)
    yield from load_sections.scale(found, groups, charts)
    yield from load_sections.lag(found, groups, charts)
    yield from task_sections.tasks(found, groups)
    yield from _groups(found, groups)
    yield "</main>\n"


def _header(title: str, found: Tables, charts: set[str]) -> Iterator[str]:
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
    optional = {"storms": bool(found.storms), "unowned": "unowned" in charts, "tasks": bool(found.tasks)}
    optional["costs"] = bool(found.costs)
    for name, text in TITLES.items():
        if optional.get(name, True):
            yield f'<li><a href="#{name}">{text}</a></li>'
    yield "</ul></nav>\n</header>\n"


def _live(live: Live | None) -> Iterator[str]:
    """Yield what a page from a server says of its age; a page in a file says nothing."""
    if live is None:
        return
    at = format_time(int(live.version))[:19]
    data = f'data-version="{live.version}" data-seconds="{live.seconds:g}"'
    yield f'<div class="live needs-script" id="live" {data} hidden>\n'
    yield f'<p id="live-state" role="status">State at {at} UTC.</p>\n'
    yield '<label for="refresh"><input type="checkbox" id="refresh" checked> show newer states</label>\n</div>\n'


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
        text += f" {found.left_out['findings']:,} more are not listed."
    return text


def _notes(found: Tables) -> Iterator[str]:
    """Yield what concerns all groups: silences of the log, and what is not known."""
    silences = [f"Silence: {row['text']}." for row in found.silences[-_SILENCES_SHOWN:]]
    if len(found.silences) > _SILENCES_SHOWN:
        silences.append(f"{format_count(len(found.silences) - _SILENCES_SHOWN, 'earlier silence')} of the log.")
    if silences or found.notes:
        items = "".join(f"<li>{escape(text)}</li>" for text in (*silences, *found.notes))
        yield f'<ul class="notes">{items}</ul>\n'


def _findings(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    if not found.findings:
        return
    columns = (
        Column("severity", "severity", "severity"),
        GROUP,
        Column("text", "finding", "long", more="evidence"),
        Column("since", "since (UTC)", "time", NOT_KNOWN),
        Column("until", "until (UTC)", "time"),
    )
    yield '<span id="count-findings" hidden></span>'
    yield from table("findings", "Findings", columns, found.findings, groups, Filter("since", "until"), is_cards=True)


def _filters() -> Iterator[str]:
    yield '<section class="filters needs-script" aria-label="Filters" hidden>\n<form id="filters">\n'
    yield '<label for="search"><span>search</span><input id="search" type="search" autocomplete="off" '
    yield 'spellcheck="false" placeholder="part of a group id"></label>\n'
    yield '<label for="group"><span>group</span><select id="group"><option value="">all groups</option>'
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
    if found.silences:
        text += " A grey band is a silence of the log."
    if found.other_step > found.step:
        text += (
            f" Groups after the first {FIRST_GROUPS} have longer time bins of {format_step(found.other_step)}; the "
            "first ones have the most severe findings, then the most rebalances."
        )
    if found.left_out["rebalances"]:
        text += f" {format_count(found.left_out['rebalances'], 'rebalance')} of the last groups are only counted."
    yield from section(
        "rebalances",
        text if "timeline" in charts else "There are no rebalances.",
        _of_rebalances(found, groups, charts),
    )


def _of_rebalances(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    if "timeline" not in charts:
        return
    total = found.total["rebalances"] or 0
    by_group = Counter[str]()
    for row in found.rebalances:
        by_group[row["group"]] += row["rebalances"]
    most, count = by_group.most_common(1)[0]
    most = group_title(most)
    summary = f"{format_count(total, 'rebalance')} of {format_count(len(by_group), 'group')}; {most} has {count:,}."
    hint = "Drag over this chart to choose a time range, or use the sliders above."
    yield f'<p class="note needs-script" hidden>{hint}</p>\n'
    yield figure(Chart("overview", f"Bars: rebalances over time. {summary} The table below has the numbers."))
    yield '<ul class="legend" aria-label="Most likely causes">\n'
    for cause, number_of in found.causes.items():
        family, shape = mark(cause)
        icon = f'<svg viewBox="0 0 14 14" aria-hidden="true" fill="var(--family-{family})">{ICONS[shape]}</svg>'
        total_of = f'<span class="muted">{number(number_of, "cause")}</span>'
        yield f'<li data-cause="{escape(cause)}">{icon}<span>{escape(cause)} {total_of}</span></li>\n'
    yield "</ul>\n"
    yield figure(
        Chart("timeline", f"Rebalances of each group over time by cause. {summary} The table below has the numbers.")
    )
    columns = (
        GROUP,
        Column("cause", "most likely cause", more="details"),
        *counted("rebalances"),
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
    yield from numbers("rebalances", columns, found.rebalances, groups, Filter("start", "end"))


def _storms(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    if not found.storms:
        return
    text = "A storm is at least 20 rebalances within a minute that leave the membership unchanged."
    if found.left_out["storms"]:
        text += f" {format_count(found.left_out['storms'], 'more storm')} are not listed."
    columns = (
        GROUP,
        *counted("rebalances"),
        Column("since", "since (UTC)", "time"),
        Column("until", "until (UTC)", "time", "has not ended"),
        Column("unowned", "without an owner at the end", "number"),
        Column("partitions", "partitions that changed owners or had no owner", "number"),
        Column("which", "which", "long"),
    )
    yield from section(
        "storms",
        text,
        with_count(
            "storms", table("storms", "Storms", columns, found.storms, groups, Filter("since", "until"), is_cards=True)
        ),
    )


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
        text = "No moves of partitions are known." if unknown else "No partition moved to another owner."
    chart = Chart(
        "moves", f"Bars: moved partitions over time; {moved:,} in total. The table of rebalances has the numbers."
    )
    yield from section("moves", text, iter([figure(chart)] if "moves" in charts else []))
    if "unowned" in charts:
        owners = {row["group"] for row in found.rebalances if row["unowned_most"]}
        chart = Chart(
            "unowned",
            f"Partitions of subscribed topics without an owner over time, in {format_count(len(owners), 'group')}.",
        )
        text = (
            "Partitions of subscribed topics that no member owns after a rebalance. A larger mark counts more "
            "partitions. The table of rebalances has the numbers."
        )
        yield from section("unowned", text, iter([figure(chart)]))


def _groups(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    columns = (
        GROUP,
        Column("kind", "kind"),
        Column("state", "state"),
        Column("protocol", "protocol"),
        *counted("generation", "rebalances", "members", "partitions"),
        Column("unowned", "without an owner", "number", NOT_KNOWN),
        Column("migration", "move to KIP-848"),
        Column("migration_reason", "reason", "long"),
    )
    text = (
        "State at the end of the log. The last columns say whether a classic group can move to group.protocol=consumer."
    )
    yield from section("groups", text, with_count("groups", table("groups", "Groups", columns, found.groups, groups)))
