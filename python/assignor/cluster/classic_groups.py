"""Classic groups of a recording or of a live cluster, as `assignor.migration.migrate` reads them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.copies import CopyMarker
from assignor.cluster.descriptions import REBALANCING, MemberSubscription
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import by_group, check_types
from assignor.dependencies import dependency
from assignor.lines import spans_of
from assignor.migration import ClassicGroup, ClassicMember, classic_member
from assignor.traffic import partition_traffic, traffic_weights

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyarrow.dataset import Dataset

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.descriptions import GroupDescription, MemberDescription
    from assignor.cluster.folder import Recording

    Row = Mapping[str, Any]

_OTHER_KINDS = ("consumer", "share", "streams", "offsets", "")
"""Kinds of groups that are not classic. A classic group without consumers has its protocol type as its kind."""

_TOPIC_ID = re.compile("[A-Za-z0-9_-]{21}[AQgw]")
"""A topic id as Kafka prints it: 16 bytes in URL-safe base64."""

NO_BYTES = "the client did not return the bytes of the members, so user data and unreadable subscriptions are not seen"

GUESSED = "the subscription of a member is not known, and is taken to be the topics of its group's partitions"


def recorded_groups(recording: Recording) -> tuple[list[ClassicGroup], list[dict[str, Any]]]:
    """Return the classic groups at the end of a recording, sorted by id, and its topics.

    Args:
        recording: The recording. If it has a choice of groups, only these are returned.

    Returns:
        The groups, including those without members, with the records per second of their partitions as weights, as
        far as these are known; and the topics of the last snapshot (see `last_topics`).

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is of another type.
    """
    check_types(recording)
    metadata = topics_table(recording.topics())
    replay, marker = _core.Replay(metadata, is_compared=False), CopyMarker()
    groups: list[Row] = []
    members: list[Row] = []
    spans: list[Row] = []
    commits: list[pa.RecordBatch] = []

    def read(records: pa.RecordBatch | None) -> None:
        _, committed, _, (names, histories) = replay.push_groups(records, kinds=(), commits=True)
        if committed is not None:
            commits.append(pa.record_batch(committed))
        rows = pa.array(histories)
        is_classic = pc.equal(rows.field("kind"), "classic")
        chosen = zip(pa.array(names).filter(is_classic).to_pylist(), rows.filter(is_classic).to_pylist(), strict=True)
        for name, row in chosen:
            groups.append({"group_id": name, **row})
            members.extend({"group_id": name, **each} for each in row["members"])
            spans.extend({"group_id": name, **each} for each in row["assignment"])

    for batch in by_group(recording):
        read(batch.filter(pc.invert(pc.or_(batch["aborted"], marker.mark(batch)))))
    read(None)
    topics = last_topics(metadata)
    found = classic_groups(groups, members, spans)
    return _weighted(found, topics, commits, recording.end_offset_rows()), topics


def _weighted(
    groups: list[ClassicGroup], topics: list[dict[str, Any]], commits: list[pa.RecordBatch], ends: Dataset | None
) -> list[ClassicGroup]:
    """Return the groups with the traffic of the partitions of their topics as weights."""
    names = [group.group_id for group in groups if group.members]
    rows = pa.Table.from_batches(commits) if names and commits else None
    if rows is None:
        return groups
    rows = rows.filter(pc.is_in(rows["group_id"], pa.array(names, pa.string())))
    traffic = partition_traffic(rows.sort_by("offset"), None if ends is None else ends.to_table())
    counts = {row["topic"]: row["partitions"] for row in topics}
    runs = pc.run_end_encode(traffic["group_id"].combine_chunks())
    ends_of = runs.run_ends.to_pylist()
    starts = [0, *ends_of[:-1]]
    by_group = {
        name: traffic.slice(start, end - start)
        for name, start, end in zip(runs.values.to_pylist(), starts, ends_of, strict=True)
    }
    found = []
    for group in groups:
        measured = by_group.get(group.group_id)
        if measured is not None:
            weights = traffic_weights(
                measured, {topic: counts[topic] for topic in sorted(group.topics() & counts.keys())}
            )
            group = replace(group, weights=weights or None)
        found.append(group)
    return found


def classic_groups(groups: Iterable[Row], members: Iterable[Row], spans: Iterable[Row]) -> list[ClassicGroup]:
    """Return classic groups from rows of a replay, sorted by id; groups of other kinds and deleted ones are left out.

    Args:
        groups: Rows with `group_id` and columns of `assignor.spark.schemas.GROUP`.
        members: Rows with `group_id` and the columns of `assignor.spark.schemas.MEMBER`.
        spans: Rows with `group_id` and the columns of `assignor.spark.schemas.SPAN`.
    """
    owned: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    for row in spans:
        owned.setdefault((row["group_id"], row["member_id"]), []).append((row["topic"], row["start"], row["count"]))
    found: dict[str, list[ClassicMember]] = {}
    for row in members:
        found.setdefault(row["group_id"], []).append(
            ClassicMember(
                row["member_id"],
                tuple(row["topics"] or ()),
                tuple(owned.get((row["group_id"], row["member_id"]), ())),
                row["group_instance_id"],
                row["rack"],
                row["library"],
                row["library_version"],
                row["conversion_problem"],
            )
        )
    return [
        ClassicGroup(
            row["group_id"],
            tuple(found.get(row["group_id"], ())),
            row["protocol"],
            row["protocol_type"],
            problem=None if row["unreadable"] is None else f"its last record cannot be decoded: {row['unreadable']}",
            generation=row["generation"],
        )
        for row in sorted(groups, key=lambda row: row["group_id"])
        if row["kind"] == "classic" and row["state"] != "gone"
    ]


def last_topics(metadata: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the topics of the last snapshot of topic metadata, as `assignor.migration.migrate` reads them.

    Topics whose partition ids are not 0 to n - 1 are left out: the metadata of some partitions is missing. An id that
    is not in Kafka's form counts as not known.
    """
    if not metadata.num_rows:
        return []
    rows = metadata.filter(pc.equal(metadata["t"], pc.max(metadata["t"])))
    partitions: dict[str, dict[int, list[str | None]]] = {}
    ids: dict[str, str | None] = {}
    for row in rows.select(["topic", "topic_id", "partition", "racks"]).to_pylist():
        partitions.setdefault(row["topic"], {})[row["partition"]] = row["racks"] or []
        ids[row["topic"]] = row["topic_id"] if _TOPIC_ID.fullmatch(row["topic_id"] or "") else None
    return [
        {
            "topic": topic,
            "partitions": len(racks),
            "racks": [racks[number] for number in range(len(racks))],
            "topic_id": ids[topic],
        }
        for topic, racks in partitions.items()
        if sorted(racks) == list(range(len(racks)))
    ]


