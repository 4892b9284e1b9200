"""Findings about a group: what its state, its events and its assignments show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import format_count, format_spans
from assignor.report.event_findings import findings_of_events
from assignor.report.findings import KINDS, Finding
from assignor.report.lag_findings import findings_of_lag
from assignor.report.loop_findings import findings_of_loops
from assignor.report.traffic_findings import findings_of_traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assignor.report.group_report import Compared, ComparedAssignments, GroupReport, Remark

_GENERATIONS_SHOWN = 10
_TIME_USED = "The highest timestamp before such a record counts as its time; it shows no storm and no stuck member."


def findings_of(group: GroupReport, remarks: list[Remark]) -> list[Finding]:
    """Return the findings about a group, in the order of `KINDS`; `remarks` are those of the group."""
    found = [*findings_of_events(group.group, group.events), *findings_of_loops(group.group, group.loops)]
    found += [*_of_state(group), *_of_range(group, remarks)]
    if group.lag is not None:
        found += findings_of_lag(group.group, group.lag)
    if group.traffic is not None:
        found += findings_of_traffic(group.group, group.protocol, group.traffic)
    for compared in group.assignments:
        found += findings_of_assignor(group.group, compared)
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
    if group.unreadable is not None:
        text = "the last group record cannot be decoded, so state and members are not known"
        yield Finding("unreadable_group", group.unreadable_since, None, name, text, f"{group.unreadable}.")
    if group.bad_records:
        text = f"{format_count(group.bad_records, 'record')} cannot be decoded"
        yield Finding("bad_records", *group.bad_records_between, name, text, "The table `records` has their bytes.")
    if group.invalid_timestamps:
        have = "has a timestamp" if group.invalid_timestamps == 1 else "have timestamps"
        text = f"{format_count(group.invalid_timestamps, 'record')} {have} not between 1970 and 9999"
        where = "It is" if group.invalid_timestamps == 1 else "The first one is"
        evidence = f"{where} at offset {group.first_invalid}. {_TIME_USED}"
        yield Finding("invalid_timestamps", None, None, name, text, evidence)


def _loads(group: GroupReport) -> str:
    partitions = f"{format_count(group.partitions, 'partition')} of {format_count(group.topics, 'topic')}"
    return f"{format_count(group.members, 'member')} {'owns' if group.members == 1 else 'own'} {partitions}."


def _of_range(group: GroupReport, remarks: list[Remark]) -> Iterator[Finding]:
    """Yield one finding for each class of `range` generations with remarks, and one for equal ones with remarks."""
    for of_class, (kind, describe) in _CLASSES.items():
        found = [remark for remark in remarks if remark.of_class == of_class]
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
        text = describe(group.range_generations, "range")
        yield Finding(kind, min(times, default=None), max(times, default=None), group.group, text, evidence)


def findings_of_assignor(group: str, found: ComparedAssignments) -> Iterator[Finding]:
    """Yield one finding for each class of generations and epochs under an assignor other than classic `range`."""
    for of_class, (kind, describe) in _CLASSES.items():
        first = None if of_class is None else found.classes.get(of_class)
        if first is not None:
            text = describe(found.compared, found.assignor or "")
            reason = first.reason.replace(": not compared: ", ": ", 1)  # the text of the finding says so
            yield Finding(kind, first.since, first.until, group, text, f"The first is {reason}")


def _different(compared: Compared, assignor: str) -> str:
    return f"{compared.unexplained:,} of {compared.checked:,} {assignor} assignments differ"


def _explained(compared: Compared, assignor: str) -> str:
    of = f"{compared.explained:,} of {compared.checked:,} {assignor} assignments differ"
    return f"{of} because the assignor had other topic metadata"


def _healed(compared: Compared, assignor: str) -> str:
    return (
        f"{compared.healed:,} of {compared.checked:,} {assignor} assignments differ, but were corrected within seconds"
    )


def _unreadable(compared: Compared, assignor: str) -> str:
    count = format_count(compared.unreadable, f"{assignor} assignment")
    return f"{count} not compared: bytes cannot be decoded"


def _unknown_topics(compared: Compared, assignor: str) -> str:
    count = format_count(compared.unknown_topics, f"{assignor} assignment")
    return f"{count} not compared: the topic metadata lacks topics"


def _not_determined(compared: Compared, assignor: str) -> str:
    count = format_count(compared.not_determined, f"{assignor} assignment".strip())
    return f"{count} not compared"  # the reasons differ: the evidence has the first one


def _equal(_compared: Compared, assignor: str) -> str:
    return f"{assignor} assignments that equal Kafka's, with a remark"


_CLASSES: dict[str | None, tuple[str, Callable[[Compared, str], str]]] = {
    "unexplained": ("different", _different),
    "unreadable": ("unreadable", _unreadable),
    "explained": ("note", _explained),
    "healed": ("note", _healed),
    "unknown_topics": ("note", _unknown_topics),
    "not_determined": ("note", _not_determined),
    None: ("note", _equal),
}
"""Kind and text of the finding about the generations of a class; None is the class of equal ones."""
