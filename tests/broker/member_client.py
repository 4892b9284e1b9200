"""Client of one `Member`: it executes the member's effects and records its actions.

Its application polls continuously, completes callbacks immediately, and consumes one record of each partition per step.
A test can stop each of these.
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
        """Network of a client; each request is answered later by an event."""

        def now(self) -> int: ...
        def send_heartbeat(self, client: MemberClient, number: int, request: HeartbeatRequest) -> bool: ...
        def find_coordinator(self, client: MemberClient) -> None: ...
        def ask_names(self, client: MemberClient, topic_ids: tuple[uuid.UUID, ...]) -> None: ...
        def commit(self, client: MemberClient, number: int) -> None: ...


class MemberClient:
    """Client of one member.

    Args:
        network: Network that sends its requests.
        group_id: The group.
        name: Name of the client in a test.
        member_id: Id of the member; by default a random one.
        options: Options of `Member`.

    Attributes:
        polls: True if the application polls.
        holds_callbacks: True if callbacks wait for `release_callbacks`.
        loses_answers: Number of the next heartbeat responses that get lost.
        frozen: True if the whole process is suspended.
        doubted: True if the coordinator may have reassigned partitions that the member still counts as its own.
        calls: The callbacks in order: "revoked", "assigned" or "lost", and the partitions.
        errors: Errors raised to the application.
        heartbeats: Number of sent heartbeats.
        left: Number of completed leaves.
        offsets: Positions of the application.
        timeline: Timeline that records each event and its effects, or None.
        on_event: Function that is called after each event.
    """

    def __init__(
        self, network: Network, group_id: str, name: str, *, member_id: str | None = None, **options: Any
    ) -> None:
        self._network = network
        self.name = name
        self.member_id = member_id or str(uuid.uuid4())
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
        self.offsets: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._held: list[int] = []
        self._events: deque[Event] = deque()
        self._wake_at: int | None = None
        self._handling = False
        self.timeline: MemberTimeline | None = None
        self.on_event: Callable[[], None] = lambda: None

    def subscribe(self, *topics: str, pattern: str | None = None) -> None:
        """Subscribe to names, to a pattern, or to both."""
        self.handle(events.Subscribe(topics, pattern))

    def leave(self) -> None:
        """Unsubscribe, which leaves the group."""
        self.handle(events.Leave())

    def release_callbacks(self) -> None:
        """Complete the held callbacks."""
        self.holds_callbacks = False
        while self._held:
            self.handle(events.CallbackDone(self._held.pop(0)))

    def step(self) -> None:
        """Let the application poll, or let a due timer fire."""
        if self.frozen:
            return
        for partition in set(self.member.assignment) - self._paused:
            self.offsets[partition] = self.offsets.get(partition, 0) + 1
        if self.polls:
            self.handle(events.Poll())
        elif self._wake_at is not None and self._wake_at <= self._network.now():
            self.handle(events.Tick())

    def handle(self, event: Event) -> None:
        """Pass an event to the member and execute its effects, including those of events that result from them."""
        self._events.append(event)
        if not self._handling and not self.frozen:
            self._handle_all()

    def freeze(self) -> None:
        """Suspend the process; events that arrive are queued."""
        self.frozen = self.doubted = True

    def thaw(self) -> None:
        """Resume the process; queued events are handled first."""
        self.frozen = False
        self._handle_all()

    def _handle_all(self) -> None:
        self._handling = True
        try:
            while self._events:
                now = self._network.now()
                event = self._events.popleft()
                requested_effects = self.member.handle(event, now)
                if self.timeline:
                    self.timeline.record(now, event, self.member.state, self.member.epoch, requested_effects)
                for effect in requested_effects:
                    self._carry_out(effect)
                if not self.member.assignment:
                    self.doubted = False
                self.on_event()
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
