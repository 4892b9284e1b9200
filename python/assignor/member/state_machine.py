"""State machine of a member: the table of its transitions, and the decisions that trigger them.

Source: AbstractMembershipManager and ConsumerMembershipManager, kafka-clients 4.3.1. No other module changes the state
or the epoch. `reconciler.py` reconciles partitions and `heartbeat_manager.py` sends heartbeats; both report to the
machine, which chooses the trigger.

Kafka's `transitionTo` accepts every transition in the table (`MemberState.previous_valid_states`). It accepts five more
that are never taken: PREPARE_LEAVING and LEAVING to FENCED (a leaving member goes to UNSUBSCRIBED), UNSUBSCRIBED to
PREPARE_LEAVING (there is nothing to leave), and JOINING and RECONCILING to STABLE (the first assignment after a join is
always new, and a target under reconciliation always differs from the current assignment).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.member import effects
from assignor.member.assignments import sort_partitions
from assignor.member.messages import JOIN_EPOCH
from assignor.member.state import MemberState
from assignor.member.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from assignor.member.assignments import Assignments
    from assignor.member.effects import Effect
    from assignor.member.reconciler import Reconciler
    from assignor.member.tasks import Tasks
    from assignor.model import TopicPartition

__all__ = ["TRANSITIONS", "MemberStateMachine", "Trigger", "next_state"]


class Trigger(enum.Enum):
    """Trigger of a transition; the value is its label in diagrams."""

    SUBSCRIBED = "subscribed"
    """The application subscribes."""

    JOIN = "polled with a subscription"
    """The application polls and has a subscription."""

    ASSIGNED = "new assignment"
    """The coordinator sent an assignment that differs from the current one."""

    RECONCILED = "reconciled"
    """The assignment, or the part of it whose topic names are known, is current."""

    HEARTBEAT_SENT = "heartbeat sent"
    """A heartbeat was sent that neither acknowledges nor leaves."""

    ACKNOWLEDGED = "acknowledgement sent"
    """A heartbeat was sent that acknowledges the target assignment."""

    ACKNOWLEDGED_IN_PART = "partial acknowledgement sent"
    """A heartbeat was sent that acknowledges the current assignment, which differs from the target."""

    LEAVE = "leave"
    """The application unsubscribes."""

    POLL_EXPIRED = "poll timer expired"
    """The application has not polled within `max.poll.interval.ms`."""

    RELEASED = "released"
    """The callbacks for the released partitions returned."""

    REJOIN = "released and polled"
    """The application polls after the poll timer expired, and its partitions are released."""

    LEFT = "leave sent"
    """The leave heartbeat was sent, or cannot be sent because no coordinator is known."""

    LEFT_STALE = "leave sent, poll timer expired"
    """As `LEFT`, after the poll timer expired."""

    FENCED = "fenced"
    """The coordinator does not know the member or its epoch."""

    FAILED = "fatal error"
    """The coordinator or the transport reported an error that cannot be retried."""


def _stay(state: MemberState, *triggers: Trigger) -> dict[Trigger, MemberState]:
    return dict.fromkeys((Trigger.SUBSCRIBED, Trigger.HEARTBEAT_SENT, *triggers), state)


# Transitions of all states in which the member is in the group or joining it.
_IN_GROUP = {
    Trigger.ASSIGNED: MemberState.RECONCILING,
    Trigger.LEAVE: MemberState.PREPARE_LEAVING,
    Trigger.POLL_EXPIRED: MemberState.PREPARE_LEAVING,
    Trigger.FENCED: MemberState.FENCED,
    Trigger.FAILED: MemberState.FATAL,
}

TRANSITIONS: Mapping[MemberState, Mapping[Trigger, MemberState]] = {
    MemberState.UNSUBSCRIBED: {
        **_stay(MemberState.UNSUBSCRIBED, Trigger.LEAVE, Trigger.RELEASED, Trigger.FENCED),
        Trigger.JOIN: MemberState.JOINING,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.JOINING: {**_stay(MemberState.JOINING), **_IN_GROUP},
    MemberState.RECONCILING: {
        **_stay(MemberState.RECONCILING),
        **_IN_GROUP,
        Trigger.RECONCILED: MemberState.ACKNOWLEDGING,
    },
    MemberState.ACKNOWLEDGING: {
        **_stay(MemberState.ACKNOWLEDGING),
        **_IN_GROUP,
        Trigger.ACKNOWLEDGED: MemberState.STABLE,
        Trigger.ACKNOWLEDGED_IN_PART: MemberState.RECONCILING,
    },
    MemberState.STABLE: {**_stay(MemberState.STABLE), **_IN_GROUP},
    MemberState.FENCED: {
        **_stay(MemberState.FENCED, Trigger.FENCED, Trigger.FAILED),
        Trigger.RELEASED: MemberState.JOINING,
        Trigger.LEAVE: MemberState.UNSUBSCRIBED,
    },
    MemberState.PREPARE_LEAVING: {
        **_stay(MemberState.PREPARE_LEAVING, Trigger.LEAVE),
        Trigger.RELEASED: MemberState.LEAVING,
        Trigger.FENCED: MemberState.UNSUBSCRIBED,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.LEAVING: {
        **_stay(MemberState.LEAVING, Trigger.LEAVE),
        Trigger.LEFT: MemberState.UNSUBSCRIBED,
        Trigger.LEFT_STALE: MemberState.STALE,
        Trigger.FENCED: MemberState.UNSUBSCRIBED,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.FATAL: {
        Trigger.HEARTBEAT_SENT: MemberState.FATAL,
        Trigger.LEAVE: MemberState.FATAL,
        Trigger.RELEASED: MemberState.FATAL,
        Trigger.FENCED: MemberState.FATAL,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.STALE: {
        **_stay(MemberState.STALE, Trigger.LEAVE, Trigger.RELEASED, Trigger.FENCED, Trigger.FAILED),
        Trigger.REJOIN: MemberState.JOINING,
    },
}
"""Next state by state and trigger; a state does not allow a trigger that it does not list."""


def next_state(state: MemberState, trigger: Trigger) -> MemberState:
    """Return the state after a trigger.

    Raises:
        IllegalStateError: The state does not allow the trigger.

    Example:
        >>> next_state(MemberState.RECONCILING, Trigger.RECONCILED).name
        'ACKNOWLEDGING'
    """
    found = TRANSITIONS[state].get(trigger)
    if found is None:
        raise IllegalStateError(f"a member in {state.name} does not allow the trigger {trigger.name} ({trigger.value})")
    return found


_NOT_IN_GROUP = frozenset({MemberState.UNSUBSCRIBED, MemberState.FENCED, MemberState.FATAL, MemberState.STALE})


class MemberStateMachine:
    """State and epoch of one member, and the decisions that change them.

    Args:
        out: List to which effects are appended.
        assignments: Assignments of the member.
        reconciler: Reconciler of the assignments.
        tasks: Pending tasks of the member.
        leave_epoch: Epoch of a heartbeat that leaves the group.

    Attributes:
        state: State of the member; only `_go` changes it.
        epoch: Epoch of the next heartbeat.
        join_number: Number of joins so far. Answers to heartbeats of an earlier join are ignored.
    """

    def __init__(
        self, out: list[Effect], assignments: Assignments, reconciler: Reconciler, tasks: Tasks, *, leave_epoch: int
    ) -> None:
        self._out = out
        self._assignments = assignments
        self._reconciler = reconciler
        self._tasks = tasks
        self._leave_epoch = leave_epoch
        self.state = MemberState.UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        self.join_number = 0
        self._subscription: tuple[tuple[str, ...], str | None] | None = None
        # Subscription in the heartbeats of a leaving member that still releases its partitions.
        self._left_subscription: tuple[tuple[str, ...], str | None] | None = None
        # `join_number` at the time of a leave that is not complete; None if there is no such leave.
        self._incomplete_leave: int | None = None
        self._poll_expired = False
        self._polled = False

    # ---- events of the application

    def subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        """Set the subscription; the next heartbeat of a member in the group carries it."""
        self._go(Trigger.SUBSCRIBED)
        self._subscription = (topics, pattern)

    def poll(self, now: int) -> None:
        """Join if possible, and start a reconciliation that waits for a poll."""
        self._polled = True
        self._reconciler.allow_start()
        if self.state is MemberState.UNSUBSCRIBED:
            self._join_if_ready(Trigger.JOIN)
        elif self.state is MemberState.STALE:
            self._join_if_ready(Trigger.REJOIN)
        self.reconcile(now, polled=True)

    def leave(self) -> None:
        """Release the partitions and leave; complete immediately if there is nothing to leave."""
        before = self.state
        self._go(Trigger.LEAVE)
        left, self._subscription = self._subscription, None
        if before in _NOT_IN_GROUP:
            self._release_all()
        if self.state is not MemberState.PREPARE_LEAVING and self._incomplete_leave is None:
            self._out.append(effects.LeaveCompleted())
        if self.state is not MemberState.PREPARE_LEAVING or before is self.state:
            return
        self._left_subscription = left
        self._incomplete_leave = self.join_number
        partitions = sort_partitions(self._assignments.owned)
        if not partitions:
            self._released()
        elif self.epoch > 0:
            self._out.append(effects.PauseFetching(partitions))
            self._out.append(effects.CallPartitionsRevoked(self._tasks.begin(Task.RELEASE), partitions))
        else:
            self._lose(partitions)

    def expire_poll(self) -> None:
        """Leave without waiting for callbacks, because the application did not poll in time.

        `left` then calls onPartitionsLost.
        """
        self._poll_expired = True
        self._polled = False
        self._go(Trigger.POLL_EXPIRED)
        self._depart()

    def called_back(self, number: int, *, done: bool) -> None:
        """Continue after a callback returned or raised an error; a release succeeds in both cases."""
        task = self._tasks.finish_callback(number)
        if task is Task.RELEASE:
            self._released()
        elif self._reconciler.called_back(task, done=done):
            self._go(Trigger.RECONCILED)

    # ---- reconciliation

    def reconcile(self, now: int, *, polled: bool = False) -> bool:
        """Start to reconcile the target if possible. Return True if anything happened."""
        assignments, reconciler = self._assignments, self._reconciler
        if self.state is not MemberState.RECONCILING or reconciler.is_in_progress or assignments.is_reconciled:
            return False
        result = assignments.resolve()
        requested = reconciler.request_names(now)
        if not assignments.is_applied(result):
            return reconciler.start(result, now, polled=polled) or requested
        if assignments.current.epoch == result.epoch:
            return requested  # already acknowledged, as far as topic names are known
        assignments.current = result
        self._go(Trigger.RECONCILED)
        return True

    def deadline(self) -> int | None:
        """Return the next deadline of the reconciliation, or None."""
        commit = self._reconciler.commit_deadline()
        if commit is not None or self.state is not MemberState.RECONCILING:
            return commit
        return self._reconciler.metadata_deadline()

    # ---- events of heartbeats

    def subscription(self) -> tuple[tuple[str, ...], str | None]:
        """Return the topic names and the pattern of the next heartbeat."""
        if self.state is MemberState.PREPARE_LEAVING:
            sent = self._left_subscription
        elif self.state is MemberState.LEAVING and not self._poll_expired:
            sent = None
        else:
            sent = self._subscription
        return sent or ((), None)

    def receive(self, epoch: int, assignment: Mapping[UUID, Iterable[int]] | None) -> None:
        """Apply a successful answer to a heartbeat of this join.

        A member that is outside the group or leaving it ignores the answer. So does a member with a newer epoch,
        because epochs only grow within a join.
        """
        state = self.state
        if state is MemberState.LEAVING or state in _NOT_IN_GROUP or epoch < self.epoch:
            return
        self.epoch = epoch
        if assignment is not None and state.can_handle_new_assignment():
            self._assignments.receive(assignment)
            if not self._assignments.is_reconciled:
                self._go(Trigger.ASSIGNED)

    def fence(self) -> None:
        """Release the partitions and join again, or complete the leave: the coordinator does not know this epoch."""
        before = self.state
        self._go(Trigger.FENCED)
        if before is self.state:
            return
        self.epoch = JOIN_EPOCH if self.state is MemberState.FENCED else self._leave_epoch
        self._assignments.forget()
        if self.state is MemberState.FENCED or self._poll_expired:
            self._poll_expired = False
            self._lose_all()
        self.complete_leave(self.join_number)

    def fail(self, code: int, name: str, message: str) -> None:
        """Report an error that cannot be retried, and enter FATAL; a FENCED or STALE member stays in its state."""
        before = self.state
        self._go(Trigger.FAILED)
        self._out.append(effects.RaiseError(code, name, message))
        if before is self.state:
            return
        was_leaving = self._incomplete_leave == self.join_number
        self.complete_leave(self.join_number)
        if not was_leaving and not self._tasks.is_pending(Task.RELEASE):
            self._lose_all()

    def sent(self, *, acknowledges: bool, leaves: bool) -> None:
        """Handle the sending of a heartbeat of this join."""
        if leaves and self.state is MemberState.LEAVING:
            self.left()
        elif acknowledges and self.state is MemberState.ACKNOWLEDGING:
            is_reconciled = self._assignments.is_reconciled
            self._go(Trigger.ACKNOWLEDGED if is_reconciled else Trigger.ACKNOWLEDGED_IN_PART)
        else:
            self._go(Trigger.HEARTBEAT_SENT)

    def left(self) -> None:
        """Complete LEAVING: the leave heartbeat was sent, or cannot be sent."""
        if not self._poll_expired:
            self._go(Trigger.LEFT)
            return
        self._go(Trigger.LEFT_STALE)
        self._poll_expired = False
        self._lose_all()

    def complete_leave(self, join_number: int) -> None:
        """Report that the leave is complete, if an incomplete leave belongs to this join."""
        if self._incomplete_leave == join_number:
            self._incomplete_leave = None
            self._out.append(effects.LeaveCompleted())

    # ---- transitions and their effects

    def _go(self, trigger: Trigger) -> None:
        before = self.state
        self.state = next_state(before, trigger)
        if before is MemberState.RECONCILING and self.state is not before:
            self._reconciler.abandon()

    def _join_if_ready(self, trigger: Trigger) -> None:
        """Join, unless there is no subscription or partitions are still being released."""
        if self._subscription is not None and not self._tasks.is_pending(Task.RELEASE):
            self._join(trigger)

    def _join(self, trigger: Trigger) -> None:
        self._go(trigger)
        self.join_number += 1
        self.epoch = JOIN_EPOCH
        self._reconciler.allow_start()  # no callback has failed in this join

    def _lose_all(self) -> None:
        partitions = sort_partitions(self._assignments.owned)
        if partitions:
            self._lose(partitions)
        else:
            self._released()

    def _lose(self, partitions: tuple[TopicPartition, ...]) -> None:
        self._out.append(effects.PauseFetching(partitions))
        self._out.append(effects.CallPartitionsLost(self._tasks.begin(Task.RELEASE), partitions))

    def _released(self) -> None:
        """Remove all partitions, and continue with the state change that required it."""
        self._release_all()
        if self.state is MemberState.FENCED:
            self._join(Trigger.RELEASED)
        elif self.state is MemberState.PREPARE_LEAVING:
            self._depart()
        else:
            self._go(Trigger.RELEASED)
            if self.state is MemberState.STALE and self._polled:
                self._join_if_ready(Trigger.REJOIN)

    def _release_all(self) -> None:
        if self._assignments.owned:
            self._out.append(effects.ReleaseAssignment())
        self._assignments.clear()

    def _depart(self) -> None:
        self.epoch = self._leave_epoch
        self._assignments.forget()
        self._go(Trigger.RELEASED)
