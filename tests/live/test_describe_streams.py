"""Streams groups that `assignor describe` reads from a real broker.

The coordinator soon removes the silent members of such a group, so only its own test describes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor.cluster.connection import ClientSettings
from assignor.cluster.description import describe
from assignor.cluster.descriptions import MemberSubscription, MemberTasks
from tests.broker.admin import Admin
from tests.live.streams_member import SUBTOPOLOGY, StreamsMember
from tests.live.watching import until

if TYPE_CHECKING:
    from assignor.cluster.descriptions import GroupDescription
    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker

TOPICS = {"streamed.a": 4, "streamed.b": 2}
"""Number of partitions of the topics that the tasks read."""


def test_streams_groups_have_tasks_and_the_partitions_that_they_read(broker: Cluster) -> None:
    with broker.connect() as connection:
        Admin(connection).create_topics(TOPICS)
        Admin(connection).await_coordinator("described-streams")
        members = [StreamsMember(connection, "described-streams", tuple(TOPICS)) for _ in range(2)]

        def look() -> GroupDescription:
            for member in members:
                member.beat()
            (group,) = describe(ClientSettings.read(broker.address), ["described-streams"]).groups
            return group

        until(lambda: look().state == "Stable" and all(len(member.active) == 2 for member in members))
        group = look()

    assert ("streams", None, 2) == (group.kind, group.problem, len(group.members))
    described = {member.member_id: member for member in group.members}
    for member in members:
        found = described[member.member_id]
        tasks = tuple(f"{SUBTOPOLOGY}_{id}" for id in sorted(member.active))
        assert found.tasks == MemberTasks(member.process, tasks, (), ())
        # The second topic has two partitions for four tasks.
        assert sorted(found.assigned) == sorted(
            (name, id) for name, count in TOPICS.items() for id in member.active if id < count
        )
        assert found.subscription == MemberSubscription(tuple(TOPICS), None)
