"""Consumer of kafka-python in a group whose leader assigns partitions as Kafka's own range assignor does.

With `--shadow`, the leader assigns as kafka-python does, and logs how Kafka's answer differs:

$ python kafka_python_consumer.py localhost:9092 billing orders payments --shadow
"""

from __future__ import annotations

import argparse
import logging
import signal
import threading
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer

from assignor.clients.kafka_python import RangeAssignor


class Printer(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    """Listener that prints the partitions of this consumer after each rebalance."""

    def __init__(self, consumer: Any) -> None:
        self.consumer = consumer

    def on_partitions_revoked(self, revoked: Any) -> None:
        """Do nothing: kafka-python has committed the offsets."""

    def on_partitions_assigned(self, assigned: Any) -> None:  # noqa: ARG002 - part of the interface
        """Print all partitions of this consumer."""
        owned = sorted(f"{partition.topic}-{partition.partition}" for partition in self.consumer.assignment())
        print("assigned:", *owned, flush=True)


def main() -> None:
    """Consume until the process receives SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap", help="addresses of brokers, separated by commas")
    parser.add_argument("group", help="group id")
    parser.add_argument("topics", nargs="+")
    parser.add_argument("--instance", help="group instance id, which makes this a static member")
    parser.add_argument("--rack", help="rack of this consumer, as in broker.rack")
    parser.add_argument("--shadow", action="store_true", help="assign as kafka-python does, and log the difference")
    given = parser.parse_args()
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("assignor.clients").setLevel(logging.INFO)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())

    consumer = KafkaConsumer(
        bootstrap_servers=given.bootstrap.split(","),
        group_id=given.group,
        group_instance_id=given.instance,
        client_rack=given.rack or "",
        partition_assignment_strategy=[RangeAssignor(client_rack=given.rack, shadow=given.shadow)],
        auto_offset_reset="earliest",
    )
    consumer.subscribe(given.topics, listener=Printer(consumer))
    consumer.topics()  # loads the partitions of the topics before the group forms
    while not stopping.is_set():
        for partition, records in consumer.poll(timeout_ms=500).items():
            for record in records:
                print(f"{partition.topic}-{partition.partition} {record.offset}: {record.value!r}", flush=True)
    consumer.close()


if __name__ == "__main__":
    main()
