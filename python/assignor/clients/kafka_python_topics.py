"""Topics in the metadata of kafka-python's consumer, with the racks of their partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cluster.client_topics import ClusterTopics
from assignor.model import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_topics(metadata: Any, names: Iterable[str]) -> ClusterTopics:
    """Return topics of a `ClusterMetadata` with the racks of their partitions, without its errors."""
    racks = {broker.node_id: broker.rack for broker in sorted(metadata.brokers(), key=lambda broker: broker.node_id)}
    cluster_topics = ClusterTopics(any(rack is not None for rack in racks.values()))
    for topic in names:
        partitions = (TopicPartition(topic, id) for id in metadata.partitions_for_topic(topic) or ())
        cluster_topics.add(
            topic,
            {
                partition.partition: tuple(
                    rack for broker, rack in racks.items() if metadata.is_replica_node(partition, broker)
                )
                if cluster_topics.has_racks
                else ()
                for partition in partitions
            },
        )
    return cluster_topics
