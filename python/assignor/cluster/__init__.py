"""Where records come from: recordings, live clusters, and what Kafka's admin clients say of groups and topics.

The readers of live clusters use confluent-kafka (extra `kafka`) and change nothing on a cluster.
Their consumers commit no offset and join no group: they assign partitions to themselves. `confluent.read_cluster`
returns a `ClusterSnapshot` (`snapshot`) with the rows that `assignor.spark.Fleet` reads.
"""

from assignor.cluster.folder import COLUMNS, Recording

__all__ = ["COLUMNS", "Recording"]
