"""Which heartbeat goes out when, and what follows from its answer.

Source: AbstractHeartbeatRequestManager and ConsumerHeartbeatRequestManager, kafka-clients 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.member import effects
from assignor.member.error_codes import GROUP_ID_NOT_FOUND, UNKNOWN_SERVER_ERROR, Reaction, heartbeat_error
from assignor.member.heartbeats import LONG_AGO, Heartbeat
from assignor.member.state import MemberState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.member.effects import Effect
    from assignor.member.heartbeats import HeartbeatFields, HeartbeatTimer
    from assignor.member.membership import Membership
    from assignor.member.messages import HeartbeatResponse

__all__ = ["Heartbeating"]

_LEAVING = frozenset({MemberState.PREPARE_LEAVING, MemberState.LEAVING})


class Heartbeating:
    """The heartbeats of one member.

    Args:
        out: Where effects are put.
        group_id: The group, for messages.
        membership: Whose heartbeats they are.
        timer: When they may go out.
        fields: What they say.
        silent: The states in which none go out.
        max_poll_ms: How long the application may take between two polls.
        request_timeout_ms: When a heartbeat without an answer counts as failed.
        ask_wait_ms: How long to wait before asking for the coordinator again.
        join_at_once: Whether JOINING waits for neither interval nor backoff.
    """

    def __init__(
        self,
        out: list[Effect],
        group_id: str,
        membership: Membership,
        timer: HeartbeatTimer,
        fields: HeartbeatFields,
        *,
        silent: frozenset[MemberState],
        max_poll_ms: int,
        request_timeout_ms: int,
        ask_wait_ms: int,
        join_at_once: bool,
    ) -> None:
        self._out = out
        self._group_id = group_id
        self._membership = membership
        self._timer = timer
        self._fields = fields
        self._silent = silent
        self._max_poll_ms = max_poll_ms
        self._request_timeout_ms = request_timeout_ms
        self._join_at_once = join_at_once
        self._poll_deadline: int | None = None
        self._coordinator_known = False
        self._coordinator_asked = False
        self._ask_wait_ms = ask_wait_ms
        self._ask_again = LONG_AGO
        self._last = 0
        self._under_way: dict[int, Heartbeat] = {}
        self._in_flight: int | None = None
        self._joined_life = 0
        self._let_in_life = 0
        self._let_in_at = 0

    # ---- what happens

    def polled(self, now: int) -> None:
        """The application polled: it has its time again."""
        self._poll_deadline = now + self._max_poll_ms

    def coordinator_found(self) -> None:
        """Heartbeats can go out."""
        self._coordinator_known = True
        self._coordinator_asked = False

    def coordinator_lost(self) -> None:
        """No heartbeat can go out before it is found again."""
        self._coordinator_known = False

    def check_number(self, number: int, what: str) -> None:
        """Refuse what is about a heartbeat that never was.

        Raises:
            IllegalStateError: It names the state and the event.
        """
        if not 0 < number <= self._last:
            raise IllegalStateError(
                f"a member in {self._membership.state.name} does not allow {what}: there was no heartbeat {number}"
            )

    def check_sending(self, number: int, what: str) -> None:
        """Refuse that a heartbeat is sent that never was, or is sent already.

        Raises:
            IllegalStateError: It names the state and the event.
        """
        self.check_number(number, what)
        if number in self._under_way and self._under_way[number].sent:
            raise IllegalStateError(
                f"a member in {self._membership.state.name} does not allow {what}: heartbeat {number} is sent already"
            )

    def sent(self, number: int) -> None:
        """A heartbeat is on its way; one that has been given up meanwhile means nothing any more."""
        heartbeat = self._under_way.get(number)
        if heartbeat is None or heartbeat.sent:
            return
        heartbeat.sent = True
        if heartbeat.life == self._membership.life:
            self._membership.sent(acknowledges=heartbeat.acknowledges, leaves=heartbeat.leaves)

    def failed(self, number: int, now: int, *, retriable: bool, message: str) -> None:
        """A heartbeat got no answer; a goodbye is not said twice."""
        heartbeat = self._finish(number)
        if heartbeat is None or not heartbeat.awaited:
            return
        self._fields.forget()
        self._timer.failed(now)
        if not retriable and heartbeat.life == self._membership.life:
            error = heartbeat_error(UNKNOWN_SERVER_ERROR)
            self._membership.fail(UNKNOWN_SERVER_ERROR, error.name, message or "the heartbeat could not be sent")
        if heartbeat.leaves:
            self._membership.complete_leave(heartbeat.life)

    def answered(self, number: int, response: HeartbeatResponse, now: int) -> None:
        """A heartbeat was answered; an answer that comes twice, or after the heartbeat was given up, means nothing."""
        heartbeat = self._finish(number)
        if heartbeat is None or not heartbeat.awaited:
            return
        membership = self._membership
        if response.error_code:
            self._fields.forget()
            self._timer.failed(now)
            self._react(heartbeat, response, now)
        else:
            self._timer.answered(now, response.heartbeat_interval_ms)
            if not heartbeat.leaves and heartbeat.life == membership.life:
                if self._let_in_life != membership.life:
                    self._let_in_life, self._let_in_at = membership.life, now
                membership.receive(response.member_epoch, response.assignment)
        if heartbeat.leaves:
            membership.complete_leave(heartbeat.life)

    # ---- what is due

    def advance(self, now: int) -> bool:
        """Send what is due, and give up what is overdue; whether anything happened."""
        membership = self._membership
        for number, heartbeat in self._under_way.items():
            if now >= heartbeat.expires:
                self.failed(number, now, retriable=True, message="")
                self.coordinator_lost()  # it does not answer: perhaps another one does
                return True
        if membership.life != self._joined_life:
            self._joined_life = membership.life
            self._timer.begin()
        state = membership.state
        if not self._coordinator_known:
            if state is MemberState.LEAVING and not self._leave_under_way():
                membership.left()
                membership.complete_leave(membership.life)
                return True
            return self._ask_for_coordinator(now)
        if state in self._silent:
            return False
        if self._poll_is_overdue(now):
            membership.expire_poll()
            self._send(now)
            # The member may be back before this goodbye is answered, and must not take the answer for one to its join.
            self._under_way[self._last].awaited = False
            self._in_flight = None
            self._timer.forget_failures()
            self._fields.forget()
            return True
        if not self._is_due(now):
            return False
        self._send(now)
        return True

    def deadlines(self) -> Iterator[int]:
        """When time alone changes something here."""
        for heartbeat in self._under_way.values():
            yield heartbeat.expires
        state = self._membership.state
        if self._wants_coordinator():
            yield self._ask_again
        if not self._coordinator_known or state in self._silent or state is MemberState.LEAVING:
            return
        poll_deadline = self._effective_poll_deadline()
        if poll_deadline is not None:
            yield poll_deadline
        if self._in_flight is None:
            yield self._timer.due()

    # ---- the parts

    def _is_due(self, now: int) -> bool:
        """Whether a heartbeat goes out now; a goodbye waits for nothing, and is said once."""
        state = self._membership.state
        if state is MemberState.LEAVING:
            return not self._leave_under_way()
        if self._in_flight is not None:
            return False
        at_once = state is MemberState.ACKNOWLEDGING or (state is MemberState.JOINING and self._join_at_once)
        return at_once or now >= self._timer.due()

    def _poll_is_overdue(self, now: int) -> bool:
        deadline = self._effective_poll_deadline()
        return deadline is not None and now >= deadline

    def _effective_poll_deadline(self) -> int | None:
        """When the application must have polled; None where it need not, as the member is on its way out or fenced."""
        state = self._membership.state
        return None if state in _LEAVING or state is MemberState.FENCED else self._poll_deadline

    def _leave_under_way(self) -> bool:
        life = self._membership.life
        return any(heartbeat.leaves and heartbeat.life == life for heartbeat in self._under_way.values())

    def _ask_for_coordinator(self, now: int) -> bool:
        """Ask where the coordinator is, unless that was asked just now: the same broker may be found over and over."""
        if not self._wants_coordinator() or now < self._ask_again:
            return False
        self._coordinator_asked = True
        self._ask_again = now + self._ask_wait_ms
        self._out.append(effects.FindCoordinator())
        return True

    def _wants_coordinator(self) -> bool:
        asked = self._coordinator_known or self._coordinator_asked
        return not asked and self._membership.state not in self._silent

    def _send(self, now: int) -> None:
        membership = self._membership
        state = membership.state
        topics, pattern = membership.subscription()
        request = self._fields.request(
            membership.epoch,
            topics,
            pattern,
            membership.holdings.current,
            membership.claimed,
            joining=state is MemberState.JOINING,
        )
        self._last += 1
        self._under_way[self._last] = Heartbeat(
            membership.life,
            acknowledges=state is MemberState.ACKNOWLEDGING,
            leaves=state is MemberState.LEAVING,
            expires=now + self._request_timeout_ms,
        )
        self._in_flight = self._last
        self._timer.sent(now)
        self._out.append(effects.SendHeartbeat(self._last, request))

    def _finish(self, number: int) -> Heartbeat | None:
        """Take a heartbeat from those under way; what was answered, or given up, has been sent before."""
        self.sent(number)
        if number == self._in_flight:
            self._in_flight = None
        return self._under_way.pop(number, None)

    def _react(self, heartbeat: Heartbeat, response: HeartbeatResponse, now: int) -> None:
        membership = self._membership
        code = response.error_code
        error = heartbeat_error(code)
        if error.reaction is Reaction.FIND_COORDINATOR:
            self.coordinator_lost()
            self._timer.forget_failures()
        if heartbeat.life != membership.life or (heartbeat.leaves and membership.state is not MemberState.UNSUBSCRIBED):
            return
        if error.text is not None:
            message = error.text.format(group_id=self._group_id)
        else:
            message = response.error_message or error.name
        if error.reaction is Reaction.RAISE:
            self._out.append(effects.RaiseError(code, error.name, message))
        elif error.reaction is Reaction.REJOIN:
            membership.fence()
            # A coordinator that lets the member in and fences it at once must not be asked again without a pause.
            if self._let_in_life == heartbeat.life and now - self._let_in_at >= self._timer.backoff_max_ms:
                self._timer.forget_failures()
        elif error.reaction is Reaction.FAIL and not (
            code == GROUP_ID_NOT_FOUND and membership.state is MemberState.UNSUBSCRIBED
        ):
            membership.fail(code, error.name, message)
