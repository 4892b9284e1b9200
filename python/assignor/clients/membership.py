"""Core of the assignors that plug into kafka-python and aiokafka: what a member reports, and what a leader answers.

The modules of the clients convert between the client's objects and the values here.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from weakref import ref

from assignor.errors import IllegalStateError
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
from assignor.validation import read_int, read_names, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor import Plan
    from assignor.model import PartitionInfo

__all__ = [
    "VERSION",
    "JoinedMembers",
    "Membership",
    "PluggedAssignor",
    "known_partitions",
    "plan_joined",
    "subscribed_topics",
]

VERSION = 3
"""Version of the ConsumerProtocol that is written; it is the version that Kafka's consumer writes."""

log = logging.getLogger("assignor.clients")

SUBSCRIPTIONS_PER_TOPIC = 50
"""Cost of reading the partitions of one topic, compared with collecting one topic name of a subscription."""

SHOWN_MEMBERS = 3
"""Number of members that a comparison describes."""

SHOWN_PARTITIONS = 5
"""Number of partitions that a comparison lists for each of these members."""

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
    assignor: str, partitions_per_topic: Mapping[str, int | list[int] | list[PartitionInfo]], members: JoinedMembers
) -> Plan:
    """Return the plan of Kafka's assignor of this name for members with decoded subscriptions."""
    from assignor import _core  # the core loads when it is first needed

    group, missing = _core.decoded_group(partitions_per_topic, members)
    if missing:
        log.warning(
            "%s: %d subscribed topics have no known partitions; they are assigned when their metadata arrives: %s%s",
            assignor,
            len(missing),
            ", ".join(missing[:SHOWN_PARTITIONS]),
            ", ..." if len(missing) > SHOWN_PARTITIONS else "",
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
    _consumer: ref[Any] | None = None
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

    def check_consumer(self, consumer: object | None, is_closed: bool) -> None:
        """Check that no other consumer uses the assignor: it remembers the assignment of one member.

        Args:
            consumer: The coordinator of the consumer that calls the assignor; None if it is not known.
            is_closed: True if the coordinator that called before has been closed.

        Raises:
            IllegalStateError: A consumer that is not closed has called the assignor before.
        """
        if consumer is None:
            return
        before = None if self._consumer is None else self._consumer()
        if before is consumer:
            return
        if before is not None and not is_closed:
            raise IllegalStateError(
                f"an instance of the assignor {self.assignor!r} is shared by two consumers, but it remembers the "
                "assignment of one: pass a new instance, or the class, to each consumer"
            )
        if self._consumer is not None:  # the assignment is that of a closed consumer
            self._assigned, self._generation, self._rules = (), NO_GENERATION, RULES[self.assignor]()
        self._consumer = ref(consumer)

    @property
    def consumer(self) -> Any:
        """Coordinator of the consumer that called the assignor last; None if it no longer exists."""
        return None if self._consumer is None else self._consumer()

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


FRAMES = 8
"""Number of frames in which the coordinator that calls an assignor is looked for."""


def calling(*kinds: type) -> Any:
    """Return the object of one of these classes whose method calls an assignor.

    The clients do not pass the consumer to an assignor. A call by other code returns None.
    """
    frame = sys._getframe(2)
    for _ in range(FRAMES):
        found = frame.f_locals.get("self")
        if isinstance(found, kinds):
            return found
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


class PluggedAssignor:
    """Answer of a leader, for the assignors of both clients; in shadow mode that of the client's own assignor."""

    name: ClassVar[str]
    """Kafka's name of the assignor."""

    _client: ClassVar[str]
    _assignment: ClassVar[type[Any]]
    """Class of the client for an assignment, which is created from its bytes."""

    _partitions_of: ClassVar[attrgetter[Any]]
    """Attribute of an assignment of the client with its topics and their partition ids."""

    _shadowed: Any

    def _read_members(self, members: Any) -> Any:
        raise NotImplementedError

    def _check_members(self, members: Any) -> None:
        raise NotImplementedError

    def _plan(self, cluster: Any, members: Any) -> Plan:
        raise NotImplementedError

    def _partitions_in(self, assignment: Any) -> Iterable[tuple[str, int]]:
        """Return the partitions of an assignment of the client."""
        if not callable(getattr(assignment, "partitions", None)):
            raise wrong_type("assignment", f"an assignment of {self._client}", assignment)
        partitions: Iterable[tuple[str, int]] = assignment.partitions()
        return partitions

    def assign(self, cluster: Any, members: Any) -> dict[str, Any]:
        """Return the assignment of each member, as Kafka's assignor of the same name computes it.

        Args:
            cluster: The client's `ClusterMetadata`. Topics without known partitions are skipped, as in Kafka.
            members: The members with decoded subscriptions, as the client passes them.

        Returns:
            For each member an assignment whose `encode()` returns the bytes that Kafka's leader writes, in version 3.
            Its attributes are decoded when they are read.

        Raises:
            AssignorError: Invalid subscription; the message names the member.
            WrongTypeError: `cluster` or `members` is not what the client passes.
        """
        if not hasattr(cluster, "partitions_for_topic"):
            raise wrong_type("cluster", f"a ClusterMetadata of {self._client}", cluster)
        members = self._read_members(members)
        if not members:
            return {}
        if self._shadowed is not None:
            return self._shadow_answer(cluster, members)
        try:
            plan = self._plan(cluster, members)
        except (AttributeError, TypeError):
            self._check_members(members)  # only now: it takes time in a large group
            raise
        encoded = plan.encode(VERSION)
        return {member: self._assignment(data) for member, data in encoded.items()}

    def _shadow_answer(self, cluster: Any, members: Any) -> dict[str, Any]:
        """Return the answer of the client's class, and log in one line how that of Kafka's class differs.

        The level is INFO if the answers are equal, else WARNING. An error of Kafka's class is logged, not raised.
        """
        try:
            answer: dict[str, Any] = self._shadowed.assign(cluster, members)
        except Exception:
            log.warning(
                "%s: %s's assignor fails in this rebalance; shadow mode raises its error", self.name, self._client
            )
            raise
        try:
            entries = {member: type(self)._partitions_of(of) for member, of in answer.items()}
            _log_comparison(self.name, self._client, entries, self._plan(cluster, members))
        except Exception:  # a comparison must not break the group
            log.exception("%s: cannot compare %s's answer with Kafka's", self.name, self._client)
        return answer


def _log_comparison(
    assignor: str, client: str, theirs: Mapping[str, Iterable[tuple[str, Iterable[int]]]], plan: Plan
) -> None:
    differing = []
    moved = 0
    for member, entries in theirs.items():
        expected = set(plan.partitions(member))
        found = {TopicPartition(topic, id) for topic, ids in entries for id in ids}
        if found != expected:
            differing.append((member, found - expected, expected - found))
            moved += len(expected - found)
    if not differing:
        log.info("%s: %s's answer for %d members equals Kafka's", assignor, client, len(theirs))
        return
    details = "; ".join(
        f"for {member} adds {_names(missing)} and removes {_names(extra)}"
        for member, extra, missing in differing[:SHOWN_MEMBERS]
    )
    log.warning(
        "%s: %s's answer differs from Kafka's for %d of %d members and %d partitions. Kafka's answer %s%s",
        assignor,
        client,
        len(differing),
        len(theirs),
        moved,
        details,
        "; ..." if len(differing) > SHOWN_MEMBERS else "",
    )


def _names(partitions: set[TopicPartition]) -> str:
    if not partitions:
        return "nothing"
    ordered = sorted(partitions, key=lambda partition: (java_order(partition.topic), partition.partition))
    names = ", ".join(f"{partition.topic}-{partition.partition}" for partition in ordered[:SHOWN_PARTITIONS])
    return names + (f" and {len(ordered) - SHOWN_PARTITIONS} more" if len(ordered) > SHOWN_PARTITIONS else "")
