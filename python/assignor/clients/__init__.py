"""Adapters for Python consumers of Kafka: assignors and topic metadata of kafka-python and aiokafka.

`kafka_python` and `aiokafka` each convert the metadata of their client to `partitions_per_topic`, with the racks of the
replicas. `kafka_python.read_cluster` returns the groups of a live cluster, as `assignor.cluster.confluent.read_cluster`
does. No function changes a cluster. The modules import their client only when it is needed.

Both have assignors for the consumers of their client, such as `kafka_python.RangeAssignor`. They import the client when
they are first used.
"""

from assignor.clients import aiokafka, kafka_python

__all__ = ["aiokafka", "kafka_python"]
