"""One application with its member: it performs the member's effects, polls, and runs callbacks.

It simulates a client library around `Member`, in virtual time and with faults. It crashes and restarts, stalls (the
application does not poll) and freezes (nothing runs). Its callbacks and commits are slow or fail, and its metadata is
late or incomplete.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor.member import MemberState, effects, events
from tests.member.simulation.network import Dice, Network, NetworkQuality

if TYPE_CHECKING:
    from assignor.member import Member
    from tests.member.simulation.program import ClientPlan
    from tests.member.simulation.simulator import Simulator

__all__ = ["Behavior", "Client"]

NEVER = 1 << 60


@dataclass(frozen=True, slots=True)
class Behavior:
    """Durations and failure rates of the application.

    Attributes:
        callback_ms: Longest duration of a callback.
        callback_failures: Share of callbacks that raise an error.
        commit_ms: Longest duration of a commit.
        commit_failures: Share of commits that fail.
        commit_losses: Share of commits without an answer.
        metadata_ms: Longest duration of a request for topic names.
        metadata_gaps: Share of topic names that are missing.
    """

    callback_ms: int = 3
    callback_failures: float = 0.0
    commit_ms: int = 3
    commit_failures: float = 0.0
    commit_losses: float = 0.0
    metadata_ms: int = 3
    metadata_gaps: float = 0.0


class Client:
    """One application; it outlives its processes, and each process has a new member with a new id."""

    def __init__(self, index: int, plan: ClientPlan, world: Simulator) -> None:
        self.index = index
        self.plan = plan
        self.world = world
        self.dice = Dice(world.program.seed, index)
        self.network_quality = NetworkQuality()
        self.behavior = Behavior()
        self.subscription: tuple[tuple[str, ...], str | None] | None = (plan.topics, plan.pattern)
        self.transport_faults: list[bool] = []
        self.error_faults: list[tuple[int, bool]] = []
        self.process = 0
        self.member: Member | None = None
        self.member_id = ""
        self.awaits_leave = False
        self.stalled_until = 0
        self.frozen_until = 0

    def __repr__(self) -> str:
        return f"client {self.index} ({self.member!r})"

    def option(self, name: str) -> Any:
        """Return an option of its member, or None."""
        return dict(self.plan.options).get(name)

    # ---- actions on the client

    def start(self) -> None:
        """Start a process, which subscribes and polls."""
        self.process += 1
        self.member_id = f"m{self.index}.{self.process}"
        self.member = self.world.new_member(self)
        self.awaits_leave = False
        self._network = Network(self)
        self._inbox: deque[events.Event] = deque()
        self._callbacks: deque[int] = deque()
        self._callback: int | None = None
        self._wake = 0
        self._handles = False
        if self.subscription is not None:
            self.handle(events.Subscribe(*self.subscription))
        self._later(self.plan.poll_every // 3, self._poll)

    def crash(self) -> None:
        """End the process without a message to the coordinator."""
        self.world.checker.process_ended(self)
        self.member = None
        self.process += 1

    def subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        """Change the subscription of the application, or subscribe again."""
        self.subscription = topics, pattern
        if self.member is not None:
            self.handle(events.Subscribe(topics, pattern))

    def leave(self) -> None:
        """Unsubscribe the application."""
        self.subscription = None
        if self.member is not None:
            self.handle(events.Leave())

    def handle(self, event: events.Event) -> None:
        """Pass an event to the member; the event waits while the process is frozen or handles another event."""
        self._inbox.append(event)
        if self.world.now < self.frozen_until:
            self.world.schedule(self.frozen_until, self._if_running, self.process, self._take_all)
        else:
            self._take_all()

    def _take_all(self) -> None:
        if self._handles or self.world.now < self.frozen_until:
            return
        self._handles = True
        while self._inbox and self.member is not None:
            self._take(self._inbox.popleft())
        self._handles = False

    def _take(self, event: events.Event) -> None:
        assert self.member is not None
        member = self.member
        if isinstance(event, events.Subscribe) and member.state is MemberState.FATAL:
            return  # the member may reject a subscription; the next process subscribes
        if isinstance(event, events.Leave):
            self.awaits_leave = True
        self.world.checker.before_event(self, event)
        found = member.handle(event, self.world.now)
        self.world.checker.after_event(self, event, found)
        for effect in found:
            self._perform(effect)

    # ---- actions of the client

    def _perform(self, effect: effects.Effect) -> None:
        match effect:
            case effects.SendHeartbeat(number, request):
                self._network.send(number, request)
                if self.dice.happens("sent late", 0.1):
                    self._later(3, self.handle, events.HeartbeatSent(number))
                else:
                    self._inbox.append(events.HeartbeatSent(number))
            case effects.WakeAt(at):
                self._wake += 1
                if at is not None:
                    self.world.schedule(max(at, self.world.now), self._if_running, self.process, self._tick, self._wake)
            case effects.FindCoordinator():
                self._later(
                    40 + self.dice.up_to("search", self.network_quality.delay_ms),
                    self.handle,
                    events.CoordinatorFound(),
                )
            case effects.RequestMetadata(ids):
                self._later(1 + self.dice.up_to("metadata", self.behavior.metadata_ms), self._send_names, ids)
            case effects.Commit(number):
                self._commit(number)
            case (
                effects.CallPartitionsRevoked(number)
                | effects.CallPartitionsAssigned(number)
                | effects.CallPartitionsLost(number)
            ):
                self._callbacks.append(number)
                self._call()
            case effects.LeaveCompleted():
                self.awaits_leave = False
            case effects.RaiseError(code):
                self._raised(code)
            case _:
                pass

    def _tick(self, wake: int) -> None:
        if wake == self._wake:
            self.handle(events.Tick())

    def _poll(self) -> None:
        """Run one turn of the application's loop, unless it stalls or is in a callback."""
        if self.world.now < self.stalled_until:
            self.world.schedule(self.stalled_until, self._if_running, self.process, self._poll)
            return
        self._call()
        if self._callback is None:
            self.handle(events.Poll())
        self._later(self.plan.poll_every, self._poll)

    def _call(self) -> None:
        """Start the next callback if the application can."""
        if self._callback is None and self._callbacks and self.world.now >= self.stalled_until:
            self._callback = self._callbacks.popleft()
            self._later(self.dice.up_to("callback", self.behavior.callback_ms), self._called, self._callback)

    def _called(self, number: int) -> None:
        if self.world.now < self.stalled_until:
            self.world.schedule(self.stalled_until, self._if_running, self.process, self._called, number)
            return
        self._callback = None
        if self.dice.happens("callback fails", self.behavior.callback_failures):
            self.world.count("callback failed")
            self.handle(events.CallbackFailed(number, "the application raised"))
        else:
            self.handle(events.CallbackDone(number))
        self._call()

    def _commit(self, number: int) -> None:
        if self.dice.happens("commit lost", self.behavior.commit_losses):
            self.world.count("commit lost")
            return
        failed = self.dice.happens("commit fails", self.behavior.commit_failures)
        if failed:
            self.world.count("commit failed")
        event = events.CommitFailed(number, "no") if failed else events.CommitDone(number)
        self._later(1 + self.dice.up_to("commit", self.behavior.commit_ms), self.handle, event)

    def _send_names(self, ids: tuple[Any, ...]) -> None:
        names = {topic.id: name for name, topic in self.world.coordinator.topics.items()}
        known = {}
        for id in ids:
            if id in names and self.dice.happens("name missing", self.behavior.metadata_gaps):
                self.world.count("topic name missing")
            elif id in names:
                known[id] = names[id]
        self.handle(events.MetadataArrived(known))

    def _raised(self, code: int) -> None:
        """Handle an error; a fatal one ends the process, and the application restarts after a while."""
        self.world.count(f"error {code} raised")
        assert self.member is not None
        if self.member.state is MemberState.FATAL:
            self._later(700, self._start_again)

    def _start_again(self) -> None:
        self.crash()
        self.start()

    def _later(self, delay: int, do: Any, *arguments: Any) -> None:
        self.world.schedule(self.world.now + delay, self._if_running, self.process, do, *arguments)

    def _if_running(self, process: int, do: Any, *arguments: Any) -> None:
        """Run a planned action, unless the process has ended."""
        if self.process == process and self.member is not None:
            do(*arguments)
