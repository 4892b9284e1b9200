"""Plan in the form that `assignor.Plan` is built from: topics, subscriptions, members, and columns of spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assignor.ordering import java_order
from assignor.plan_json import Parts
from assignor.reference.assign import chosen
from assignor.reference.assign.options import Options
from assignor.reference.group import Member, read_members, read_topics

if TYPE_CHECKING:
    from assignor.names import AssignorName, GroupProtocol


def plan(
    partitions_per_topic: Mapping[str, object],
    subscriptions: Mapping[str, object],
    *,
    assignor: AssignorName | None = None,
    group_protocol: GroupProtocol = "classic",
    topic_ids: Mapping[str, int] | None = None,
    prefer_rack_aware: bool = False,
) -> Parts:
    """Return the parts of the plan that `assignor.plan` computes for the same input.

    Topics that do not exist are among the topics of the plan if members of a share group keep partitions of them.
    """
    topics = read_topics(partitions_per_topic)
    members = read_members(subscriptions, topics)
    assignment = chosen(assignor, group_protocol)(topics, members, Options(prefer_rack_aware, topic_ids or {}))
    kept = {topic for partitions in assignment.values() for topic, _ in partitions}
    names = sorted({*topics, *kept}, key=java_order)
    index = {topic: number for number, topic in enumerate(names)}
    rows: list[tuple[int, int, int, int]] = []
    for number, partitions in enumerate(assignment.values()):
        for topic, id in partitions:
            if rows and rows[-1][:2] == (number, index[topic]) and rows[-1][2] + rows[-1][3] == id:
                rows[-1] = (*rows[-1][:3], rows[-1][3] + 1)
            else:
                rows.append((number, index[topic], id, 1))
    wanted = list(dict.fromkeys(member.topics for member in members))
    described = [
        (
            member.info.member_id,
            wanted.index(member.topics),
            member.info.group_instance_id,
            len(member.user_data or b""),
            _owned_bytes(member),
            len((member.rack or "").encode()),
        )
        for member in members
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    return names, [sorted(names, key=java_order) for names in wanted], described, columns


def _owned_bytes(member: Member) -> int:
    """Return the size in bytes of the owned partitions in a ConsumerProtocol subscription, without the topic count."""
    ids = Counter(topic for topic, _ in member.owned)
    return sum(2 + len(topic.encode()) + 4 + 4 * count for topic, count in ids.items())
