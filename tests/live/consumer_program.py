"""Program that runs one consumer until it is killed, frozen or terminated; SIGTERM closes it.

Arguments: client, address, group, topic, client id and session timeout in milliseconds.
"""

from __future__ import annotations

import asyncio
import ctypes
import signal
import sys
from typing import Any

HEARTBEAT_MS = 300

PR_SET_PDEATHSIG = 1
"""Option of Linux's `prctl`: the signal that a process gets when its parent ends."""


def run_kafka_python(address: str, group: str, topic: str, name: str, session: int, ending: list[int]) -> None:
    """Run a consumer of kafka-python."""
    from kafka import KafkaConsumer

    settings = {"heartbeat_interval_ms": HEARTBEAT_MS, "session_timeout_ms": session, "enable_auto_commit": False}
    consumer = KafkaConsumer(bootstrap_servers=address, client_id=name, group_id=group, **settings)
    consumer.subscribe([topic])
    consumer.topics()
    while not ending:
        consumer.poll(timeout_ms=50)
    consumer.close()


def run_aiokafka(address: str, group: str, topic: str, name: str, session: int, ending: list[int]) -> None:
    """Run a consumer of aiokafka."""
    import aiokafka

    settings = {"heartbeat_interval_ms": HEARTBEAT_MS, "session_timeout_ms": session, "enable_auto_commit": False}

    async def consume() -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=address, client_id=name, group_id=group, **settings
        )
        await consumer.start()
        while not ending:
            await consumer.getmany(timeout_ms=50)
        await consumer.stop()

    asyncio.run(consume())


def run_librdkafka(address: str, group: str, topic: str, name: str, session: int, ending: list[int]) -> None:
    """Run a consumer of confluent-kafka, in a classic group."""
    settings = {"heartbeat.interval.ms": HEARTBEAT_MS, "session.timeout.ms": session}
    _poll(settings, address, group, topic, name, ending)


def run_librdkafka_next(address: str, group: str, topic: str, name: str, _session: int, ending: list[int]) -> None:
    """Run a consumer of confluent-kafka, in a KIP-848 group, whose session timeout is a setting of the broker."""
    _poll({"group.protocol": "consumer"}, address, group, topic, name, ending)


def _poll(settings: dict[str, Any], address: str, group: str, topic: str, name: str, ending: list[int]) -> None:
    import confluent_kafka

    common = {"bootstrap.servers": address, "client.id": name, "group.id": group, "enable.auto.commit": False}
    consumer = confluent_kafka.Consumer({**common, **settings})
    consumer.subscribe([topic])
    while not ending:
        consumer.poll(0.05)
    consumer.close()


CLIENTS = {
    "kafka-python": run_kafka_python,
    "aiokafka": run_aiokafka,
    "librdkafka": run_librdkafka,
    "librdkafka-next": run_librdkafka_next,
}

if __name__ == "__main__":
    client, server, group_id, topic_name, client_id, session_ms = sys.argv[1:]
    terminated: list[int] = []
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a frozen process could not end by itself
    signal.signal(signal.SIGTERM, lambda number, _: terminated.append(number))
    CLIENTS[client](server, group_id, topic_name, client_id, int(session_ms), terminated)
