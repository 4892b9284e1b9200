"""Groups of every kind at one broker, of confluent-kafka, of kafka-python and by hand, and what their members say."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import confluent_kafka
from kafka import KafkaConsumer

from assignor import Subscription, TopicPartition
from assignor.wire import encode_assignment, encode_subscription
from tests.broker.admin import Admin
from tests.broker.blobs import join, join_share, sync

if TYPE_CHECKING:
    from tests.broker.cluster import Cluster

TOPICS = {"orders": 6, "payments": 3, "quiet": 2}
OLD_BODY = encode_subscription(Subscription(("orders", "quiet")), 0)

BLOBS = {
    "newer-header": b"\0\3" + OLD_BODY[2:],
    "garbage": b"\0\1" + OLD_BODY[2:] + b"\0\0\0\1\0\6ord",  # cut short after the topics, which brokers look at
    "idle": encode_subscription(Subscription(("orders",), rack="r9"), 3),
}
"""Subscriptions of groups of one member, which has the third partition of payments, but for the idle one."""

Owned = dict[str, list[TopicPartition]]


class Groups:
    """The groups of all tests, and what their members say.

    Attributes:
        address: The broker's.
        owned: By group and member id what each member of a real client owns, sorted.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.address = cluster.address
        self.owned: dict[str, Owned] = {}
        self._consumers: dict[str, list[Any]] = {}
        self._connection = cluster.connect()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Create the topics, let everybody join, and wait until every partition has an owner."""
        admin = Admin(self._connection)
        admin.create_topics(TOPICS)
        admin.await_coordinator("of-librdkafka")
        self.join_by_hand()
        new = {"group.protocol": "consumer", "client.rack": "r1"}
        self.join("of-librdkafka", ["orders", "payments"])
        # Kafka's order begins with static members, and librdkafka's is by member id: this one is first in both.
        self.join("of-librdkafka", ["orders"], **{"group.instance.id": "a-static-one", "client.rack": "r1"})
        self.join("of-librdkafka", ["^orders$", "quiet"])
        self.join("next-generation", ["payments"], **new)
        for _ in range(3):
            self.join("next-generation", ["^pay.*"], **new)
        self.join("apart", ["orders"], **new)
        self.join("apart", ["payments", "quiet"], **new, **{"group.instance.id": "static-2"})
        self.offsets_only()
        for number in range(2):
            self.join_kafka_python("of-kafka-python", "orders", "payments", client_id=f"kafka-python-{number}")
        shares = {"of-librdkafka": (11, 3), "next-generation": (3, 3), "apart": (11, 2), "of-kafka-python": (9, 2)}
        end = time.monotonic() + 40
        while self.look() != shares or len(admin.describe("next-generation").members) < 4:
            assert time.monotonic() < end, self.owned
        # What a client owns its coordinator may not yet know that it owns: one more heartbeat says so.
        self.poll(0.7)
        assert shares == self.look()

    def end(self) -> None:
        """Let go of everything; the broker ends after that."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        for consumers in self._consumers.values():
            for consumer in consumers:
                consumer.close()
        self._connection.close()

    def join(self, group: str, topics: list[str], **settings: str) -> None:
        """Add a consumer of confluent-kafka."""
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.address, "group.id": group, "enable.auto.commit": False, **settings}
        )
        consumer.subscribe(topics)
        self._consumers.setdefault(group, []).append(consumer)

    def join_kafka_python(self, group: str, *topics: str, **settings: Any) -> None:
        """Add a consumer of kafka-python, which a thread polls."""
        consumer = KafkaConsumer(
            *topics, bootstrap_servers=self.address, group_id=group, enable_auto_commit=False, **settings
        )

        def poll() -> None:
            while not self._stop.is_set():
                consumer.poll(timeout_ms=50)

        self._consumers.setdefault(group, []).append(consumer)
        self._threads.append(threading.Thread(target=poll, name=settings["client_id"], daemon=True))
        self._threads[-1].start()

    def join_by_hand(self) -> None:
        """Let members in whose bytes no client sends."""
        for group, blob in BLOBS.items():
            has = [("payments", 2)] if group != "idle" else []
            sync(self._connection, group, join(self._connection, group, blob), encode_assignment(has))
        join(self._connection, "rebalancing", OLD_BODY)
        connect = b"\0\1not a consumer's"
        sync(self._connection, "works", join(self._connection, "works", connect, "connect"), connect, "connect")
        join_share(self._connection, "shared", str(uuid.uuid4()), "orders")

    def offsets_only(self) -> None:
        """Commit for a group that nobody joins."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.address, "group.id": "offsets-only"})
        consumer.commit(offsets=[confluent_kafka.TopicPartition("orders", 0, 0)], asynchronous=False)
        consumer.close()

    def look(self) -> dict[str, tuple[int, int]]:
        """Poll everybody, keep what they own, and say how many partitions each group has, and how many owners."""
        self.poll(0.05)
        self.owned = {
            group: {
                self.member_id(consumer): sorted(TopicPartition(*self.pair(each)) for each in consumer.assignment())
                for consumer in consumers
            }
            for group, consumers in self._consumers.items()
        }
        return {
            group: (sum(map(len, owned.values())), sum(map(bool, owned.values())))
            for group, owned in self.owned.items()
        }

    def poll(self, seconds: float) -> None:
        """Let the consumers of confluent-kafka take part for a while."""
        end = time.monotonic() + seconds
        while True:
            for consumers in self._consumers.values():
                for consumer in consumers:
                    if isinstance(consumer, confluent_kafka.Consumer):
                        consumer.poll(0.005)
            if time.monotonic() > end:
                return

    @staticmethod
    def member_id(consumer: Any) -> str:
        """A member's id, of either client."""
        if isinstance(consumer, confluent_kafka.Consumer):
            return str(consumer.memberid())
        return str(consumer._coordinator._generation.member_id)

    @staticmethod
    def pair(partition: Any) -> tuple[str, int]:
        """A partition, of either client."""
        return partition.topic, partition.partition
