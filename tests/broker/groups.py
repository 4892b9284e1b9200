"""Groups of every kind at one broker: of confluent-kafka, of kafka-python and hand-made."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import confluent_kafka
from kafka import KafkaConsumer

from assignor import Subscription, TopicPartition
from assignor.wire import decode_assignment, encode_assignment, encode_subscription
from tests.broker.admin import Admin
from tests.broker.blobs import join, join_share, sync
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from tests.broker.cluster import Cluster

TOPICS = {"orders": 6, "payments": 3, "quiet": 2}
OLD_BODY = encode_subscription(Subscription(("orders", "quiet")), 0)

OF_KIP_848 = ("next-generation", "apart")
"""Groups whose members use the protocol of KIP-848."""

BLOBS = {
    "newer-header": b"\0\3" + OLD_BODY[2:],
    "garbage": b"\0\1" + OLD_BODY[2:] + b"\0\0\0\1\0\6ord",  # cut off after the topics, which brokers parse
    "idle": encode_subscription(Subscription(("orders",), rack="r9"), 3),
}
"""Subscriptions of hand-made groups. The only member owns the third partition of payments, except in group idle."""

DAY_MS = 86_400_000

Owned = dict[str, list[TopicPartition]]


class Groups:
    """Groups for all tests.

    Attributes:
        address: Address of the broker.
        owned: Sorted partitions that the members of real clients own, by group and member id.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.address = cluster.address
        self.owned: dict[str, Owned] = {}
        self._consumers: dict[str, list[Any]] = {}
        self._connection = cluster.connect()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Create the topics, let all members join, and wait until every partition has an owner."""
        admin = Admin(self._connection)
        admin.create_topics(TOPICS)
        admin.await_coordinator("of-librdkafka")
        self.join_by_hand()
        new = {"group.protocol": "consumer", "client.rack": "r1"}
        self.join("of-librdkafka", ["orders", "payments"])
        # Kafka orders static members first, and librdkafka orders by member id: this member is first in both orders.
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
        end = time.monotonic() + 120
        while self.look() != shares or self.owned != {group: self.described(admin, group) for group in shares}:
            assert time.monotonic() < end, self.owned

    def end(self) -> None:
        """Close all consumers and connections."""
        self._stop.set()
        for thread in self._threads:
            within(f"polling {thread.name}", thread.join)
        close_consumers(consumer for consumers in self._consumers.values() for consumer in consumers)
        self._connection.close()

    def join(self, group: str, topics: list[str], **settings: str) -> None:
        """Add a consumer of confluent-kafka."""
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": group,
                "enable.auto.commit": False,
                "max.poll.interval.ms": DAY_MS,  # nothing polls while tests run
                **settings,
            }
        )
        consumer.subscribe(topics)
        self._consumers.setdefault(group, []).append(consumer)

    def join_kafka_python(self, group: str, *topics: str, **settings: Any) -> None:
        """Add a consumer of kafka-python that a thread polls."""
        consumer = KafkaConsumer(
            *topics, bootstrap_servers=self.address, group_id=group, enable_auto_commit=False, **settings
        )
        # A leader without metadata assigns no partitions, and rejoins when it has metadata. If a poll ends during
        # this rejoin, kafka-python 3.0.12 forgets it, and this member stays without partitions.
        consumer.topics()

        def poll() -> None:
            while not self._stop.is_set():
                consumer.poll(timeout_ms=50)

        self._consumers.setdefault(group, []).append(consumer)
        self._threads.append(threading.Thread(target=poll, name=settings["client_id"], daemon=True))
        self._threads[-1].start()

    def join_by_hand(self) -> None:
        """Add members with bytes that no client sends."""
        for group, blob in BLOBS.items():
            has = [("payments", 2)] if group != "idle" else []
            sync(self._connection, group, join(self._connection, group, blob), encode_assignment(has))
        join(self._connection, "rebalancing", OLD_BODY)
        connect = b"\0\1not a consumer's"
        sync(self._connection, "works", join(self._connection, "works", connect, "connect"), connect, "connect")
        join_share(self._connection, "shared", str(uuid.uuid4()), "orders")

    def offsets_only(self) -> None:
        """Commit an offset for a group without members."""
        consumer = confluent_kafka.Consumer({"bootstrap.servers": self.address, "group.id": "offsets-only"})
        places = [confluent_kafka.TopicPartition("orders", 0, 0)]
        within("the commit of offsets-only", lambda: consumer.commit(offsets=places, asynchronous=False))
        within("closing the consumer of offsets-only", consumer.close)

    def look(self) -> dict[str, tuple[int, int]]:
        """Poll all consumers and update `owned`. Return the numbers of owned partitions and of owners of each group."""
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

    @staticmethod
    def described(admin: Admin, group: str) -> Owned:
        """Return the sorted partitions of each member by the coordinator's description.

        The result is empty unless the group is stable.
        """
        if group in OF_KIP_848:
            described = admin.describe(group)
            is_stable = described.state == "Stable" and all(
                member.assigned == member.target and member.epoch == described.epoch
                for member in described.members.values()
            )
            return {name: sorted(member.assigned) for name, member in described.members.items()} if is_stable else {}
        classic = admin.describe_classic(group)
        if classic.group_state != "Stable":
            return {}
        return {
            member.member_id: sorted(decode_assignment(member.member_assignment).partitions)
            for member in classic.members
        }

    def poll(self, seconds: float) -> None:
        """Poll the consumers of confluent-kafka for a number of seconds."""
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
        """Return the member id of a consumer of either client."""
        if isinstance(consumer, confluent_kafka.Consumer):
            return str(consumer.memberid())
        return str(consumer._coordinator._generation.member_id)

    @staticmethod
    def pair(partition: Any) -> tuple[str, int]:
        """Return topic and number of a partition of either client."""
        return partition.topic, partition.partition
