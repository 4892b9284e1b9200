"""Adapters for the Python clients of Kafka: assignors, topic metadata and groups of a cluster.

`kafka_python`, `aiokafka` and `confluent` each convert the metadata of their client to `partitions_per_topic`, with the
racks of the replicas. `kafka_python` and `confluent` can also read all groups of a live cluster: `read_cluster` returns
a `ClusterSnapshot` (`snapshot`) with the rows of a fleet. No function changes a cluster. They import a
client only when they need it.

`kafka_python` and `aiokafka` also have assignors for the consumers of their client, such as
`kafka_python.RangeAssignor`. They import the client when they are first used.
"""

from assignor.clients import aiokafka, confluent, kafka_python, snapshot

__all__ = ["aiokafka", "confluent", "kafka_python", "snapshot"]
