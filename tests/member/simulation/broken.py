"""Members and coordinators with one mistake each, which a simulation must detect."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from assignor.member import Member, MemberState, effects, events
from tests.member.simulation.coordinator import ModelCoordinator

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from uuid import UUID

    from assignor.member import HeartbeatRequest, HeartbeatResponse
    from assignor.model import TopicPartition
    from tests.member.simulation.consumer_group import ConsumerGroup

__all__ = ["COORDINATORS", "MEMBERS"]

_FENCING = (25, 110)


class AcknowledgesEarly(Member):
    """A member that reports a new assignment before it has revoked the old one."""

    _given: Mapping[UUID, Any] | None = None

    def handle(self, event: events.Event, now: int) -> tuple[effects.Effect, ...]:
        if isinstance(event, events.ResponseReceived) and event.response.assignment is not None:
            self._given = event.response.assignment
        return tuple(self._falsified(effect) for effect in super().handle(event, now))

    def _falsified(self, effect: effects.Effect) -> effects.Effect:
        if isinstance(effect, effects.SendHeartbeat) and effect.request.member_epoch > 0 and self._given is not None:
            request = dataclasses.replace(effect.request, topic_partitions=self._given)
            return effects.SendHeartbeat(effect.number, request)
        return effect


class KeepsLostPartitions(Member):
    """A member that keeps its partitions after it was fenced."""

    _kept: frozenset[TopicPartition] = frozenset()

    def handle(self, event: events.Event, now: int) -> tuple[effects.Effect, ...]:
        had = self.assignment
        found = super().handle(event, now)
        if self.state is MemberState.JOINING and any(isinstance(each, effects.ReleaseAssignment) for each in found):
            self._kept |= frozenset(had)
        return found

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted({*super().assignment, *self._kept}))


class KeepsRevokedPartitions(Member):
    """A member that keeps partitions after they were revoked."""

    _kept: frozenset[TopicPartition] = frozenset()

    def handle(self, event: events.Event, now: int) -> tuple[effects.Effect, ...]:
        found = super().handle(event, now)
        for effect in found:
            if isinstance(effect, effects.CallPartitionsRevoked):
                self._kept |= frozenset(effect.partitions)
        return found

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted({*super().assignment, *self._kept}))


class IncrementsEpoch(Member):
    """A member whose epoch is one above the epoch in the answer."""

    def handle(self, event: events.Event, now: int) -> tuple[effects.Effect, ...]:
        if isinstance(event, events.ResponseReceived) and event.response.member_epoch > 0:
            response = dataclasses.replace(event.response, member_epoch=event.response.member_epoch + 1)
            event = events.ResponseReceived(event.number, response)
        return super().handle(event, now)


class IgnoresFencing(Member):
    """A member that treats fencing as a lost connection."""

    def handle(self, event: events.Event, now: int) -> tuple[effects.Effect, ...]:
        if isinstance(event, events.ResponseReceived) and event.response.error_code in _FENCING:
            event = events.TransportFailed(event.number, retriable=True)
        return super().handle(event, now)


class ReportsTooFewPartitions(Member):
    """A member that does not report partitions that it may add before the answer arrives."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        reconciler: Any = self._reconciler
        reconciler.reported_partitions = lambda: self._assignments.current.partitions


class NeverCompletesLeave(Member):
    """A member that leaves without reporting it to the application."""

    def handle(self, event: events.Event, now: int) -> tuple[effects.Effect, ...]:
        return tuple(each for each in super().handle(event, now) if not isinstance(each, effects.LeaveCompleted))


class WakesImmediately(Member):
    """A member that always wants to wake immediately."""

    def handle(self, event: events.Event, now: int) -> tuple[effects.Effect, ...]:
        return *super().handle(event, now), effects.WakeAt(now)


class AssignsBeforeRevocation(ModelCoordinator):
    """A coordinator that assigns a partition before its previous owner has revoked it."""

    def held(self, group: ConsumerGroup) -> Container[tuple[UUID, int]]:  # noqa: ARG002 - the model's signature
        return ()


class OmitsAssignments(ModelCoordinator):
    """A coordinator that sends assignments only in answers to joins."""

    def heartbeat(self, request: HeartbeatRequest, now: int) -> HeartbeatResponse:
        response = super().heartbeat(request, now)
        return response if request.member_epoch == 0 else dataclasses.replace(response, assignment=None)


class LosesAnEpoch(ModelCoordinator):
    """A coordinator that decrements the epoch of every member at a fail-over."""

    def fail_over(self, now: int) -> None:
        super().fail_over(now)
        for group in self.groups.values():
            for member in list(group.members.values()):
                if member.epoch > 1:
                    group.put(dataclasses.replace(member, epoch=member.epoch - 1))


MEMBERS = (
    AcknowledgesEarly,
    KeepsLostPartitions,
    KeepsRevokedPartitions,
    IncrementsEpoch,
    IgnoresFencing,
    ReportsTooFewPartitions,
    NeverCompletesLeave,
    WakesImmediately,
)
COORDINATORS = (AssignsBeforeRevocation, OmitsAssignments, LosesAnEpoch)
