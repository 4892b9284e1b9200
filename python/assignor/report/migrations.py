"""Answers of a report about the move of classic groups to KIP-848."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cluster.classic_groups import classic_groups, described_groups, last_topics
from assignor.cluster.metadata import topics_table
from assignor.dependencies import dependency
from assignor.migration import BrokerSettings, migrate

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.folder import Recording
    from assignor.migration import Migration


def read_migrations(recording: Recording, part: Path, groups: Sequence[dict[str, Any]]) -> dict[str, Migration]:
    """Return the answers for the classic groups of a report by group id, with Kafka's default settings of brokers.

    Args:
        recording: The recording, whose topic metadata is read.
        part: Folder with the tables of the report.
        groups: Rows of the table `groups`.
    """
    names = [row["group_id"] for row in groups if row["kind"] == "classic"]
    if not names:
        return {}
    is_classic = pc.field("group_id").isin(pa.array(names, pa.string()))
    members, spans = (pq.read_table(part / name, filters=is_classic).to_pylist() for name in ("members", "assignments"))
    version = recording.broker_version
    settings = BrokerSettings(version=None if version is None else f"{version[0]}.{version[1]}")
    found = classic_groups(groups, members, spans)
    answers = migrate(found, last_topics(topics_table(recording.topics())), settings=settings, later=False)
    return {answer.group: answer for answer in answers}


def described_migrations(description: ClusterDescription, topics: pa.RecordBatch) -> dict[str, Migration]:
    """Return the answers for the classic groups of a description of a live cluster by group id."""
    answers = migrate(described_groups(description), last_topics(topics), later=False)
    return {answer.group: answer for answer in answers}
