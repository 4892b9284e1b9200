"""Rules that decide the answers to groups at the edge, each with a way to break it.

A comparison that notices none of these changes would compare nothing of the rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from assignor import Subscription, ordering
from assignor.reference.assign.server import simple
from assignor.reference.assign.server.simple import shares
from assignor.reference.assign.server.uniform import homogeneous
from assignor.reference.assign.sticky import constrained, general
from tests.conformance.assignor_vectors import Case

STICKY = ("sticky", "cooperative_sticky")
IN_KAFKAS_ORDER = ("range", "roundrobin", "server_range")
"""Assignors that take static members first."""

SHARE = ("share_simple",)


class Mutation(NamedTuple):
    """Way to break a rule: a change of the reference, or of the case.

    Attributes:
        kinds: The assignors with the rule, by their names in the vectors.
        module: The module or class to change; None if the case changes.
        name: The name in the module.
        replace: A function that takes the value of the name, or the case, and returns the changed one.
    """

    kinds: tuple[str, ...]
    module: Any
    name: str
    replace: Callable[[Any], Any]

    def apply(self, patch: pytest.MonkeyPatch, case: Case) -> Case:
        """Change the reference while `patch` is in effect, and return the case to ask."""
        if self.module is None:
            changed: Case = self.replace(case)
            return changed
        patch.setattr(self.module, self.name, self.replace(getattr(self.module, self.name)))
        return case


def _without_deleted_ids(case: Case) -> Case:
    ids = case.topic_ids or {}
    return dataclasses.replace(case, topic_ids={topic: ids[topic] for topic in case.partitions_per_topic})


def _without(**fields: Any) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        members: Mapping[str, Subscription] = case.subscriptions
        changed = {member: dataclasses.replace(given, **fields) for member, given in members.items()}
        return dataclasses.replace(case, subscriptions=changed)

    return change


def _in_integers(members: list[int], partitions: int) -> dict[int, int]:
    """Return the quotas of members in exact arithmetic."""
    total = shares.owners_per_partition(len(members), partitions) * partitions
    up_to = [-(-total * index // len(members)) for index in range(len(members) + 1)]
    return {member: up_to[index + 1] - up_to[index] for index, member in enumerate(members)}


def _at_the_end(computed_order: Callable[..., Any]) -> Callable[..., Any]:
    """Return the order of a table that `put` fills instead of `computeIfAbsent`."""

    def changed(calls: Any, code: Any, capacity: int, natural: Any) -> Any:
        keys = list(dict.fromkeys(calls))
        if keys != computed_order(calls, code, capacity, natural):
            return ordering.table_order(keys, [code(key) for key in keys], capacity)
        return keys

    return changed


def _without_kept_topics(assign: Callable[..., Any]) -> Callable[..., Any]:
    def changed(topics: Any, members: Any, target: Any, options: Any) -> Any:
        subscribed = {topic for member in members for topic in member.topics if topic in topics}
        given = assign(topics, members, target, options)
        return [[partition for partition in of if partition.topic in subscribed] for of in given]

    return changed


def _of_existing_topics(partitions_by_id: Callable[..., Any]) -> Callable[..., Any]:
    def changed(topics: Any, member: Any, options: Any) -> Any:
        given = [topic for topic in member.given if topic in topics]
        return partitions_by_id(topics, dataclasses.replace(member, given=tuple(given)), options)

    return changed


MUTATIONS = {
    "only subscribers get partitions back": Mutation(
        STICKY, general._Assignment, "has_left", lambda _: lambda _self, _place: False
    ),
    "balancing with other members does not stop when balanced": Mutation(
        ("cooperative_sticky",), general._Assignment, "is_balanced", lambda _: lambda _self: False
    ),
    "the table of members is not copied": Mutation(STICKY, constrained, "member_order", lambda _: list),
    "a crowded bucket is no tree": Mutation(
        (*STICKY, "server_uniform"), ordering, "_has_trees", lambda _: lambda _folded, _capacity: False
    ),
    "deleted topics have no ids": Mutation(("server_uniform",), None, "", _without_deleted_ids),
    "deleted topics have no place among names": Mutation(
        ("server_uniform",), homogeneous, "_partitions_by_id", _of_existing_topics
    ),
    "members have no racks": Mutation(("range", *STICKY), None, "", _without(rack=None)),
    "members are dynamic": Mutation(
        ("range", "roundrobin", "server_range"), None, "", _without(group_instance_id=None)
    ),
    "members own nothing": Mutation(
        (*STICKY, "server_uniform", "share_simple"), None, "", _without(owned_partitions=(), user_data=None)
    ),
    "a crowded bucket of a table that computeIfAbsent fills is no tree": Mutation(
        SHARE, ordering, "TREES", lambda _: 2**62
    ),
    "computeIfAbsent adds to the end of a bucket": Mutation(SHARE, simple.homogeneous, "computed_order", _at_the_end),
    "quotas are computed in integers": Mutation(SHARE, simple.homogeneous, "quotas", lambda _: _in_integers),
    "members lose partitions of topics without subscribers": Mutation(
        SHARE, simple.heterogeneous, "assign", _without_kept_topics
    ),
    "partitions keep too many owners": Mutation(
        SHARE, shares.Shares, "revoke_from_partitions", lambda _: lambda _self: None
    ),
    "members keep more than their quota": Mutation(
        SHARE, shares.Shares, "revoke_from_members", lambda _: lambda _self, _order: None
    ),
    "topics of the previous target have no order": Mutation(
        SHARE, simple.homogeneous, "topics_by_id", lambda _: lambda topics, _options: list(topics)
    ),
}
"""Broken rules by name."""
