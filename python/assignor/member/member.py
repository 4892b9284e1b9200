"""Sans-io member of a consumer group under KIP-848: it accepts events and returns effects.

Source: AbstractMembershipManager, ConsumerMembershipManager, AbstractHeartbeatRequestManager and
ConsumerHeartbeatRequestManager of kafka-clients 4.3.1. `docs/member-differences.md` lists and
explains the differences.
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
    """One member of a consumer group, as a state machine that turns events into effects.

    A member has no clock, socket, thread or callback. `handle` accepts an event and the time, and returns effects in
    the order in which to perform them. An effect with a number expects an answer. Use a member from one thread: pass
    each event, perform the effects, and pass a `Tick` at `next_deadline`.

    Where Kafka's documentation and its code differ, the default follows the documentation, and an option follows the
    code.

    Args:
        group_id: Id of the group.
        member_id: Id of the member for its whole life (KIP-1082), usually a new UUID.
        instance_id: Instance id of a static member (KIP-345). A static member leaves with epoch -2, and its partitions
            wait for it.
        rack_id: Rack of the member.
        rebalance_timeout_ms: `max.poll.interval.ms`: the longest time between two polls of the application, and the
            time that the coordinator waits for revocations.
        server_assignor: Assignor that the member requests from the coordinator; None for the coordinator's choice.
        auto_commit: True if offsets are committed before partitions are revoked or added.
        retry_backoff_ms: Wait after a failed heartbeat, which doubles with each further failure; also the least time
            between two look-ups of the coordinator.
        retry_backoff_max_ms: Longest such wait; also the time before the same topic names are requested again.
        jitter: Largest random change of the wait, as a fraction of it; the member id is the seed.
        request_timeout_ms: Time after which a heartbeat without an answer has failed.
        heartbeat_while_preparing_to_leave: False, as documented: no heartbeats in PREPARE_LEAVING. True, as in Kafka's
            code: heartbeats continue, so that the coordinator does not fence a member with slow callbacks.
        heartbeat_while_fenced: False, as documented and as in the code since 3.8: no heartbeats in FENCED. True, as in
            the code of 3.7.
        join_at_once: False, as documented: a member in JOINING sends its first heartbeat immediately and further ones
            at the interval; after a failed heartbeat it waits for the backoff instead. True, as in Kafka's code: the
            next heartbeat is sent as soon as none is in flight, without a backoff.

    Raises:
        WrongTypeError: An argument has a wrong type.
        IllegalArgumentError: An id is blank, a time is not positive, or `jitter` is not in [0, 1).

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
            raise IllegalArgumentError(f"Member: jitter must be >= 0 and < 1: {shown(jitter)}")
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
        """State of the member."""
        return self._machine.state

    @property
    def epoch(self) -> int:
        """Epoch of the next heartbeat: 0 to join, below 0 to leave and after leaving, else the member's epoch."""
        return self._machine.epoch

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """Partitions that the application owns, by topic (Java's order of strings) and id.

        `CallPartitionsAssigned` adds and removes partitions; `ReleaseAssignment` removes all.
        """
        return sort_partitions(self._assignments.owned)

    def commit_identity(self) -> CommitIdentity:
        """Return the member id, epoch and instance id for an OffsetCommit request that is sent now.

        Raises:
            IllegalStateError: The state does not allow a commit, or the member's epoch is not above 0.

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
        """Return the time of the next `Tick` in milliseconds; None if time alone changes nothing."""
        times = [*self._heartbeats.deadlines()]
        task = self._machine.deadline()
        if task is not None:
            times.append(task)
        return min(times, default=None)

    def handle(self, event: Event, now: int) -> tuple[Effect, ...]:
        """Handle an event, and return the effects in the order in which to perform them.

        Args:
            event: The event.
            now: Time in milliseconds, from any origin. A time earlier than the previous one counts as the previous one.

        Raises:
            IllegalStateError: The state does not allow the event, such as an answer to an effect that is not pending,
                or a subscription in FATAL. The error names the state and the event. Nothing has changed.
            IllegalArgumentError: The event is invalid, such as a response to another member. Nothing has changed.
            WrongTypeError: The event or one of its parts has a wrong type. Nothing has changed.
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
        """Check an event completely before it changes anything."""
        what = type(event).__name__
        match event:
            case events.Subscribe():
                if Trigger.SUBSCRIBED not in TRANSITIONS[self.state]:
                    raise self._not_allowed(f"{what}: create a new member instead")
            case events.HeartbeatSent(number):
                self._heartbeats.check_sending(number, what)
            case events.ResponseReceived(number, response):
                self._heartbeats.check_number(number, what)
                self._check_recipient(response)
            case events.TransportFailed(number):
                self._heartbeats.check_number(number, what)
            case events.CommitDone(number) | events.CommitFailed(number):
                if not self._tasks.has_commit(number):
                    raise self._not_allowed(f"{what}: commit {number} is not pending")
            case events.CallbackDone(number) | events.CallbackFailed(number):
                if not self._tasks.has_callback(number):
                    raise self._not_allowed(f"{what}: callback {number} is not pending")
            case (
                events.Leave() | events.Poll() | events.Tick() | events.CoordinatorFound() | events.CoordinatorLost()
            ) | events.MetadataArrived():
                pass
            case _:
                raise wrong_type("Member: event", "an instance of a class in assignor.member.events", event)

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

    def _not_allowed(self, event: str) -> IllegalStateError:
        return IllegalStateError(f"a member in {self.state.name} does not allow {event}")

    def _check_recipient(self, response: HeartbeatResponse) -> None:
        if response.member_id and response.member_id != self.member_id:
            raise IllegalArgumentError(
                f"ResponseReceived: the response is for member {shown(response.member_id)}, but this member is "
                f"{shown(self.member_id)}"
            )


def _read_id(name: str, text: str) -> str:
    found = read_text(text, f"Member: {name}")
    if not found.strip():
        raise IllegalArgumentError(f"Member: {name} must not be blank: {shown(text)}")
    return found


def _read_time(name: str, milliseconds: int) -> int:
    found = read_int(milliseconds, f"Member: {name}", bits=32)
    if found <= 0:
        raise IllegalArgumentError(f"Member: {name} must be > 0: {shown(milliseconds)}")
    return found


def _check_switch(name: str, switch: bool) -> None:
    if not isinstance(switch, bool):
        raise wrong_type(f"Member: {name}", "a bool", switch)
