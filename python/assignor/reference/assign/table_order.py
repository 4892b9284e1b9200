"""Iteration orders of the Java hash tables that Kafka's assignors use.

`assignor.ordering.table_order` computes the order of a table.
"""

from __future__ import annotations

from collections.abc import Collection

from assignor.ordering import DEFAULT_CAPACITY, java_order, presized_capacity, string_hash, table_order, uuid_hash
from assignor.reference.assign.options import Options
from assignor.reference.group import Member


def member_order(members: list[Member]) -> list[Member]:
    """Return members in the iteration order of a HashMap keyed by member id, filled in the given order."""
    by_id = {member.info.member_id: member for member in members}
    return [by_id[id] for id in table_of_names(list(by_id))]


def table_of_names(names: list[str], capacity: int = DEFAULT_CAPACITY) -> list[str]:
    """Return distinct names in the iteration order of a HashMap keyed by them, filled in the given order.

    Args:
        names: The names, in insertion order.
        capacity: Initial number of buckets.

    Example:
        >>> table_of_names(["q", "b", "a"])  # "q" and "a" share a bucket
        ['q', 'a', 'b']
    """
    return table_order(names, [string_hash(name) for name in names], capacity, [java_order(name) for name in names])


def topics_by_id(topics: Collection[str], options: Options, capacity: int = DEFAULT_CAPACITY) -> list[str]:
    """Return topics in the iteration order of a hash table keyed by topic id.

    Args:
        topics: Distinct topic names, in insertion order.
        options: Options with the known topic ids.
        capacity: Initial number of buckets.
    """
    ids = [options.topic_id(topic) for topic in topics]
    return table_order(topics, [uuid_hash(id) for id in ids], capacity, [signed_halves(id) for id in ids])


def signed_halves(id: int) -> tuple[int, int]:
    """Return a sort key that orders ids as Kafka's `Uuid.compareTo` does: by two signed 64-bit integers.

    Example:
        >>> signed_halves(2**127 + 1)
        (-9223372036854775808, 1)
    """
    high, low = id >> 64, id & (1 << 64) - 1
    return (high ^ 1 << 63) - (1 << 63), (low ^ 1 << 63) - (1 << 63)


def numbers_in_set(numbers: list[int]) -> list[int]:
    """Return distinct numbers in the iteration order of `new HashSet<>(numbers)`.

    Example:
        >>> numbers_in_set([18, 16, 1])
        [16, 1, 18]
    """
    return table_order(numbers, numbers, presized_capacity(len(numbers)))
