"""The orders of Java hash tables that assignors go through: members, topics by id, and partitions.

The order of a table is in `assignor.ordering`; see `table_order` there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignor.ordering import presized_capacity, string_hash, table_order, uuid_hash
from assignor.reference.group import Member

_BASIS = 0x6C62272E07BB014262B821756295C58D
_PRIME = 0x0000000001000000000000000000013B


def member_order(members: list[Member]) -> list[Member]:
    """Return members in the order of a HashMap with the member ids as keys, filled in the order given."""
    return table_order(members, [string_hash(member.info.member_id) for member in members])


def topic_id(name: str, ids: Mapping[str, int]) -> int:
    """Return the id of a topic; if none is given, the 128-bit FNV-1a hash of the name in UTF-8.

    Example:
        >>> topic_id("orders", {"orders": 7}), hex(topic_id("a", {}))
        (7, '0xd228cb696f1a8caf78912b704e4a8964')
    """
    if name in ids:
        return ids[name]
    code = _BASIS
    for byte in name.encode():
        code = (code ^ byte) * _PRIME % 2**128
    return code


def topics_by_id(names: Iterable[str], ids: Mapping[str, int], *, presized: bool = False) -> list[str]:
    """Return topics in the order of a table with their ids as keys.

    Args:
        names: Distinct, in the order of insertion.
        ids: The ids that are known.
        presized: True for `new HashSet<>(collection)`, false for a table that is filled key by key.
    """
    placed = list(names)
    codes = [uuid_hash(topic_id(name, ids)) for name in placed]
    return table_order(placed, codes, presized_capacity(len(placed) if presized else 0))


def ids_in_set(ids: list[int]) -> list[int]:
    """Return the distinct numbers of a list in the order of `new HashSet<>(list)`.

    Example:
        >>> ids_in_set([18, 16, 1, 18])
        [16, 1, 18]
    """
    distinct = list(dict.fromkeys(ids))
    return table_order(distinct, distinct, presized_capacity(len(ids)))
