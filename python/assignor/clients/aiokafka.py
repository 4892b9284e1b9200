"""Adapter for aiokafka: assignors for its consumer, and its metadata as `partitions_per_topic`.

`RangeAssignor`, `RoundRobinAssignor` and `StickyAssignor` go into the consumer's `partition_assignment_strategy`
(`assignor.clients.aiokafka_assignors`). Only they import aiokafka, when they are first used; the
extra `aiokafka` installs a supported release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cluster.client_topics import ClusterTopics, read_described
from assignor.errors import WrongTypeError
from assignor.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.clients.aiokafka_assignors import (
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
    )
    from assignor.model import PartitionInfo

__all__ = [
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "partitions_per_topic",
]


def __getattr__(name: str) -> object:
    """Return an assignor. Its module imports the client."""
    if name in __all__:
        from assignor.clients import aiokafka_assignors

        return getattr(aiokafka_assignors, name)
    if name == "CooperativeStickyAssignor":
        raise AttributeError(f"{__name__} has no {name}: consumers of aiokafka rebalance eagerly; use StickyAssignor")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def partitions_per_topic(
    metadata: Any, topics: Iterable[str] | None = None, *, cluster: Mapping[str, Any] | None = None
) -> dict[str, int | list[PartitionInfo]]:
    """Return the partitions of topics, with the racks of their replicas.

    Args:
        metadata: An `aiokafka.cluster.ClusterMetadata`, which assignors of aiokafka receive; or the result of
            `await AIOKafkaAdminClient.describe_topics()`.
        topics: Names of the topics to return; by default all, including internal ones, which are assigned only to
            members that subscribe to them.
        cluster: Only with the result of `describe_topics()`: the result of
            `await AIOKafkaAdminClient.describe_cluster()`, which has the racks of the brokers. Without it partitions
            have no racks.

    Returns:
        For each topic the number of partitions n, if no broker has a rack and the partition ids are 0 to n-1.
        Otherwise a list of `PartitionInfo` in ascending order of id, with the rack of each replica in the order of the
        replicas, and None for the rack of an unknown broker. Partitions with an error, such as a missing leader, are
        included.

        The topics are in the order of `topics`, or by default in Java's `String` order. By default, topics without
        known partitions and topics with an error are omitted, as in Kafka's consumers.

    Raises:
        IllegalArgumentError: One of `topics` is not in the metadata, has an error, or has no known partitions.
        WrongTypeError: `metadata` or `cluster` is not what the client returns.

    Example:
        >>> parts = [{"partition": 0, "replicas": [1, 2]}, {"partition": 1, "replicas": [2]}]
        >>> described = [{"error_code": 0, "topic": "orders", "partitions": parts}]
        >>> partitions_per_topic(described)
        {'orders': 2}
        >>> brokers = [{"node_id": 1, "rack": "r1"}, {"node_id": 2, "rack": None}]
        >>> partitions_per_topic(described, cluster={"brokers": brokers})["orders"][0]
        PartitionInfo(partition=0, racks=('r1', None))
    """
    return _read(metadata, cluster).partitions_per_topic(topics)


def _read(metadata: Any, cluster: Mapping[str, Any] | None) -> ClusterTopics:
    if isinstance(metadata, list):
        return read_described(
            metadata,
            cluster,
            "AIOKafkaAdminClient",
            broker="node_id",
            topic="topic",
            partition="partition",
            replicas="replicas",
        )
    # aiokafka has no public method that returns the replicas of a partition. kafka-python's class also has
    # `_partitions`, but no `with_partitions`.
    known = getattr(metadata, "_partitions", None)
    if not isinstance(known, dict) or not hasattr(metadata, "with_partitions"):
        raise WrongTypeError(
            "metadata must be aiokafka's ClusterMetadata or the list from its describe_topics(), "
            f"not {type(metadata).__name__}: {shown(metadata)}"
        )
    racks = {broker.nodeId: broker.rack for broker in metadata.brokers()}
    cluster_topics = ClusterTopics(any(rack is not None for rack in racks.values()))
    for topic in metadata.topics(exclude_internal_topics=False):
        cluster_topics.add(
            topic,
            {id: tuple(racks.get(broker) for broker in partition.replicas) for id, partition in known[topic].items()},
        )
    for topic in metadata.unauthorized_topics:
        cluster_topics.add_error(topic, 29)
    return cluster_topics
