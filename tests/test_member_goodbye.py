"""A member that leaves: its goodbye, and what can come in between."""

from __future__ import annotations

from uuid import UUID

import pytest

from assignor.member import HeartbeatResponse, Member, effects, events

TOPIC = UUID(int=1)


def owning_member(instance_id: str | None = None) -> Member:
    """A stable one with a partition, and no heartbeat under way."""
    member = Member("orders", "m-1", instance_id=instance_id, heartbeat_while_preparing_to_leave=True)
    names, subscription = events.MetadataArrived({TOPIC: "t"}), events.Subscribe(("t",))
    for event in (names, subscription, events.CoordinatorFound(), events.Poll()):
        member.handle(event, 0)
    answer = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=1000, assignment={TOPIC: (0,)})
    member.handle(events.ResponseReceived(1, answer), 0)
    member.handle(events.CallbackDone(1), 0)
    member.handle(events.ResponseReceived(2, HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=1000)), 0)
    return member


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("static", -2)])
def test_a_member_that_is_fenced_before_its_goodbye_has_the_epoch_of_one_that_left(
    instance_id: str | None, epoch: int
) -> None:
    member = owning_member(instance_id)
    member.handle(events.Leave(), 1)
    member.handle(events.Tick(), 1000)
    found = member.handle(events.ResponseReceived(3, HeartbeatResponse(error_code=110)), 1001)

    assert effects.LeaveCompleted() in found
    assert ("UNSUBSCRIBED", epoch) == (member.state.name, member.epoch)


def test_a_goodbye_that_fails_for_good_is_told_before_the_leave_is_over() -> None:
    member = owning_member()
    member.handle(events.Leave(), 1)
    member.handle(events.CallbackDone(2), 2)
    member.handle(events.HeartbeatSent(3), 2)
    found = member.handle(events.TransportFailed(3, False, "the connection is gone"), 3)

    assert ["RaiseError", "LeaveCompleted"] == [type(effect).__name__ for effect in found][:2]
    assert "FATAL" == member.state.name
