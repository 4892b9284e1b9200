"""The members of a JoinGroup response as a group: their subscriptions go in as bytes."""

from __future__ import annotations

from collections.abc import Iterable

from assignor.model import Subscription, TopicPartition
from assignor.reference.wire import decode_subscription


def read_join(members: Iterable[tuple[str, str | None, bytes]], *, tolerant: bool = False) -> dict[str, Subscription]:
    """Member id to subscription, of (member id, group instance id, `ConsumerProtocol` bytes).

    Example:
        >>> read_join([("a", None, bytes.fromhex("0000 00000001 0001 74 ffffffff"))])["a"].topics
        ('t',)
    """
    found = {}
    for member_id, instance_id, data in members:
        read = decode_subscription(data, tolerant)
        found[member_id] = Subscription(
            tuple(read.topics),
            group_instance_id=instance_id,
            rack=read.rack_id,
            owned_partitions=tuple(TopicPartition(topic, id) for topic, ids in read.owned_partitions for id in ids),
            user_data=read.user_data,
        )
    return found
