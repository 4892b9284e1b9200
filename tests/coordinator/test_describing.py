"""A group that Kafka cannot describe is described by an error, and continues to work."""

from __future__ import annotations

from assignor.coordinator import ErrorCode, GroupState
from tests.coordinator.driver import GROUP, GroupDriver

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
