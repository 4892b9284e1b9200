"""A consumer group's member under KIP-848, sans-io: events in, effects out.

Source: AbstractMembershipManager, ConsumerMembershipManager, AbstractHeartbeatRequestManager and
ConsumerHeartbeatRequestManager of kafka-clients 4.3.1. Where this machine does something else than they do,
`docs/decisions.md` says what and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError, IllegalStateError
from assignor.member import effects, events
from assignor.member.assignments import Assignments, sort_partitions
from assignor.member.heartbeat_manager import HeartbeatManager
from assignor.member.heartbeat_state import HeartbeatFields, HeartbeatTimer
from assignor.member.messages import LEAVE_EPOCH, LEAVE_STATIC_EPOCH, CommitIdentity, HeartbeatResponse, read_text
from assignor.member.reconciler import Reconciler
from assignor.member.state import MemberState
from assignor.member.state_machine import TRANSITIONS, MemberStateMachine, Trigger
from assignor.member.tasks import Tasks
from assignor.validation import read_int, shown, wrong_type

if TYPE_CHECKING:
    from assignor.member.effects import Effect
    from assignor.member.events import Event
    from assignor.model import TopicPartition

__all__ = ["Member"]


class Member:
    """One member of a consumer group: what it is to do, decided from what happened.

    It has no clock, socket, thread or callback. `handle` takes an event and the time and returns what is to be done, in
    order; what is to be answered has a number. Drive it from one thread: hand in what happens, carry out what comes
    out, and hand in a `Tick` at `next_deadline`.

    Where Kafka's documentation and its code differ, the documentation is the default and the code an option.

    Args:
        group_id: The group.
        member_id: The member's own id, which it keeps all its life (KIP-1082): a fresh UUID, as a rule.
        instance_id: Makes it a static member (KIP-345): it leaves with epoch -2, and its partitions wait for it.
        rack_id: Where it is.
        rebalance_timeout_ms: `max.poll.interval.ms`: how long the application may take between two polls, and the
            coordinator waits for partitions to be revoked.
        server_assignor: Which of the coordinator's assignors it asks for; None leaves it to the coordinator.
        auto_commit: Whether offsets are committed before partitions are revoked or added.
        retry_backoff_ms: How long to wait after a heartbeat failed; it doubles with each further failure. Also
            the least time between two questions for the coordinator.
        retry_backoff_max_ms: What that wait cannot exceed; also how long to wait before asking for the same names of
            topics again.
        jitter: By which part of it the wait is drawn longer or shorter; the member id is the seed.
        request_timeout_ms: After which time a heartbeat without an answer counts as failed.
        heartbeat_while_preparing_to_leave: False, as documented: none are sent in PREPARE_LEAVING. True, as in Kafka's
            code: they go on, so that slow callbacks do not make the coordinator fence the member meanwhile.
        heartbeat_while_fenced: False, as documented and as in the code since 3.8: none are sent in FENCED. True, as in
            the code of 3.7.
        join_at_once: False, as documented: JOINING sends its heartbeats on the interval, the first one at once, and
            after the backoff when one fails. True, as in Kafka's code: whenever none is under way, without a backoff.

    Raises:
        WrongTypeError: An argument is of another type.
        IllegalArgumentError: An id is blank, a time is not above 0, or the jitter is not from 0 up to 1.

    Example:
        >>> member = Member("orders", "m-1")
        >>> member.handle(events.Subscribe(["t0"]), now=0)
        ()
        >>> member.handle(events.CoordinatorFound(), now=0)
        ()
        >>> beat, wake = member.handle(events.Poll(), now=0)
        >>> member.state.name, beat.request.member_epoch, beat.request.subscribed_topic_names, wake.at
        ('JOINING', 0, ('t0',), 30000)
    """

    def __init__(
        self,
        group_id: str,
        member_id: str,
        *,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = 300_000,
        server_assignor: str | None = None,
        auto_commit: bool = False,
        retry_backoff_ms: int = 100,
        retry_backoff_max_ms: int = 1000,
        jitter: float = 0.2,
        request_timeout_ms: int = 30_000,
        heartbeat_while_preparing_to_leave: bool = False,
        heartbeat_while_fenced: bool = False,
        join_at_once: bool = False,
    ) -> None:
        group_id = _read_id("group_id", group_id)
        member_id = _read_id("member_id", member_id)
        instance_id = None if instance_id is None else _read_id("instance_id", instance_id)
        rack_id = None if rack_id is None else _read_id("rack_id", rack_id)
        server_assignor = None if server_assignor is None else _read_id("server_assignor", server_assignor)
        rebalance_timeout_ms = _read_time("rebalance_timeout_ms", rebalance_timeout_ms)
        retry_backoff_ms = _read_time("retry_backoff_ms", retry_backoff_ms)
        retry_backoff_max_ms = _read_time("retry_backoff_max_ms", retry_backoff_max_ms)
        request_timeout_ms = _read_time("request_timeout_ms", request_timeout_ms)
        if not isinstance(jitter, (int, float)):
            raise wrong_type("Member: jitter", "a number", jitter)
        if not 0 <= jitter < 1:
            raise IllegalArgumentError(f"Member: jitter must be from 0 up to 1: {shown(jitter)}")
        _check_switch("auto_commit", auto_commit)
        _check_switch("heartbeat_while_preparing_to_leave", heartbeat_while_preparing_to_leave)
        _check_switch("heartbeat_while_fenced", heartbeat_while_fenced)
        _check_switch("join_at_once", join_at_once)
        silent = {MemberState.UNSUBSCRIBED, MemberState.FATAL, MemberState.STALE}
        if not heartbeat_while_preparing_to_leave:
            silent.add(MemberState.PREPARE_LEAVING)
        if not heartbeat_while_fenced:
            silent.add(MemberState.FENCED)

        self.group_id = group_id
        self.member_id = member_id
        self.instance_id = instance_id
        self._out: list[Effect] = []
        self._now: int | None = None
        self._last_deadline: int | None = None
        self._assignments = Assignments()
        self._tasks = Tasks()
        self._reconciler = Reconciler(
            self._out,
            self._assignments,
            self._tasks,
            rebalance_timeout_ms=rebalance_timeout_ms,
            metadata_wait_ms=retry_backoff_max_ms,
            auto_commit=auto_commit,
        )
        self._machine = MemberStateMachine(
            self._out,
            self._assignments,
            self._reconciler,
            self._tasks,
            leave_epoch=LEAVE_EPOCH if instance_id is None else LEAVE_STATIC_EPOCH,
        )
        self._heartbeats = HeartbeatManager(
            self._out,
            group_id,
            self._machine,
            self._assignments,
            self._reconciler,
            HeartbeatTimer(retry_backoff_ms, retry_backoff_max_ms, jitter, member_id),
            HeartbeatFields(group_id, member_id, instance_id, rack_id, rebalance_timeout_ms, server_assignor),
            silent=frozenset(silent),
            max_poll_ms=rebalance_timeout_ms,
            request_timeout_ms=request_timeout_ms,
            find_coordinator_wait_ms=retry_backoff_ms,
            join_at_once=join_at_once,
        )

    def __repr__(self) -> str:
        return f"<Member {self.member_id} of {self.group_id}: {self.state.name}, epoch {self.epoch}>"

    @property
    def state(self) -> MemberState:
        """Where the member stands."""
        return self._machine.state

    @property
    def epoch(self) -> int:
        """The epoch that its next heartbeat carries: 0 to join, below 0 to leave or once it left, else the member's."""
        return self._machine.epoch

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions that the application has, by topic (Java's order of strings) and id.

        What is added is there once `CallPartitionsAssigned` is out, what is revoked is gone then too; what is lost or
        released is gone with `ReleaseAssignment`.
        """
        return sort_partitions(self._assignments.owned)

    def commit_identity(self) -> CommitIdentity:
        """Who the member is in a request that commits offsets now.

        Raises:
            IllegalStateError: It must not commit in this state: its partitions are not its own, or not yet.

        Example:
            >>> Member("orders", "m-1").commit_identity()
            CommitIdentity(member_id='', member_epoch=-1, instance_id=None)
        """
        if self.state is MemberState.UNSUBSCRIBED:
            return CommitIdentity("", -1, None)
        if not self.state.can_commit() or self.epoch <= 0:
            raise IllegalStateError(f"a member in {self.state.name} with epoch {self.epoch} cannot commit offsets")
        return CommitIdentity(self.member_id, self.epoch, self.instance_id)

    def next_deadline(self) -> int | None:
        """When to hand in a `Tick` if nothing happens before, in milliseconds; None where time changes nothing."""
        times = [*self._heartbeats.deadlines()]
        task = self._machine.deadline()
        if task is not None:
            times.append(task)
        return min(times, default=None)

    def handle(self, event: Event, now: int) -> tuple[Effect, ...]:
        """Take in what happened, and say what is to be done, in that order.

        Args:
            event: What happened.
            now: The time in milliseconds, from any origin; where it is less than before it counts as the same.

        Raises:
            IllegalStateError: The state does not allow the event: an answer to what was not asked, or a subscription in
                FATAL. The error names both, and nothing has changed.
            IllegalArgumentError: The event says something that cannot be, such as a response to another member.
                Nothing has changed.
            WrongTypeError: It is no event, or a part of it is of another type; nothing has changed.
        """
        now = read_int(now, "Member: now", bits=64)
        self._check(event)
        self._now = now = now if self._now is None else max(now, self._now)
        self._take(event, now)
        while self._reconciler.expire_commit(now) or self._heartbeats.advance(now) or self._machine.reconcile(now):
            pass
        deadline = self.next_deadline()
        if deadline != self._last_deadline:
            self._last_deadline = deadline
            self._out.append(effects.WakeAt(deadline))
        found = tuple(self._out)
        self._out.clear()
        return found

    def _check(self, event: Event) -> None:
        """All that can be wrong with an event is found here, before anything changes."""
        what = type(event).__name__
        match event:
            case events.Subscribe():
                if Trigger.SUBSCRIBED not in TRANSITIONS[self.state]:
                    raise self._refused(f"{what}: it has no way back")
            case events.HeartbeatSent(number):
                self._heartbeats.check_sending(number, what)
            case events.ResponseReceived(number, response):
                self._heartbeats.check_number(number, what)
                self._check_recipient(response)
            case events.TransportFailed(number):
                self._heartbeats.check_number(number, what)
            case events.CommitDone(number) | events.CommitFailed(number):
                if not self._tasks.has_commit(number):
                    raise self._refused(f"{what}: no commit {number} is under way")
            case events.CallbackDone(number) | events.CallbackFailed(number):
                if not self._tasks.has_callback(number):
                    raise self._refused(f"{what}: no callback {number} is under way")
            case (
                events.Leave() | events.Poll() | events.Tick() | events.CoordinatorFound() | events.CoordinatorLost()
            ) | events.MetadataArrived():
                pass
            case _:
                raise wrong_type("Member: an event", "one of assignor.member.events", event)

    def _take(self, event: Event, now: int) -> None:
        machine, heartbeats = self._machine, self._heartbeats
        match event:
            case events.Subscribe(topics, pattern):
                machine.subscribe(tuple(topics), pattern)
            case events.Leave():
                machine.leave()
            case events.Poll():
                heartbeats.polled(now)
                machine.poll(now)
            case events.HeartbeatSent(number):
                heartbeats.sent(number)
            case events.ResponseReceived(number, response):
                heartbeats.answered(number, response, now)
            case events.TransportFailed(number, retriable, message):
                heartbeats.failed(number, now, retriable=retriable, message=message)
            case events.CoordinatorFound():
                heartbeats.coordinator_found()
            case events.CoordinatorLost():
                heartbeats.coordinator_lost()
            case events.MetadataArrived(names):
                self._assignments.add_names(names)
            case events.CommitDone(number) | events.CommitFailed(number):
                if self._tasks.finish_commit(number):
                    self._reconciler.committed()
            case events.CallbackDone(number) | events.CallbackFailed(number):
                machine.called_back(number, done=isinstance(event, events.CallbackDone))

    def _refused(self, event: str) -> IllegalStateError:
        return IllegalStateError(f"a member in {self.state.name} does not allow {event}")

    def _check_recipient(self, response: HeartbeatResponse) -> None:
        if response.member_id and response.member_id != self.member_id:
            raise IllegalArgumentError(
                f"ResponseReceived: the response is for the member {shown(response.member_id)}, and this one is "
                f"{shown(self.member_id)}"
            )


def _read_id(name: str, text: str) -> str:
    found = read_text(text, f"Member: {name}")
    if not found.strip():
        raise IllegalArgumentError(f"Member: {name} cannot be blank: {shown(text)}")
    return found


def _read_time(name: str, milliseconds: int) -> int:
    found = read_int(milliseconds, f"Member: {name}", bits=32)
    if found <= 0:
        raise IllegalArgumentError(f"Member: {name} must be above 0: {shown(milliseconds)}")
    return found


def _check_switch(name: str, switch: bool) -> None:
    if not isinstance(switch, bool):
        raise wrong_type(f"Member: {name}", "a bool", switch)
