"""Unusual groups: a rebalance timeout of 0, a group that Kafka cannot describe, and a protocol without a name."""

from __future__ import annotations

import pytest

from assignor.coordinator import ErrorCode, GroupState, LeavingMember
from tests.coordinator.driver import GROUP, GroupDriver

# ---- a rebalance timeout of 0, which gives absent static members no time to join, causes no endless loop


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


# ---- a group that Kafka cannot describe is described by an error, and continues to work

BOTH = (("sticky", b""), ("range", b""))
TWICE = (("range", b""), ("range", b""))


def test_a_returned_member_without_the_selected_protocol_cannot_be_described() -> None:
    # The member offers one protocol twice. It is admitted, but then the group cannot select a protocol.
    group = GroupDriver.begin()
    for name, instance_id in (("a", "one"), ("b", "two"), ("a", "one")):
        group.join(name, group_instance_id=instance_id, protocols=BOTH, version=9)
    group.sync("a", group_instance_id="one")
    group.sync("b", group_instance_id="two")
    assert "sticky" == group.coordinator.describe(GROUP).protocol
    answer = group.join("b", member_id="", group_instance_id="two", protocols=TWICE, version=9)
    assert answer is not None
    assert ErrorCode.UNKNOWN_SERVER_ERROR is answer.error_code
    described = group.coordinator.describe(GROUP)
    assert ErrorCode.UNKNOWN_SERVER_ERROR is described.error_code
    assert GroupState.STABLE is described.state
    assert () == described.members
    assert ErrorCode.NONE is group.heartbeat("a", group_instance_id="one")


# ---- a protocol with an empty name is valid; answers to newer joins have null instead of the name


@pytest.mark.parametrize(("version", "shown"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_an_empty_protocol_name_is_null_in_newer_answers(version: int, shown: str | None) -> None:
    group = GroupDriver.begin()
    answer = group.join("a", protocols=(("", b""),), version=version, group_instance_id="one")
    assert answer is not None
    assert 1 == answer.generation_id
    assert shown == answer.protocol_name
