"""A rebalance timeout of 0, which gives absent static members no time to join, causes no endless loop."""

from __future__ import annotations

import pytest

from assignor.coordinator import ErrorCode, LeavingMember
from tests.coordinator.driver import GroupDriver


@pytest.fixture
def overdue() -> GroupDriver:
    """Return the driver of a rebalance in which only an absent static member with a rebalance timeout of 0 is left."""
    group = GroupDriver.begin()
    group.join("a", group_instance_id="one", version=9)
    group.join("b", group_instance_id="two", version=9)
    group.join("a", group_instance_id="one", version=9)
    group.sync("a", group_instance_id="one")
    group.sync("b", group_instance_id="two")
    assert "Stable" == group.state()
    replaced = group.join("a", member_id="", group_instance_id="one", rebalance_timeout_ms=0, version=9)
    assert replaced is not None
    assert 2 == replaced.generation_id
    group.leave("b", members=(LeavingMember("", "two"),))
    assert "PreparingRebalance" == group.state()
    return group


def test_the_next_deadline_is_the_end_of_the_session(overdue: GroupDriver) -> None:
    deadline = overdue.coordinator.next_deadline()
    assert deadline is not None
    assert overdue.now + 10_000 == deadline, "only a session is left"
    assert () == overdue.wait(5_000).answers
    assert ErrorCode.REBALANCE_IN_PROGRESS is overdue.heartbeat("a", group_instance_id="one")


def test_the_next_join_ends_the_join_phase(overdue: GroupDriver) -> None:
    newcomer = overdue.join("c")
    assert newcomer is not None
    assert 3 == newcomer.generation_id
    assert {overdue.ids["a"], overdue.ids["c"]} == {member.member_id for member in newcomer.members}


def test_the_group_is_empty_when_the_session_expires(overdue: GroupDriver) -> None:
    overdue.wait(10_000)
    assert "Empty" == overdue.state()
