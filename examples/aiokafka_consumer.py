"""Consumer of aiokafka in a group whose leader assigns partitions as Kafka's own range assignor does.

With `--shadow`, the leader assigns as aiokafka does, and logs how Kafka's answer differs:

$ python aiokafka_consumer.py localhost:9092 billing orders payments --shadow
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener

from assignor.clients.aiokafka import RangeAssignor


class Printer(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Listener that prints the partitions of this consumer after each rebalance."""

    def on_partitions_revoked(self, revoked: Any) -> None:
        """Do nothing: aiokafka has committed the offsets."""

    def on_partitions_assigned(self, assigned: Any) -> None:
        """Print all partitions of this consumer: aiokafka rebalances eagerly, so `assigned` contains all of them."""
        print("assigned:", *sorted(f"{partition.topic}-{partition.partition}" for partition in assigned), flush=True)


async def consume(given: argparse.Namespace) -> None:
    """Consume until the process receives SIGINT or SIGTERM."""
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)

    consumer = AIOKafkaConsumer(
        bootstrap_servers=given.bootstrap,
        group_id=given.group,
        group_instance_id=given.instance,
        client_rack=given.rack,
        partition_assignment_strategy=[RangeAssignor(client_rack=given.rack, shadow=given.shadow)],
        auto_offset_reset="earliest",
    )
    consumer.subscribe(given.topics, listener=Printer())
    await consumer.start()
    try:
        while not stopping.is_set():
            for partition, records in (await consumer.getmany(timeout_ms=500)).items():
                for record in records:
                    print(f"{partition.topic}-{partition.partition} {record.offset}: {record.value!r}", flush=True)
    finally:
        await consumer.stop()


def main() -> None:
    """Read the command line, and consume."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap", help="addresses of brokers, separated by commas")
    parser.add_argument("group", help="group id")
    parser.add_argument("topics", nargs="+")
    parser.add_argument("--instance", help="group instance id, which makes this a static member")
    parser.add_argument("--rack", help="rack of this consumer, as in broker.rack")
    parser.add_argument("--shadow", action="store_true", help="assign as aiokafka does, and log the difference")
    given = parser.parse_args()
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("assignor.clients").setLevel(logging.INFO)
    asyncio.run(consume(given))


if __name__ == "__main__":
    main()
