"""What-if of a page: the load of each member of a group now, and after a member leaves or joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assignor.errors import AssignorError
from assignor.names import MEMBERS_ASSIGNORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from assignor.model import Subscription
    from assignor.page.data import MemberRow, Row

LESS, MORE = "one member fewer", "one member more"
"""Names of the what-ifs: the member with the most partitions leaves; a new member with the same subscription joins."""

NEW_MEMBER = "new member"
"""Name and id of the member that joins."""

MOST_PARTITIONS = 200_000
"""Largest number of partitions of a group with a what-if."""


def what_ifs(
    group: Mapping[str, Any], members: Sequence[MemberRow], topics: Mapping[str, Any] | None
) -> tuple[list[Row], list[Row]]:
    """Compute the assignment of a group after a member leaves, and after a member joins.

    Args:
        group: The group, as in `report.json`.
        members: Its members.
        topics: Partitions of the topics, as `assignor.plan` accepts them.

    Returns:
        A row per what-if with the numbers of the group, and a row per member with its partitions now and after. Both
        are empty if the group owns no partition or more than `MOST_PARTITIONS`, if its assignor is not in
        `names.MEMBERS_ASSIGNORS`, if the topics are not known, or if `assignor.plan` rejects the input.
    """
    kind, assignor = group["kind"], group["protocol"]
    if topics is None or not is_computed(group, members):
        return [], []
    from assignor import plan

    busiest = max(members, key=lambda member: member.partitions)
    subscriptions = {member.member_id: subscription_of(member, group) for member in members}
    after = {MORE: {**subscriptions, NEW_MEMBER: subscription_of(busiest, group, is_new=True)}}
    if len(members) > 1:
        after[LESS] = {name: each for name, each in subscriptions.items() if name != busiest.member_id}
    spans = {member.member_id: member.spans for member in members}
    loads = {"now": {member.member_id: member.partitions for member in members}}
    rows = [_summary(group["group"], "now", loads["now"], moved=0)]
    for name in (LESS, MORE):
        if name not in after:
            continue
        try:
            planned = plan(topics, after[name], assignor=assignor, group_protocol=kind)
        except AssignorError:  # for example a pattern that the engine does not support
            return [], []
        columns = planned.spans()
        found: dict[str, list[tuple[str, int, int]]] = {member: [] for member in planned.members}
        for member, topic, start, count in zip(*(column.tolist() for column in columns), strict=True):
            found[planned.members[member]].append((planned.topics[topic], start, count))
        loads[name] = {member: sum(count for _, _, count in each) for member, each in found.items()}
        rows.append(_summary(group["group"], name, loads[name], moved=_moved(spans, found)))
    names = {member.member_id: member.name for member in members} | {NEW_MEMBER: NEW_MEMBER}
    by_member = [
        {
            "group": group["group"],
            "member": name,
            "member_id": member_id,
            "now": loads["now"].get(member_id),
            "less": loads.get(LESS, {}).get(member_id),
            "more": loads[MORE].get(member_id),
        }
        for member_id, name in names.items()
    ]
    return rows, by_member


def is_computed(group: Mapping[str, Any], members: Sequence[MemberRow]) -> bool:
    """Return whether a page computes other assignments of a group: it has partitions, and an assignor of Kafka."""
    partitions = sum(member.partitions for member in members)
    return 0 < partitions <= MOST_PARTITIONS and group["protocol"] in MEMBERS_ASSIGNORS.get(group["kind"], ())


def subscription_of(member: MemberRow, group: Mapping[str, Any], *, is_new: bool = False) -> Subscription:
    """Return the subscription of a member, with the partitions that it owns; that of a new member owns none."""
    from assignor import Subscription, TopicPartition

    owned = () if is_new else member.spans
    return Subscription(
        topics=member.topics,
        group_instance_id=None if is_new else member.instance_id,
        rack=member.rack,
        owned_partitions=tuple(
            TopicPartition(topic, partition)
            for topic, start, count in owned
            for partition in range(start, start + count)
        ),
        generation=None if is_new else group["generation"],
        pattern=member.pattern or None,
        dialect="re2j" if member.pattern else "java",
    )


def _summary(group: str, name: str, loads: Mapping[str, int], moved: int) -> Row:
    return {
        "group": group,
        "what_if": name,
        "members": len(loads),
        "fewest": min(loads.values()),
        "most": max(loads.values()),
        "idle": sum(load == 0 for load in loads.values()),
        "moved": moved,
    }


def _moved(
    before: Mapping[str, Sequence[tuple[str, int, int]]], after: Mapping[str, Sequence[tuple[str, int, int]]]
) -> int:
    """Return the number of partitions whose owner changes, including those that lose their owner."""
    members = {member: number for number, member in enumerate({**before, **after})}
    ends: dict[str, int] = {}
    for spans in (*before.values(), *after.values()):
        for topic, start, count in spans:
            ends[topic] = max(ends.get(topic, 0), start + count)
    old, new = (_owners(each, members, ends) for each in (before, after))
    return sum(int(np.count_nonzero((old[topic] >= 0) & (old[topic] != new[topic]))) for topic in ends)


def _owners(
    spans: Mapping[str, Sequence[tuple[str, int, int]]], members: Mapping[str, int], ends: Mapping[str, int]
) -> dict[str, NDArray[np.int32]]:
    """Return the owner of each partition by topic, as its number in `members`; -1 for a partition without an owner."""
    owners = {topic: np.full(end, -1, np.int32) for topic, end in ends.items()}
    for member, found in spans.items():
        for topic, start, count in found:
            owners[topic][start : start + count] = members[member]
    return owners
