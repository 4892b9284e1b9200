"""Target assignments of the model coordinator, computed by the package's uniform and range assignors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor import MemberInfo, Subscription, TopicPartition, server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from tests.member.simulation.group_member import Partitions

__all__ = ["MemberSpec", "Topic", "compute_targets"]

ASSIGNORS: dict[str, server.UniformAssignor | server.RangeAssignor] = {
    assignor.name: assignor() for assignor in (server.UniformAssignor, server.RangeAssignor)
}

NO_TOPIC = "?"
"""A name that no topic can have."""


class Topic(NamedTuple):
    """A topic as the coordinator sees it."""

    id: UUID
    partitions: int


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """Input of an assignor for a member."""

    topics: frozenset[str]
    instance_id: str | None
    target: Partitions


def compute_targets(
    assignor: str, members: Mapping[str, MemberSpec], topics: Mapping[str, Topic], *, homogeneous: bool
) -> dict[str, Partitions]:
    """Return the new target assignment of each member.

    Args:
        assignor: Kafka's name of the assignor.
        members: Members by id, in the order of the coordinator's hash table.
        topics: All existing topics by name.
        homogeneous: True if the coordinator reports to the assignor that all members have the same topics. Kafka's
            coordinator is sometimes wrong: it overlooks members without topics, and treats names and patterns as
            different topics. Kafka's assignor then gives all members the topics of the first one (range: the first in
            its own order). This package's assignors compare the subscriptions themselves, so the subscriptions passed
            to them here reflect the coordinator's report.
    """
    names = {topic.id: name for name, topic in topics.items()}
    first = next(iter(members))
    if assignor == "range":
        first = min(MemberInfo(member_id, member.instance_id) for member_id, member in members.items()).member_id
    wanted = {
        member_id: tuple(sorted(members[first].topics if homogeneous else member.topics))
        for member_id, member in members.items()
    }
    if not homogeneous and len(set(wanted.values())) == 1:
        wanted[first] += (NO_TOPIC,)
    subscriptions = {
        member_id: Subscription(
            wanted[member_id],
            group_instance_id=member.instance_id,
            owned_partitions=tuple(
                TopicPartition(names.get(id, f"deleted {id}"), partition) for id, partition in sorted(member.target)
            ),
        )
        for member_id, member in members.items()
    }
    found = ASSIGNORS[assignor].assign(
        {name: topic.partitions for name, topic in topics.items()},
        subscriptions,
        topic_ids={name: topic.id for name, topic in topics.items()},
    )
    return {
        member_id: frozenset((topics[topic].id, partition) for topic, partition in partitions)
        for member_id, partitions in found.items()
    }
