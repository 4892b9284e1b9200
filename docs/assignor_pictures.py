"""Assignments of one group after another, and pictures of who owns each partition while members join and leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from assignor import Subscription, TopicPartition, assign
from assignor.names import AssignorName, GroupProtocol

Assignment = Mapping[str, Sequence[TopicPartition]]


def ownership(assignor: str, group_protocol: str = "classic") -> str:
    """Return a text with the owner of each partition at the start, after a member joins, and after a member leaves."""
    topics = {"orders": 7, "payments": 4}
    after: Assignment = {}
    rows = []
    for change, members in (("a, b and c start", "abc"), ("d joins", "abcd"), ("a leaves", "bcd")):
        before, after = after, rebalanced(topics, dict.fromkeys(members, topics), after, assignor, group_protocol)
        rows.append((change, partition_row(topics, after), loads(after)))
        if withheld := sum(topics.values()) - sum(map(len, after.values())):
            revoked = moved_row(topics, before, after)
            rows.append(("", revoked, f"{withheld} revoked, without owner"))
            after = rebalanced(topics, dict.fromkeys(members, topics), after, assignor, group_protocol)
            rows.append(("  second rebalance", partition_row(topics, after), loads(after)))
        if before:
            rows.append(("", moved_row(topics, before, after), f"{len(moved(before, after))} moved"))
    head = "   ".join(topic.ljust(2 * count - 1) for topic, count in topics.items())
    ids = "   ".join(" ".join(map(str, range(count))) for count in topics.values())
    lines = [("", head, "partitions of each member"), ("", ids, ""), *rows]
    return "\n".join(["```text", *(f"{first:20}{cells}   {last}".rstrip() for first, cells, last in lines), "```"])


def rebalanced(
    topics: Mapping[str, int],
    members: Mapping[str, Iterable[str]],
    before: Assignment,
    assignor: str,
    group_protocol: str,
) -> Assignment:
    """Return the assignment of one rebalance in which each member owns its previous partitions."""
    subscriptions = {
        member: Subscription(tuple(names), owned_partitions=tuple(before.get(member, ())), generation=1)
        for member, names in members.items()
    }
    return assign(
        topics, subscriptions, assignor=cast(AssignorName, assignor), group_protocol=cast(GroupProtocol, group_protocol)
    )


def settled(
    topics: Mapping[str, int],
    members: Mapping[str, Iterable[str]],
    before: Assignment,
    *,
    assignor: str,
    group_protocol: str,
) -> Assignment:
    """Return the assignment after one rebalance, or after two if the first leaves partitions without owner."""
    after = rebalanced(topics, members, before, assignor, group_protocol)
    if sum(map(len, after.values())) < sum(topics.values()):
        after = rebalanced(topics, members, after, assignor, group_protocol)
    return after


def owners(assignment: Assignment) -> dict[TopicPartition, str]:
    """Return the owner of each partition that has one."""
    return {partition: member for member, partitions in assignment.items() for partition in partitions}


def moved(before: Assignment, after: Assignment) -> list[TopicPartition]:
    """Return the partitions with a new owner, including the partitions of members that left."""
    had, has = owners(before), owners(after)
    return [partition for partition in has if partition in had and had[partition] != has[partition]]


def partition_row(topics: Mapping[str, int], after: Assignment) -> str:
    """Return a row with the owner of each partition."""
    has = owners(after)
    return "   ".join(
        " ".join(has.get(TopicPartition(topic, id), ".") for id in range(count)) for topic, count in topics.items()
    )


def moved_row(topics: Mapping[str, int], before: Assignment, after: Assignment) -> str:
    """Return a row with a mark below each partition that changed or lost its owner."""
    had, has = owners(before), owners(after)
    changed = {partition for partition in had if had[partition] != has.get(partition)}
    return "   ".join(
        " ".join("^" if TopicPartition(topic, id) in changed else " " for id in range(count))
        for topic, count in topics.items()
    )


def loads(assignment: Assignment) -> str:
    """Return the number of partitions of each member, as text."""
    return "  ".join(f"{member} {len(partitions)}" for member, partitions in sorted(assignment.items()))
