"""Metadata and groups of a cluster, read by the Python clients of Kafka.

`kafka_python`, `aiokafka` and `confluent` each turn their client's metadata into `partitions_per_topic`, with the racks
of the replicas. `kafka_python` and `confluent` also look at all groups of a live cluster: `read_cluster` gives a
`ClusterSnapshot` (`snapshot`), which has the rows that a fleet is made of. Nothing here changes a cluster, and
importing a module here imports no client: the caller brings the client's own objects.
"""

from assignor.clients import aiokafka, confluent, kafka_python, snapshot

__all__ = ["aiokafka", "confluent", "kafka_python", "snapshot"]
