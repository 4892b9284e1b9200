"""Share assignment of a group whose members all subscribe to the same topics.

The partitions of all topics are shared as one list: the quotas of two members differ by at most one.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.errors import NotDeterminedError
from assignor.model import TopicPartition
from assignor.ordering import (
    computed_order,
    expected_capacity,
    java_order,
    presized_capacity,
    string_hash,
    table_order,
    uuid_hash,
)
from assignor.reference.assign.options import Options
from assignor.reference.assign.server.simple.shares import Shares, owners_per_partition, quotas
from assignor.reference.assign.server.simple.target import Target, no_member_left
from assignor.reference.assign.table_order import numbers_in_set, topics_by_id
from assignor.reference.group import Member, Partition

NOT_DETERMINED = (
    "the assignment is not determined: eight or more partitions have hash codes with the same bucket, among them equal "
    "ones, and Kafka's class orders them by identity hash codes"
)


class Incomparable:
    """Partition as a key of a Java hash table. Java compares equal hash codes in a tree by the addresses of objects."""

    def __eq__(self, other: object) -> bool:
        """Raise the error for a tree with keys of equal hash codes."""
        raise NotDeterminedError(NOT_DETERMINED)


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], target: list[Target], options: Options
) -> list[list[TopicPartition]]:
    """Return the partitions of each member; members come in table order."""
    subscribed = [topic for topic in _by_name(members[0]) if topic in topics]
    partitions = [TopicPartition(topic, partition.id) for topic in subscribed for partition in topics[topic]]

    def code(partition: TopicPartition) -> int:
        return 31 * uuid_hash(options.topic_id(partition.topic)) + partition.partition

    shares = Shares[TopicPartition](
        quotas([*range(len(members))], len(partitions)),
        owners_per_partition(len(members), len(partitions)),
        no_member_left,
    )
    wanted = frozenset(subscribed)
    for index, had in enumerate(target):
        for topic in topics_by_id(had, options):
            if topic in wanted:
                for id in numbers_in_set(had[topic]):
                    shares.keep(index, TopicPartition(topic, id))
    shares.revoke_from_members(
        lambda held: table_order(held, [code(each) for each in held], natural=[Incomparable() for _ in held])
    )
    shares.revoke_from_partitions()
    for partition in partitions:
        shares.add(partition)
    if shares.has_unfilled():
        capacity = expected_capacity(len(partitions))
        listed = computed_order(shares.calls, code, capacity, lambda _: Incomparable())
        shares.hand_out(listed, len(members))
    return [list(shares.held.get(index, ())) for index in range(len(members))]


def _by_name(member: Member) -> list[str]:
    """Return the topics of a member in the iteration order of its set of names."""
    names = dict.fromkeys(member.given)
    return table_order(
        names,
        [string_hash(name) for name in names],
        presized_capacity(len(names)),
        [java_order(name) for name in names],
    )
