"""Messages between a member and its coordinator: the fields of ConsumerGroupHeartbeat (API 68), version 1.

Source: ConsumerGroupHeartbeatRequest.json and ConsumerGroupHeartbeatResponse.json, kafka-clients 4.3.1; KIP-848 and
KIP-1082 (the member creates its own id). The client encodes and decodes messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from assignor.errors import IllegalArgumentError
from assignor.validation import check_name, read_entries, read_int, read_items, shown, wrong_type

__all__ = [
    "JOIN_EPOCH",
    "LEAVE_EPOCH",
    "LEAVE_STATIC_EPOCH",
    "Assignment",
    "CommitIdentity",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "read_text",
]

JOIN_EPOCH = 0
"""Epoch of a heartbeat that joins the group."""

LEAVE_EPOCH = -1
"""Epoch of a heartbeat that leaves the group."""

LEAVE_STATIC_EPOCH = -2
"""Epoch of a static member that leaves: its partitions wait for the next member with its instance id."""

Assignment = Mapping[UUID, tuple[int, ...]]
"""Partition ids by topic id, ascending."""


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """One heartbeat to the coordinator. A field of None has not changed since the last heartbeat.

    Attributes:
        group_id: Id of the group.
        member_id: Id that the member created, the same for its whole life.
        member_epoch: 0 to join, -1 to leave, -2 to leave as a static member, else the member's epoch.
        instance_id: Instance id of a static member; sent each time.
        rack_id: Rack of the member; sent when it joins.
        rebalance_timeout_ms: Time that the coordinator waits for revocations; -1 if unchanged.
        subscribed_topic_names: Subscribed topic names, in Java's order of strings.
        subscribed_topic_regex: Subscribed pattern (RE2/J); "" removes the pattern.
        server_assignor: Requested assignor; None also for the coordinator's choice.
        topic_partitions: Owned partitions, by ascending topic id.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: Assignment | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatResponse:
    """The coordinator's answer to one heartbeat.

    Attributes:
        error_code: 0, or one of Kafka's error codes.
        error_message: Message of the coordinator.
        member_id: Id of the member; a coordinator may omit it.
        member_epoch: New epoch of the member.
        heartbeat_interval_ms: Interval between heartbeats.
        assignment: Target assignment: partition ids, from any iterable of int, by topic id; None if unchanged. Stored
            by ascending topic id, with ascending partition ids without duplicates.

    Raises:
        WrongTypeError: A field has a wrong type.
        IllegalArgumentError: A number does not fit its field, or the interval or a partition id is negative.

    Example:
        >>> HeartbeatResponse(member_epoch=1, assignment={UUID(int=7): [2, 0]}).assignment
        {UUID('00000000-0000-0000-0000-000000000007'): (0, 2)}
    """

    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Mapping[UUID, Iterable[int]] | None = None

    def __post_init__(self) -> None:
        """Check and convert the fields."""
        what = "HeartbeatResponse"
        for field, bits in (("error_code", 16), ("member_epoch", 32), ("heartbeat_interval_ms", 32)):
            object.__setattr__(self, field, read_int(getattr(self, field), f"{what}: {field}", bits=bits))
        if self.heartbeat_interval_ms < 0:
            raise IllegalArgumentError(
                f"{what}: heartbeat_interval_ms cannot be negative: {self.heartbeat_interval_ms}"
            )
        for field in ("error_message", "member_id"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, read_text(getattr(self, field), f"{what}: {field}"))
        if self.assignment is not None:
            object.__setattr__(self, "assignment", _read_assignment(self.assignment, f"{what}: assignment"))


class CommitIdentity(NamedTuple):
    """Identity of a member in a request that commits offsets: three fields of OffsetCommit (API 8).

    Attributes:
        member_id: Id of the member; "" outside a group.
        member_epoch: Epoch of the member (`GenerationIdOrMemberEpoch`); -1 outside a group.
        instance_id: Instance id of a static member.
    """

    member_id: str
    member_epoch: int
    instance_id: str | None


def read_text(text: object, what: str) -> str:
    """Return a text that UTF-8 can encode, converted to a plain str: a subclass of str may compare differently."""
    return str.__str__(check_name(text, what))


def _read_assignment(assignment: object, what: str) -> Assignment:
    if not isinstance(assignment, Mapping):
        raise wrong_type(what, "a mapping of topic id to partitions", assignment)
    found = {}
    for topic_id, ids in read_items(assignment, what):
        if not isinstance(topic_id, UUID):
            raise wrong_type(f"{what}: a topic id", "a uuid.UUID", topic_id)
        found[topic_id] = _read_partitions(ids, f"{what}: {topic_id}")
    return {topic_id: found[topic_id] for topic_id in sorted(found)}


def _read_partitions(partitions: object, what: str) -> tuple[int, ...]:
    ids = read_entries(partitions, what, "an iterable of partition ids")
    found = sorted({read_int(id, f"{what}: a partition id", bits=32) for id in ids})
    if found and found[0] < 0:
        raise IllegalArgumentError(f"{what}: a partition id cannot be negative: {shown(found[0])}")
    return tuple(found)
