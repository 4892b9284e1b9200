"""Consumers of Kafka's Java client in one group, and the assignment that our assignors expect for them."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from assignor import Subscription, TopicPartition, assign
from assignor.names import AssignorName
from assignor.wire import decode_assignment
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.broker.admin import Admin

CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
QUIET_POLLS = 8
"""After this number of consecutive polls without a change, the coordinator is asked whether the group has settled."""

Joined = tuple[str, str | None, bytes]
"""Member id, instance id and subscription, in the form that `Group.from_wire` accepts."""

Shares = dict[str, frozenset[TopicPartition]]


class Consumer(NamedTuple):
    """State of one consumer."""

    member_id: str
    generation: int
    partitions: frozenset[TopicPartition]


class JavaConsumers(KafkaProgram):
    """Group of Java consumers in one process; they make progress only while `settle` polls them.

    Raises:
        OracleMissingError: Java, its compiler or the jars of Kafka are missing.
    """

    def __init__(self, address: str, group: str, assignor: str) -> None:
        super().__init__("consumers.Consumers")
        self._settings = {
            "address": address,
            "group": group,
            "assignor": f"org.apache.kafka.clients.consumer.{CLASSES[assignor]}",
        }
        self.topics: dict[str, tuple[str, ...]] = {}

    def join(self, name: str, topics: Iterable[str]) -> None:
        """Start a consumer."""
        self.topics[name] = tuple(topics)
        self.ask({"do": "join", "name": name, "topics": self.topics[name], **self._settings})

    def leave(self, name: str) -> None:
        """Close a consumer."""
        del self.topics[name]
        self.ask({"do": "leave", "name": name})

    def subscribe(self, name: str, topics: Iterable[str]) -> None:
        """Change the subscription of a consumer."""
        self.topics[name] = tuple(topics)
        self.ask({"do": "subscribe", "name": name, "topics": self.topics[name]})

    def settle(
        self, counts: dict[str, int], after: int, admin: Admin, timeout: float = 60
    ) -> tuple[dict[str, Consumer], list[Joined]]:
        """Poll until a later generation gives every partition an owner, and the coordinator describes the same owners.

        Args:
            counts: Number of partitions of each topic.
            after: The generation before the change.
            admin: Admin client, for the coordinator's description.
            timeout: Seconds.

        Returns:
            The consumers, and the subscription with which each of them joined that generation.

        Raises:
            TimeoutError: The group has not settled.
        """
        partitions = Counter(TopicPartition(topic, id) for topic, count in counts.items() for id in range(count))
        end, quiet, before = time.monotonic() + timeout, 0, None
        while True:
            if before is not None and quiet >= QUIET_POLLS:
                joined, assigned = described(admin, self._settings["group"])
                if assigned == {consumer.member_id: consumer.partitions for consumer in before.values()}:
                    return before, joined
            if time.monotonic() > end:
                raise TimeoutError(f"after {timeout} s: {before}")
            found = {name: _consumer(state) for name, state in self.ask({"do": "poll"}).items()}
            is_complete = (
                {consumer.generation for consumer in found.values()} == {max(c.generation for c in found.values())}
                and min(consumer.generation for consumer in found.values()) > after
                and Counter(each for consumer in found.values() for each in consumer.partitions) == partitions
            )
            quiet = quiet + 1 if is_complete and found == before else 0
            before = found


def _consumer(state: dict[str, Any]) -> Consumer:
    assert state["error"] is None, state["error"]
    partitions = frozenset(TopicPartition(*each) for each in state["partitions"])
    return Consumer(state["member_id"], state["generation"], partitions)


def described(admin: Admin, group: str) -> tuple[list[Joined], Shares]:
    """Return each member's last JoinGroup subscription and its assignment, from the coordinator's description."""
    members = admin.describe_classic(group).members
    joined = [(member.member_id, member.group_instance_id, member.member_metadata) for member in members]
    return joined, {
        member.member_id: frozenset(decode_assignment(member.member_assignment).partitions) for member in members
    }


def reached(assignor: str, counts: dict[str, int], members: dict[str, Subscription]) -> tuple[Shares, int]:
    """Return the assignment that a group reaches, and the number of rebalances until then.

    A cooperative member that had to revoke partitions rejoins, with its assignment as owned partitions.
    """
    rebalances, generation = 0, max((each.generation or 0 for each in members.values()), default=0)
    while True:
        answer = assign(counts, members, assignor=cast(AssignorName, assignor))
        rebalances += 1
        generation += 1
        given = sum(map(len, answer.values()))
        if given == sum(counts.values()):
            return {member: frozenset(partitions) for member, partitions in answer.items()}, rebalances
        members = {
            member: Subscription(each.topics, owned_partitions=tuple(answer[member]), generation=generation)
            for member, each in members.items()
        }
