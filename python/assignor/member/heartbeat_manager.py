"""Heartbeats of a member: when each is sent, and how its answer is handled.

Source: AbstractHeartbeatRequestManager and ConsumerHeartbeatRequestManager, kafka-clients 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.member import effects
from assignor.member.error_codes import GROUP_ID_NOT_FOUND, UNKNOWN_SERVER_ERROR, Reaction, heartbeat_error
from assignor.member.heartbeat_state import LONG_AGO, Heartbeat
from assignor.member.state import MemberState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.member.assignments import Assignments
    from assignor.member.effects import Effect
    from assignor.member.heartbeat_state import HeartbeatFields, HeartbeatTimer
    from assignor.member.messages import HeartbeatResponse
    from assignor.member.reconciler import Reconciler
    from assignor.member.state_machine import MemberStateMachine

__all__ = ["HeartbeatManager"]

_LEAVING = frozenset({MemberState.PREPARE_LEAVING, MemberState.LEAVING})


class HeartbeatManager:
    """Heartbeats of one member.

    Args:
        out: List to which effects are appended.
        group_id: Id of the group, for messages.
        machine: State machine of the member.
        assignments: Assignments of the member.
        reconciler: Reconciler of the assignments.
        timer: Timer for the interval and the backoff.
        fields: Builder of the requests.
        silent: States in which no heartbeat is sent.
        max_poll_ms: Longest time between two polls of the application.
        request_timeout_ms: Time after which a heartbeat without an answer has failed.
        find_coordinator_wait_ms: Least time between two look-ups of the coordinator.
        join_at_once: True if JOINING waits for neither interval nor backoff.
    """

    def __init__(
        self,
        out: list[Effect],
        group_id: str,
        machine: MemberStateMachine,
        assignments: Assignments,
        reconciler: Reconciler,
        timer: HeartbeatTimer,
        fields: HeartbeatFields,
        *,
        silent: frozenset[MemberState],
        max_poll_ms: int,
        request_timeout_ms: int,
        find_coordinator_wait_ms: int,
        join_at_once: bool,
    ) -> None:
        self._out = out
        self._group_id = group_id
        self._machine = machine
        self._assignments = assignments
        self._reconciler = reconciler
        self._timer = timer
        self._fields = fields
        self._silent = silent
        self._max_poll_ms = max_poll_ms
        self._request_timeout_ms = request_timeout_ms
        self._join_at_once = join_at_once
        self._poll_deadline: int | None = None
        self._is_coordinator_known = False
        self._is_finding_coordinator = False
        self._find_coordinator_wait_ms = find_coordinator_wait_ms
        self._find_coordinator_at = LONG_AGO
        self._last = 0
        self._in_flight: dict[int, Heartbeat] = {}
        self._awaited_number: int | None = None
        self._begun_join = 0
        self._accepted_join = 0
        self._accepted_at = 0

    # ---- events

    def polled(self, now: int) -> None:
        """Restart the poll timer."""
        self._poll_deadline = now + self._max_poll_ms

    def coordinator_found(self) -> None:
        """Mark the coordinator as known."""
        self._is_coordinator_known = True
        self._is_finding_coordinator = False

    def coordinator_lost(self) -> None:
        """Mark the coordinator as unknown; no heartbeat is sent until it is found."""
        self._is_coordinator_known = False

    def check_number(self, number: int, what: str) -> None:
        """Check that a heartbeat with this number exists.

        Raises:
            IllegalStateError: No such heartbeat exists; the error names the state and the event.
        """
        if not 0 < number <= self._last:
            raise IllegalStateError(
                f"a member in {self._machine.state.name} does not allow {what}: heartbeat {number} does not exist"
            )

    def check_sending(self, number: int, what: str) -> None:
        """Check that a heartbeat with this number exists and has not been sent.

        Raises:
            IllegalStateError: No such heartbeat exists, or it has been sent; the error names the state and the event.
        """
        self.check_number(number, what)
        if number in self._in_flight and self._in_flight[number].is_sent:
            raise IllegalStateError(
                f"a member in {self._machine.state.name} does not allow {what}: heartbeat {number} has been sent"
            )

    def sent(self, number: int) -> None:
        """Mark a heartbeat as sent; ignore one that has timed out."""
        heartbeat = self._in_flight.get(number)
        if heartbeat is None or heartbeat.is_sent:
            return
        heartbeat.is_sent = True
        if heartbeat.join_number == self._machine.join_number:
            self._machine.sent(acknowledges=heartbeat.acknowledges, leaves=heartbeat.leaves)

    def failed(self, number: int, now: int, *, retriable: bool, message: str) -> None:
        """Handle a failed heartbeat; a leave heartbeat is not repeated."""
        heartbeat = self._finish(number)
        if heartbeat is None or not heartbeat.is_awaited:
            return
        self._fields.forget()
        self._timer.failed(now)
        if not retriable and heartbeat.join_number == self._machine.join_number:
            error = heartbeat_error(UNKNOWN_SERVER_ERROR)
            self._machine.fail(UNKNOWN_SERVER_ERROR, error.name, message or "the heartbeat could not be sent")
        if heartbeat.leaves:
            self._machine.complete_leave(heartbeat.join_number)

    def answered(self, number: int, response: HeartbeatResponse, now: int) -> None:
        """Apply an answer; ignore a second answer, and an answer to a heartbeat that has timed out."""
        heartbeat = self._finish(number)
        if heartbeat is None or not heartbeat.is_awaited:
            return
        machine = self._machine
        if response.error_code:
            self._fields.forget()
            self._timer.failed(now)
            self._react(heartbeat, response, now)
        else:
            self._timer.answered(now, response.heartbeat_interval_ms)
            if not heartbeat.leaves and heartbeat.join_number == machine.join_number:
                if self._accepted_join != machine.join_number:
                    self._accepted_join, self._accepted_at = machine.join_number, now
                machine.receive(response.member_epoch, response.assignment)
        if heartbeat.leaves:
            machine.complete_leave(heartbeat.join_number)

    # ---- timers

    def advance(self, now: int) -> bool:
        """Send a heartbeat that is due, or expire one without an answer. Return True if either happened."""
        machine = self._machine
        for number, heartbeat in self._in_flight.items():
            if now >= heartbeat.expires:
                self.failed(number, now, retriable=True, message="")
                self.coordinator_lost()  # another broker may be the coordinator now
                return True
        if machine.join_number != self._begun_join:
            self._begun_join = machine.join_number
            self._timer.begin()
        state = machine.state
        if not self._is_coordinator_known:
            if state is MemberState.LEAVING and not self._is_leave_in_flight():
                machine.left()
                machine.complete_leave(machine.join_number)
                return True
            return self._find_coordinator(now)
        if state in self._silent:
            return False
        if self._poll_is_overdue(now):
            machine.expire_poll()
            self._send(now)
            # The member may join again before the answer arrives, and must then ignore it.
            self._in_flight[self._last].is_awaited = False
            self._awaited_number = None
            self._timer.forget_failures()
            self._fields.forget()
            return True
        if not self._is_due(now):
            return False
        self._send(now)
        return True

    def deadlines(self) -> Iterator[int]:
        """Yield the times at which `advance` must run again, unless another event comes first."""
        for heartbeat in self._in_flight.values():
            yield heartbeat.expires
        state = self._machine.state
        if self._needs_coordinator():
            yield self._find_coordinator_at
        if not self._is_coordinator_known or state in self._silent or state is MemberState.LEAVING:
            return
        poll_deadline = self._effective_poll_deadline()
        if poll_deadline is not None:
            yield poll_deadline
        if self._awaited_number is None:
            yield self._timer.due()

    # ---- helpers

    def _is_due(self, now: int) -> bool:
        """Return True if a heartbeat is due; a leave heartbeat is due immediately, and only once."""
        state = self._machine.state
        if state is MemberState.LEAVING:
            return not self._is_leave_in_flight()
        if self._awaited_number is not None:
            return False
        at_once = state is MemberState.ACKNOWLEDGING or (state is MemberState.JOINING and self._join_at_once)
        return at_once or now >= self._timer.due()

    def _poll_is_overdue(self, now: int) -> bool:
        deadline = self._effective_poll_deadline()
        return deadline is not None and now >= deadline

    def _effective_poll_deadline(self) -> int | None:
        """Return the deadline of the poll timer; None for a member that is leaving or fenced."""
        state = self._machine.state
        return None if state in _LEAVING or state is MemberState.FENCED else self._poll_deadline

    def _is_leave_in_flight(self) -> bool:
        join_number = self._machine.join_number
        return any(heartbeat.leaves and heartbeat.join_number == join_number for heartbeat in self._in_flight.values())

    def _find_coordinator(self, now: int) -> bool:
        """Look for the coordinator, unless the last look-up was recent.

        After a recent look-up, another one may return the same lost broker.
        """
        if not self._needs_coordinator() or now < self._find_coordinator_at:
            return False
        self._is_finding_coordinator = True
        self._find_coordinator_at = now + self._find_coordinator_wait_ms
        self._out.append(effects.FindCoordinator())
        return True

    def _needs_coordinator(self) -> bool:
        found_or_finding = self._is_coordinator_known or self._is_finding_coordinator
        return not found_or_finding and self._machine.state not in self._silent

    def _send(self, now: int) -> None:
        machine = self._machine
        state = machine.state
        topics, pattern = machine.subscription()
        request = self._fields.request(
            machine.epoch,
            topics,
            pattern,
            self._assignments.current,
            self._reconciler.reported_partitions,
            joining=state is MemberState.JOINING,
        )
        self._last += 1
        self._in_flight[self._last] = Heartbeat(
            machine.join_number,
            acknowledges=state is MemberState.ACKNOWLEDGING,
            leaves=state is MemberState.LEAVING,
            expires=now + self._request_timeout_ms,
        )
        self._awaited_number = self._last
        self._timer.sent(now)
        self._out.append(effects.SendHeartbeat(self._last, request))

    def _finish(self, number: int) -> Heartbeat | None:
        """Remove a heartbeat from those in flight; an answered or failed heartbeat counts as sent."""
        self.sent(number)
        if number == self._awaited_number:
            self._awaited_number = None
        return self._in_flight.pop(number, None)

    def _react(self, heartbeat: Heartbeat, response: HeartbeatResponse, now: int) -> None:
        machine = self._machine
        code = response.error_code
        error = heartbeat_error(code)
        if error.reaction is Reaction.FIND_COORDINATOR:
            self.coordinator_lost()
            self._timer.forget_failures()
        if heartbeat.join_number != machine.join_number:
            return
        if heartbeat.leaves and machine.state is not MemberState.UNSUBSCRIBED:
            return
        if error.text is not None:
            message = error.text.format(group_id=self._group_id)
        else:
            message = response.error_message or error.name
        if error.reaction is Reaction.RAISE:
            self._out.append(effects.RaiseError(code, error.name, message))
        elif error.reaction is Reaction.REJOIN:
            machine.fence()
            # Keep the backoff if the coordinator fenced the member before or soon after it accepted the join.
            if self._accepted_join == heartbeat.join_number and now - self._accepted_at >= self._timer.backoff_max_ms:
                self._timer.forget_failures()
        elif error.reaction is Reaction.FAIL and not (
            code == GROUP_ID_NOT_FOUND and machine.state is MemberState.UNSUBSCRIBED
        ):
            machine.fail(code, error.name, message)
