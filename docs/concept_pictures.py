"""Pictures of what members read while a group rebalances, when a member restarts, and with racks; all are computed."""

from __future__ import annotations

from collections.abc import Iterable

from assignor import PartitionInfo, Subscription, TopicPartition, assign
from docs.assignor_pictures import Assignment, owners, partition_row, rebalanced

TOPIC = "orders"
COUNT = 6
"""Number of partitions of the topic."""

Line = tuple[str, str, str]


def protocol_steps() -> str:
    """Return who reads each partition while a third member joins, in the three ways in which groups rebalance."""
    start = _assigned("ab", {}, "cooperative-sticky")
    revoked = _assigned("abc", start, "cooperative-sticky")
    eager, cooperative = _assigned("abc", start, "sticky"), _assigned("abc", revoked, "cooperative-sticky")
    target = _assigned("abc", start, "uniform")
    had, has = owners(start), owners(target)
    first, second = sorted(partition for partition in had if had[partition] != has[partition])
    stays = {name: [each for each in partitions if each in target[name]] for name, partitions in start.items()}
    early, late = had[first], had[second]
    half = {**stays, late: [*stays[late], second]}
    nothing: Assignment = {}
    return _picture(
        [
            ("eager", "", ""),
            ("  a and b read", _row(start), ""),
            ("  c joins", _row(nothing), "all give up all partitions and join again"),
            ("  leader assigns", _row(eager), "one rebalance"),
            ("", "", ""),
            ("cooperative", "", ""),
            ("  a and b read", _row(start), ""),
            ("  c joins", _row(revoked), "a and b give up what moves"),
            ("  they join again", _row(cooperative), "two rebalances"),
            ("", "", ""),
            ("KIP-848", "", ""),
            ("  a and b read", _row(start), ""),
            ("  c joins", _row(half), f"{early} learns its target and stops {first.partition}"),
            (
                f"  {early} has confirmed",
                _row({**half, "c": [first]}),
                f"c reads {first.partition}, and does not wait for {late}",
            ),
            (f"  {late} has confirmed", _row(target), "one assignment in all"),
        ]
    )


def restart_steps() -> str:
    """Return who reads each partition while a dynamic and a static member restart."""
    members = {name: Subscription([TOPIC]) for name in "abc"}
    start = assign({TOPIC: COUNT}, members)
    gone = assign({TOPIC: COUNT}, {name: members[name] for name in "ac"})
    back = assign({TOPIC: COUNT}, {"a": members["a"], "c": members["c"], "d": members["b"]})
    static = {name: Subscription([TOPIC], group_instance_id=f"i{name}") for name in "abc"}
    kept = assign({TOPIC: COUNT}, static)
    away = {name: [] if name == "b" else partitions for name, partitions in kept.items()}
    return _picture(
        [
            ("dynamic", "", ""),
            ("  a, b and c read", _row(start), ""),
            ("  b stops", _row(gone), "rebalance"),
            ("  b starts as d", _row(back), "rebalance; the order of ids has changed"),
            ("", "", ""),
            ("static", "", ""),
            ("  a, b and c read", _row(kept), ""),
            ("  b stops", _row(away), "no member reads what b read"),
            ("  b starts", _row(kept), "no rebalance"),
        ]
    )


def rack_steps() -> str:
    """Return who reads each partition with and without racks, with marks below readers in the rack of the replica."""
    racks = {"a": "east", "b": "west", "c": "north"}
    leads = ("north", "north", "east", "east", "west", "west")
    infos = [PartitionInfo(id, racks=[rack]) for id, rack in enumerate(leads)]
    with_racks = {name: Subscription([TOPIC], rack=rack) for name, rack in racks.items()}
    plain = assign({TOPIC: COUNT}, {name: Subscription([TOPIC]) for name in racks})
    near = assign({TOPIC: infos}, with_racks)

    def marks(found: Assignment) -> str:
        read_by = owners(found)
        is_near = [racks[read_by[TopicPartition(TOPIC, id)]] == rack for id, rack in enumerate(leads)]
        return " ".join("=" if each else " " for each in is_near)

    return _picture(
        [
            ("rack of the replica", " ".join(rack[0] for rack in leads), "north, east, west"),
            ("without client.rack", _row(plain), "a in east, b in west, c in north"),
            ("", marks(plain), ""),
            ("with client.rack", _row(near), ""),
            ("", marks(near), ""),
        ]
    )


def _assigned(members: str, before: Assignment, assignor: str) -> Assignment:
    """Return the assignment of members with one letter as a name."""
    protocol = "consumer" if assignor == "uniform" else "classic"
    return rebalanced({TOPIC: COUNT}, dict.fromkeys(members, (TOPIC,)), before, assignor, protocol)


def _row(found: Assignment) -> str:
    return partition_row({TOPIC: COUNT}, found)


def _picture(rows: Iterable[Line]) -> str:
    lines = [("", TOPIC, ""), ("", " ".join(map(str, range(COUNT))), ""), *rows]
    return "\n".join(["```text", *(f"{first:20}{cells:14}{last}".rstrip() for first, cells, last in lines), "```"])
