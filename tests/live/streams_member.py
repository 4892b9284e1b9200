"""Member of a streams group at a real broker, which sends the heartbeats of Kafka Streams without its tasks."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode
from kio.schema.streams_group_heartbeat.v0 import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from kio.schema.streams_group_heartbeat.v0.request import Subtopology, TaskIds, Topology
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32

from tests.broker.admin import RequestError
from tests.broker.connection import milliseconds

if TYPE_CHECKING:
    from tests.broker.connection import Connection

SUBTOPOLOGY = "0"


class StreamsMember:
    """Member whose topology has one subtopology without state.

    Args:
        connection: Connection to the broker.
        group: Group id.
        topics: Source topics.

    Attributes:
        process: Id of its process.
        active: Partitions of its active tasks.
    """

    def __init__(self, connection: Connection, group: str, topics: tuple[str, ...]) -> None:
        self._connection = connection
        self._group = GroupId(group)
        self._epoch = i32(0)
        self._topology = Topology(
            epoch=i32(0),
            subtopologies=(
                Subtopology(
                    subtopology_id=SUBTOPOLOGY,
                    source_topics=tuple(map(TopicName, topics)),
                    state_changelog_topics=(),
                    repartition_source_topics=(),
                    copartition_groups=(),
                ),
            ),
        )
        self.member_id, self.process = str(uuid.uuid4()), str(uuid.uuid4())
        self.active: tuple[int, ...] = ()

    def beat(self) -> None:
        """Send a heartbeat, and take the active tasks of the response."""
        owned = (TaskIds(subtopology_id=SUBTOPOLOGY, partitions=tuple(map(i32, self.active))),) if self.active else ()
        answer = self._connection.ask(
            StreamsGroupHeartbeatRequest(
                group_id=self._group,
                member_id=self.member_id,
                member_epoch=self._epoch,
                endpoint_information_epoch=i32(-1),
                rebalance_timeout=milliseconds(60_000),
                topology=None if self._epoch else self._topology,
                active_tasks=owned,
                standby_tasks=(),
                warmup_tasks=(),
                process_id=self.process,
                client_tags=(),
                task_offsets=None,
                task_end_offsets=None,
            ),
            StreamsGroupHeartbeatResponse,
        )
        if answer.error_code != ErrorCode.none:
            raise RequestError(answer.error_code, answer.error_message)
        self._epoch = answer.member_epoch
        if answer.active_tasks is not None:
            self.active = tuple(int(id) for tasks in answer.active_tasks for id in tasks.partitions)
