"""A member whose application has not polled for too long says goodbye and joins again at the next poll."""

from __future__ import annotations

from uuid import UUID

import pytest

from assignor import TopicPartition
from assignor.member import HeartbeatResponse, Member, effects, events

INTERVAL = 300_000


def stale_member() -> Member:
    member = Member("orders", "m-1", rebalance_timeout_ms=INTERVAL)
    for event in (events.Subscribe(("t",)), events.CoordinatorFound(), events.Poll(), events.HeartbeatSent(1)):
        member.handle(event, 0)
    member.handle(events.ResponseReceived(1, HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=INTERVAL * 2)), 1)
    member.handle(events.Tick(), INTERVAL)
    member.handle(events.HeartbeatSent(2), INTERVAL)
    return member


def asked(found: tuple[effects.Effect, ...]) -> list[effects.Effect]:
    return [effect for effect in found if not isinstance(effect, effects.WakeAt)]


def requests(found: tuple[effects.Effect, ...]) -> list[int]:
    return [effect.request.member_epoch for effect in found if isinstance(effect, effects.SendHeartbeat)]


def test_a_stale_member_joins_at_the_poll_although_its_goodbye_has_no_answer_yet() -> None:
    member = stale_member()

    assert [0] == requests(member.handle(events.Poll(), INTERVAL + 1))


@pytest.mark.parametrize(
    "answer",
    [
        events.TransportFailed(2, False, "the connection is gone"),
        events.TransportFailed(2, True, "it took too long"),
        events.ResponseReceived(2, HeartbeatResponse(error_code=30)),
        events.ResponseReceived(2, HeartbeatResponse(error_code=25)),
        events.ResponseReceived(2, HeartbeatResponse(member_epoch=-1, heartbeat_interval_ms=1)),
    ],
    ids=lambda answer: repr(answer)[:60],
)
def test_what_is_answered_to_the_goodbye_of_a_stale_member_means_nothing(answer: events.Event) -> None:
    member = stale_member()

    assert [] == asked(member.handle(answer, INTERVAL + 1))
    assert "STALE" == member.state.name


def test_a_member_that_is_back_does_not_take_the_answer_to_its_goodbye_for_one_to_its_join() -> None:
    member = stale_member()
    member.handle(events.Poll(), INTERVAL + 1)

    answer = events.ResponseReceived(2, HeartbeatResponse(member_epoch=-1))
    assert [] == requests(member.handle(answer, INTERVAL + 2))


def test_a_stale_member_that_unsubscribes_has_nothing_any_more_although_its_callback_still_runs() -> None:
    topic = UUID(int=1)
    member = Member("orders", "m-1", rebalance_timeout_ms=INTERVAL)
    given = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=INTERVAL * 2, assignment={topic: (0,)})
    for event in (
        events.MetadataArrived({topic: "t"}),
        events.Subscribe(("t",)),
        events.CoordinatorFound(),
        events.Poll(),
        events.ResponseReceived(1, given),
    ):
        member.handle(event, 0)
    member.handle(events.CallbackDone(1), 0)
    member.handle(events.ResponseReceived(2, HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=INTERVAL * 2)), 1)
    member.handle(events.Tick(), INTERVAL)
    lost = member.handle(events.HeartbeatSent(3), INTERVAL)

    assert effects.CallPartitionsLost(2, (TopicPartition("t", 0),)) in lost
    assert [effects.ReleaseAssignment(), effects.LeaveCompleted()] == asked(member.handle(events.Leave(), INTERVAL))
    assert () == member.assignment
    assert [] == asked(member.handle(events.CallbackDone(2), INTERVAL))
