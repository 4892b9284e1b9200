"""A client around one `Member`: it carries the member's effects out, and keeps what the member did to look at later.

The application in it polls all the time, has callbacks that come back at once, and consumes one record of each
partition between two looks; a test can have it stop each of these.
"""

from __future__ import annotations

import uuid
from collections import deque
from typing import TYPE_CHECKING, Any

from assignor.member import HeartbeatRequest, Member, effects, events

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from assignor import TopicPartition
    from assignor.member.effects import Effect
    from assignor.member.events import Event
    from tests.broker.member_timeline import MemberTimeline

    class Network(Protocol):
        """What carries a client's questions; each is answered by an event, some time later."""

        def now(self) -> int: ...
        def send_heartbeat(self, client: MemberClient, number: int, request: HeartbeatRequest) -> bool: ...
        def find_coordinator(self, client: MemberClient) -> None: ...
        def ask_names(self, client: MemberClient, topic_ids: tuple[uuid.UUID, ...]) -> None: ...
        def commit(self, client: MemberClient, number: int) -> None: ...


class MemberClient:
    """One client.

    Args:
        network: Carries its questions.
        group_id: The group.
        name: What a test calls it.
        options: Of `Member`.

    Attributes:
        polls: Whether the application polls.
        holds_callbacks: Whether callbacks wait for `release_callbacks`.
        loses_answers: How many of the next answers to heartbeats get lost.
        frozen: Whether the whole process stands still.
        doubted: Whether others may own what it believes to own: the coordinator has given it up and it cannot know.
        calls: The callbacks, in order: "revoked", "assigned" or "lost", and the partitions.
        errors: What was raised to the application.
        heartbeats: How many it has sent.
        left: How often it was told that it had left.
        history: What it owned since when.
        offsets: How far the application got.
        timeline: Keeps each event and what came of it, if it is given.
        looks: Is called after each event.
    """

    def __init__(self, network: Network, group_id: str, name: str, **options: Any) -> None:
        self._network = network
        self.name = name
        self.member_id = str(uuid.uuid4())
        self.instance_id: str | None = options.get("instance_id")
        self.member = Member(group_id, self.member_id, **options)
        self.polls = True
        self.holds_callbacks = False
        self.loses_answers = 0
        self.frozen = False
        self.doubted = False
        self.calls: list[tuple[str, tuple[TopicPartition, ...]]] = []
        self.errors: list[effects.RaiseError] = []
        self.heartbeats = 0
        self.left = 0
        self.history: list[tuple[int, tuple[TopicPartition, ...]]] = []
        self.offsets: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._held: list[int] = []
        self._events: deque[Event] = deque()
        self._wake_at: int | None = None
        self._handling = False
        self.timeline: MemberTimeline | None = None
        self.looks: Callable[[], None] = lambda: None

    def subscribe(self, *topics: str, pattern: str | None = None) -> None:
        """Subscribe to names, to a pattern, or to both."""
        self.handle(events.Subscribe(topics, pattern))

    def leave(self) -> None:
        """Unsubscribe, which leaves the group."""
        self.handle(events.Leave())

    def release_callbacks(self) -> None:
        """Let the callbacks come back that were held."""
        self.holds_callbacks = False
        while self._held:
            self.handle(events.CallbackDone(self._held.pop(0)))

    def step(self) -> None:
        """Let the application poll, or at least time pass."""
        if self.frozen:
            return
        for partition in set(self.member.assignment) - self._paused:
            self.offsets[partition] = self.offsets.get(partition, 0) + 1
        if self.polls:
            self.handle(events.Poll())
        elif self._wake_at is not None and self._wake_at <= self._network.now():
            self.handle(events.Tick())

    def handle(self, event: Event) -> None:
        """Hand an event to the member, and carry out what it asks for; what comes of that is handed over in turn."""
        self._events.append(event)
        if not self._handling and not self.frozen:
            self._handle_all()

    def freeze(self) -> None:
        """Let the whole process stand still; what arrives waits."""
        self.frozen = self.doubted = True

    def thaw(self) -> None:
        """Let the process go on, with what has arrived before anything else."""
        self.frozen = False
        self._handle_all()

    def _handle_all(self) -> None:
        self._handling = True
        try:
            while self._events:
                now = self._network.now()
                event = self._events.popleft()
                asked = self.member.handle(event, now)
                if self.timeline:
                    self.timeline.record(now, event, self.member.state, self.member.epoch, asked)
                for effect in asked:
                    self._carry_out(effect)
                if not self.history or self.history[-1][1] != self.member.assignment:
                    self.history.append((now, self.member.assignment))
                if not self.member.assignment:
                    self.doubted = False
                self.looks()
        finally:
            self._handling = False

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case effects.SendHeartbeat(number, request):
                if self._network.send_heartbeat(self, number, request):
                    self._events.append(events.HeartbeatSent(number))
                else:
                    self._events.append(events.TransportFailed(number, True, "not connected"))
            case effects.FindCoordinator():
                self._network.find_coordinator(self)
            case effects.RequestMetadata(topic_ids):
                self._network.ask_names(self, topic_ids)
            case effects.PauseFetching(partitions):
                self._paused.update(partitions)
            case effects.Commit(number, _):
                self._network.commit(self, number)
            case effects.CallPartitionsRevoked(number, partitions):
                self._call("revoked", number, partitions)
            case effects.CallPartitionsAssigned(number, partitions, _):
                self._paused.clear()
                self._call("assigned", number, partitions)
            case effects.CallPartitionsLost(number, partitions):
                self._call("lost", number, partitions)
            case effects.LeaveCompleted():
                self.left += 1
            case effects.RaiseError():
                self.errors.append(effect)
            case effects.WakeAt(at):
                self._wake_at = at

    def _call(self, kind: str, number: int, partitions: tuple[TopicPartition, ...]) -> None:
        self.calls.append((kind, partitions))
        if self.holds_callbacks:
            self._held.append(number)
        else:
            self._events.append(events.CallbackDone(number))
