"""A group at the end of a recording, with its topics and its traffic, as the input of plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.classic_groups import last_topics
from assignor.cluster.copies import CopyMarker
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import by_group
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.model import PartitionInfo, Subscription, TopicPartition
from assignor.replay.recorded import end_of
from assignor.traffic import partition_traffic, traffic_weights
from assignor.validation import shown

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from assignor.cluster.folder import Recording

_KINDS = ("classic", "consumer", "share")
"""Kinds of groups whose members share the partitions of topics."""

_NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class FinalGroup:
    """Group at the end of a recording.

    Attributes:
        name: Group id.
        assignor: The assignor of its last generation.
        group_protocol: `classic`, `consumer` or `share`.
        partitions_per_topic: The topics of the last snapshot, as `assignor.plan` accepts them.
        topic_ids: Their ids, as far as they are known.
        subscriptions: Its members with their subscriptions, owned partitions and generation.
        assignment: The partitions of each member.
        traffic: The columns of `assignor.traffic.PARTITION_TRAFFIC`.
    """

    name: str
    assignor: str | None
    group_protocol: str
    partitions_per_topic: dict[str, list[PartitionInfo]]
    topic_ids: dict[str, str]
    subscriptions: dict[str, Subscription]
    assignment: dict[str, list[TopicPartition]]
    traffic: pa.Table = field(repr=False)

    def weights(self) -> dict[tuple[str, int], float]:
        """Return the traffic of each partition of the subscribed topics as weights, see `traffic_weights`."""
        return traffic_weights(self.traffic, self._counts())

    def uncommitted(self) -> int:
        """Return the number of partitions of the subscribed topics whose traffic is not known."""
        counts = self._counts()
        rows = self.traffic.filter(pc.is_valid(self.traffic["rate"]))
        known = zip(rows["topic"].to_pylist(), rows["partition"].to_pylist(), strict=True)
        committed = sum(1 for topic, partition in known if partition < counts.get(topic, 0))
        return sum(counts.values()) - committed

    def _counts(self) -> dict[str, int]:
        """Return the number of partitions of the topics that members subscribe to or own."""
        names = {topic for each in self.subscriptions.values() for topic in each.topics}
        names |= set(self.traffic["topic"].to_pylist())
        return {topic: len(found) for topic, found in self.partitions_per_topic.items() if topic in names}


def read_final_group(recording: Recording, pattern: str | None = None) -> FinalGroup:
    """Replay a recording and return one group with members.

    Args:
        recording: The recording; its choice of groups is replaced.
        pattern: Name of the group, or a pattern that matches one group with members; None if there is only one.

    Raises:
        IllegalArgumentError: A file cannot be read, there is no topic metadata, no group or more than one with members
            matches, its members do not share partitions of topics, or a subscription cannot be decoded.
        WrongTypeError: A column of the recording is of another type.
    """
    place = recording.source or str(recording.folder)
    chosen = recording if pattern is None else recording.select(groups=[pattern], until=recording.until)
    if not recording.has_topics:
        raise IllegalArgumentError(f"{place} has no topic metadata (topics.parquet), which plans need")
    metadata = topics_table(recording.topics())
    replay, marker = _core.Replay(metadata, is_compared=False), CopyMarker()
    end = end_of(recording)
    ids, histories, commits = [], [], []
    for batch in (*by_group(chosen), None):
        if batch is not None:
            skipped = pc.or_(batch["aborted"], marker.mark(batch))
            batch = batch.set_column(batch.schema.get_field_index("aborted"), "aborted", skipped)
        _, found, _, (names, rows) = replay.push_groups(batch, until=end, commits=True)
        ids += pa.array(names).to_pylist()
        histories += _with_members(pa.array(rows))
        if found is not None:
            commits.append(pa.record_batch(found))
    groups = {name: history for name, history in zip(ids, histories, strict=True) if history is not None}
    name = _only(groups, ids, pattern, place)
    rows = pa.Table.from_batches(commits)
    rows = rows.filter(pc.equal(rows["group_id"], name)).sort_by("offset")
    return _final_group(name, groups[name], metadata, rows, recording, place)


def _with_members(rows: pa.Array) -> list[dict[str, Any] | None]:
    """Return histories as dicts; None for a group without members."""
    names = ("kind", "protocol", "generation", "members", "assignment")
    columns = [rows.field(name).to_pylist() for name in names]
    found = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return [row if row["members"] else None for row in found]


def _only(groups: dict[str, Any], ids: list[str], pattern: str | None, place: str) -> str:
    if len(groups) == 1:
        return next(iter(groups))
    if not groups:
        what = "group" if pattern is None else f"group {shown(pattern)}"
        has = "has no members at the end, so that its subscriptions are not known" if ids else "is not in the log"
        raise IllegalArgumentError(f"{place}: the {what} {has}" if pattern else f"{place} has no group with members")
    names = ", ".join(map(shown, sorted(groups)[:_NAMES_SHOWN]))
    more = f" and {len(groups) - _NAMES_SHOWN} more" if len(groups) > _NAMES_SHOWN else ""
    raise IllegalArgumentError(f"{place} has several groups with members; choose one with --group: {names}{more}")


def _final_group(
    name: str, history: dict[str, Any], metadata: pa.RecordBatch, commits: pa.Table, recording: Recording, place: str
) -> FinalGroup:
    kind, assignor = history["kind"], history["protocol"]
    if kind not in _KINDS:
        raise IllegalArgumentError(f"{place}: the members of {kind} group {shown(name)} share tasks, not partitions")
    assignment: dict[str, list[TopicPartition]] = {member["member_id"]: [] for member in history["members"]}
    for span in history["assignment"]:
        ids = range(span["start"], span["start"] + span["count"])
        assignment.setdefault(span["member_id"], []).extend(TopicPartition(span["topic"], id) for id in ids)
    subscriptions = {}
    for member in history["members"]:
        if member["topics"] is None and member["pattern"] is None:
            raise IllegalArgumentError(
                f"{place}: group {shown(name)}: the subscription of member {shown(member['member_id'])} is not known: "
                f"it cannot be decoded, or its protocol type is not consumer"
            )
        # A broker uses only the names of a member that has names and a pattern, until it has resolved the pattern.
        pattern = member["pattern"] if member["topics"] is None else None
        subscriptions[member["member_id"]] = Subscription(
            topics=tuple(member["topics"] or ()),
            group_instance_id=member["group_instance_id"],
            rack=member["rack"],
            owned_partitions=tuple(assignment[member["member_id"]]),
            generation=history["generation"],
            pattern=pattern,
            dialect="re2j" if pattern else "java",
        )
    found = last_topics(metadata)
    topics = {
        topic["topic"]: [PartitionInfo(number, tuple(racks)) for number, racks in enumerate(topic["racks"])]
        for topic in found
    }
    topic_ids = {topic["topic"]: topic["topic_id"] for topic in found if topic["topic_id"]}
    owned = [(name, *place) for places in assignment.values() for place in places]
    keys = pa.table(
        {
            "group_id": pa.array([each[0] for each in owned], pa.string()),
            "topic": pa.array([each[1] for each in owned], pa.string()),
            "partition": pa.array([each[2] for each in owned], pa.int32()),
        }
    )
    ends = recording.end_offset_rows()
    traffic = partition_traffic(commits, None if ends is None else ends.to_table(), partitions=keys)
    return FinalGroup(name, assignor, kind, topics, topic_ids, subscriptions, assignment, traffic)