def described_groups(description: ClusterDescription) -> list[ClassicGroup]:
    """Return the classic groups of a description of a live cluster, in its order."""
    return [_described(group) for group in description.groups if group.kind not in _OTHER_KINDS]


def _described(group: GroupDescription) -> ClassicGroup:
    if group.kind != "classic":
        return ClassicGroup(
            group.group_id, protocol_type=group.kind, unknown=("the members are not described",), has_owners=False
        )
    problem = group.problem
    if problem is None and group.state in REBALANCING and group.members:
        problem = f"it is in state {group.state}, in which brokers return no subscriptions; ask again later"
    topics = tuple(sorted({topic for member in group.members for topic, _ in member.assigned}))
    unknown = []
    if any(member.assignment is None or not member.metadata for member in group.members):
        unknown.append(NO_BYTES)
    if any(isinstance(member.subscription, str) for member in group.members):
        unknown.append(GUESSED)
    return ClassicGroup(
        group.group_id,
        tuple(_member(group, member, topics) for member in group.members),
        group.protocol or None,
        "consumer",
        tuple(unknown),
        problem,
    )


def _member(group: GroupDescription, member: MemberDescription, topics: tuple[str, ...]) -> ClassicMember:
    subscription = member.subscription if isinstance(member.subscription, MemberSubscription) else None
    seen: dict[str, str | None] = {}
    if member.assignment is not None and member.metadata:
        seen = classic_member(group.group_id, group.protocol, member.client_id, member.metadata, member.assignment)
    return ClassicMember(
        member.member_id,
        topics if subscription is None else subscription.topics,
        tuple(spans_of(sorted(set(member.assigned)))),
        member.group_instance_id,
        None if subscription is None else subscription.rack,
        seen.get("library"),
        seen.get("library_version"),
        seen.get("conversion_problem"),
    )
