"""Turning what a member has into what it was given: commit, revoke, assign, and the state that this goes with.

Source: AbstractMembershipManager, kafka-clients 4.3.1 (`maybeReconcile` and what it calls).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.member import effects
from assignor.member.holdings import Holdings, Reconciliation, in_order, union
from assignor.member.messages import JOIN_EPOCH
from assignor.member.state import MemberState
from assignor.member.transitions import Trigger, next_state

if TYPE_CHECKING:
    from uuid import UUID

    from assignor.member.effects import Effect
    from assignor.member.messages import Assignment

__all__ = ["Reconciling", "Task"]


class Task(enum.Enum):
    """What the application was asked to do and has not answered yet."""

    COMMIT = "commit what was consumed"
    REVOKE = "give some partitions up"
    ASSIGN = "take an assignment"
    RELEASE = "give all partitions up"


class Reconciling:
    """A member's state and partitions, and what the application is doing about them.

    Args:
        out: Where effects are put.
        rebalance_timeout_ms: How long a commit may take.
        metadata_wait_ms: How long to wait before asking for the same names again.
        auto_commit: Whether offsets are committed before anything is reconciled.
    """

    def __init__(
        self, out: list[Effect], *, rebalance_timeout_ms: int, metadata_wait_ms: int, auto_commit: bool
    ) -> None:
        self._out = out
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._metadata_wait_ms = metadata_wait_ms
        self._auto_commit = auto_commit
        self.state = MemberState.UNSUBSCRIBED
        self.epoch = JOIN_EPOCH
        self.life = 0
        self.holdings = Holdings()
        self._tasks: dict[int, Task] = {}
        self._last_task = 0
        self._late_commits: set[int] = set()
        self._commit_deadline = 0
        self._reconciliation: Reconciliation | None = None
        self._callback_failed = False
        self._asked_for: tuple[UUID, ...] = ()
        self._ask_again = 0

    # ---- what the application answers

    def check_commit(self, number: int, what: str) -> None:
        """Refuse an answer to a commit that was not asked for; one that comes too late is none of these.

        Raises:
            IllegalStateError: It names the state and the event.
        """
        if self._tasks.get(number) is not Task.COMMIT and number not in self._late_commits:
            raise IllegalStateError(
                f"a member in {self.state.name} does not allow {what}: no commit {number} is under way"
            )

    def committed(self, number: int) -> None:
        """A commit came back, well or not: what follows is the same."""
        if number in self._late_commits:
            self._late_commits.discard(number)
            return
        del self._tasks[number]
        self._after_commit()

    def check_callback(self, number: int, what: str) -> None:
        """Refuse an answer to a callback that was not asked for, or has been answered.

        Raises:
            IllegalStateError: It names the state and the event.
        """
        if self._tasks.get(number) in (None, Task.COMMIT):
            raise IllegalStateError(
                f"a member in {self.state.name} does not allow {what}: no callback {number} is under way"
            )

    # ---- reconciling

    def claimed(self) -> Assignment:
        """What a heartbeat says that the member owns: what it has, and all that it may take before the answer comes.

        A coordinator with another target in mind takes what is not said for given up, and gives it to somebody else.
        """
        way = self._valid_reconciliation()
        taking = {} if way is None else way.result.partitions
        return union(self.holdings.taken, taking, self.holdings.target.partitions)

    def reconcile(self, now: int, *, polled: bool = False) -> bool:
        """Begin to turn what the member has into what it was given, if that can begin now.

        A poll must be there to begin it where partitions are revoked or offsets committed, as records of them may be in
        the application's hands; and to begin it again after a callback failed.

        Returns:
            Whether anything happened.
        """
        if self.state is not MemberState.RECONCILING or self._reconciliation is not None or self.holdings.reconciled:
            return False
        result = self.holdings.resolve()
        asked = self._ask_for_names(now)
        current = self.holdings.current
        in_effect = current.partitions == self.holdings.taken == result.partitions and not self.holdings.untold
        if current.epoch >= 0 and in_effect:
            if current.epoch == result.epoch:
                return asked  # acknowledged already, as far as the names go
            self.holdings.current = result
            self._go(Trigger.RECONCILED)
            return True
        way = self.holdings.way_to(result, self.life)
        if not polled and (self._auto_commit or way.revoked or self._callback_failed):
            return asked
        self._reconciliation = way
        if way.revoked:
            self._out.append(effects.PauseFetching(way.revoked))
        if self._auto_commit:
            self._commit_deadline = now + self._rebalance_timeout_ms
            self._out.append(effects.Commit(self._begin(Task.COMMIT), self._commit_deadline))
        else:
            self._after_commit()
        return True

    def expire_commit(self, now: int) -> bool:
        """Go on without the commit whose time is over; whether there was one."""
        for number, task in self._tasks.items():
            if task is Task.COMMIT and now >= self._commit_deadline:
                del self._tasks[number]
                self._late_commits.add(number)
                self._after_commit()
                return True
        return False

    def deadline(self) -> int | None:
        """When time alone changes something here."""
        if Task.COMMIT in self._tasks.values():
            return self._commit_deadline
        if self.state is MemberState.RECONCILING and self._reconciliation is None and self.holdings.unresolved:
            return self._ask_again
        return None

    def _ask_for_names(self, now: int) -> bool:
        missing = self.holdings.unresolved
        if not missing or (missing == self._asked_for and now < self._ask_again):
            return False
        self._asked_for, self._ask_again = missing, now + self._metadata_wait_ms
        self._out.append(effects.RequestMetadata(missing))
        return True

    def _valid_reconciliation(self) -> Reconciliation | None:
        """The reconciliation under way, if there is one and it still means something."""
        way = self._reconciliation
        if way is None or self.state is not MemberState.RECONCILING or way.life != self.life:
            return None
        return way

    def _going_on(self) -> Reconciliation | None:
        """The reconciliation, which ends if it means nothing any more; what it waited for may have taken long."""
        self._reconciliation = self._valid_reconciliation()
        return self._reconciliation

    def _after_commit(self) -> None:
        way = self._going_on()
        if way is None:
            return
        if way.revoked:
            self._out.append(effects.CallPartitionsRevoked(self._begin(Task.REVOKE), way.revoked))
        else:
            self._assign(way)

    def _after_revocation(self, *, done: bool) -> None:
        way = self._going_on()
        if way is None:
            return
        if done:
            self._assign(way)
        else:
            self._give_up()

    def _assign(self, way: Reconciliation) -> None:
        self.holdings.take(way)
        number = self._begin(Task.ASSIGN)
        self._out.append(effects.CallPartitionsAssigned(number, way.added, in_order(way.owned)))

    def _after_assignment(self, *, done: bool) -> None:
        way = self._going_on()
        if way is None:
            return
        if not done:
            self.holdings.untold = frozenset(way.added)
            self._give_up()
            return
        self.holdings.untold = frozenset()
        self.holdings.current = way.result
        self._reconciliation = None
        self._go(Trigger.RECONCILED)

    def _give_up(self) -> None:
        self._reconciliation = None
        self._callback_failed = True

    def _go(self, trigger: Trigger) -> None:
        self.state = next_state(self.state, trigger)

    def _begin(self, task: Task) -> int:
        self._last_task += 1
        self._tasks[self._last_task] = task
        return self._last_task
