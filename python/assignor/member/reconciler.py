"""Reconciliation of the owned partitions with the target assignment: commit, revoke, assign.

Source: AbstractMembershipManager, kafka-clients 4.3.1 (`maybeReconcile` and the methods that it calls). The reconciler
does not use the state. `state_machine.py` starts it in RECONCILING, abandons it when the member leaves that state, and
changes the state when the reconciliation is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.member import effects
from assignor.member.assignments import sort_partitions, union
from assignor.member.tasks import Task

if TYPE_CHECKING:
    from uuid import UUID

    from assignor.member.assignments import Assignments, LocalAssignment, Reconciliation
    from assignor.member.effects import Effect
    from assignor.member.messages import Assignment
    from assignor.member.tasks import Tasks

__all__ = ["Reconciler"]


class Reconciler:
    """Reconciliation of one member; at most one is in progress.

    An abandoned reconciliation has no further effect, but stays in progress until the application has answered its last
    task.

    Args:
        out: List to which effects are appended.
        assignments: Assignments of the member.
        tasks: Pending tasks of the member.
        rebalance_timeout_ms: Time limit of a commit.
        metadata_wait_ms: Time before the same topic names are requested again.
        auto_commit: True if offsets are committed before each reconciliation.
    """

    def __init__(
        self,
        out: list[Effect],
        assignments: Assignments,
        tasks: Tasks,
        *,
        rebalance_timeout_ms: int,
        metadata_wait_ms: int,
        auto_commit: bool,
    ) -> None:
        self._out = out
        self._assignments = assignments
        self._tasks = tasks
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._metadata_wait_ms = metadata_wait_ms
        self._auto_commit = auto_commit
        self._in_progress: Reconciliation | None = None
        self._is_abandoned = False
        self._needs_poll = False
        self._commit_deadline = 0
        self._requested_ids: tuple[UUID, ...] = ()
        self._request_again_at = 0

    @property
    def is_in_progress(self) -> bool:
        """True until the application has answered the last task of a reconciliation."""
        return self._in_progress is not None

    def reported_partitions(self) -> Assignment:
        """Return the partitions that a heartbeat reports: the owned ones, and all that may be added before its answer.

        A coordinator with a new target would consider an unreported partition revoked, and assign it to another member.
        """
        in_progress = self._in_progress
        added = {} if in_progress is None or self._is_abandoned else in_progress.result.partitions
        return union(self._assignments.applied, added, self._assignments.target.partitions)

    def start(self, result: LocalAssignment, now: int, *, polled: bool) -> bool:
        """Start the reconciliation to an assignment, unless it must wait for a poll.

        It waits for a poll if partitions are revoked or offsets committed, because the application may still process
        their records. It also waits for a poll after a callback failed.

        Returns:
            True if the reconciliation was started.
        """
        steps = self._assignments.reconciliation_to(result)
        if not polled and (self._auto_commit or steps.revoked or self._needs_poll):
            return False
        self._in_progress, self._is_abandoned = steps, False
        if steps.revoked:
            self._out.append(effects.PauseFetching(steps.revoked))
        if self._auto_commit:
            self._commit_deadline = now + self._rebalance_timeout_ms
            self._out.append(effects.Commit(self._tasks.begin(Task.COMMIT), self._commit_deadline))
        else:
            self._revoke()
        return True

    def abandon(self) -> None:
        """Abandon the reconciliation in progress, if any."""
        self._is_abandoned = True

    def allow_start(self) -> None:
        """Allow a reconciliation to start again after a callback failed."""
        self._needs_poll = False

    def request_names(self, now: int) -> bool:
        """Request missing topic names, unless they were requested recently. Return True if they were requested."""
        missing = self._assignments.unresolved
        if not missing or (missing == self._requested_ids and now < self._request_again_at):
            return False
        self._requested_ids, self._request_again_at = missing, now + self._metadata_wait_ms
        self._out.append(effects.RequestMetadata(missing))
        return True

    # ---- answers of the application

    def committed(self) -> None:
        """Continue after the commit, even if it failed."""
        if self._is_effective():
            self._revoke()

    def expire_commit(self, now: int) -> bool:
        """Continue without the commit if its deadline has passed. Return True if so."""
        if now < self._commit_deadline or not self._tasks.expire_commit():
            return False
        self.committed()
        return True

    def called_back(self, task: Task, *, done: bool) -> bool:
        """Continue after a callback. Return True if the reconciliation is complete."""
        steps = self._in_progress
        if not self._is_effective() or steps is None:
            return False
        if done and task is Task.REVOKE:
            self._assign(steps)
            return False
        if task is Task.ASSIGN:
            self._assignments.not_announced = frozenset() if done else frozenset(steps.added)
        self._in_progress = None
        if not done:
            self._needs_poll = True
            return False
        self._assignments.current = steps.result
        return True

    # ---- deadlines

    def commit_deadline(self) -> int | None:
        """Return the deadline of the pending commit, or None."""
        return self._commit_deadline if self._tasks.is_pending(Task.COMMIT) else None

    def metadata_deadline(self) -> int | None:
        """Return the time at which missing topic names are requested again, or None."""
        waits = self._in_progress is None and self._assignments.unresolved
        return self._request_again_at if waits else None

    # ---- steps

    def _is_effective(self) -> bool:
        """Return True if a reconciliation is in progress and not abandoned; end an abandoned one."""
        if self._is_abandoned:
            self._in_progress = None
        return self._in_progress is not None

    def _revoke(self) -> None:
        steps = self._in_progress
        assert steps is not None
        if steps.revoked:
            self._out.append(effects.CallPartitionsRevoked(self._tasks.begin(Task.REVOKE), steps.revoked))
        else:
            self._assign(steps)

    def _assign(self, steps: Reconciliation) -> None:
        self._assignments.apply(steps)
        number = self._tasks.begin(Task.ASSIGN)
        owned = sort_partitions(steps.owned)
        self._out.append(effects.CallPartitionsAssigned(number, steps.added, owned))
