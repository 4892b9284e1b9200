"""Previous target assignment of a share group, with all that it lists."""

from __future__ import annotations

from assignor.errors import IllegalStateError
from assignor.model import TopicPartition
from assignor.reference.group import MAX_INT32, Member

Target = dict[str, list[int]]
"""Topics to partition ids of one member, in the order in which the member reports them."""


def previous_target(member: Member) -> Target:
    """Return the previous target of a member. A partition that is reported twice counts once."""
    target: Target = {}
    for topic, id in dict.fromkeys(member.owned):
        if id <= MAX_INT32:
            target.setdefault(topic, []).append(id)
    return target


def no_member_left(partition: TopicPartition) -> IllegalStateError:
    """Return the error for a partition that still has too few owners when all members have their quota."""
    topic, number = partition
    return IllegalStateError(
        f"topic '{topic}', partition {number}: no member is left for a further owner; Kafka's class fails with "
        "NoSuchElementException, because members had partitions that do not exist or are not assignable"
    )
