"""Share group of confluent-kafka's consumers at a real broker, whose state does not change after its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from kio.schema.share_group_describe.v1 import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from kio.schema.types import GroupId

from tests.broker.admin import Admin
from tests.live.watching import until
from tests.support.time_limit import within

if TYPE_CHECKING:
    from tests.broker.connection import Connection

GROUP, TOPIC = "described-share", "described.shared"
"""The topic has two partitions for three members. The second one has no records."""

START, END = 10, 16
"""Offset of a record that is released, and the end of the first partition; records after `START` are acknowledged."""


class ShareGroup:
    """Group of three members.

    Args:
        address: Address of the broker.
        connection: Connection to the broker.
    """

    def __init__(self, address: str, connection: Connection) -> None:
        admin = Admin(connection)
        admin.create_topics({TOPIC: 2})
        admin.await_coordinator(GROUP)
        earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
        group = ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=[earliest])
        client = AdminClient({"bootstrap.servers": address})
        for done in client.incremental_alter_configs([group]).values():
            done.result(10)
        settings = {
            "bootstrap.servers": address,
            "group.id": GROUP,
            "share.acknowledgement.mode": "explicit",
            "log_level": 3,
        }
        self._producer = Producer({"bootstrap.servers": address})
        self._members = [ShareConsumer({**settings, "client.id": f"share-{id}"}) for id in range(3)]
        self._read: set[int] = set()
        for member in self._members:
            member.subscribe([TOPIC])
        self._read_to(START)
        self._read_to(END)
        until(lambda: _is_settled(connection))

    def close(self) -> None:
        """Close the members."""
        for member in self._members:
            within("closing a share consumer", member.close)

    def _read_to(self, end: int) -> None:
        """Produce records up to an offset, and let the members read and acknowledge them."""
        for _ in range(end - len(self._read)):
            self._producer.produce(TOPIC, b"record", partition=0)
        assert 0 == self._producer.flush(60)
        until(lambda: self._poll() == end)
        for member in self._members:
            member.commit_sync()

    def _poll(self) -> int:
        """Poll each member, and return the number of records that were read."""
        for member in self._members:
            for message in member.poll(0.02):
                offset = message.offset()
                assert offset is not None
                is_released = offset == START
                member.acknowledge(message, AcknowledgeType.RELEASE if is_released else AcknowledgeType.ACCEPT)
                self._read.add(offset)
        return len(self._read)


def _is_settled(connection: Connection) -> bool:
    """Return True if each member owns the partitions of its target, and at least one."""
    request = ShareGroupDescribeRequest(group_ids=(GroupId(GROUP),), include_authorized_operations=False)
    (group,) = connection.ask(request, ShareGroupDescribeResponse).groups
    return len(group.members) == 3 and all(
        member.member_epoch == group.group_epoch and member.assignment.topic_partitions for member in group.members
    )
