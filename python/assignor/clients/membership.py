"""What a member with an assignor for kafka-python or aiokafka reports, and the plan of a leader for decoded members.

The modules of the clients convert between the client's objects and the values here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.model import RebalanceProtocol, Subscription, TopicPartition
from assignor.ordering import java_order
from assignor.partition_assignor import (
    NO_GENERATION,
    ClientAssignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    check_string,
)
from assignor.validation import read_int, read_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor import Plan
    from assignor.model import PartitionInfo
    from assignor.names import AssignorName

__all__ = [
    "VERSION",
    "JoinedMembers",
    "Membership",
    "known_partitions",
    "plan_joined",
    "subscribed_topics",
]

VERSION = 3
"""Version of the ConsumerProtocol that is written; it is the version that Kafka's consumer writes."""

log = logging.getLogger("assignor.clients")

SUBSCRIPTIONS_PER_TOPIC = 50
"""Cost of reading the partitions of one topic, compared with collecting one topic name of a subscription."""

SHOWN_TOPICS = 5
"""Number of topics that the warning about unknown topics lists."""

RULES: dict[str, type[ClientAssignor]] = {
    rules.name: rules for rules in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
}


class JoinedMembers(NamedTuple):
    """Subscriptions of all members of a group as columns, in the order of the JoinGroup response.

    Attributes:
        ids: Member ids.
        topics: Topics of each member.
        instance_ids: Group instance ids; None if no member has one.
        racks: Racks; None if no member has one.
        user_data: User data; None if the assignor does not read it.
        owned: Owned partitions as (topic, ids) pairs; None if the assignor does not read them.
        generations: Generations of the owned partitions, -1 for none; None if the assignor does not read them.
    """

    ids: list[str]
    topics: list[list[str]]
    instance_ids: list[str | None] | None = None
    racks: list[str | None] | None = None
    user_data: list[bytes | None] | None = None
    owned: list[list[tuple[str, list[int]]]] | None = None
    generations: list[int] | None = None

    def has_racks(self) -> bool:
        """Return True if a member has a rack; without one, the racks of the replicas do not matter."""
        return self.racks is not None and any(self.racks)


def plan_joined(
    assignor: AssignorName,
    partitions_per_topic: Mapping[str, int | list[int] | list[PartitionInfo]],
    members: JoinedMembers,
) -> Plan:
    """Return the plan of Kafka's assignor of this name for members with decoded subscriptions."""
    from assignor import _core  # the core loads when it is first needed

    group, missing = _core.decoded_group(partitions_per_topic, members)
    if missing:
        log.warning(
            "%s: %d subscribed topics have no known partitions; they are assigned when their metadata arrives: %s%s",
            assignor,
            len(missing),
            ", ".join(missing[:SHOWN_TOPICS]),
            ", ..." if len(missing) > SHOWN_TOPICS else "",
        )
    return group.plan(assignor=assignor)


@dataclass(slots=True)
class Membership:
    """State of one member of a group: what its assignor remembers from one rebalance to the next.

    Attributes:
        assignor: Kafka's name of the assignor.
        client_rack: Rack of the consumer (`client.rack`); None or `""` for none.
        cooperative: True if the member keeps its partitions while it rejoins, and so reports them as owned.
    """

    assignor: str
    client_rack: str | None = None
    cooperative: bool = False
    _rules: ClientAssignor = field(init=False)
    _assigned: tuple[TopicPartition, ...] = ()
    _generation: int = NO_GENERATION

    def __post_init__(self) -> None:
        """Check the rack.

        Raises:
            AssignorError: The rack is not a name, or it has more than 32,767 bytes of UTF-8.
        """
        if self.client_rack is not None:
            check_string(self.client_rack, "client_rack")
        self._rules = RULES[self.assignor]()

    def subscription(self, topics: Iterable[str]) -> Subscription:
        """Return the subscription of the member's next JoinGroup, as Kafka's consumer writes it in version 3."""
        names = sorted(read_names(topics, "metadata"), key=java_order)
        subscribed = set(names)
        return Subscription(
            topics=tuple(names),
            rack=self.client_rack or None,
            user_data=self._rules.subscription_user_data(names),
            # An eager member has given up all its partitions. A cooperative member has given up the partitions of
            # topics that it no longer subscribes to.
            owned_partitions=tuple(partition for partition in self._assigned if partition.topic in subscribed)
            if self.cooperative
            else (),
            generation=self._generation,
        )

    def on_assignment(self, partitions: Iterable[tuple[str, int]], generation: int = NO_GENERATION) -> None:
        """Remember the member's own assignment and its generation."""
        assigned, self._generation = list(partitions), read_int(generation, "generation", bits=32)
        self._assigned = tuple(TopicPartition(topic, id) for topic, id in assigned)
        self._rules.on_assignment(self._assigned, generation)

    def on_generation(self, generation: int) -> None:
        """Remember the generation of the assignment, for a client that passes it after the assignment."""
        self.on_assignment(self._assigned, generation)

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return the rebalance protocol of the member."""
        return [RebalanceProtocol.COOPERATIVE if self.cooperative else RebalanceProtocol.EAGER]


def subscribed_topics(cluster: Any, members: JoinedMembers) -> Iterable[str]:
    """Return the topics that the members subscribe to, or all topics of the cluster if that takes less time.

    Args:
        cluster: The client's `ClusterMetadata`. A test can pass an object that has only the method
            `partitions_for_topic`: the clients' own assignors call no other.
        members: The members.
    """
    subscriptions = sum(map(len, members.topics))
    if subscriptions > SUBSCRIPTIONS_PER_TOPIC:
        try:
            known: set[str] = cluster.topics(exclude_internal_topics=False)
        except (AttributeError, TypeError):
            return set().union(*members.topics)
        if len(known) * SUBSCRIPTIONS_PER_TOPIC < subscriptions:
            return known
    return set().union(*members.topics)


def known_partitions(cluster: Any, members: JoinedMembers) -> dict[str, int | list[int]]:
    """Return the partitions of the members' topics: a count if the ids are 0 to n - 1, else the ids.

    Topics without known partitions are left out.

    Args:
        cluster: The client's `ClusterMetadata`.
        members: The members.
    """
    partitions = {topic: cluster.partitions_for_topic(topic) for topic in subscribed_topics(cluster, members)}
    return {
        topic: len(ids) if max(ids) == len(ids) - 1 and min(ids) == 0 else sorted(ids)
        for topic, ids in partitions.items()
        if ids
    }
