"""Orders of Java that Kafka's answers show: `String.compareTo`, and the iteration order of a java.util.HashMap.

Kafka keeps what a user assigned, and what a reset has no strategy for, in hash tables, and their order is seen: in the
order of fetching and in a message. A table of java.util.HashMap (seen on OpenJDK 17) has a power of two of buckets.
A key's bucket is told by the low bits of its hash code, of which the high half was folded into the low one. The table
doubles when more than three quarters as many keys as buckets are in it. Growing keeps the order within a bucket, and
a new key goes to its end, so the order of a whole table is: by bucket, and in a bucket as they came. One more rule
matters for small tables: where a ninth key comes to a bucket and there are fewer than 64 buckets, the table doubles at
once.

With 64 buckets or more, a bucket with a ninth key becomes a tree; `assignor.tree_bins` has its order. Not modelled:
keys of equal hash codes that Java cannot compare, such as partitions. Their order in a tree depends on identity hash
codes, which only the running Java knows; here the later key counts as the greater one. Such a tree needs nine
partitions in one bucket. Topics such as `t00`, `t10`, ... `t90` with ten partitions each have them, because a step of
the second last digit changes the hash code by as much as a step of the partition.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from assignor.tree_bins import TreeTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from assignor.model import TopicPartition

Key = TypeVar("Key")

DEFAULT_CAPACITY = 16
"""Buckets of a table that was made without saying how many."""

CHAIN = 8
"""A bucket with so many keys takes no more of them as a chain."""

TREES = 64
"""With so many buckets or more a long chain becomes a tree, with fewer the table doubles."""

_INT = 0xFFFFFFFF


def java_order(text: str) -> bytes:
    """Return a sort key that orders strings as Java's `String.compareTo` does: by UTF-16 code unit.

    Example:
        >>> sorted(["～", "😀"], key=java_order)  # by code point the order is reversed
        ['😀', '～']
    """
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """What `String.hashCode()` is, as an unsigned number of 32 bits.

    Example:
        >>> string_hash("Aa") == string_hash("BB") == 2112
        True
    """
    code = 0
    for unit in array("H", text.encode("utf-16-le", "surrogatepass")):
        code = 31 * code + unit & _INT
    return code


def presized_capacity(count: int) -> int:
    """How many buckets `new HashSet<>(collection)` starts with for a collection of so many.

    Example:
        >>> presized_capacity(0), presized_capacity(12), presized_capacity(13), presized_capacity(24)
        (16, 32, 32, 64)
    """
    wanted = max(int(count / 0.75) + 1, DEFAULT_CAPACITY)
    return 1 << (wanted - 1).bit_length()


def partition_hash(topic: int, partition: int) -> int:
    """Return `TopicPartition.hashCode()` as an unsigned number of 32 bits, given the hash code of the topic's name.

    Example:
        >>> partition_hash(string_hash("t"), 2)
        1139
    """
    return 31 * (31 + partition) + topic & _INT


def uuid_hash(id: int) -> int:
    """Return the hash code of Kafka's `Uuid` as an unsigned number of 32 bits.

    Example:
        >>> uuid_hash(2**127 + 2**64 + 6)
        2147483655
    """
    halves = id >> 64 ^ id & (1 << 64) - 1
    return (halves >> 32 ^ halves) & _INT


def table_order(
    keys: Collection[Key],
    codes: Sequence[int],
    capacity: int = DEFAULT_CAPACITY,
    natural: Sequence[Any] | None = None,
) -> list[Key]:
    """Return keys in the order in which a table lists them.

    Args:
        keys: Distinct, in the order of insertion.
        codes: The hash code of each key as a number of 32 bits.
        capacity: The number of buckets at first.
        natural: A value of each key that sorts as Java's `compareTo` sorts the keys; None if Java cannot compare them.

    Example:
        >>> table_order([17, 3, 1], [17, 3, 1])
        [17, 1, 3]
    """
    placed = list(keys)
    folded = [(code ^ (code & _INT) >> 16) & _INT for code in codes]
    if _has_trees(folded, capacity):
        return [placed[index] for index in TreeTable(folded, natural or [0] * len(placed), capacity).order()]
    return _by_bucket(placed, folded, capacity)


def folded_hash(text: str) -> int:
    """The hash code of a text as a hash table has it; its low bits tell the bucket.

    Example:
        >>> folded_hash("range") & DEFAULT_CAPACITY - 1
        9
    """
    code = string_hash(text)
    return code ^ code >> 16


def text_order(texts: Iterable[str]) -> list[str]:
    """Distinct texts in the order of a table into which they were put one after the other.

    Example:
        >>> text_order(["cooperative-sticky", "roundrobin", "range", "sticky"])
        ['sticky', 'range', 'roundrobin', 'cooperative-sticky']
    """
    placed = list(texts)
    return _by_bucket(placed, [folded_hash(text) for text in placed], DEFAULT_CAPACITY)


def computed_text_order(texts: Iterable[str]) -> list[str]:
    """Return distinct texts in the order of a table on which `computeIfAbsent` is called with each text in turn.

    It differs from `text_order` in three ways: a new key goes to the front of its bucket, a table doubles at the call
    after the one that filled it, and a table of fewer than 64 buckets doubles when an eighth key comes to a bucket.

    Example:
        >>> text_order(["a", "q"]), computed_text_order(["a", "q"])
        (['a', 'q'], ['q', 'a'])
    """
    buckets, known = DEFAULT_CAPACITY, dict[str, int]()
    for text in texts:
        if 4 * len(known) > 3 * buckets:
            buckets *= 2
        if text in known:
            continue
        code = folded_hash(text)
        if buckets < TREES and sum((other ^ code) & buckets - 1 == 0 for other in known.values()) >= CHAIN - 1:
            buckets *= 2
        known[text] = code
    newest_first = list(reversed(known))
    return sorted(newest_first, key=lambda text: known[text] & buckets - 1)


def hash_order(partitions: Collection[TopicPartition], capacity: int = DEFAULT_CAPACITY) -> list[TopicPartition]:
    """The partitions in the order in which the table lists them.

    Args:
        partitions: Distinct, in the order in which they are put.
        capacity: How many buckets the table starts with.

    Example:
        >>> from assignor import TopicPartition
        >>> [topic for topic, _ in hash_order([TopicPartition("b", 0), TopicPartition("a", 0)])]
        ['a', 'b']
    """
    topics = {topic: string_hash(topic) for topic in {topic for topic, _ in partitions}}
    codes = [partition_hash(topics[topic], partition) for topic, partition in partitions]
    return table_order(partitions, codes, capacity)


def _by_bucket(placed: list[Key], folded: Sequence[int], capacity: int) -> list[Key]:
    """Keys in the order of a table, given their folded hash codes and how many buckets it starts with."""
    last = _buckets(folded, capacity) - 1
    buckets = [code & last for code in folded]
    return [placed[index] for index in sorted(range(len(placed)), key=buckets.__getitem__)]


def _has_trees(folded: Sequence[int], capacity: int) -> bool:
    """Return true if a bucket may have become a tree, at any size of the table."""
    end = _buckets(folded, capacity)
    buckets = max(capacity, TREES)
    while buckets <= end:
        chains = Counter(code & buckets - 1 for code in folded[: 3 * buckets // 4 + 1])
        if chains and max(chains.values()) > CHAIN:
            return True
        buckets *= 2
    return False


def _buckets(folded: Sequence[int], capacity: int) -> int:
    """How many buckets the table has in the end."""
    buckets = capacity
    chains: Counter[int] = Counter()
    for count, code in enumerate(folded, start=1):
        if buckets >= TREES:
            break
        before = buckets
        chain = chains[code & buckets - 1]
        if chain >= CHAIN:
            buckets *= 2
        if 4 * count > 3 * buckets:
            buckets *= 2
        if buckets == before:
            chains[code & buckets - 1] = chain + 1
        else:
            chains = Counter(each & buckets - 1 for each in folded[:count])
    while 4 * len(folded) > 3 * buckets:
        buckets *= 2
    return buckets
