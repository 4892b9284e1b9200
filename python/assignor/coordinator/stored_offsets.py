"""Committed offsets: what a commit leaves, and when it goes.

Source: OffsetAndMetadata, OffsetMetadataManager, OffsetExpirationConditionImpl and
ClassicGroup.offsetExpirationCondition, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.coordinator.state import GroupState
from assignor.coordinator.subscribed_topics import CONSUMER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.coordinator.group import ClassicGroup
    from assignor.model import TopicPartition

__all__ = ["StoredOffset", "StoredOffsets", "expired_offsets"]


class StoredOffset(NamedTuple):
    """What was committed for one partition.

    Attributes:
        offset: The next offset to be consumed.
        metadata: What the consumer wanted to be kept with it.
        leader_epoch: Of the last record that was consumed; -1 where it is not known.
        committed_at: When, in milliseconds.
        expires_at: When it goes; None where it goes by the coordinator's retention.
        topic_id: The topic's uuid, as Kafka's URL-safe base64; None where it is not known.
    """

    offset: int
    metadata: str
    leader_epoch: int
    committed_at: int
    expires_at: int | None = None
    topic_id: str | None = None


StoredOffsets = dict["TopicPartition", StoredOffset]
"""The offsets of one group."""


def expired_offsets(group: ClassicGroup, now: int, retention_ms: int) -> Iterator[TopicPartition]:
    """The partitions whose offsets are to go.

    An offset without a time of its own goes once the retention has passed: since the group became Empty if it had
    members, and since the commit if it never had. In a Stable group of consumers those of topics that nobody subscribes
    to go as well, by the time of the commit. In any other state all stay.
    """
    if group.protocol_type is None:
        base = None
    elif group.state is GroupState.EMPTY:
        base = group.state_since
    elif group.protocol_type == CONSUMER and group.subscribed_topics is not None and group.state is GroupState.STABLE:
        base = None
    else:
        return
    for partition, stored in group.offsets.items():
        if _is_subscribed(group, partition.topic):
            continue
        if stored.expires_at is not None:
            expired = now >= stored.expires_at
        else:
            expired = now - (stored.committed_at if base is None else base) >= retention_ms
        if expired:
            yield partition


def _is_subscribed(group: ClassicGroup, topic: str) -> bool:
    """Whether the group needs the topic; one of consumers whose subscriptions cannot be read may need any."""
    if group.subscribed_topics is None:
        return group.protocol_type == CONSUMER
    return topic in group.subscribed_topics
