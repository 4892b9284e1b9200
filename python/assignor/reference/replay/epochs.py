"""Groups with an epoch (consumer, share and streams groups), from their records.

The three kinds of group have different record types with the same content: epochs, members and current assignments.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from assignor.reference.offsets import Record
from assignor.reference.replay.member import OwnedPartitions, RecordedMember, merged

__all__ = ["EpochGroup"]

DEFAULT_ASSIGNOR = "uniform"
"""Assignor that the broker uses if no member names one: the first of `group.consumer.assignors`."""

GROUP = (3, 11, 17)
MEMBER = (5, 10, 19)
TARGET = (6, 12, 20)
CURRENT = (8, 14, 22)
PATTERN = 16
TOPOLOGY = 23

SETTLED = {"consumer": 0, "streams": 1}
"""State code of a member that has no partitions to give up or to wait for, by kind of group."""


class EpochGroup:
    """Group with an epoch, during replay."""

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
        """Group epoch; None if there is no current group record."""
        return None if self.value is None else int(self.value["epoch"])

    def apply(self, record: Record) -> None:
        """Apply a record of this group's kind."""
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
        """Kafka's name for the group's state, derived as Kafka derives it from the same records."""
        if not self.metadata:
            return "Empty"
        if self.kind == "share":
            return "Stable"
        if self.kind == "streams" and not self.is_validated():
            return "NotReady"
        if (self.epoch or 0) > self.target_epoch:
            return "Assigning"
        return "Stable" if all(self.is_settled(member_id) for member_id in self.metadata) else "Reconciling"

    def is_validated(self) -> bool:
        """Return True if the broker has found the topics of the current topology."""
        validated = -1 if self.value is None else self.value.get("validatedTopologyEpoch", -1)
        return self.topology is not None and self.topology["epoch"] == validated

    def is_settled(self, member_id: str) -> bool:
        """Return True if a member's current assignment equals its target assignment."""
        now = self.current.get(member_id)
        return now is not None and now["state"] == SETTLED[self.kind] and now["memberEpoch"] == self.target_epoch

    def assignor(self) -> str:
        """Return the assignor that most members name; the broker's default if no member names one.

        In a tie, return the default if it is one of the tied assignors, else the first of them by name.
        """
        preferred = self.preferred_assignors()
        return DEFAULT_ASSIGNOR if DEFAULT_ASSIGNOR in preferred else preferred[0]

    def preferred_assignors(self) -> list[str]:
        """Return the assignors with the most votes, by name; the broker's default if no member names an assignor."""
        asked = [value["serverAssignor"] for value in self.metadata.values() if value["serverAssignor"] is not None]
        votes = Counter(asked or [DEFAULT_ASSIGNOR])
        return sorted(assignor for assignor, count in votes.items() if count == max(votes.values()))

    def is_homogeneous(self) -> bool:
        """Return True if a broker treats all subscriptions as equal.

        This is the case if all members name the same topics and have no pattern, or if all have the same pattern, no
        member names topics, and no topic is resolved for two patterns.
        """
        names = [frozenset(value.get("subscribedTopicNames") or ()) for value in self.metadata.values()]
        patterns = {value.get("subscribedTopicRegex") or None for value in self.metadata.values()}
        if patterns <= {None}:
            return len(set(names)) <= 1
        found = [topic for topics in self.resolved.values() for topic in topics]
        return len(patterns) == 1 and not any(names) and len(found) == len(set(found))

    def assigned_member(self, member_id: str) -> tuple[str | None, str | None, list[str]]:
        """Return the instance id, rack and topics of a member; topics of its pattern follow those that it names."""
        value = self.metadata[member_id]
        topics = list(value.get("subscribedTopicNames") or ())
        for topic in self.resolved.get(value.get("subscribedTopicRegex") or "", []):
            if topic not in topics:
                topics.append(topic)
        return value.get("instanceId"), value.get("rackId") or None, topics

    def members(self) -> list[RecordedMember]:
        """Return the members, sorted by id."""
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
        """Return the topics of a member and its pattern.

        A broker subscribes the member to the topics that it names and to those that the broker found for its pattern.
        If the member names topics and the pattern is resolved, the result has the topics of both and no pattern.
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
        """Return the partitions that a member has and those that it still has to give up, by topic id.

        Active streams tasks count as partitions of their source topics, or of their subtopology if there is no
        topology. Standby and warm-up tasks are ignored.
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
        """Return the topics that the tasks of a subtopology read."""
        topics: list[str] = []
        for subtopology in self.topology["subtopologies"] if self.topology else []:
            if subtopology["subtopologyId"] == subtopology_id:
                internal = [topic["name"] for topic in subtopology["repartitionSourceTopics"]]
                topics = subtopology["sourceTopics"] + internal
        return topics
