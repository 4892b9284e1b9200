"""aiokafka: its metadata as `partitions_per_topic`.

No release of aiokafka is needed to import this; `pip install 'assignor[aiokafka]'` brings one that fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.clients.metadata import ClusterTopics
from assignor.errors import WrongTypeError
from assignor.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.model import PartitionInfo

__all__ = ["partitions_per_topic"]


def partitions_per_topic(
    metadata: Any, topics: Iterable[str] | None = None, *, cluster: Mapping[str, Any] | None = None
) -> dict[str, int | list[PartitionInfo]]:
    """Return the partitions of topics, with the racks of their replicas.

    Args:
        metadata: An `aiokafka.cluster.ClusterMetadata`, such as an assignor of aiokafka is given; or the list that
            `await AIOKafkaAdminClient.describe_topics()` gave.
        topics: Which topics; by default all, internal ones too: members get none that they did not subscribe to.
        cluster: Beside such a list, what `await AIOKafkaAdminClient.describe_cluster()` gave, which knows the racks:
            without it partitions have none.

    Returns:
        By topic a count n, which stands for the ids 0 to n-1, where no broker has a rack and no id is missing; else a
        list of `PartitionInfo` in ascending order of id, with the rack of each replica in the replicas' order. The rack
        of a broker that is not known is None. Partitions with an error of their own, such as one without a leader, are
        there like any other.

        Order: `topics` as given, by default Java's `String` order. By default topics without a known partition, and
        those for which the broker answered an error, are left out, as Kafka's own consumers do.

    Raises:
        IllegalArgumentError: One of `topics` is not in the metadata, has an error, or no partition of it is known.
        WrongTypeError: Something else is given.

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
        racks = {broker["node_id"]: broker.get("rack") for broker in cluster["brokers"]} if cluster else {}
        cluster_topics = ClusterTopics(any(rack is not None for rack in racks.values()))
        for topic in metadata:
            if topic["error_code"]:
                cluster_topics.add_error(topic["topic"], topic["error_code"])
            else:
                cluster_topics.add(
                    topic["topic"],
                    {
                        partition["partition"]: tuple(racks.get(broker) for broker in partition["replicas"])
                        for partition in topic["partitions"]
                    },
                )
        return cluster_topics
    # aiokafka tells which brokers have a partition's replicas nowhere else.
    known = getattr(metadata, "_partitions", None)
    if not isinstance(known, dict) or not hasattr(metadata, "brokers"):
        raise WrongTypeError(
            "metadata must be aiokafka's ClusterMetadata or the list that its describe_topics() gave, "
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
