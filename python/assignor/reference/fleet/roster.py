"""A group by name, who is in it and what they subscribe to, and the plan that the range rules give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor.model import MemberInfo, Subscription
from assignor.ordering import java_order
from assignor.reference.assign import assign

if TYPE_CHECKING:
    from assignor.model import TopicPartition
    from assignor.reference.fleet.cluster import Cluster, Partitions
    from assignor.reference.matching.pattern import Pattern


class RosterMember(NamedTuple):
    """A member.

    Attributes:
        id: The member id.
        instance_id: Set for static members.
        rack: The rack it is on; `""` is none.
        topics: Names that it subscribes to, be there such topics or not; those that its pattern matches if it has one.
        pattern: The pattern that says so.
        tells: Whether it tells topics or a pattern.
    """

    id: str
    instance_id: str | None
    rack: str | None
    topics: frozenset[str]
    pattern: Pattern | None = None
    tells: bool = True


class OwnedRun(NamedTuple):
    """A run of consecutive partition ids of a topic."""

    topic: str
    start: int
    count: int  # type: ignore[assignment]  # the field hides tuple.count, of no use here


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
    """What the range rules give a group.

    Attributes:
        roster: Who is in it.
        topics: The topics that somebody subscribes to and that exist.
        unknown: The names that somebody subscribes to and that are no topics.
        assignment: Per member, in the order of the roster, what it gets, by topic and id.
        owners: Who has each partition.
    """

    roster: Roster
    topics: dict[str, Partitions]
    unknown: frozenset[str]
    assignment: dict[str, list[TopicPartition]]
    owners: dict[TopicPartition, str]

    @classmethod
    def of(cls, roster: Roster, cluster: Cluster) -> Plan:
        """The plan of a group, in which nobody is twice, among the topics of its cluster."""
        wanted = frozenset[str]().union(*(member.topics for member in roster))
        topics = {topic: cluster.topics[topic] for topic in sorted(wanted & cluster.topics.keys(), key=java_order)}
        subscriptions = {
            member.id: Subscription(member.topics, group_instance_id=member.instance_id, rack=member.rack)  # type: ignore[arg-type]  # any iterable
            for member in roster
        }
        given = {topic: partitions.given() for topic, partitions in topics.items()}
        assignment = assign(given, subscriptions)
        owners = {partition: member for member, partitions in assignment.items() for partition in partitions}
        return cls(roster, topics, wanted - topics.keys(), assignment, owners)

    def loads(self) -> dict[str, int]:
        """How many partitions each member has."""
        return {member: len(partitions) for member, partitions in self.assignment.items()}

    def moved(self, later: Plan) -> int:
        """How many partitions have an owner in both plans, and not the same."""
        both = self.owners.keys() & later.owners.keys()
        return sum(self.owners[partition] != later.owners[partition] for partition in both)


def runs(partitions: list[TopicPartition]) -> list[OwnedRun]:
    """What a member has, by runs as long as can be."""
    found: list[OwnedRun] = []
    for topic, id in partitions:
        if found and found[-1].topic == topic and found[-1].start + found[-1].count == id:
            found[-1] = found[-1]._replace(count=found[-1].count + 1)
        else:
            found.append(OwnedRun(topic, id, 1))
    return found
