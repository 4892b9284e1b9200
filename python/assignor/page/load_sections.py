"""Sections of load and lag: partitions of each member now and in what-ifs, and lag now and over time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from assignor.lines import format_count
from assignor.page.cells import NOT_KNOWN, Column, Filter, format_step
from assignor.page.figures import (
    GROUP,
    ICONS,
    MEMBER,
    MEMBER_ID,
    TOPIC,
    Chart,
    counted,
    figure,
    numbers,
    section,
)
from assignor.page.scales import MOST_COUNTS
from assignor.page.tables import FIRST_GROUPS
from assignor.page.what_if import MOST_PARTITIONS
from assignor.replay.event_text import group_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.page.tables import Tables


def load(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    """Yield the section of load: the partitions of each member."""
    if "load" not in charts:
        yield from section("load", "The groups have no members at the end.", iter(()))
        return
    text = (
        "Partitions of each member at the end of the log. Each circle is a member. Choose a group to see the members "
        "by name."
    )
    if found.left_out["members"]:
        left_out = format_count(found.left_out["members"], "member")
        text += " Of a large group, only the members with the most and the fewest partitions are listed."
        text += f" In all, {left_out} are not listed."
    columns = (
        GROUP,
        MEMBER,
        *counted("partitions", "topics"),
        Column("rate", "records per second", "number", NOT_KNOWN),
        Column("host", "host"),
        MEMBER_ID,
    )
    chart = Chart(
        "load", f"Partitions of {format_count(len(found.members), 'member')} by group. The table below has the numbers."
    )
    table = numbers("members", columns, found.members, groups)
    yield from section("load", text, itertools.chain([figure(chart)], table))


def what_if(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    """Yield the section of what-ifs."""
    if "what-if" not in charts:
        text = (
            f"Not computed: a what-if needs a group that owns 1 to {MOST_PARTITIONS:,} partitions, one of Kafka's "
            "assignors, known topics, and patterns that are supported."
        )
        yield from section("what-if", text, iter(()))
        return
    text = (
        "Load of each member now and after a change, for which the group's assignor computes the assignment again. In "
        "one change the member with the most partitions leaves; in the other a new member with the same subscription "
        "joins."
    )
    if found.left_out["what_if"]:
        text += f" Not computed for the last {format_count(found.left_out['what_if'], 'group')}."
    yield from section("what-if", text, _of_what_if(found, groups))


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
        yield f'<li><svg viewBox="0 0 14 14" aria-hidden="true" {style}>{ICONS[shape]}</svg>{label}</li>'
    yield "</ul>\n"
    yield figure(
        Chart(
            "what-if",
            "Partitions of each member now and after one member leaves or joins. The tables below have the numbers.",
        )
    )
    columns = (
        GROUP,
        Column("what_if", "what if"),
        *counted("members"),
        Column("fewest", "fewest partitions", "number"),
        Column("most", "most partitions", "number"),
        Column("idle", "idle members", "number"),
        Column("moved", "partitions that change owners", "number"),
    )
    yield from numbers("what_if", columns, found.what_if, groups, caption="What-ifs of each group")
    by_member = (
        GROUP,
        MEMBER,
        Column("now", "now", "number", "not in the group"),
        Column("less", "one member fewer", "number", "leaves"),
        Column("more", "one member more", "number"),
        MEMBER_ID,
    )
    yield from numbers("what_if_members", by_member, found.what_if_members, groups, caption="What-ifs of each member")


def scale(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    """Yield the section of groups by their number of members."""
    if "scale" not in charts:
        text = (
            "Not computed: it needs a group that owns 1 to "
            f"{MOST_PARTITIONS:,} partitions and has at most {MOST_COUNTS} members, one of Kafka's assignors, known "
            "topics, and patterns that are supported."
        )
        yield from section("scale", text, iter(()))
        return
    text = (
        "Load against the number of members, with the assignor, the topics and the subscriptions of the group. Each "
        "line is a group: the partitions of its most loaded member. A diamond is a good number of members: no member "
        "is idle, and the loads differ by at most one partition. A circle is the number of today. Choose a group to "
        "see its numbers."
    )
    if found.left_out["scales"]:
        text += f" Not computed for the last {format_count(found.left_out['scales'], 'group')}."
    columns = (
        GROUP,
        *counted("members"),
        Column("good", "good"),
        Column("idle_members", "idle members", "number"),
        Column("least_loaded", "fewest partitions", "number"),
        Column("most_loaded", "most partitions", "number"),
        Column("moved", "partitions that change owners", "number"),
    )
    chart = Chart("scale", "Lines: partitions of the most loaded member by number of members. The table has them.")
    table = numbers("scales", columns, found.scales, groups, caption="Load by number of members")
    yield from section("scale", text, itertools.chain([figure(chart)], table))


def lag(found: Tables, groups: dict[str, int], charts: set[str]) -> Iterator[str]:
    """Yield the section of lag, now and over time."""
    if found.lag is None:
        text = "Lag is not known: the ends of the partitions were not read."
        yield from section("lag", text, iter(()))
        return
    total = sum(row["lag"] for row in found.lag_of_topics)
    unknown = sum(row["not_known"] for row in found.lag_of_topics)
    text = (
        "Records between the committed offset and the end of each partition, when the ends were last read. A group is "
        "behind by the age of the oldest record that it has not read."
    )
    if unknown:
        text += f" The lag of {format_count(unknown, 'partition')} is not known; the table has reasons."
    if found.left_out["lag"]:
        text += f" {format_count(found.left_out['lag'], 'partition')} with less or unknown lag are not listed."
    if found.left_out["lag_of_topics"]:
        text += f" {format_count(found.left_out['lag_of_topics'], 'topic')} of groups with less lag are not listed."
    if found.left_out["lag_not_read"]:
        text += f" The lag of the last {format_count(found.left_out['lag_not_read'], 'group')} was not read."
    chart = Chart("lag", f"Bars: lag by group, {total:,} records in total. The tables below have the numbers.")
    shown = [figure(chart)] if "lag" in charts else []
    if "lag-over-time" in charts:
        text += f" The lines show the highest lag of each group within {format_step(found.lag_step)}, over time."
        if found.left_out["lag_over_time"]:
            text += f" They are those of the first {FIRST_GROUPS} groups."
        most = max(found.lag_over_time, key=lambda row: row["lag"])
        description = (
            f"Lines: lag of each group over time. {group_title(most['group'])} had the highest lag, "
            f"{format_count(most['lag'], 'record')}. The table below has the numbers."
        )
        shown.append(figure(Chart("lag-over-time", description)))
    content = _lag_tables(found, groups) if found.lag or found.lag_over_time else iter(())
    yield from section("lag", text, iter([*shown, *content]))


def _lag_tables(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    in_time = (
        Column("behind", "behind", "text"),
        Column("catches_up", "catches up", "text"),
        Column("deleted", "next unread record deleted", "text"),
    )
    sums = (
        *counted("lag", "partitions"),
        Column("not_known", "partitions whose lag is not known", "number"),
        *in_time,
    )
    yield from numbers("lag_of_groups", (GROUP, *sums), found.lag_of_groups, groups, caption="Lag of groups")
    yield from numbers("lag_of_topics", (GROUP, TOPIC, *sums), found.lag_of_topics, groups, caption="Lag of topics")
    of_members = (GROUP, MEMBER, *sums, MEMBER_ID)
    yield from numbers("lag_of_members", of_members, found.lag_of_members, groups, caption="Lag of members")
    of_partitions = (
        GROUP,
        TOPIC,
        *counted("partition"),
        Column("lag", "lag", "number", NOT_KNOWN),
        Column("committed", "committed offset", "number", "none"),
        Column("end_offset", "end of the partition", "number", NOT_KNOWN),
        *in_time,
        Column("problem", "problem"),
        Column("member", "member", "name", "no owner"),
    )
    yield from numbers("lag", of_partitions, found.lag or [], groups, caption="Lag of partitions")
    if found.lag_over_time:
        columns = (GROUP, Column("start", "at (UTC)", "time"), *counted("lag"))
        times = Filter("start", "end")
        yield from numbers("lag_over_time", columns, found.lag_over_time, groups, times, caption="Lag over time")
