"""Java's orders: `String.compareTo`, and the iteration order of a java.util.HashMap.

Kafka keeps assigned partitions, and partitions without a reset strategy, in hash tables. Their iteration order is
visible in the order of fetching and in an error message.

The number of buckets of a java.util.HashMap (OpenJDK 17) is a power of two. To select the bucket of a key, the table
XORs the high half of the hash code into its low half and takes the low bits. A new key goes to the end of its bucket.
When the number of keys exceeds three quarters of the number of buckets, the table doubles; this keeps the order within
a bucket. A table therefore lists its keys by bucket, and within a bucket in the order of insertion. In a table of fewer
than 64 buckets, a ninth key in a bucket doubles the table immediately.

In a table of 64 or more buckets, a bucket with a ninth key becomes a tree; `assignor.tree_bins` computes its order. Not
modelled: trees of keys with equal hash codes that Java cannot compare, such as partitions. Their order depends on
identity hash codes, which differ from run to run; here the later key counts as the greater one. Such a tree needs nine
partitions in one bucket. That happens with topics such as `t00`, `t10`, ... `t90` with ten partitions each, because the
next tens digit and the next partition id both increase the hash code by 31.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from assignor.tree_bins import TreeTable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from assignor.tuples import TopicPartition

Key = TypeVar("Key")

DEFAULT_CAPACITY = 16
"""Default number of buckets."""

CHAIN = 8
"""Highest number of keys in a bucket that is a linked list (a chain); with one more key, it can become a tree."""

TREES = 64
"""Lowest number of buckets of a table in which a long chain becomes a tree; a smaller table doubles instead."""

_INT = 0xFFFFFFFF


def java_order(text: str) -> bytes:
    """Return a sort key that orders strings as Java's `String.compareTo` does: by UTF-16 code unit.

    Example:
        >>> sorted(["～", "😀"], key=java_order)  # by code point the order is reversed
        ['😀', '～']
    """
    return text.encode("utf-16-be", "surrogatepass")


def string_hash(text: str) -> int:
    """Return `String.hashCode()` as an unsigned 32-bit number.

    Example:
        >>> string_hash("Aa") == string_hash("BB") == 2112
        True
    """
    code = 0
    for unit in array("H", text.encode("utf-16-le", "surrogatepass")):
        code = 31 * code + unit & _INT
    return code


def presized_capacity(count: int) -> int:
    """Return the initial number of buckets of `new HashSet<>(collection)` for a collection of `count` elements.

    Example:
        >>> presized_capacity(0), presized_capacity(12), presized_capacity(13), presized_capacity(24)
        (16, 32, 32, 64)
    """
    wanted = max(int(count / 0.75) + 1, DEFAULT_CAPACITY)
    return 1 << (wanted - 1).bit_length()


def expected_capacity(count: int) -> int:
    """Return the initial number of buckets of a table that the broker's assignors create for `count` keys.

    Example:
        >>> expected_capacity(0), expected_capacity(5), expected_capacity(10), expected_capacity(11)
        (2, 16, 16, 32)
    """
    return 1 << int((count + 1) / 0.75).bit_length()


def partition_hash(topic: int, partition: int) -> int:
    """Return `TopicPartition.hashCode()` as an unsigned 32-bit number, given the hash code of the topic's name.

    Example:
        >>> partition_hash(string_hash("t"), 2)
        1139
    """
    return 31 * (31 + partition) + topic & _INT


def uuid_hash(id: int) -> int:
    """Return the hash code of Kafka's `Uuid` as an unsigned 32-bit number.

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
    """Return keys in the iteration order of a table.

    Args:
        keys: Distinct keys, in the order of insertion.
        codes: Hash code of each key as a 32-bit number.
        capacity: Initial number of buckets.
        natural: Per key, a value that sorts as Java's `compareTo` sorts the keys; None if Java cannot compare them.

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
    """Return the hash code of a text with its high half XORed into its low half; its low bits select the bucket.

    Example:
        >>> folded_hash("range") & DEFAULT_CAPACITY - 1
        9
    """
    code = string_hash(text)
    return code ^ code >> 16


def text_order(texts: Iterable[str]) -> list[str]:
    """Return distinct texts in the iteration order of a table that is filled in the given order.

    Example:
        >>> text_order(["cooperative-sticky", "roundrobin", "range", "sticky"])
        ['sticky', 'range', 'roundrobin', 'cooperative-sticky']
    """
    placed = list(texts)
    return _by_bucket(placed, [folded_hash(text) for text in placed], DEFAULT_CAPACITY)


def computed_text_order(texts: Iterable[str]) -> list[str]:
    """Return distinct texts in the iteration order of a table that `computeIfAbsent` fills in the given order.

    Example:
        >>> text_order(["a", "q"]), computed_text_order(["a", "q"])
        (['a', 'q'], ['q', 'a'])
    """
    return computed_order(texts, string_hash)


def computed_order(
    calls: Iterable[Key],
    code: Callable[[Key], int],
    capacity: int = DEFAULT_CAPACITY,
    natural: Callable[[Key], Any] = lambda _: 0,
) -> list[Key]:
    """Return keys in the iteration order of a table that calls of `computeIfAbsent` fill.

    The order differs from `table_order` in three ways. A new key goes to the front of its bucket. A table with too many
    keys doubles only at the next call, also if that call finds its key. The eighth key of a bucket makes it a tree, or
    doubles a table of fewer than 64 buckets.

    Args:
        calls: Key of each call.
        code: Function that returns the hash code of a key as a 32-bit number.
        capacity: Initial number of buckets.
        natural: Function that returns a value that sorts as Java's `compareTo` sorts the keys.

    Example:
        >>> computed_order([3, 19, 1, 3], lambda number: number)
        [1, 19, 3]
    """
    asked = list(calls)
    buckets, known = capacity, dict[Key, int]()
    chains: Counter[int] = Counter()
    for key in asked:
        before = buckets
        if 4 * len(known) > 3 * buckets:
            buckets *= 2
        if key not in known:
            folded = (code(key) ^ (code(key) & _INT) >> 16) & _INT
            if buckets != before:
                chains = Counter(each & buckets - 1 for each in known.values())
            if chains[folded & buckets - 1] >= CHAIN - 1:
                if buckets >= TREES:
                    return _computed_trees(asked, code, capacity, natural)
                buckets *= 2
            known[key] = folded
            chains[folded & buckets - 1] += 1
        if buckets != before:
            chains = Counter(each & buckets - 1 for each in known.values())
    newest_first = list(reversed(known))
    return sorted(newest_first, key=lambda key: known[key] & buckets - 1)


def _computed_trees(
    calls: list[Key], code: Callable[[Key], int], capacity: int, natural: Callable[[Key], Any]
) -> list[Key]:
    """Return keys in the iteration order of a table with trees that calls of `computeIfAbsent` fill."""
    keys = list(dict.fromkeys(calls))
    numbers = {key: number for number, key in enumerate(keys)}
    folded = [(code(key) ^ (code(key) & _INT) >> 16) & _INT for key in keys]
    table = TreeTable(folded, list(map(natural, keys)), capacity, [numbers[key] for key in calls])
    return [keys[number] for number in table.order()]


def hash_order(partitions: Collection[TopicPartition], capacity: int = DEFAULT_CAPACITY) -> list[TopicPartition]:
    """Return partitions in the iteration order of a table.

    Args:
        partitions: Distinct partitions, in the order of insertion.
        capacity: Initial number of buckets.

    Example:
        >>> from assignor import TopicPartition
        >>> [topic for topic, _ in hash_order([TopicPartition("b", 0), TopicPartition("a", 0)])]
        ['a', 'b']
    """
    topics = {topic: string_hash(topic) for topic in {topic for topic, _ in partitions}}
    codes = [partition_hash(topics[topic], partition) for topic, partition in partitions]
    return table_order(partitions, codes, capacity)


def _by_bucket(placed: list[Key], folded: Sequence[int], capacity: int) -> list[Key]:
    """Return keys in the iteration order of a table without trees, given their folded hash codes."""
    last = _buckets(folded, capacity) - 1
    buckets = [code & last for code in folded]
    return [placed[index] for index in sorted(range(len(placed)), key=buckets.__getitem__)]


def _has_trees(folded: Sequence[int], capacity: int) -> bool:
    """Return True if a bucket may have become a tree at any size of the table."""
    end = _buckets(folded, capacity)
    buckets = max(capacity, TREES)
    while buckets <= end:
        chains = Counter(code & buckets - 1 for code in folded[: 3 * buckets // 4 + 1])
        if chains and max(chains.values()) > CHAIN:
            return True
        buckets *= 2
    return False


def _buckets(folded: Sequence[int], capacity: int) -> int:
    """Return the final number of buckets."""
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
