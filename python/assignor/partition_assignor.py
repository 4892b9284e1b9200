"""Kafka's assignor interface in Python, and the assignors of kafka-clients with this interface.

Source: org.apache.kafka.clients.consumer.ConsumerPartitionAssignor and the assignors of kafka-clients 4.4.0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assignor._engine import check_engine
from assignor.calling_consumer import OfNoClient
from assignor.errors import IllegalArgumentError
from assignor.model import RebalanceProtocol, TopicPartition
from assignor.names import AssignorName, Engine
from assignor.ordering import computed_text_order
from assignor.validation import check_name, read_int, read_partitions, shown

if TYPE_CHECKING:
    from assignor import Topics
    from assignor.model import PartitionInfo, Subscription

PartitionsPerTopic = Mapping[str, "int | Iterable[int | PartitionInfo]"]
Subscriptions = Mapping[str, "Subscription | Iterable[str]"]

EncodedMember = tuple[str, str | None, bytes]
"""Member id, instance id, and subscription as bytes of the ConsumerProtocol."""

NO_GENERATION = -1
"""Generation of a member that has no assignment yet."""

MAX_STRING_BYTES = 32_767
"""Largest size in bytes of a string in a subscription: its length is an int16."""


@runtime_checkable
class PartitionAssignor(Protocol):
    """Interface of an assignor that members use (ConsumerPartitionAssignor).

    An assignor may also have the method `assign_encoded` of `RangeAssignor`. A coordinator then calls it first, and
    calls `assign` only if it returns None.

    Attributes:
        name: Unique name that members vote for, such as `"range"`.
        version: Version of the assignor, which Kafka's own classes do not use.
    """

    @property
    def name(self) -> str:
        """Unique name that members vote for."""

    @property
    def version(self) -> int:
        """Version of the assignor."""

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return the rebalance protocols that the assignor supports."""

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return the user data that the member adds to its subscription when it joins."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Subscriptions
    ) -> Mapping[str, list[TopicPartition]]:
        """Return the partitions of each member."""

    def on_assignment(self, assignment: Iterable[TopicPartition], generation: int) -> None:
        """Receive the member's own assignment after a rebalance."""


