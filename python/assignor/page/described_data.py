"""Input of a page from a report that was made of one description of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.lag_time import TIME_LAG
from assignor.lines import spans_of
from assignor.page.data import MemberRow, PageData
from assignor.page.report_data import lag_rows, last_topics
from assignor.replay.polled_groups import polled_members
from assignor.report.report import NO_LOG

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.report.report import Report

_FIELDS = ("group", "kind", "state", "protocol", "generation", "members", "partitions", "unowned")


def described_page(title: str, report: Report, description: ClusterDescription, topics: pa.RecordBatch) -> PageData:
    """Return the input of a page.

    Args:
        title: Name of the cluster.
        report: The report.
        description: The description that it is made of.
        topics: Topic metadata.
    """
    rows = [row for found in description.partitions.values() for row in found]
    lag = pa.Table.from_pylist(rows, TIME_LAG)

    def members(groups: Sequence[str]) -> Iterator[MemberRow]:
        wanted = set(groups)
        for group in description.groups:
            if group.group_id not in wanted or group.group_id in report.undescribed:
                continue
            for each in polled_members(group):
                yield MemberRow(
                    group=group.group_id,
                    member_id=each.id,
                    instance_id=each.instance,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    topics=each.topics,
                    spans=tuple(spans_of(each.assigned)),
                )

    found: dict[str, Any] = report.to_json()
    return PageData(
        title=title,
        events=(),
        groups=[
            {name: getattr(group, name) for name in _FIELDS}
            | {
                "migration": None if group.migration is None else group.migration.summary(),
                "traffic": None if group.traffic is None else group.traffic.to_json(),
            }
            for group in report.groups
        ],
        findings=found["findings"],
        notes=tuple(f"{note[0].upper()}{note[1:]}." for note in (NO_LOG, *report.notes)),
        members=members,
        topics=last_topics(pa.Table.from_batches([topics])),
        lag=lambda groups: lag_rows(lag, groups),
    )
