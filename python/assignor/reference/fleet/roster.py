"""Members of a group, and their plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor.model import MemberInfo, Subscription
from assignor.ordering import java_order
from assignor.reference.assign import assign
from assignor.reference.fleet.owned import READS_OWNED, claims

if TYPE_CHECKING:
    from assignor.model import TopicPartition
    from assignor.reference.fleet.assignor import Assignor
    from assignor.reference.fleet.cluster import Cluster, Partitions
    from assignor.reference.fleet.owned import Owned
    from assignor.reference.matching.pattern import Pattern


class RosterMember(NamedTuple):
    """Member of a group.

    Attributes:
        id: The member id.
        instance_id: The group instance id of a static member.
        rack: The rack; `""` counts as no rack.
        topics: The topic names that it subscribes to, existing or not; with a pattern, the topics that match it.
        pattern: The pattern that it subscribes to, if any.
        is_subscribed: True if its row has topics or a pattern.
        generation: The generation in which it got its owned partitions, if known.
        assignor: The assignor that its row names.
        group_protocol: The group protocol that its row names.
    """

    id: str
    instance_id: str | None
    rack: str | None
    topics: frozenset[str]
    pattern: Pattern | None = None
    is_subscribed: bool = True
    generation: int | None = None
    assignor: str | None = None
    group_protocol: str | None = None


Roster = list[RosterMember]
"""Members of a group; the order decides between members with the same instance id."""


def by_id(roster: Roster) -> Roster:
    """Sort members by id, so that the result does not depend on the order of the rows."""
    return sorted(roster, key=lambda member: java_order(member.id))


def kafka_order(roster: Roster) -> Roster:
    """Sort members: static ones by instance id, then dynamic ones by member id; equal ones keep the given order."""
    return sorted(roster, key=lambda member: MemberInfo(member.id, member.instance_id))


@dataclass(frozen=True)
class Plan:
    """Current or computed assignment of a group.

    Attributes:
        roster: The members.
        topics: The existing topics that members subscribe to.
        unknown: The subscribed names of topics that do not exist.
        assignment: Member id to its partitions, by topic and id; members in the order of the roster.
        assignor: The assignor that computed the assignment; None if it is not known.
        claimed: Member id to the partitions that the member owned before.
    """

    roster: Roster
    topics: dict[str, Partitions]
    unknown: frozenset[str]
    assignment: dict[str, list[TopicPartition]]
    assignor: Assignor | None
    claimed: dict[str, list[TopicPartition]]

    @classmethod
    def of(cls, roster: Roster, cluster: Cluster, assignor: Assignor, owned: Owned) -> Plan:
        """Return the plan that an assignor computes for a group; the member ids must be distinct."""
        topics, unknown = _topics(roster, cluster)
        claimed = claims(owned, [member.id for member in roster], topics) if assignor in READS_OWNED else {}
        subscriptions = {
            member.id: Subscription(
                tuple(sorted(member.topics, key=java_order)),
                group_instance_id=member.instance_id,
                rack=member.rack,
                owned_partitions=tuple(claimed.get(member.id, ())),
                generation=member.generation if assignor in READS_OWNED else None,
            )
            for member in roster
        }
        assignment = assign(
            {topic: partitions.given() for topic, partitions in topics.items()},
            subscriptions,
            assignor=assignor.name,
            group_protocol=assignor.group_protocol,
            topic_ids={
                topic: partitions.topic_id for topic, partitions in topics.items() if partitions.topic_id is not None
            },
        )
        return cls(roster, topics, unknown, assignment, assignor, claimed)

    @classmethod
    def from_owned(cls, roster: Roster, cluster: Cluster, owned: Owned) -> Plan:
        """Return the plan of the owned partitions of subscribed topics; the first owner of a partition counts."""
        topics, unknown = _topics(roster, cluster)
        assignment: dict[str, list[TopicPartition]] = {}
        taken: set[TopicPartition] = set()
        claimed = claims(owned, [member.id for member in roster], topics)
        for member in roster:
            has = [each for each in claimed[member.id] if each.topic in member.topics and each not in taken]
            assignment[member.id] = has
            taken.update(has)
        return cls(roster, topics, unknown, assignment, None, {})

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """Owner of each partition."""
        return {partition: member for member, partitions in self.assignment.items() for partition in partitions}

    def loads(self) -> dict[str, int]:
        """Return the number of partitions of each member."""
        return {member: len(partitions) for member, partitions in self.assignment.items()}

    def moved(self, later: Plan) -> int:
        """Count the partitions that have an owner in both plans, but not the same one."""
        before, after = self.owners, later.owners
        return sum(before[partition] != after[partition] for partition in before.keys() & after.keys())


def _topics(roster: Roster, cluster: Cluster) -> tuple[dict[str, Partitions], frozenset[str]]:
    """Return the existing topics that the members subscribe to, in Java's order, and the other subscribed names."""
    wanted = frozenset[str]().union(*(member.topics for member in roster))
    topics = {topic: cluster.topics[topic] for topic in sorted(wanted & cluster.topics.keys(), key=java_order)}
    return topics, wanted - topics.keys()