class ClientAssignor(OfNoClient):
    """Base of the assignors of kafka-clients; subclasses set `name`, Kafka's name of the assignor.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.
    """

    name: AssignorName
    version: int = 0

    def __init__(self, *, engine: Engine = "rust") -> None:
        super().__init__()
        check_engine(engine)
        self.engine: Engine = engine

    def __repr__(self) -> str:
        return f"{self._module}.{type(self).__name__}(engine={self.engine!r})"

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return the eager protocol: members give up all partitions before they join."""
        return [RebalanceProtocol.EAGER]

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002 - the interface's signature
        """Return None: the assignor uses no user data."""
        return None

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Subscriptions
    ) -> dict[str, list[TopicPartition]]:
        """Return the partitions of each member; arguments, order and errors are those of `assignor.assign`."""
        from assignor import assign  # the core loads when it is first needed

        if not isinstance(partitions_per_topic, Mapping):
            self._refuse_metadata(partitions_per_topic)
        return assign(partitions_per_topic, subscriptions, assignor=self.name, engine=self.engine)

    def assign_encoded(
        self, topics: Topics, members: Sequence[EncodedMember], *, version: int
    ) -> dict[str, bytes] | None:
        """Return encoded assignments for encoded subscriptions, without an object per partition.

        Args:
            topics: The topics of the cluster.
            members: Member id, instance id and encoded subscription of each member.
            version: Version of the ConsumerProtocol in which the assignments are encoded.

        Returns:
            The assignment of each member; None if the class of the assignor overrides `assign`.

        Raises:
            WireError: A subscription is invalid; `field` begins with the member.
        """
        if type(self).assign is not ClientAssignor.assign:
            return None
        from assignor import Group, plan  # the core loads when it is first needed

        if self.engine == "rust":
            return Group.from_wire(topics, members, tolerant=True).plan(assignor=self.name).encode(version)
        from assignor.reference.group import read_joined_members

        joined = read_joined_members(members, tolerant=True)
        return plan(topics, joined, assignor=self.name, engine=self.engine).encode(version)

    def on_assignment(self, assignment: Iterable[TopicPartition], generation: int) -> None:
        """Do nothing: the assignor keeps no state."""


class RangeAssignor(ClientAssignor):
    """Assignor `range`: each member gets consecutive partitions of each of its topics.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> RangeAssignor().assign({"t": 3}, {"C0": ["t"], "C1": ["t"]})["C1"]
        [TopicPartition(topic='t', partition=2)]
    """

    name = "range"


class RoundRobinAssignor(ClientAssignor):
    """Assignor `roundrobin`: members get the partitions of all topics in turn.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> RoundRobinAssignor().assign({"t": 1, "u": 1}, {"C0": ["t", "u"], "C1": ["t", "u"]})["C1"]
        [TopicPartition(topic='u', partition=0)]
    """

    name = "roundrobin"


class StickyAssignor(ClientAssignor):
    """Assignor `sticky`: the assignment is balanced, and members keep their partitions if possible.

    A member's assignor remembers the last assignment (`on_assignment`) and adds it to the next subscription
    (`subscription_user_data`). The leader's assignor reads it there.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> from assignor import Subscription
        >>> member, leader = StickyAssignor(), StickyAssignor()
        >>> member.on_assignment([TopicPartition("t", 1)], generation=4)
        >>> joining = Subscription(("t",), user_data=member.subscription_user_data(["t"]))
        >>> leader.assign({"t": 2}, {"a": ["t"], "b": joining})["b"]
        [TopicPartition(topic='t', partition=1)]
    """

    name = "sticky"

    def __init__(self, *, engine: Engine = "rust") -> None:
        super().__init__(engine=engine)
        self._assignment: list[tuple[str, int]] | None = None
        self._generation = NO_GENERATION

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002 - the interface's signature
        """Return the last assignment and its generation as bytes; None before the first assignment.

        The bytes have version 1 of Kafka's format.
        Topics are in the order of Kafka's hash table, partitions in the order of the assignment.
        """
        if self._assignment is None:
            return None
        ids: dict[str, list[int]] = {}
        for topic, id in self._assignment:
            ids.setdefault(topic, []).append(id)
        data = struct.pack(">i", len(ids))
        for topic in computed_text_order(topic for topic, _ in self._assignment):
            name = topic.encode()
            data += struct.pack(f">h{len(name)}si{len(ids[topic])}i", len(name), name, len(ids[topic]), *ids[topic])
        return data + struct.pack(">i", self._generation)

    def on_assignment(self, assignment: Iterable[TopicPartition], generation: int) -> None:
        """Remember the member's assignment and its generation.

        Raises:
            AssignorError: A partition is invalid, or the generation is not an int32.
        """
        received = read_partitions(assignment, "on_assignment: assignment")
        for topic, id in received:
            check_string(topic, "on_assignment: a topic")
            read_int(id, "on_assignment: a partition id", bits=32)
        self._generation = read_int(generation, "on_assignment: generation", bits=32)
        self._assignment = received


class CooperativeStickyAssignor(ClientAssignor):
    """Assignor `cooperative-sticky`: like `sticky`, but a partition moves in two rebalances.

    In the first rebalance its owner gives it up and no member gets it; in the second it goes to its new owner.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> from assignor import Subscription
        >>> owned = tuple(TopicPartition("t", id) for id in range(4))
        >>> before = {"a": Subscription(("t",), owned_partitions=owned, generation=1), "b": ["t"]}
        >>> CooperativeStickyAssignor().assign({"t": 4}, before)["b"]
        []
        >>> after = {"a": Subscription(("t",), owned_partitions=owned[:2], generation=2), "b": ["t"]}
        >>> CooperativeStickyAssignor().assign({"t": 4}, after)["b"]
        [TopicPartition(topic='t', partition=2), TopicPartition(topic='t', partition=3)]
    """

    name = "cooperative-sticky"

    def __init__(self, *, engine: Engine = "rust") -> None:
        super().__init__(engine=engine)
        self._generation = NO_GENERATION

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return both protocols; a group uses the cooperative protocol if all assignors of its members support it."""
        return [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002 - the interface's signature
        """Return the generation of the last assignment as four bytes; -1 before the first assignment."""
        return struct.pack(">i", self._generation)

    def on_assignment(self, assignment: Iterable[TopicPartition], generation: int) -> None:  # noqa: ARG002 - the interface's signature
        """Remember the generation of the member's assignment.

        Raises:
            AssignorError: The generation is not an int32.
        """
        self._generation = read_int(generation, "on_assignment: generation", bits=32)


def check_string(value: object, what: str) -> None:
    """Raise an AssignorError if the value is not a `str` that a subscription can contain."""
    size = len(check_name(value, what).encode())
    if size > MAX_STRING_BYTES:
        raise IllegalArgumentError(f"{what} has {size} bytes of UTF-8; the limit is {MAX_STRING_BYTES}: {shown(value)}")
