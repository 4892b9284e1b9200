"""Groups with an epoch (consumer, share, streams) as their records describe them.

The epoch, the members and their current assignments. The three protocols number their record types
differently, and write the same things.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from assignor.reference.offsets import Record
from assignor.reference.replay.member import OwnedPartitions, RecordedMember, merged

__all__ = ["EpochGroup"]

DEFAULT_ASSIGNOR = "uniform"
"""What a broker uses when no member asks for an assignor (the first of `group.consumer.assignors`)."""

GROUP = (3, 11, 17)
MEMBER = (5, 10, 19)
TARGET = (6, 12, 20)
CURRENT = (8, 14, 22)
PATTERN = 16
TOPOLOGY = 23

SETTLED = {"consumer": 0, "streams": 1}
"""The state code of a member that has nothing left to give up or to wait for, by kind of group."""


class EpochGroup:
    """Group with an epoch, between two of its records."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.value: dict[str, Any] | None = None
        self.target_epoch = 0
        self.topology: dict[str, Any] | None = None
        self.metadata: dict[str, dict[str, Any]] = {}
        self.current: dict[str, dict[str, Any]] = {}
        self.resolved: dict[str, list[str]] = {}

    @property
    def epoch(self) -> int | None:
        """The group epoch; None while no group record stands."""
        return None if self.value is None else int(self.value["epoch"])

    def apply(self, record: Record) -> None:
        """Take in a record of this group's kind."""
        if record.type in GROUP:
            self.value = record.value
        elif record.type in TARGET:
            self.target_epoch = 0 if record.value is None else record.value["assignmentEpoch"]
        elif record.type == TOPOLOGY:
            self.topology = record.value
        elif record.type == PATTERN:
            self.resolved.pop(record.key["regularExpression"], None)
            if record.value is not None:
                self.resolved[record.key["regularExpression"]] = record.value["topics"]
        elif record.type in MEMBER or record.type in CURRENT:
            entries = self.metadata if record.type in MEMBER else self.current
            entries.pop(record.key["memberId"], None)
            if record.value is not None:
                entries[record.key["memberId"]] = record.value

    @property
    def state(self) -> str:
        """Kafka's name for the group's state, as its own classes derive it from the same records."""
        if not self.metadata:
            return "Empty"
        if self.kind == "share":
            return "Stable"
        if self.kind == "streams" and not self.validated():
            return "NotReady"
        if (self.epoch or 0) > self.target_epoch:
            return "Assigning"
        return "Stable" if all(self.settled(member_id) for member_id in self.metadata) else "Reconciling"

    def validated(self) -> bool:
        """Whether the broker has found the topics of the topology that stands."""
        validated = -1 if self.value is None else self.value.get("validatedTopologyEpoch", -1)
        return self.topology is not None and self.topology["epoch"] == validated

    def settled(self, member_id: str) -> bool:
        """Whether a member has all that the target assignment gives it, and nothing else."""
        now = self.current.get(member_id)
        return now is not None and now["state"] == SETTLED[self.kind] and now["memberEpoch"] == self.target_epoch

    def assignor(self) -> str:
        """The assignor that most members ask for; the broker's default when none asks, and when votes tie."""
        preferred = self.preferred_assignors()
        return DEFAULT_ASSIGNOR if DEFAULT_ASSIGNOR in preferred else preferred[0]

    def preferred_assignors(self) -> list[str]:
        """The assignors that most members ask for, in order of their names; the broker's default if no member asks."""
        asked = [value["serverAssignor"] for value in self.metadata.values() if value["serverAssignor"] is not None]
        votes = Counter(asked or [DEFAULT_ASSIGNOR])
        return sorted(assignor for assignor, count in votes.items() if count == max(votes.values()))

    def is_homogeneous(self) -> bool:
        """True if a broker counts the subscriptions as equal.

        That is: all members name the same topics, or all have the same pattern, name no topics, and no other pattern
        is resolved to one of the topics.
        """
        names = [frozenset(value.get("subscribedTopicNames") or ()) for value in self.metadata.values()]
        patterns = {value.get("subscribedTopicRegex") or None for value in self.metadata.values()}
        if patterns <= {None}:
            return len(set(names)) <= 1
        found = [topic for topics in self.resolved.values() for topic in topics]
        return len(patterns) == 1 and not any(names) and len(found) == len(set(found))

    def assigned_member(self, member_id: str) -> tuple[str | None, str | None, list[str]]:
        """Return instance id, rack and topics of a member: topics that it names, then those found for its pattern."""
        value = self.metadata[member_id]
        topics = list(value.get("subscribedTopicNames") or ())
        for topic in self.resolved.get(value.get("subscribedTopicRegex") or "", []):
            if topic not in topics:
                topics.append(topic)
        return value.get("instanceId"), value.get("rackId") or None, topics

    def members(self) -> list[RecordedMember]:
        """The members by id."""
        members = []
        for member_id in sorted(self.metadata):
            value = self.metadata[member_id]
            rack = value.get("rackId") or None
            client = (value["clientId"], value["clientHost"])
            has = self.partitions_of(self.current.get(member_id, {}))
            members.append(
                RecordedMember(member_id, value.get("instanceId"), *client, rack, *self.subscription(value), has)
            )
        return members

    def subscription(self, value: dict[str, Any]) -> tuple[list[str] | None, str | None]:
        """The topics a member names and its pattern.

        A broker subscribes it to the names and to what it has found for the pattern, which thereby is no more than
        further names.
        """
        topics, pattern = value.get("subscribedTopicNames"), value.get("subscribedTopicRegex")
        if not pattern:
            return topics, None
        if not topics:
            return None, pattern
        if pattern not in self.resolved:
            return topics, pattern
        return topics + [topic for topic in self.resolved[pattern] if topic not in topics], None

    def partitions_of(self, value: dict[str, Any]) -> OwnedPartitions:
        """What a member is assigned and what it has yet to give up, by topic id.

        Of streams tasks it is the active ones, as partitions of the topics they read; by subtopology while no topology
        stands.
        """
        entries = [
            (entry["topicId"], entry["partitions"])
            for field in ("assignedPartitions", "partitionsPendingRevocation")
            for entry in value.get(field, [])
        ]
        tasks = [
            (entry["subtopologyId"], entry["partitions"])
            for field in ("activeTasks", "activeTasksPendingRevocation")
            for entry in value.get(field, [])
        ]
        if self.topology is None:
            return merged(entries + tasks)
        return merged((topic, ids) for subtopology, ids in tasks for topic in self.sources(subtopology))

    def sources(self, subtopology_id: str) -> list[str]:
        """The topics that the tasks of a subtopology read."""
        topics: list[str] = []
        for subtopology in self.topology["subtopologies"] if self.topology else []:
            if subtopology["subtopologyId"] == subtopology_id:
                internal = [topic["name"] for topic in subtopology["repartitionSourceTopics"]]
                topics = subtopology["sourceTopics"] + internal
        return topics
