"""Balance of an assignment of one group, computed from lists of partitions."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from assignor import CooperativeStickyAssignor, StickyAssignor, Subscription, TopicPartition
from assignor.offsets import Record, encode_record
from assignor.ordering import java_order
from assignor.wire import encode_assignment, encode_subscription
from tests.fleet.single_group import READS_OWNED, Member, claimed, claims, kafka_order, owned_now, planned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.fleet.single_group import Assigned, Group, Row


def balance(group: Group) -> Row:
    """Return the answer of `balance`."""
    if group.members and group.assignor is None:
        return balance_of(group, None, None, {})
    owned = owned_now(group)
    plan = planned(group, owned) if group.members else {}
    return balance_of(group, plan, group.assignor, claimed(group, owned))


def current_balance(group: Group) -> Row:
    """Return the answer of `balance(of="current")`: owners without a row are members, too."""
    ids = {member.id for member in group.members}
    without_row = sorted({member for member, *_ in group.runs} - ids, key=java_order)
    everyone = [
        *group.members,
        *(Member(id, None, None, frozenset(), None, None, False, None) for id in without_row),
    ]
    owned = claims(group.runs, [member.id for member in everyone], group.topics)
    members = [each._replace(topics=each.topics | {topic for topic, _ in owned[each.id]}) for each in everyone]
    current = replace(group, members=members)
    found = balance_of(current, owned, None, owned if group.assignor in READS_OWNED else {})
    rows = balance_of(group, None, None, {})
    return (
        found
        | {name: rows[name] for name in ("unsubscribed_members", "topics", "unknown_topics")}
        | {
            "unowned": sum(topic.partitions for topic in group.subscribed.values())
            - len({each for has in owned.values() for each in has if each.topic in group.subscribed})
        }
    )


def balance_of(group: Group, assigned: Assigned | None, computed: tuple[str, str] | None, sent: Assigned) -> Row:
    """Return the balance of an assignment; None for a group that is not computed."""
    named = [member for member in group.row["members"] if member and member["member_id"] is not None]
    is_group = None not in (group.row["cluster"], group.row["group_id"])
    found: Row = dict.fromkeys(COLUMNS) | {
        "members": len(group.members),
        "unnamed_members": len(group.row["members"]) - (len(named) if is_group else 0),
        "unsubscribed_members": sum(not member.is_subscribed for member in group.members),
        "topics": len(group.subscribed),
        "unknown_topics": len(group.wanted) - len(group.subscribed),
    }
    if assigned is None:
        return found
    loads = {member.id: len(assigned[member.id]) for member in group.members}
    owners: dict[TopicPartition, set[str]] = defaultdict(set)
    for id, has in assigned.items():
        for each in has:
            owners[each].add(id)
    topics = group.subscribed
    existing = [each for each in owners if each.topic in topics and each.partition < topics[each.topic].partitions]
    most = max(loads.values(), default=None)
    if computed:
        found["group_protocol"], found["computed_as"] = computed
    return found | {
        "partitions": len(owners),
        "unowned": sum(topic.partitions for topic in group.subscribed.values()) - len(existing),
        "idle_members": list(loads.values()).count(0),
        "least_loaded": min(loads.values(), default=None),
        "most_loaded": most,
        "co_partition_breaks": co_partition_breaks(group, owners),
        "rack_misses": rack_misses(group, assigned),
        "most_loaded_member": next((each.id for each in kafka_order(group.members) if loads[each.id] == most), None),
        "mean_load": sum(loads.values()) / len(loads) if loads else None,
        "record_bytes": record_bytes(group, assigned, sent),
    }


COLUMNS = (
    *("group_protocol", "computed_as", "members", "unnamed_members", "unsubscribed_members", "topics"),
    *("unknown_topics", "partitions", "unowned", "idle_members", "least_loaded", "most_loaded"),
    *("co_partition_breaks", "rack_misses", "most_loaded_member", "mean_load", "record_bytes"),
)


def co_partition_breaks(group: Group, owners: Mapping[TopicPartition, set[str]]) -> int:
    """Count the partition ids with different owners in topics of one member that have the same number of partitions."""
    broken = set()
    for member in group.members:
        for one, other in itertools.combinations(member.topics & group.topics.keys(), 2):
            count = group.topics[one].partitions
            if count == group.topics[other].partitions:
                pairs = ((TopicPartition(one, id), TopicPartition(other, id)) for id in range(count))
                broken |= {(count, pair[0].partition) for pair in pairs if owners.get(pair[0]) != owners.get(pair[1])}
    return len(broken)


def rack_misses(group: Group, assigned: Assigned) -> int:
    """Count the partitions that have racks, but not the rack of their owner."""
    racks = [
        (member.rack, group.topics[topic].on(id))
        for member in group.members
        for topic, id in assigned[member.id]
        if topic in group.topics and id < group.topics[topic].partitions
    ]
    return sum(bool(rack and on) and rack not in on for rack, on in racks)


def record_bytes(group: Group, assigned: Assigned, sent: Assigned) -> int | None:
    """Return the size of the group's record with empty client ids and hosts; None if it has no such record."""
    protocol, assignor = group.assignor or (None, None)
    if group.members and protocol != "classic":
        return None
    members = [
        {
            "memberId": member.id,
            "groupInstanceId": member.instance_id,
            "clientId": "",
            "clientHost": "",
            "rebalanceTimeout": 0,
            "sessionTimeout": 0,
            "subscription": _sent_subscription(assignor, member, sent.get(member.id, [])),
            "assignment": encode_assignment(assigned[member.id]),
        }
        for member in group.members
    ]
    value = {
        "protocolType": "consumer",
        "generation": 0,
        "protocol": assignor if members else None,
        "leader": None,
        "currentStateTimestamp": 0,
        "members": members,
    }
    return sum(map(len, encode_record(Record(2, None, {"group": group.row["group_id"] or ""}, 3, value))))  # type: ignore[arg-type]  # not a tombstone


def _sent_subscription(assignor: str | None, member: Member, owned: list[TopicPartition]) -> bytes:
    """Return the subscription that a consumer with this assignor sends."""
    plugged = {"sticky": StickyAssignor, "cooperative-sticky": CooperativeStickyAssignor}.get(assignor or "")
    data = None
    if plugged and (owned or plugged is CooperativeStickyAssignor):
        memory = plugged()
        memory.on_assignment(owned, 1)
        data = memory.subscription_user_data(sorted(member.topics))
    is_cooperative = assignor == "cooperative-sticky"
    return encode_subscription(
        Subscription(
            tuple(sorted(member.topics)),
            rack=member.rack,
            owned_partitions=tuple(owned) if is_cooperative else (),
            user_data=data,
        )
    )
