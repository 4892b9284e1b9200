"""Program that lets the coordinators of kafka-python 2 call our assignors without a server, and prints what happens.

It prints one JSON object. `tests/clients/test_kafka_python_2.py` runs it with several releases.
"""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import kafka
from kafka.cluster import ClusterMetadata
from kafka.coordinator.consumer import ConsumerCoordinator

import assignor.server
from assignor import Subscription
from assignor.clients import aiokafka, kafka_python
from assignor.wire import decode_assignment, encode_assignment, encode_subscription

HAS_INSTANCE_IDS = kafka.__version__ >= "2.3"
NAMES = ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor")
TOPICS = {"t": 5}

STATIC = {
    "a": Subscription(("t",)),
    "b": Subscription(("t",), group_instance_id="i1"),
    "c": Subscription(("t",)),
}


def cluster(topics: dict[str, int]) -> ClusterMetadata:
    """Return metadata with these topics."""
    found = ClusterMetadata()
    found._partitions = {topic: dict.fromkeys(range(count)) for topic, count in topics.items()}
    return found


class Consumer(ConsumerCoordinator):  # type: ignore[misc]  # the client has no types
    """Coordinator of a consumer that has no connections."""

    group_id = "g"
    auto_commit_interval = 1

    def __init__(self, strategy: Any) -> None:
        self.config = {"assignors": (strategy,), "group_id": "g", "api_version": (2, 3)}
        self._cluster = cluster(TOPICS)
        self._client = SimpleNamespace(set_topics=lambda _: None)
        self._is_leader = True
        self._metadata_snapshot: dict[str, Any] = {}
        self._subscription = SimpleNamespace(
            subscription=set(TOPICS),
            listener=None,
            rebalance_listener=None,
            group_subscribe=lambda _: None,
            group_subscription=lambda: set(TOPICS),
            assign_from_subscribed=lambda _: None,
            assigned_partitions=list,
        )

    def __del__(self) -> None:
        """Do nothing: there is nothing to close."""

    def join(self) -> bytes:
        """Return the subscription of the next JoinGroup request."""
        ((_, metadata),) = self.group_protocols()
        encoded: bytes = metadata.encode()
        return encoded

    def lead(self, name: str, members: dict[str, Any]) -> dict[str, bytes]:
        """Return the assignments of the SyncGroup request for the members of a JoinGroup response."""
        joined = [(member, *_encoded(data)) for member, data in members.items()]
        given = (
            [
                SimpleNamespace(member_id=member, group_instance_id=id, metadata_bytes=data)
                for member, id, data in joined
            ]
            if HAS_INSTANCE_IDS
            else [(member, data) for member, _, data in joined]
        )
        found = self._perform_assignment("a", name, given)
        return {member: assignment.encode() for member, assignment in found.items()}

    def receive(self, name: str, generation: int, data: bytes) -> None:
        """Take an assignment."""
        self._on_join_complete(generation, "a", name, data)


def _encoded(given: Subscription | bytes) -> tuple[str | None, bytes]:
    """Return the instance id and the bytes of a subscription."""
    return (None, given) if isinstance(given, bytes) else (given.group_instance_id, encode_subscription(given))


def ids(assignments: dict[str, bytes]) -> dict[str, list[int]]:
    """Return the partition ids of each member."""
    return {member: [id for _, id in decode_assignment(data).partitions] for member, data in assignments.items()}


def story(strategy: Any) -> dict[str, Any]:
    """Return what a member writes and answers in two generations: alone, and with a Java member."""
    consumer, name = Consumer(strategy), strategy.name
    first = consumer.join()
    alone = consumer.lead(name, {"a": first})
    consumer.receive(name, 7, alone["a"])
    second = consumer.join()
    both = consumer.lead(name, {"a": second, "java": Subscription(("t",), rack="r1")})
    return {
        "joins": [first.hex(), second.hex()],
        "alone": ids(alone),
        "both": ids(both),
        "bytes": both["java"].hex(),
        "static": ids(consumer.lead(name, STATIC)),
    }


def claims_of_two(strategy: Any) -> list[str]:
    """Return the second subscriptions of two consumers that use one assignor, and have the partitions 0 and 1."""
    consumers = [Consumer(strategy), Consumer(strategy)]
    for number, consumer in enumerate(consumers):
        consumer.join()
        consumer.receive("sticky", 3, encode_assignment([("t", number)]))
    return [consumer.join().hex() for consumer in consumers]


def error_of(strategy: Any) -> str:
    """Return the error of a consumer that joins with an assignor that is not for it."""
    try:
        Consumer(strategy).join()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def shadow() -> dict[str, Any]:
    """Return what a leader in shadow mode answers and logs, and what the client's own class answers."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(f"{record.levelname} {record.getMessage()}")  # type: ignore[method-assign]  # only this handler writes to the list
    logger = logging.getLogger("assignor.clients")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    answers = {}
    for name in NAMES:
        kind = getattr(kafka_python, name)
        answers[name] = [
            [consumer.join().hex(), ids(consumer.lead(kind.name, STATIC))]
            for consumer in (Consumer(kind(shadow=True)), Consumer(kind._own))
        ]
    logger.removeHandler(handler)
    return {"answers": answers, "lines": lines}


def main() -> None:
    """Print everything."""
    try:
        kafka_python.CooperativeStickyAssignor  # noqa: B018 - the module creates its names on demand
        cooperative = ""
    except ImportError as error:
        cooperative = f"{type(error).__name__}: {error}"
    print(  # noqa: T201 - the output of the program
        json.dumps(
            {
                "version": kafka.__version__,
                "instances": {name: story(getattr(kafka_python, name)(client_rack="r2")) for name in NAMES},
                "classes": {name: story(getattr(kafka_python, name)) for name in NAMES},
                "shared": [claims_of_two(kafka_python.StickyAssignor()), claims_of_two(kafka_python.StickyAssignor)],
                "wrong": [
                    error_of(each)
                    for each in (
                        assignor.RangeAssignor,
                        assignor.RangeAssignor(),
                        assignor.server.RangeAssignor(),
                        aiokafka.RangeAssignor,
                        aiokafka.RangeAssignor(),
                    )
                ],
                "cooperative": cooperative,
                "shadow": shadow(),
            }
        )
    )


if __name__ == "__main__":
    main()
