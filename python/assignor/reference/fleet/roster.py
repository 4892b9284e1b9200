"""A group with names: its members, their topics and owned partitions, and the plan of its assignor."""

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
    """A member.

    Attributes:
        id: The member id.
        instance_id: Set for static members.
        rack: The rack it is on; `""` is none.
        topics: Names that it subscribes to, be there such topics or not; those that its pattern matches if it has one.
        pattern: The pattern that says so.
        is_subscribed: True if it gives topics or a pattern.
        generation: The generation in which it got the partitions that it owns, if that is known.
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
"""The members of a group; those with the same instance id count in this order."""


def by_id(roster: Roster) -> Roster:
    """The members by id, so that the order in which they come says nothing."""
    return sorted(roster, key=lambda member: java_order(member.id))


def kafka_order(roster: Roster) -> Roster:
    """Static members by instance id, then dynamic ones by member id; equal instance ids keep the order given."""
    return sorted(roster, key=lambda member: MemberInfo(member.id, member.instance_id))


@dataclass(frozen=True)
class Plan:
    """What the members of a group have, or are to have.

    Attributes:
        roster: Who is in it.
        topics: The topics that somebody subscribes to and that exist.
        unknown: The names that somebody subscribes to and that are no topics.
        assignment: Member to its partitions, by topic and id; members in the order of the roster.
        assignor: The assignor that computed the assignment; None if that is not known.
        claimed: Member to the partitions that it owned before.
    """

    roster: Roster
    topics: dict[str, Partitions]
    unknown: frozenset[str]
    assignment: dict[str, list[TopicPartition]]
    assignor: Assignor | None
    claimed: dict[str, list[TopicPartition]]

    @classmethod
    def of(cls, roster: Roster, cluster: Cluster, assignor: Assignor, owned: Owned) -> Plan:
        """The plan of a group, in which nobody is twice, among the topics of its cluster."""
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
    def standing(cls, roster: Roster, cluster: Cluster, owned: Owned) -> Plan:
        """Return what the members have of the topics that they subscribe to; the first owner of a partition counts."""
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
        """The owner of each partition."""
        return {partition: member for member, partitions in self.assignment.items() for partition in partitions}

    def loads(self) -> dict[str, int]:
        """How many partitions each member has."""
        return {member: len(partitions) for member, partitions in self.assignment.items()}

    def moved(self, later: Plan) -> int:
        """How many partitions have an owner in both plans, and not the same."""
        before, after = self.owners, later.owners
        return sum(before[partition] != after[partition] for partition in before.keys() & after.keys())


def _topics(roster: Roster, cluster: Cluster) -> tuple[dict[str, Partitions], frozenset[str]]:
    """Return the existing topics that the members subscribe to, in Java's order, and the other names."""
    wanted = frozenset[str]().union(*(member.topics for member in roster))
    topics = {topic: cluster.topics[topic] for topic in sorted(wanted & cluster.topics.keys(), key=java_order)}
    return topics, wanted - topics.keys()
