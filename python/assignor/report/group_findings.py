"""Findings about a group: what its state, its events and its assignments show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import format_count, format_spans
from assignor.report.event_findings import findings_of_events
from assignor.report.findings import KINDS, Finding
from assignor.report.lag_findings import findings_of_lag
from assignor.report.loop_findings import findings_of_loops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.report.group_report import ComparedAssignments, GroupReport, Remark

_GENERATIONS_SHOWN = 10


def findings_of(group: GroupReport, remarks: list[Remark]) -> list[Finding]:
    """Return the findings about a group, in the order of `KINDS`; `remarks` are those of the group."""
    found = [*findings_of_events(group.group, group.events), *findings_of_loops(group.group, group.loops)]
    found += [*_of_state(group), *_of_range(group, remarks)]
    if group.lag is not None:
        found += findings_of_lag(group.group, group.lag)
    for compared in group.assignments:
        found += _of_assignor(group.group, compared)
    order = list(KINDS)
    return sorted(found, key=lambda finding: order.index(finding.kind))


def _of_state(group: GroupReport) -> Iterator[Finding]:
    """Yield findings about the state at the end of the log and about bad records.

    Findings about the state have no times, because the state does not show when it began.
    """
    name = group.group
    if group.unowned:
        text = f"no owner for {format_count(group.unowned, 'partition')} of subscribed topics"
        named = f"Without an owner: {format_spans(group.unowned_spans)}." if group.unowned_spans else ""
        yield Finding("unowned", None, None, name, text, named)
    if group.idle_members:
        text = f"{group.idle_members} of {group.members} members have no partitions"
        yield Finding("idle", None, None, name, text, _loads(group))
    if group.least_loaded is not None and group.most_loaded is not None:
        least, most = group.least_loaded, group.most_loaded
        if least and most >= 2 * least and most - least > group.topics:
            text = f"uneven load: one member owns {format_count(most, 'partition')}, another {least}"
            yield Finding("skew", None, None, name, text, _loads(group))
    if group.bad_records:
        text = f"{format_count(group.bad_records, 'record')} cannot be decoded"
        yield Finding("bad_records", *group.bad_records_between, name, text, "The table `records` has their bytes.")


def _loads(group: GroupReport) -> str:
    partitions = f"{format_count(group.partitions, 'partition')} of {format_count(group.topics, 'topic')}"
    return f"{format_count(group.members, 'member')} {'owns' if group.members == 1 else 'own'} {partitions}."


def _of_range(group: GroupReport, remarks: list[Remark]) -> Iterator[Finding]:
    """Yield one finding for each outcome of `range` generations that has remarks: different, unknown or equal."""
    compared = group.range_generations
    different = compared.checked - compared.equal
    texts = {
        "different": f"{different:,} of {compared.checked:,} range assignments differ",
        "unreadable": f"{format_count(compared.unknown, 'range assignment')} not compared: bytes cannot be decoded",
        "note": "range assignments that equal Kafka's, with a remark",
    }
    for kind, outcome in (("different", "different"), ("unreadable", "unknown"), ("note", "equal")):
        found = [remark for remark in remarks if remark.range == outcome]
        if not found:
            continue
        times = [remark.at for remark in found if remark.at is not None]
        generations = list(dict.fromkeys(remark.generation for remark in found))
        shown = ", ".join(map(str, generations[:_GENERATIONS_SHOWN]))
        more = len(generations) - _GENERATIONS_SHOWN
        listed = f"{shown} and {more} more" if more > 0 else shown
        evidence = f"Generation {found[0].generation}: {found[0].text}"
        if len(generations) > 1:
            evidence = f"Generations {listed}. {evidence}"
        yield Finding(kind, min(times, default=None), max(times, default=None), group.group, texts[kind], evidence)


def _of_assignor(group: str, compared: ComparedAssignments) -> Iterator[Finding]:
    if compared.reason is not None:
        text = f"{compared.checked - compared.equal:,} of {compared.checked:,} {compared.assignor} assignments differ"
        yield Finding("different", compared.since, compared.until, group, text, f"The first is {compared.reason}")
