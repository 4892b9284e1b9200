"""Finding about the traffic of a group: members with similar numbers of partitions have too different traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import format_count, format_duration
from assignor.report.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.report.traffic import GroupTraffic, Unevenness

_BETTER = 0.9
"""Highest rate with another assignor, relative to that of today, for which the finding names the assignor."""


def findings_of_traffic(group: str, assignor: str | None, traffic: GroupTraffic) -> Iterator[Finding]:
    """Yield the finding about the traffic of a group, if there is one."""
    uneven = traffic.uneven
    if uneven is None:
        return
    least, most = min(traffic.partitions.values()), max(traffic.partitions.values())
    counts = f"even by count ({least}–{most} partitions per member)"
    if most - least > 1:
        counts = f"{least}–{most} partitions per member"
    busiest_rate = f"one member has {format_rate(traffic.most)} of {format_rate(traffic.rate)}"
    text = f"{counts}, {uneven.ratio:.1f}x the mean by traffic: {busiest_rate}"
    busiest = max(traffic.members, key=lambda name: traffic.members[name] or 0)
    evidence = (
        f"In the last {format_duration(round(traffic.seconds * 1000))}, "
        f"{format_count(traffic.records, 'record')} went to {format_count(len(traffic.members), 'member')}; "
        f"{busiest} is the busiest. No assignment of these partitions gives the busiest member less than "
        f"{format_rate(uneven.bound)}; one with {format_rate(uneven.packed)} exists (longest-processing-time packing). "
        f"{_advice(uneven, assignor, traffic)}"
    )
    yield Finding("uneven_traffic", None, None, group, text, evidence)


def _advice(uneven: Unevenness, assignor: str | None, traffic: GroupTraffic) -> str:
    """Return what to change: the assignor, the keys of a partition, or the number of partitions."""
    others = {name: rate for name, rate in uneven.assignors.items() if name != assignor}
    best = min(others, key=lambda name: others[name], default=None)
    topic, partition, rate = uneven.heaviest
    mean = traffic.rate / len(traffic.members)
    if best is not None and others[best] <= _BETTER * traffic.most:
        return f"The assignor {best} would give the busiest member {format_rate(others[best])}."
    if rate > mean:
        return (
            f"Partition {partition} of {topic} alone has {format_rate(rate)}, more than the mean of a member: look for "
            f"a frequent key, and choose a key that spreads its records."
        )
    return (
        "No assignor of Kafka counts records: more partitions divide the traffic into smaller parts, and another key "
        "spreads it."
    )


def traffic_line(group: str, traffic: GroupTraffic) -> str:
    """Return the traffic of a group and of its members as a line."""
    window = format_duration(round(traffic.seconds * 1000))
    line = f"{group}: {format_rate(traffic.rate)} in the last {window}"
    least = "unknown" if traffic.least is None else format_rate(traffic.least)
    line += f"; a member has {least} to {format_rate(traffic.most)}"
    if traffic.unknown:
        line += f"; {format_count(traffic.unknown, 'partition')} without traffic count as 0"
    return line


def format_rate(rate: float) -> str:
    """Return records per second as text."""
    return f"{rate:,.1f} records/s" if rate < 100 else f"{rate:,.0f} records/s"
