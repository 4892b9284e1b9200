"""Groups of several clients at the shared broker for the tests of `assignor describe`, and what Kafka's tool prints."""

from __future__ import annotations

import re
import subprocess
import threading
from typing import Any

import confluent_kafka
import kafka
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata

from assignor.lag_time import TIME_COLUMNS
from assignor.lag_time_sums import SUMMED_TIME
from tests.broker.admin import Admin
from tests.broker.cluster import JARS
from tests.broker.groups import Groups
from tests.live.sharing import ShareGroup
from tests.live.watching import until
from tests.support.time_limit import within

RECORDS = {"described.a": [10, 20, 8, 0], "described.b": [7, 3]}
"""Number of records in each partition."""

DELETED = 5
"""Offset before which the records of the third partition of the first topic are deleted."""

GROUPS = {
    "described-classic": "classic",
    "described-consumer": "consumer",
    "described-offsets": "classic",
    "described-python": "classic",
    "described-share": "share",
}
"""Kind of each group."""

COMMITTED: dict[str, dict[tuple[str, int], int]] = {
    "described-classic": {("described.a", 0): 4, ("described.a", 1): 33, ("described.a", 2): 2},
    "described-consumer": {("described.b", 0): 7},
    "described-offsets": {("described.a", 0): 9, ("described.b", 1): 1},
    "described-python": {("described.b", 0): 5, ("described.b", 1): 0},
}
"""Committed offsets by group: one is beyond the end, and one before the start."""


IN_TIME = {"read_at", *TIME_COLUMNS.names, *SUMMED_TIME.names}
"""Keys of values that differ from one description to the next."""


def stable(value: Any) -> Any:
    """Return JSON without the values that differ from one description to the next."""
    if isinstance(value, dict):
        return {name: stable(each) for name, each in value.items() if name not in IN_TIME}
    return [stable(each) for each in value] if isinstance(value, list) else value


class LiveGroups(Groups):
    """Groups of several clients at the shared broker; they do not change after their start.

    Attributes:
        members: Member ids and client ids by group.
    """

    members: dict[str, dict[str, str]]
    _sharing: ShareGroup | None = None

    def start(self) -> None:
        """Create topics and groups, commit offsets, and wait until every partition has an owner."""
        admin = Admin(self._connection)
        admin.create_topics({name: len(counts) for name, counts in RECORDS.items()})
        for group in GROUPS:
            admin.await_coordinator(group)
        producer = confluent_kafka.Producer({"bootstrap.servers": self.address})
        for name, counts in RECORDS.items():
            for partition, count in enumerate(counts):
                for _ in range(count):
                    producer.produce(name, b"record", partition=partition)
        assert 0 == producer.flush(60)
        place = confluent_kafka.TopicPartition("described.a", 2, DELETED)
        client = AdminClient({"bootstrap.servers": self.address})
        (deleted,) = client.delete_records([place]).values()
        deleted.result(10)
        self.join("described-classic", ["described.a"], **{"client.id": "billing"})
        self.join("described-classic", ["described.a"], **{"group.instance.id": "static-1"})
        for _ in range(2):
            self.join("described-consumer", ["described.b"], **{"group.protocol": "consumer", "client.id": "new"})
        until(lambda: {"described-classic": (4, 2), "described-consumer": (2, 2)} == self.look())
        for group, consumers in self._consumers.items():
            for consumer in consumers:
                owned = set(map(self.pair, consumer.assignment()))
                commit(consumer, {place: offset for place, offset in COMMITTED[group].items() if place in owned})
        self.join_and_commit()
        alone = confluent_kafka.Consumer({"bootstrap.servers": self.address, "group.id": "described-offsets"})
        commit(alone, COMMITTED["described-offsets"])
        within("closing the consumer of described-offsets", alone.close)
        names = {"described-classic": ("billing", "rdkafka"), "described-consumer": ("new", "new")}
        names["described-python"] = ("python", "")
        self.members = {
            group: dict(zip(map(self.member_id, consumers), names[group], strict=False))
            for group, consumers in self._consumers.items()
        }
        # The coordinator learns from a later heartbeat what a member of a KIP-848 group owns.
        until(lambda: 2 == sum(len(each.assigned) for each in admin.describe("described-consumer").members.values()))
        self._sharing = ShareGroup(self.address, self._connection)

    def end(self) -> None:
        """Close all consumers and connections."""
        if self._sharing is not None:
            self._sharing.close()
        super().end()

    def join_and_commit(self) -> None:
        """Add a consumer of kafka-python, which must commit in the thread that polls it."""
        offsets = COMMITTED["described-python"]
        consumer = KafkaConsumer(
            bootstrap_servers=self.address, group_id="described-python", client_id="python", enable_auto_commit=False
        )
        until(lambda: consumer.partitions_for_topic("described.b"))  # else it may join before it knows the partitions
        consumer.subscribe(["described.b"])
        until(lambda: consumer.poll(timeout_ms=20) is not None and len(consumer.assignment()) == 2)
        consumer.pause(*consumer.assignment())
        consumer.commit({kafka.TopicPartition(*place): OffsetAndMetadata(at, "", -1) for place, at in offsets.items()})

        def poll() -> None:
            while not self._stop.is_set():
                consumer.poll(timeout_ms=20)

        self._consumers["described-python"] = [consumer]
        self._threads.append(threading.Thread(target=poll, name="python", daemon=True))
        self._threads[-1].start()


def commit(consumer: Any, offsets: dict[tuple[str, int], int]) -> None:
    places = [confluent_kafka.TopicPartition(*place, offset) for place, offset in offsets.items()]
    if places:
        within(f"the commit of {places}", lambda: consumer.commit(offsets=places, asynchronous=False))


def tool(address: str, *options: str, kind: str = "Consumer") -> list[dict[str, str]]:
    """Return the rows of these groups that Kafka's tool for a kind of groups prints, by the names of the columns."""
    java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(JARS / "*")]
    program = f"org.apache.kafka.tools.consumer.group.{kind}GroupCommand"
    command = [*java, program, "--bootstrap-server", address, "--describe", "--all-groups", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found, columns = [], {}
    for line in done.stdout.splitlines():
        if line.startswith("GROUP "):
            names = list(re.finditer(r"\S+(?: \(ID\))?", line))
            ends = [*(name.start() for name in names[1:]), None]
            columns = {name.group(): slice(name.start(), end) for name, end in zip(names, ends, strict=True)}
        elif line.split(" ")[0] in GROUPS:
            found.append({name: line[place].strip() for name, place in columns.items()})
    return found
