"""Adapters for the Python clients of Kafka: assignors, topic metadata and groups of a cluster.

`kafka_python`, `aiokafka` and `confluent` each convert the metadata of their client to `partitions_per_topic`, with the
racks of the replicas. `kafka_python` and `confluent` can also read all groups of a live cluster: `read_cluster` returns
a `ClusterSnapshot` (`snapshot`) with the rows that `assignor.spark.Fleet` reads. No function changes a cluster. The
modules import their client only when it is needed.

`kafka_python` and `aiokafka` also have assignors for the consumers of their client, such as
`kafka_python.RangeAssignor`. They import the client when they are first used.
"""

from assignor.clients import aiokafka, confluent, kafka_python, snapshot

__all__ = ["aiokafka", "confluent", "kafka_python", "snapshot"]
