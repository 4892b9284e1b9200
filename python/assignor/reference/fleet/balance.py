"""Balance of a plan: loads of the members, idle members, and partitions that are placed badly."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from assignor.model import TopicPartition
from assignor.reference.fleet.owned import sent_bytes
from assignor.reference.fleet.roster import Plan, kafka_order

if TYPE_CHECKING:
    from assignor.reference.fleet.assignor import Assignor
    from assignor.reference.fleet.reading import Group
    from assignor.reference.fleet.roster import RosterMember

MAX_INT32 = 2**31 - 1
"""Largest value of an int32 column; larger values are capped."""


def balance(plan: Plan | None, group: Group, computed: Assignor | None) -> dict[str, Any]:
    """Return the row of `assignor.spark.schemas.BALANCE`.

    Args:
        plan: The plan; None if the group cannot be computed.
        group: The group, with its members and their subscriptions.
        computed: The assignor that computed the plan; None if the plan is not computed by an assignor.
    """
    subscribed = Plan.from_owned(group.roster, group.cluster, [])
    row: dict[str, Any] = {
        "group_protocol": computed and plan and computed.group_protocol,
        "computed_as": computed and plan and computed.name,
        "members": len(group.roster),
        "unnamed_members": group.unnamed_members,
        "unsubscribed_members": sum(not member.is_subscribed for member in group.roster),
        "topics": len(subscribed.topics),
        "unknown_topics": len(subscribed.unknown),
    }
    if plan is None:
        return row
    loads, owned = plan.loads(), owners(plan)
    most, all_loads = max(loads.values(), default=None), sum(loads.values())
    existing = sum(partitions.count for partitions in subscribed.topics.values())
    return row | {
        "members": len(loads),
        "partitions": min(len(owned), MAX_INT32),
        "unowned": min(existing - sum(topic in subscribed.topics for topic, _ in owned), MAX_INT32),
        "idle_members": list(loads.values()).count(0),
        "least_loaded": min(loads.values(), default=None),
        "most_loaded": most,
        "co_partition_breaks": len(co_partition_breaks(plan)),
        "rack_misses": min(rack_misses(plan), MAX_INT32),
        "most_loaded_member": next(
            (member.id for member in kafka_order(plan.roster) if loads[member.id] == most), None
        ),
        "mean_load": all_loads / len(loads) if loads else None,
        "record_bytes": record_bytes(plan, group.group_id),
    }


def owners(plan: Plan) -> dict[TopicPartition, set[str]]:
    """Return the owners of each partition."""
    found: dict[TopicPartition, set[str]] = defaultdict(set)
    for member, partitions in plan.assignment.items():
        for partition in partitions:
            found[partition].add(member)
    return found


def co_partition_breaks(plan: Plan) -> set[tuple[int, int]]:
    """Return the breaks: the partition ids that have different owners in co-partitioned topics.

    Topics are co-partitioned if a member subscribes to all of them and they have the same number of partitions. Each
    break is a pair: this number of partitions, and the partition id.
    """
    broken = set()
    owned = owners(plan)
    for wanted in {member.topics for member in plan.roster}:
        alike = defaultdict(list)
        for topic in wanted & plan.topics.keys():
            alike[plan.topics[topic].count].append(topic)
        for count, topics in alike.items():
            for id in range(count):
                if len({frozenset(owned.get(TopicPartition(topic, id), ())) for topic in topics}) > 1:
                    broken.add((count, id))
    return broken


def rack_misses(plan: Plan) -> int:
    """Count the partitions without a replica on their owner's rack.

    A partition whose replicas have no racks is not counted, nor is a partition whose owner has no rack.
    """
    racks = {member.id: member.rack for member in plan.roster if member.rack}
    owned = (
        (racks[member], plan.topics[topic].on(id))
        for member, partitions in plan.assignment.items()
        if member in racks
        for topic, id in partitions
    )
    return sum(bool(on) and rack not in on for rack, on in owned)


def record_bytes(plan: Plan, group_id: str) -> int | None:
    """Return the size in bytes of the group's record in `__consumer_offsets`: key and value.

    Client ids and hosts are not counted. Return None if the group has no such record, or its assignor is not known.

    Source: Kafka 4.3.1, `GroupMetadataKey` (version 2) and `GroupMetadataValue` (version 3). Its blobs are
    `ConsumerProtocolSubscription` (version 3) and `ConsumerProtocolAssignment`.
    """
    if plan.roster and (plan.assignor is None or plan.assignor.group_protocol != "classic"):
        return None
    name = plan.assignor.name if plan.roster and plan.assignor else ""
    key = 2 + text(group_id)
    # Version, protocol type, generation, protocol, empty leader, timestamp of the state, number of members.
    head = 2 + text("consumer") + 4 + text(name) + text("") + 8 + 4
    return key + head + sum(member_bytes(plan, member) for member in plan.roster)


def member_bytes(plan: Plan, member: RosterMember) -> int:
    """Return the size in bytes of a member in the group's record."""
    sent = sent_bytes(plan.assignor, plan.claimed.get(member.id, []))
    # Version, topics, user data, owned partitions, generation, rack.
    subscription = 2 + 4 + sum(map(text, member.topics)) + 4 + 4 + sent + 4 + text(member.rack or "")
    partitions = plan.assignment[member.id]
    # Version, topics each with an array of ids, no user data.
    assignment = 2 + 4 + sum(text(topic) + 4 for topic in {topic for topic, _ in partitions}) + 4 * len(partitions) + 4
    # Ids, client id and host, two timeouts, and the lengths of both blobs.
    return text(member.id) + text(member.instance_id or "") + 2 * text("") + 4 + 4 + 4 + subscription + 4 + assignment


def text(value: str) -> int:
    """Return the size in bytes of a string with its length."""
    return 2 + len(value.encode())
