"""One application with its member: it carries the member's effects out, polls, and runs callbacks.

It is what a client library would be around `Member`, in virtual time, and with all that can go wrong in one: it crashes
and starts again, stalls (the application does not come back to poll), freezes (nothing runs at all), its callbacks and
commits take long or fail, its metadata is late or incomplete.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor.member import MemberState, effects, events
from tests.member.simulation.network import Dice, Network, Weather

if TYPE_CHECKING:
    from assignor.member import Member
    from tests.member.simulation.program import ClientPlan
    from tests.member.simulation.simulator import Simulator

__all__ = ["Client", "Habits"]

NEVER = 1 << 60


@dataclass(frozen=True, slots=True)
class Habits:
    """How long the application takes, and how often it fails.

    Attributes:
        callback_ms: How long a callback takes, at most.
        callback_failures: The part of callbacks that raise.
        commit_ms: How long a commit takes, at most.
        commit_failures: The part of commits that fail.
        commit_losses: The part of commits that nothing is heard of.
        metadata_ms: How long names of topics take, at most.
        metadata_gaps: The part of names that are missing.
    """

    callback_ms: int = 3
    callback_failures: float = 0.0
    commit_ms: int = 3
    commit_failures: float = 0.0
    commit_losses: float = 0.0
    metadata_ms: int = 3
    metadata_gaps: float = 0.0


class Client:
    """One application; it outlives its processes, each of which has another member with an id of its own."""

    def __init__(self, index: int, plan: ClientPlan, world: Simulator) -> None:
        self.index = index
        self.plan = plan
        self.world = world
        self.dice = Dice(world.program.seed, index)
        self.weather = Weather()
        self.habits = Habits()
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
        """An argument of its member, None where it is not given."""
        return dict(self.plan.options).get(name)

    # ---- what is done to it

    def start(self) -> None:
        """A process starts, subscribes and polls from now on."""
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
        """The process is gone, and nobody says so."""
        self.world.watch.gone(self)
        self.member = None
        self.process += 1

    def subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None:
        """The application subscribes to something else, or again."""
        self.subscription = topics, pattern
        if self.member is not None:
            self.handle(events.Subscribe(topics, pattern))

    def leave(self) -> None:
        """The application unsubscribes."""
        self.subscription = None
        if self.member is not None:
            self.handle(events.Leave())

    def handle(self, event: events.Event) -> None:
        """Something happened to the member; while the process is frozen, or busy with another event, that waits."""
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
            return  # which a member may refuse; the next process subscribes
        if isinstance(event, events.Leave):
            self.awaits_leave = True
        self.world.watch.before(self, event)
        found = member.handle(event, self.world.now)
        self.world.watch.after(self, event, found)
        for effect in found:
            self._carry_out(effect)

    # ---- what it does

    def _carry_out(self, effect: effects.Effect) -> None:
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
                    40 + self.dice.up_to("search", self.weather.delay_ms), self.handle, events.CoordinatorFound()
                )
            case effects.RequestMetadata(ids):
                self._later(1 + self.dice.up_to("metadata", self.habits.metadata_ms), self._tell_names, ids)
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
        """One turn of the application's loop; it does not come to it while it stalls or is in a callback."""
        if self.world.now < self.stalled_until:
            self.world.schedule(self.stalled_until, self._if_running, self.process, self._poll)
            return
        self._call()
        if self._callback is None:
            self.handle(events.Poll())
        self._later(self.plan.poll_every, self._poll)

    def _call(self) -> None:
        """Begins the next callback if the application can."""
        if self._callback is None and self._callbacks and self.world.now >= self.stalled_until:
            self._callback = self._callbacks.popleft()
            self._later(self.dice.up_to("callback", self.habits.callback_ms), self._called, self._callback)

    def _called(self, number: int) -> None:
        if self.world.now < self.stalled_until:
            self.world.schedule(self.stalled_until, self._if_running, self.process, self._called, number)
            return
        self._callback = None
        if self.dice.happens("callback fails", self.habits.callback_failures):
            self.world.count("callback failed")
            self.handle(events.CallbackFailed(number, "the application raised"))
        else:
            self.handle(events.CallbackDone(number))
        self._call()

    def _commit(self, number: int) -> None:
        if self.dice.happens("commit lost", self.habits.commit_losses):
            self.world.count("commit lost")
            return
        failed = self.dice.happens("commit fails", self.habits.commit_failures)
        if failed:
            self.world.count("commit failed")
        event = events.CommitFailed(number, "no") if failed else events.CommitDone(number)
        self._later(1 + self.dice.up_to("commit", self.habits.commit_ms), self.handle, event)

    def _tell_names(self, ids: tuple[Any, ...]) -> None:
        names = {topic.id: name for name, topic in self.world.coordinator.topics.items()}
        known = {}
        for id in ids:
            if id in names and self.dice.happens("name missing", self.habits.metadata_gaps):
                self.world.count("name missing")
            elif id in names:
                known[id] = names[id]
        self.handle(events.MetadataArrived(known))

    def _raised(self, code: int) -> None:
        """An error that ends the member ends the process too; the application starts again after a while."""
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
        """Does what was planned, unless the process is another one by now."""
        if self.process == process and self.member is not None:
            do(*arguments)
