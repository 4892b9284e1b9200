"""The member's part in its group: subscribing, joining, being told, being fenced, leaving.

Source: AbstractMembershipManager and ConsumerMembershipManager, kafka-clients 4.3.1. What happens to its partitions in
between is in `reconciling.py`, its heartbeats are in `heartbeating.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.member import effects
from assignor.member.holdings import in_order
from assignor.member.messages import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from assignor.member.reconciling import Reconciling, Task
from assignor.member.state import MemberState
from assignor.member.transitions import Trigger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from assignor.member.effects import Effect
    from assignor.model import TopicPartition

__all__ = ["OUTSIDE", "Membership"]

OUTSIDE = frozenset({MemberState.UNSUBSCRIBED, MemberState.FENCED, MemberState.FATAL, MemberState.STALE})
"""The states of a member that is in no group."""


class Membership(Reconciling):
    """A member's state and all that belongs to it but the heartbeats.

    Args:
        out: Where effects are put.
        is_static: Whether it leaves with epoch -2.
        rebalance_timeout_ms: How long a commit may take.
        metadata_wait_ms: How long to wait before asking for the same names again.
        auto_commit: Whether offsets are committed before anything is reconciled.
    """

    def __init__(
        self, out: list[Effect], *, is_static: bool, rebalance_timeout_ms: int, metadata_wait_ms: int, auto_commit: bool
    ) -> None:
        super().__init__(
            out, rebalance_timeout_ms=rebalance_timeout_ms, metadata_wait_ms=metadata_wait_ms, auto_commit=auto_commit
        )
        self._leave_epoch = LEAVE_STATIC_EPOCH if is_static else LEAVE_EPOCH
        self._subscription: tuple[tuple[str, ...], str | None] | None = None
        # What heartbeats go on saying while a member that leaves releases its partitions.
        self._left_subscription: tuple[tuple[str, ...], str | None] | None = None
        # The life that the application has left last, as long as it waits to hear that this is over.
        self._leave_wanted: int | None = None
        self._poll_expired = False
        self._polled = False

    # ---- what the application does

    def subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        """Remember what to subscribe to: a member in the group says so in its next heartbeat."""
        self._go(Trigger.SUBSCRIBED)
        self._subscription = (topics, pattern)

    def poll(self, now: int) -> None:
        """The application polls: join if that is due, and reconcile what only a poll may begin."""
        self._polled = True
        self._callback_failed = False
        if self.state is MemberState.UNSUBSCRIBED:
            self._join_if_ready(Trigger.JOIN)
        elif self.state is MemberState.STALE:
            self._join_if_ready(Trigger.REJOIN)
        self.reconcile(now, polled=True)

    def leave(self) -> None:
        """Release the partitions and leave, or complete at once where there is nothing to leave."""
        before = self.state
        self._go(Trigger.LEAVE)
        left, self._subscription = self._subscription, None
        if before in OUTSIDE:
            self._release_all()
        if self.state is not MemberState.PREPARE_LEAVING and self._leave_wanted is None:
            self._out.append(effects.LeaveCompleted())
        if self.state is not MemberState.PREPARE_LEAVING or before is self.state:
            return
        self._left_subscription = left
        self._leave_wanted = self.life
        partitions = in_order(self.holdings.owned)
        if not partitions:
            self._released()
        elif self.epoch > 0:
            self._out.append(effects.PauseFetching(partitions))
            self._out.append(effects.CallPartitionsRevoked(self._begin(Task.RELEASE), partitions))
        else:
            self._lose(partitions)

    def expire_poll(self) -> None:
        """The application has not polled for too long: leave without asking it for anything."""
        self._poll_expired = True
        self._polled = False
        self._go(Trigger.POLL_EXPIRED)
        self._depart()

    # ---- what the coordinator says

    def subscription(self) -> tuple[tuple[str, ...], str | None]:
        """The names and the pattern that the next heartbeat speaks of."""
        if self.state is MemberState.PREPARE_LEAVING:
            said = self._left_subscription
        elif self.state is MemberState.LEAVING and not self._poll_expired:
            said = None
        else:
            said = self._subscription
        return said or ((), None)

    def receive(self, epoch: int, assignment: Mapping[UUID, Iterable[int]] | None) -> None:
        """A heartbeat of this life was answered well.

        A member that is out of the group, or about to say goodbye, has no use for the answer; nor for an epoch that is
        older than its own, since epochs only grow within a life.
        """
        state = self.state
        if state is MemberState.LEAVING or state in OUTSIDE or epoch < self.epoch:
            return
        self.epoch = epoch
        if assignment is not None and state.can_handle_new_assignment():
            self.holdings.receive(assignment)
            if not self.holdings.reconciled:
                self._go(Trigger.ASSIGNED)

    def fence(self) -> None:
        """The coordinator does not know the member, or not at this epoch: begin anew, or be done with leaving."""
        before = self.state
        self._go(Trigger.FENCED)
        if before is self.state:
            return
        self.epoch = JOIN_EPOCH if self.state is MemberState.FENCED else self._leave_epoch
        self.holdings.forget()
        if self.state is MemberState.FENCED or self._poll_expired:
            self._poll_expired = False
            self._lose_all()
        self.complete_leave(self.life)

    def fail(self, code: int, name: str, message: str) -> None:
        """Nothing can mend this: tell the application, and be at the end, unless the member is between two lives."""
        before = self.state
        self._go(Trigger.FAILED)
        self._out.append(effects.RaiseError(code, name, message))
        if before is self.state:
            return
        was_leaving = self._leave_wanted == self.life
        self.complete_leave(self.life)
        if not was_leaving and Task.RELEASE not in self._tasks.values():
            self._lose_all()

    def sent(self, *, acknowledges: bool, leaves: bool) -> None:
        """A heartbeat of this life is on its way."""
        if leaves and self.state is MemberState.LEAVING:
            self.left()
        elif acknowledges and self.state is MemberState.ACKNOWLEDGING:
            settled = self.holdings.reconciled
            self._go(Trigger.ACKNOWLEDGED if settled else Trigger.ACKNOWLEDGED_IN_PART)
        else:
            self._go(Trigger.HEARTBEAT_SENT)

    def left(self) -> None:
        """The goodbye is on its way, or cannot be sent at all."""
        if not self._poll_expired:
            self._go(Trigger.LEFT)
            return
        self._go(Trigger.LEFT_STALE)
        self._poll_expired = False
        self._lose_all()

    def complete_leave(self, life: int) -> None:
        """Tell the application that its leave is over, if it is that life which it has left last."""
        if self._leave_wanted == life:
            self._leave_wanted = None
            self._out.append(effects.LeaveCompleted())

    def called_back(self, number: int, *, done: bool) -> None:
        """A callback came back, or raised; what is given up is given up even so."""
        task = self._tasks.pop(number)
        if task is Task.RELEASE:
            self._released()
        elif task is Task.REVOKE:
            self._after_revocation(done=done)
        else:
            self._after_assignment(done=done)

    # ---- joining, releasing, leaving

    def _join_if_ready(self, trigger: Trigger) -> None:
        """Join, unless there is nothing to subscribe to or something still to be released."""
        if self._subscription is not None and Task.RELEASE not in self._tasks.values():
            self._join(trigger)

    def _join(self, trigger: Trigger) -> None:
        self._go(trigger)
        self.life += 1
        self.epoch = JOIN_EPOCH
        self._callback_failed = False  # nothing of this life has failed

    def _lose_all(self) -> None:
        partitions = in_order(self.holdings.owned)
        if partitions:
            self._lose(partitions)
        else:
            self._released()

    def _lose(self, partitions: tuple[TopicPartition, ...]) -> None:
        self._out.append(effects.PauseFetching(partitions))
        self._out.append(effects.CallPartitionsLost(self._begin(Task.RELEASE), partitions))

    def _released(self) -> None:
        """Nothing is owned any more; go on with what that was for."""
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
        if self.holdings.owned:
            self._out.append(effects.ReleaseAssignment())
        self.holdings.clear()

    def _depart(self) -> None:
        self.epoch = self._leave_epoch
        self.holdings.forget()
        self._go(Trigger.RELEASED)
