"""State of a group member between two group records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.errors import WireError
from assignor.reference.offsets.protocol import CONSUMER
from assignor.reference.replay.classic import ClassicGroup, read_assignment, read_subscription

if TYPE_CHECKING:
    from assignor.reference.replay.events import Partition

__all__ = ["KnownMember", "classic_members", "epoch_member"]


@dataclass
class KnownMember:
    """Member of a group, with the fields of its last record.

    `topics` are the topics that it subscribes to, sorted and without repeats; None if they cannot be read. `metadata`
    are the bytes of its subscription in a classic group. `owned` are the partitions that it had when it joined, and
    `assigned` those of the generation; None if they cannot be read. `session_timeout` is None if the log lacks it.
    """

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    topics: list[str] | None
    pattern: str | None = None
    metadata: bytes | None = None
    owned: list[Partition] = field(default_factory=list)
    assigned: list[Partition] | None = None
    session_timeout: int | None = None
    rebalance_timeout: int | None = None
    has_paused: bool = False

    @property
    def owner_name(self) -> str:
        """Name under which the member owns partitions: a static member keeps them when its member id changes."""
        return self.id if self.instance_id is None else f"instance {self.instance_id}"

    def subscribes_like(self, other: KnownMember) -> bool:
        """Return True if another state of the member has the same subscription."""
        if self.topics is None or other.topics is None:
            return self.metadata == other.metadata and self.pattern == other.pattern
        return self.topics == other.topics and self.pattern == other.pattern


def classic_members(group: ClassicGroup) -> list[KnownMember]:
    """Return the members in the record of a classic group."""
    return [classic_member(record, group.protocol_type == CONSUMER) for record in group.records]


def classic_member(record: dict[str, Any], is_consumer: bool) -> KnownMember:
    """Return a member in the record of a classic group; its topics and partitions are known only for consumers."""
    member = KnownMember(
        record["memberId"],
        record.get("groupInstanceId"),
        record["clientId"],
        record["clientHost"],
        None,
        metadata=record["subscription"],
        session_timeout=record["sessionTimeout"],
        rebalance_timeout=record.get("rebalanceTimeout"),
    )
    if is_consumer:
        subscription = read_subscription(record["subscription"])
        if not isinstance(subscription, WireError):
            member.topics = sorted(set(subscription.topics))
            member.owned = sorted({(topic, id) for topic, id in subscription.owned})
        assignment = read_assignment(record["assignment"])
        if not isinstance(assignment, WireError):
            member.assigned = [(topic, id) for topic, ids in assignment.items() for id in ids]
    return member


def epoch_member(member_id: str, value: dict[str, Any]) -> KnownMember:
    """Return a member of a group with an epoch, from its metadata record."""
    classic = value.get("classicMemberMetadata")
    topics = value.get("subscribedTopicNames")
    return KnownMember(
        member_id,
        value.get("instanceId"),
        value["clientId"],
        value["clientHost"],
        None if topics is None else sorted(set(topics)),
        value.get("subscribedTopicRegex") or None,
        session_timeout=None if classic is None else classic["sessionTimeoutMs"],
        rebalance_timeout=value.get("rebalanceTimeoutMs"),
    )
