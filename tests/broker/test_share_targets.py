"""Targets of a share group that a real broker computes, compared with ours by a replay of its log."""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.share_group_describe.v1 import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from kio.schema.share_group_heartbeat.v1 import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32

from assignor.cli import main
from tests.broker.admin import Admin, RequestError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.broker.cluster import Cluster
    from tests.broker.connection import Connection

pytestmark = pytest.mark.broker

GROUP = "share-targets"
COUNTS = {"share-targets.a": 5, "share-targets.b": 2, "share-targets.c": 1}
A, B, C = COUNTS
LEAVES = i32(-1)


class SharedGroup:
    """Share group whose members send the heartbeats of Kafka's share consumers, and read no records."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._epochs: dict[str, i32] = {}
        self.topics: dict[str, tuple[str, ...]] = {}
        self.counts = dict(COUNTS)

    def subscribe(self, *topics: str, member: str | None = None) -> str:
        """Let a new member join, or a member subscribe to other topics; return the member id."""
        member = member or str(uuid.uuid4())
        self.topics[member] = topics
        self._beat(member, topics)
        self._settle()
        return member

    def leave(self, *members: str) -> None:
        """Let members leave, and wait for the assignment of the others."""
        for member in members:
            self._epochs[member] = LEAVES
            self._beat(member)
            del self._epochs[member], self.topics[member]
        self._settle()

    def grow(self, admin: Admin, topic: str, count: int) -> None:
        """Add partitions to a topic, and wait until they have owners."""
        admin.grow_topic(topic, count)
        self.counts[topic] = count
        self._settle()

    def _beat(self, member: str, topics: tuple[str, ...] | None = None) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id=GroupId(GROUP),
            member_id=member,
            member_epoch=self._epochs.get(member, i32(0)),
            subscribed_topic_names=None if topics is None else tuple(map(TopicName, topics)),
        )
        answer = self._connection.ask(request, ShareGroupHeartbeatResponse)
        if answer.error_code != ErrorCode.none:
            raise RequestError(answer.error_code, answer.error_message)
        self._epochs[member] = answer.member_epoch

    def _settle(self) -> None:
        """Send heartbeats until each partition of the subscribed topics has an owner in the current epoch."""
        wanted = {(name, id) for names in self.topics.values() for name in names for id in range(self.counts[name])}
        end = time.monotonic() + 60
        while True:
            for member in self.topics:
                self._beat(member)
            request = ShareGroupDescribeRequest(group_ids=(GroupId(GROUP),), include_authorized_operations=False)
            (group,) = self._connection.ask(request, ShareGroupDescribeResponse).groups
            owned = {
                (str(topic.topic_name), int(id))
                for member in group.members
                for topic in member.assignment.topic_partitions
                for id in topic.partitions
            }
            is_current = all(member.member_epoch == group.group_epoch for member in group.members)
            if is_current and group.assignment_epoch == group.group_epoch and owned == wanted:
                return
            assert time.monotonic() < end, group
            time.sleep(0.02)


def test_targets_of_a_broker_equal_ours(broker: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with broker.connect() as connection:
        admin = Admin(connection)
        admin.create_topics(COUNTS)
        admin.await_coordinator(GROUP)
        group = SharedGroup(connection)
        first, second, third = (group.subscribe(A) for _ in range(3))
        others = [group.subscribe(A) for _ in range(4)]  # more members than partitions
        group.grow(admin, A, 9)
        group.leave(second, others[0])
        group.subscribe(A, B, C, member=third)
        last = group.subscribe(B)
        group.subscribe(C, member=last)  # keeps the partitions of its former topic while another member has it
        group.grow(admin, B, 4)
        group.leave(first)

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
