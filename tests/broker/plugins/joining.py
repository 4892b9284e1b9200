"""Groups of a leader and other members: what each consumer joins with, and the generation in which they settle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange

from assignor.clients import aiokafka, kafka_python
from tests.broker.plugins.client_consumers import Joining
from tests.support.client_releases import ReleaseMissingError
from tests.support.go_program import GoMissingError
from tests.support.kafka_program import OracleMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.broker.plugins.group_log import Generation
    from tests.broker.plugins.mixed_groups import MixedGroups


def ours(client: str, assignor: str, rack: str | None = None) -> list[Any]:
    """Return our assignor for a Python client; for other clients the name of their own."""
    classes = {
        "range": "RangeAssignor",
        "roundrobin": "RoundRobinAssignor",
        "sticky": "StickyAssignor",
        "cooperative-sticky": "CooperativeStickyAssignor",
    }
    module = {"kafka-python": kafka_python, "aiokafka": aiokafka}.get(client)
    return [getattr(module, classes[assignor])(client_rack=rack)] if module else [assignor]


def lead(groups: MixedGroups, group: str, leader: Joining) -> None:
    """Start the first consumer of a group."""
    try:
        groups.join(group, leader)
    except (OracleMissingError, GoMissingError, ReleaseMissingError) as error:
        pytest.skip(str(error))


def form(
    groups: MixedGroups, members: dict[str, list[Joining]], *, complete: bool = True, stay: bool = False
) -> dict[str, Generation]:
    """Form groups whose first member is the leader, and return the generation in which each has settled.

    Args:
        groups: The groups of all tests.
        members: The members of each group.
        complete: Wait until every partition has an owner.
        stay: Leave the consumers running, for `MixedGroups.disband`.
    """
    for group, (leader, *_) in members.items():
        lead(groups, group, leader)
    for group in members:
        groups.lead(group)
    for group, (_, *others) in members.items():
        for other in others:
            groups.join(group, other)
    settled = {group: groups.settle(group, complete=complete) for group in members}
    for group, generation in settled.items():
        assert generation.led_by == f"{group}.{members[group][0].name}"
        assert [] == [error for member in members[group] for error in groups.errors(group, member.name)]
    if not stay:
        groups.disband(*members)
    return settled


def leader_first(leader: str, members: Sequence[Joining]) -> list[Joining]:
    """Return the members with the leader first."""
    return sorted(members, key=lambda member: member.name != leader)


def shares(generation: Generation) -> dict[str, list[tuple[str, int]]]:
    """Return the partitions of each consumer by its name in the group."""
    return {
        client.rpartition(".")[2]: sorted((each.topic, each.partition) for each in partitions)
        for client, partitions in sorted(generation.shares_by_client.items())
    }


def raw(metadata: bytes) -> list[Any]:
    """Return an assignor of aiokafka that joins with arbitrary bytes; it never leads."""

    class Raw(AiokafkaRange):  # type: ignore[misc]  # the client has no types
        @classmethod
        def metadata(cls, topics: object) -> bytes:  # noqa: ARG003 - part of the interface
            return metadata

    return [Raw]
