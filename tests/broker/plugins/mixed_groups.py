"""Groups whose members are consumers of several clients, at one cluster. The first member of a group is its leader."""

from __future__ import annotations

import functools
import itertools
import operator
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor import Group, PartitionInfo, TopicPartition
from assignor.names import AssignorName
from tests.broker.admin import Admin
from tests.broker.plugins.client_consumers import AiokafkaConsumers, ConfluentConsumers, KafkaPythonConsumers
from tests.broker.plugins.group_log import Generation, GroupLog
from tests.broker.plugins.program_consumers import FranzGoConsumers, JavaConsumers, ReleaseConsumers
from tests.support.client_releases import RELEASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from tests.broker.plugins.client_consumers import Consumers, Joining
    from tests.broker.plugins.group_log import Shares
    from tests.broker.plugins.racks import RackedCluster

RACKS = ("r0", "r1", "r2")

TIMEOUT = 90
"""Seconds until a condition must hold."""


class MixedGroups:
    """Groups of all tests of a module. `with` closes all consumers at the end.

    Attributes:
        log: Generations of all groups.
        topics: The partitions of each topic, with the rack of their replica.
    """

    def __init__(self, cluster: RackedCluster) -> None:
        self._cluster = cluster
        self.log = GroupLog(cluster.address)
        self.topics: dict[str, list[PartitionInfo]] = {}
        self._threads = ThreadPoolExecutor()
        self._closing: list[Future[None]] = []
        self._clients: dict[str, Consumers] = {}
        self._members: dict[str, dict[str, str]] = {}
        """Client of each member, by group and name."""
        self._static: dict[str, set[str]] = defaultdict(set)
        """Names of the static members of each group."""

    def __enter__(self) -> MixedGroups:
        return self

    def __exit__(self, *error: object) -> None:
        for closing in self._closing:
            closing.result(2 * TIMEOUT)
        self._threads.shutdown()
        for client in self._clients.values():
            client.close()
        self.log.__exit__()

    def create_topics(self, **brokers: Sequence[int]) -> None:
        """Create topics. Each argument lists the broker of each partition's only replica; broker ids start at 1."""
        admin = AdminClient({"bootstrap.servers": self._cluster.address, "log.connection.close": False})
        topics = [NewTopic(name, len(at), replica_assignment=[[each] for each in at]) for name, at in brokers.items()]
        for answer in admin.create_topics(topics).values():
            answer.result(TIMEOUT)
        counts = {name: len(at) for name, at in brokers.items()}
        for connection in self._cluster.connect():
            broker = Admin(connection)
            self.until(lambda broker=broker: broker.partition_counts(counts) == counts)  # type: ignore[misc]  # the client has no types
            broker.close()
        for name, at in brokers.items():
            self.topics[name] = [PartitionInfo(id, (RACKS[broker - 1],)) for id, broker in enumerate(at)]

    def join(self, group: str, joining: Joining) -> None:
        """Start a consumer."""
        self._members.setdefault(group, {})[joining.name] = joining.client
        if joining.instance_id is not None:
            self._static[group].add(joining.name)
        self._of(joining.client).join(joining._replace(name=f"{group}.{joining.name}", group=group))

    def leave(self, group: str, name: str) -> None:
        """Close a consumer."""
        client = self._members[group].pop(name)
        self._of(client).leave(f"{group}.{name}")

    def disband(self, *groups: str) -> None:
        """Begin to close all consumers of groups.

        A consumer closes slowly while its group waits for members that have gone, above all for static ones, which do
        not leave the group.
        """
        leaving = [
            (name in self._static[group], client != "java", group, name)
            for group in groups
            for name, client in self._members[group].items()
        ]

        def close() -> None:
            for _, members in itertools.groupby(sorted(leaving), operator.itemgetter(0, 1)):
                with ThreadPoolExecutor(len(leaving)) as threads:
                    list(threads.map(lambda member: self.leave(*member[2:]), members))

        self._closing.append(self._threads.submit(close))

    def errors(self, group: str, name: str) -> list[str]:
        """Return the errors that a consumer raised, each once."""
        return self._of(self._members[group][name]).errors(f"{group}.{name}")

    def until(self, condition: Callable[[], object], timeout: float = TIMEOUT, about: str = "") -> None:
        """Wait for a condition, which is checked after each new batch of records.

        Raises:
            TimeoutError: It does not hold in time; the message has the last generation of each group.
        """
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                errors = {name: found for name in self._members.get(about, {}) if (found := self.errors(about, name))}
                raise TimeoutError(f"after {timeout} s: {self.log.last(about)}, errors: {errors}")
            self.log.poll()

    def settle(self, group: str, after: int = 0, *, complete: bool = True) -> Generation:
        """Wait until all consumers of a group own what the newest generation gives them, and return it.

        Args:
            group: The group.
            after: A generation that is older than the wanted one.
            complete: Wait also until every partition of a subscribed topic has one owner.
        """
        self.until(lambda: self._is_settled(group, after, complete), about=group)
        found = self.log.last(group)
        assert found
        return found

    def lead(self, group: str) -> Generation:
        """Wait until the only consumer of a group has led its first generation."""
        self.until(lambda: self.log.generations[group], about=group)
        return self.log.generations[group][0]

    def first_of_two(self, group: str) -> Generation:
        """Wait for the first generation of a group with two members, and return it."""

        def found() -> list[Generation]:
            return [generation for generation in self.log.generations[group] if len(generation.members) == 2]

        self.until(found, about=group)
        return found()[0]

    def java_shares(self, generation: Generation, *, without: Iterable[str] = ()) -> Shares:
        """Return the assignment of a Java leader for the members of a generation, by client id.

        Args:
            generation: The generation.
            without: What the leader ignores: "instances", "racks".
        """
        ignored = set(without)
        topics: Mapping[str, Any] = self.topics
        joined = generation.joined
        if "racks" in ignored:
            topics = {name: len(partitions) for name, partitions in topics.items()}
        if "instances" in ignored:
            joined = [(member_id, None, subscription) for member_id, _, subscription in joined]
        return generation.by_client(
            Group.from_wire(topics, joined).assign(assignor=cast(AssignorName, generation.protocol))
        )

    def partitions(self, *topics: str) -> set[TopicPartition]:
        """Return all partitions of topics."""
        return {TopicPartition(name, info.partition) for name in topics for info in self.topics.get(name, ())}

    def _is_settled(self, group: str, after: int, complete: bool) -> bool:
        last = self.log.last(group)
        if last is None or last.number <= after:
            return False
        shares = last.shares_by_client
        members = {f"{group}.{name}": client for name, client in self._members[group].items()}
        if set(shares) != set(members):
            return False
        if any(self._of(client).owned(name) != shares[name] for name, client in members.items()):
            return False
        return not complete or last.owners == Counter(self.partitions(*last.topics))

    def _of(self, client: str) -> Consumers:
        """Return the consumers of a client; create them at the first call for this client."""
        if client not in self._clients:
            kinds: dict[str, Callable[[str], Consumers]] = {
                "kafka-python": KafkaPythonConsumers,
                "aiokafka": AiokafkaConsumers,
                "confluent-kafka": ConfluentConsumers,
                "java": JavaConsumers,
                "franz-go": FranzGoConsumers,
                **{str(release): functools.partial(ReleaseConsumers, release=release) for release in RELEASES},
            }
            self._clients[client] = kinds[client](self._cluster.address)
        return self._clients[client]
