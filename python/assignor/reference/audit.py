"""Compares what a leader assigned with what the range rules give.

A log says when a generation began, and metadata is known for some moments only. The leader's own metadata was that of
the last moment before the generation or of the first one after it, or something in between; an assignment is *equal*
when either moment explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assignor.errors import WireError
from assignor.model import PartitionInfo, Subscription
from assignor.reference import range as range_assignor
from assignor.reference.replay.classic import Joined, Reading
from assignor.reference.replay.member import Partitions, merged

__all__ = ["Metadata", "Moment", "Verdict", "judge"]


class Moment(NamedTuple):
    """The topics of a cluster at one moment (milliseconds since 1970)."""

    time: int
    topics: dict[str, list[PartitionInfo]]


@dataclass
class Metadata:
    """What is known of a cluster's topics over time: the moments by time, and topic ids to names."""

    moments: list[Moment] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, rows: Iterable[Mapping[str, Any]]) -> Metadata:
        """The metadata of a row per partition and moment, with t, topic, topic_id, partition and racks."""
        moments: dict[int, dict[str, list[PartitionInfo]]] = {}
        names = {}
        for row in rows:
            topics = moments.setdefault(row["t"], {})
            topics.setdefault(row["topic"], []).append(PartitionInfo(row["partition"], tuple(row["racks"] or ())))
            names[row["topic_id"]] = row["topic"]
        return cls([Moment(time, moments[time]) for time in sorted(moments)], names)

    def around(self, time: int) -> list[Moment]:
        """The last moment before a time (or at it) and the first one after it."""
        before = [moment for moment in self.moments if moment.time <= time]
        after = [moment for moment in self.moments if moment.time > time]
        return before[-1:] + after[:1]


class Verdict(NamedTuple):
    """How a generation compares (`equal`, `different`, `unknown`), and in sentences why, and what else there is."""

    outcome: str
    remarks: list[str]


class Readable(NamedTuple):
    """A member both of whose blobs can be read."""

    joined: Joined
    reading: Reading
    given: Partitions


def judge(joined: list[Joined], time: int, metadata: Metadata) -> Verdict | None:
    """Say whether the range rules explain what the members of a generation were given.

    None where everything can be read and there is no topic metadata to compare with.
    """
    remarks = []
    members = []
    for member in joined:
        if not isinstance(member.subscription, WireError) and not isinstance(member.assignment, WireError):
            members.append(Readable(member, member.subscription, member.assignment))
            if member.subscription.refused is not None:
                refused = member.subscription.refused
                remarks.append(f"Kafka's own reader refuses the subscription of {member.id}: {refused}")
        if isinstance(member.subscription, WireError):
            remarks.append(f"the subscription of {member.id} cannot be read: {member.subscription}")
        if isinstance(member.assignment, WireError):
            remarks.append(f"the assignment of {member.id} cannot be read: {member.assignment}")
    if len(members) < len(joined):
        return Verdict("unknown", remarks)
    moments = metadata.around(time)
    if not moments:
        return None
    given = [member.given for member in members]
    if any(range_of(members, moment.topics) == given for moment in moments):
        return Verdict("equal", remarks)
    return Verdict("different", [*remarks, explain(members, moments)])


def range_of(members: list[Readable], topics: dict[str, list[PartitionInfo]]) -> list[Partitions]:
    """What the range rules give each member."""
    subscriptions = {
        member.joined.id: Subscription(tuple(member.reading.topics), member.joined.instance_id, member.reading.rack)
        for member in members
    }
    answer = range_assignor.assign(topics, subscriptions)
    return [merged((topic, [id]) for topic, id in answer[member.joined.id]) for member in members]


def explain(members: list[Readable], moments: list[Moment]) -> str:
    """Why an assignment is not what the range rules give, as far as the log tells."""
    given = [member.given for member in members]
    assigned = {topic for partitions in given for topic in partitions}
    wanted = {topic for member in members for topic in member.reading.topics}
    for moment in moments:
        known = {topic: partitions for topic, partitions in moment.topics.items() if topic in assigned}
        if range_of(members, known) == given:
            missing = sorted(wanted & moment.topics.keys() - assigned)
            return f"assigned before the metadata of {', '.join(missing)} had arrived"
    expected = range_of(members, moments[0].topics)
    differing = sum(has != should for has, should in zip(given, expected, strict=True))
    said = f"not the range rules: {differing} of {len(members)} members have other partitions"
    return said + (", though every partition is handed out once" if flat(given) == flat(expected) else "")


def flat(given: list[Partitions]) -> list[tuple[str, int]]:
    """All partitions handed out, in order."""
    return sorted((topic, id) for partitions in given for topic, ids in partitions.items() for id in ids)
