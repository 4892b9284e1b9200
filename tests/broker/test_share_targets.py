"""Targets of a share group that a real broker computes, compared with ours by a replay of its log."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from kio.schema.share_group_describe.v1 import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from kio.schema.types import GroupId

from assignor.cli import main
from tests.broker.admin import Admin
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.broker.cluster import Cluster
    from tests.broker.connection import Connection

pytestmark = pytest.mark.broker

GROUP = "share-targets"
COUNTS = {"share-targets.a": 5, "share-targets.b": 2, "share-targets.c": 1}
A, B, C = COUNTS


class SharedGroup:
    """Share group of Kafka's Java client, whose consumers all run in one program."""

    def __init__(self, program: KafkaProgram, connection: Connection, address: str) -> None:
        self._program = program
        self._connection = connection
        self._settings = {"bootstrap.servers": address, "group.id": GROUP, "metadata.max.age.ms": "500"}
        self.topics: dict[str, list[str]] = {}
        self.counts = dict(COUNTS)

    def join(self, name: str, *topics: str) -> None:
        """Start a consumer."""
        self._ask({"do": "join", "name": name, "topics": topics, "settings": self._settings})
        self._settle(name, topics)

    def subscribe(self, name: str, *topics: str) -> None:
        """Change the subscription of a consumer."""
        self._ask({"do": "subscribe", "name": name, "topics": topics})
        self._settle(name, topics)

    def leave(self, *names: str) -> None:
        """Close consumers, and wait for the assignment of the others."""
        for name in names:
            self._ask({"do": "leave", "name": name})
            del self.topics[name]
        self._settle()

    def grow(self, admin: Admin, topic: str, count: int) -> None:
        """Add partitions to a topic, and wait until they have owners."""
        admin.grow_topic(topic, count)
        self.counts[topic] = count
        self._settle()

    def _ask(self, command: dict[str, object]) -> None:
        errors = {name: state["error"] for name, state in self._program.ask(command).items() if state["error"]}
        assert not errors

    def _settle(self, name: str | None = None, topics: Iterable[str] = ()) -> None:
        """Wait until each partition of the subscribed topics has an owner in the current epoch."""
        if name is not None:
            self.topics[name] = sorted(topics)
        wanted = {(name, id) for names in self.topics.values() for name in names for id in range(self.counts[name])}
        end = time.monotonic() + 60
        while True:
            self._ask({"do": "say"})
            request = ShareGroupDescribeRequest(group_ids=(GroupId(GROUP),), include_authorized_operations=False)
            (group,) = self._connection.ask(request, ShareGroupDescribeResponse).groups
            owned = {
                (str(topic.topic_name), int(id))
                for member in group.members
                for topic in member.assignment.topic_partitions
                for id in topic.partitions
            }
            subscribed = {str(member.client_id): sorted(member.subscribed_topic_names) for member in group.members}
            is_current = all(member.member_epoch == group.group_epoch for member in group.members)
            is_complete = subscribed == self.topics and owned == wanted
            if is_complete and is_current and group.assignment_epoch == group.group_epoch:
                return
            assert time.monotonic() < end, group
            time.sleep(0.02)


def test_targets_of_a_broker_equal_ours(broker: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with broker.connect() as connection, KafkaProgram("consumers.ShareConsumers") as program:
        admin = Admin(connection)
        admin.create_topics(COUNTS)
        admin.await_coordinator(GROUP)
        group = SharedGroup(program, connection, broker.address)
        for name in ("first", "second", "third", "c3", "c4", "c5", "c6"):  # more members than partitions
            group.join(name, A)
        group.grow(admin, A, 9)
        group.leave("second", "c3")
        group.subscribe("third", A, B, C)
        group.join("last", B)
        group.subscribe("last", C)  # keeps the partitions of its former topic while another member has it
        group.grow(admin, B, 4)
        group.leave("first")

    folder = str(tmp_path / "recording")
    assert 0 == main(["record", "--bootstrap-server", broker.address, "--out", folder, "--until-end"])
    capsys.readouterr()
    assert 0 == main(["replay", folder, "--json", "--group", GROUP])

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    compared = [event["comparison"] for event in events if event["event"] == "generation" and event["comparison"]]
    assert len(compared) >= 14, "a target for each join, leave, new subscription and growth"
    assert {("simple", "equal", None)} == {
        (found["assignor"], found["outcome"], found["class"]) for found in compared
    }, [found for found in compared if found["outcome"] != "equal"]
