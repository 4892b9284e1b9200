"""What a member must not take: partitions that the coordinator may think it has given up.

Each of these makes two owners in a real group, as it does with Kafka's own consumer; the simulation found them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from assignor import TopicPartition
from assignor.member import HeartbeatResponse, Member, MemberState, effects, events

if TYPE_CHECKING:
    from collections.abc import Mapping

TOPIC = UUID(int=1)
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class Driven:
    """A member in the group, what it asked for, and the answers by what matters about them."""

    def __init__(self, *, auto_commit: bool = False, names: Mapping[UUID, str] | None = None) -> None:
        self.member = Member("group", "m", auto_commit=auto_commit, jitter=0)
        self.now = 0
        self.sent: list[effects.SendHeartbeat] = []
        self.asked: list[effects.Effect] = []
        for event in (events.Subscribe(["t"]), events.CoordinatorFound(), events.MetadataArrived(names or {})):
            self.take(event)
        self.take(events.Poll())

    def take(self, event: events.Event, *, at: int = 0) -> list[effects.Effect]:
        self.now = max(self.now, at)
        found: list[effects.Effect] = list(self.member.handle(event, self.now))
        found = [each for each in found if not isinstance(each, effects.WakeAt)]
        self.asked += found
        for each in found:
            if isinstance(each, effects.SendHeartbeat):
                self.sent.append(each)
                found += self.take(events.HeartbeatSent(each.number))
        return found

    def owned(self) -> list[TopicPartition]:
        return list(self.member.assignment)

    def answer(self, epoch: int, *partitions: int, changed: bool = True) -> list[effects.Effect]:
        assignment = {TOPIC: partitions} if changed else None
        response = HeartbeatResponse(member_epoch=epoch, heartbeat_interval_ms=1000, assignment=assignment)
        return self.take(events.ResponseReceived(self.sent[-1].number, response))

    def called_back(self) -> list[effects.Effect]:
        callbacks = (effects.CallPartitionsAssigned, effects.CallPartitionsRevoked)
        last = next(each for each in reversed(self.asked) if isinstance(each, callbacks))
        return self.take(events.CallbackDone(last.number))


def test_what_it_said_it_does_not_own_is_taken_only_after_the_answer() -> None:
    group = Driven()
    group.answer(1, 0, 1)
    group.called_back()
    assert {} == group.sent[-1].request.topic_partitions
    assert [] == group.take(events.MetadataArrived({TOPIC: "t"}))
    assert [] == group.owned()
    group.answer(2, 0)
    assert [FIRST] == group.owned()


def test_an_answer_that_never_comes_is_as_good_as_one_under_way() -> None:
    group = Driven()
    group.answer(1, 0, 1)
    group.called_back()
    group.take(events.TransportFailed(group.sent[-1].number, retriable=True))
    group.take(events.MetadataArrived({TOPIC: "t"}))
    assert [] == group.owned()
    group.take(events.Tick(), at=5000)
    assert {} == group.sent[-1].request.topic_partitions
    group.answer(1, 0, 1)
    assert [FIRST, SECOND] == group.owned()


def test_a_full_heartbeat_says_what_the_application_has_while_its_callback_runs() -> None:
    group = Driven(names={TOPIC: "t"})
    group.answer(1, 0, 1)
    assert [FIRST, SECOND] == group.owned()
    group.take(events.Tick(), at=1000)
    group.take(events.TransportFailed(group.sent[-1].number, retriable=True))
    group.take(events.Tick(), at=5000)
    assert {TOPIC: (0, 1)} == group.sent[-1].request.topic_partitions
    assert MemberState.RECONCILING is group.member.state


def test_a_full_heartbeat_before_that_keeps_what_is_to_be_added_waiting_for_its_answer() -> None:
    group = Driven(auto_commit=True, names={TOPIC: "t"})
    group.answer(1, 0, 1)
    commit = group.take(events.Poll())[-1]
    assert isinstance(commit, effects.Commit)
    group.take(events.Tick(), at=1000)
    group.take(events.TransportFailed(group.sent[-1].number, retriable=True))
    group.take(events.Tick(), at=5000)
    assert {} == group.sent[-1].request.topic_partitions
    assert [] == group.take(events.CommitDone(commit.number))
    group.answer(1, 0, 1)
    assert [FIRST, SECOND] == group.owned()


def test_what_was_taken_back_during_the_commit_is_not_taken() -> None:
    group = Driven(auto_commit=True, names={TOPIC: "t"})
    group.answer(1, 0, 1)
    commit = group.take(events.Poll())[-1]
    assert isinstance(commit, effects.Commit)
    group.take(events.Tick(), at=1000)
    group.take(events.TransportFailed(group.sent[-1].number, retriable=True))
    group.take(events.Tick(), at=5000)
    group.answer(2, 1)
    assert [(SECOND,)] == [
        each.partitions
        for each in group.take(events.CommitDone(commit.number))
        if isinstance(each, effects.CallPartitionsAssigned)
    ]
    assert [SECOND] == group.owned()
    group.called_back()
    assert {TOPIC: (1,)} == group.sent[-1].request.topic_partitions


def test_what_is_revoked_and_taken_back_meanwhile_is_told_once() -> None:
    group = Driven(names={TOPIC: "t"})
    group.answer(1, 0)
    group.called_back()
    group.answer(1, changed=False)
    group.take(events.Tick(), at=2000)
    group.answer(2, 1)
    revoked = group.take(events.Poll())[-1]
    assert isinstance(revoked, effects.CallPartitionsRevoked)
    group.take(events.Tick(), at=4000)
    group.answer(3)
    assert [FIRST] == group.owned()
    told = group.called_back()
    assert [()] == [each.partitions for each in told if isinstance(each, effects.CallPartitionsAssigned)]
    assert [] == group.owned()
