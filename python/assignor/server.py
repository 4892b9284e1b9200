"""The assignors of Kafka's broker: for consumer groups (KIP-848), share groups (KIP-932) and streams groups (KIP-1071).

Source: UniformAssignor, RangeAssignor and SimpleAssignor of org.apache.kafka.coordinator.group.assignor,
kafka-group-coordinator 4.4.0, and StickyTaskAssignor of 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor._engine import check_engine
from assignor.calling_consumer import OfNoClient
from assignor.names import AssignorName, Engine, GroupProtocol
from assignor.streams_sticky import MemberTasks, StreamsMember, StreamsStickyAssignor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from assignor.model import TopicPartition
    from assignor.partition_assignor import PartitionsPerTopic, Subscriptions

__all__ = [
    "MemberTasks",
    "RangeAssignor",
    "SimpleAssignor",
    "StreamsMember",
    "StreamsStickyAssignor",
    "UniformAssignor",
]


class ServerAssignor(OfNoClient):
    """Base of the broker's assignors; subclasses set `name`, Kafka's name of the assignor, and `group_protocol`.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.
    """

    _module = "assignor.server"
    name: AssignorName
    group_protocol: GroupProtocol = "consumer"

    def __init__(self, *, engine: Engine = "rust") -> None:
        super().__init__()
        check_engine(engine)
        self.engine: Engine = engine

    def __repr__(self) -> str:
        return f"{self._module}.{type(self).__name__}(engine={self.engine!r})"

    def assign(
        self,
        partitions_per_topic: PartitionsPerTopic,
        subscriptions: Subscriptions,
        topic_ids: Mapping[str, UUID | bytes | str] | None = None,
    ) -> dict[str, list[TopicPartition]]:
        """Return the target assignment of each member; arguments, order and errors are those of `assignor.assign`.

        Args:
            partitions_per_topic: The topics of the cluster.
            subscriptions: Member id to subscription. `owned_partitions` is the member's current target assignment.
            topic_ids: The ids of the topics.
        """
        from assignor import assign  # the core loads when it is first needed

        return assign(
            partitions_per_topic,
            subscriptions,
            assignor=self.name,
            group_protocol=self.group_protocol,
            topic_ids=topic_ids,
            engine=self.engine,
        )


class UniformAssignor(ServerAssignor):
    """The broker's uniform assignor: balanced over all topics, and members keep their partitions if possible.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> answer = UniformAssignor().assign({"t": 1, "u": 1}, {"a": ["t", "u"], "b": ["t", "u"]})
        >>> sorted(map(len, answer.values()))
        [1, 1]
    """

    name = "uniform"


class RangeAssignor(ServerAssignor):
    """The broker's range assignor: each member gets consecutive partitions of each of its topics.

    Unlike the range assignor of kafka-clients, it does not use racks.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> RangeAssignor().assign({"t": 3}, {"a": ["t"], "b": ["t"]})["b"]
        [TopicPartition(topic='t', partition=2)]
    """

    name = "range"


class SimpleAssignor(ServerAssignor):
    """The broker's assignor of share groups: a partition may have several owners.

    All partitions have the same number of owners: members divided by partitions, rounded up. If a group can read only
    some partitions of a topic, give the topic as the list of their ids.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> answer = SimpleAssignor().assign({"t": 2}, dict.fromkeys(["a", "b", "c"], ["t"]))
        >>> sorted(partition for owned in answer.values() for _, partition in owned)
        [0, 0, 1, 1]
    """

    name = "simple"
    group_protocol = "share"
