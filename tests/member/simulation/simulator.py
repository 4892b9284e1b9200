"""Simulator of a program: clients, a network and the model of the coordinator, in virtual time.

Faults end at a given time. The group must then settle: every member is stable, and every partition of a subscribed
topic has exactly one owner, by the coordinator's target.
"""

from __future__ import annotations

import dataclasses
import heapq
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from assignor.member import Member, MemberState, events
from assignor.member.messages import HeartbeatResponse
from tests.member.simulation.client import Behavior, Client
from tests.member.simulation.coordinator import ModelCoordinator
from tests.member.simulation.invariants import InvariantChecker, InvariantError
from tests.member.simulation.network import NetworkQuality
from tests.member.simulation.targets import Topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.member.messages import HeartbeatRequest
    from tests.member.simulation.program import Program, Step

__all__ = ["InvariantError", "Outcome", "Simulator", "run"]

_OUTSIDE = (MemberState.UNSUBSCRIBED, MemberState.STALE)
"""Final states of a member that left; as in Kafka, a member that did not poll in time stays STALE."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a simulation.

    Attributes:
        steps: Number of steps of the program.
        events: Number of events that members handled.
        settled_after: Time from the last fault until the group was settled, in milliseconds.
        settling_limit: Largest allowed time, in milliseconds.
        faults: Number of faults by name.
    """

    steps: int
    events: int
    settled_after: int
    settling_limit: int
    faults: Counter[str]


def run(
    program: Program,
    *,
    member: Callable[..., Member] = Member,
    coordinator: Callable[..., ModelCoordinator] = ModelCoordinator,
) -> Outcome:
    """Run a program to its end.

    Args:
        program: The program.
        member: Creates a member, like the class `Member`.
        coordinator: Creates a coordinator, like the class `ModelCoordinator`.

    Raises:
        InvariantError: An invariant is violated.
    """
    return Simulator(program, member, coordinator).run()


class Simulator:
    """The environment of one program."""

    group_id = "group"

    def __init__(
        self, program: Program, member: Callable[..., Member], coordinator: Callable[..., ModelCoordinator]
    ) -> None:
        self.program = program
        self.now = 0
        self.faults: Counter[str] = Counter()
        self.recreated: set[str] = set()
        self.has_unassigned = False
        self.checker = InvariantChecker(self)
        self.coordinator = coordinator(program.settings)
        self.clients = [Client(index, plan, self) for index, plan in enumerate(program.clients)]
        self._make_member = member
        self._ids = random.Random(program.seed)
        self._names: set[str] = set()
        self._queue: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._scheduled = 0
        self._moved_at: tuple[int, int] | None = None
        self._change_topics(program.topics)

    # ---- methods for clients and the network

    def schedule(self, at: int, do: Callable[..., None], *arguments: Any) -> None:
        """Plan an action; actions at the same time run in the order in which they were planned."""
        self._scheduled += 1
        heapq.heappush(self._queue, (at, self._scheduled, do, arguments))

    def count(self, fault: str) -> None:
        """Count a fault."""
        self.faults[fault] += 1

    def new_member(self, client: Client) -> Member:
        """Return the member of a new process."""
        member = self._make_member(
            self.group_id, client.member_id, instance_id=client.plan.instance_id, **dict(client.plan.options)
        )
        self.checker.member_created(member)
        return member

    def answer(self, client: Client, request: HeartbeatRequest) -> HeartbeatResponse:
        """Return the coordinator's answer, or an error if there is a fault."""
        if self._moved_at is not None:
            begun, done = self._moved_at
            moved = self.now < (begun + done) // 2
            self.count("answered during a fail-over")
            code = ErrorCode.not_coordinator if moved else ErrorCode.coordinator_load_in_progress
            return HeartbeatResponse(error_code=code)
        if client.error_faults:
            code_given, after = client.error_faults.pop(0)
            self.count(f"error {code_given} given {'after' if after else 'instead of'} the heartbeat")
            if after:
                self.coordinator.heartbeat(request, self.now)
            return HeartbeatResponse(error_code=code_given, error_message="error of the program")
        return self.coordinator.heartbeat(request, self.now)

    # ---- the run

    def run(self) -> Outcome:
        """Run the program to its end."""
        program = self.program
        for client in self.clients:
            self.schedule(client.plan.starts_at, client.start)
        for step in program.steps:
            self.schedule(step.at, self._step, step)
        self.schedule(program.faults_end_at, self._end_faults)
        self._run_until(program.faults_end_at)
        pause = program.settings.heartbeat_interval_ms // 2 + 50
        before, settled = "not checked", 0
        end = program.faults_end_at + program.settling_limit_ms
        for at in range(program.faults_end_at + pause, end, pause):
            self._run_until(at)
            before = self._unsettled()
            settled = 0 if before else settled + 1
            if settled > 4 and (not self.has_unassigned or at + pause >= end):
                self.checker.check_assignments()
                if self.has_unassigned:
                    self.count("partitions of a pattern stay unassigned")
                after = at - (settled - 1) * pause - program.faults_end_at
                return Outcome(len(program.steps), self.checker.events, after, program.settling_limit_ms, self.faults)
        raise self.checker.violated(f"not settled: {before}")

    def _run_until(self, at: int) -> None:
        queue, coordinator = self._queue, self.coordinator
        while queue and queue[0][0] <= at:
            self.now, _, do, arguments = heapq.heappop(queue)
            if self._moved_at is None:
                coordinator.expire(self.now)
            do(*arguments)
        self.now = at

    def _unsettled(self) -> str:
        """Return a sentence about something that is not settled yet, or "".

        If a member subscribes by pattern, some partitions may stay without an owner. A coordinator of Kafka 4.3.1
        computes no new target when a member changes to a pattern that matches no topic, and it considers subscriptions
        equal while a pattern is not resolved. Both were observed with a real broker.
        """
        self.coordinator.expire(self.now)
        group = self.coordinator.describe(self.group_id)
        inside = {client.member_id: client for client in self.clients if client.member and client.subscription}
        if group is None:
            return "the group does not exist" if inside else ""
        if inside.keys() != group.members.keys():
            return f"the group has {sorted(group.members)}, but {sorted(inside)} should be in it"
        names = {topic.id: name for name, topic in self.coordinator.topics.items()}
        given: list[tuple[str, int]] = []
        for client in self.clients:
            if client.member is None:
                continue
            if client.awaits_leave:
                return f"{client} has not completed its leave"
            if not client.subscription:
                if client.member.state not in _OUTSIDE or client.member.assignment:
                    return f"{client} has left but is not outside the group"
                continue
            if client.member.state is not MemberState.STABLE:
                return f"{client} is not stable"
            if client.member.epoch != group.members[client.member_id].epoch:
                return f"{client} has another epoch than the coordinator"
            target = {(names[id], number) for id, number in group.targets[client.member_id] if id in names}
            if client.subscription[1] is not None:
                topics = self._topics_of(client)
                target = {partition for partition in target if partition[0] in topics}
            if sorted(target) != sorted(tuple(partition) for partition in client.member.assignment):
                return f"{client} has {client.member.assignment} but should have {sorted(target)}"
            given += target
        if inside and group.state != "Stable":
            return f"the group is {group.state}"
        existing = self.coordinator.topics
        wanted = {
            (name, number)
            for client in inside.values()
            for name in self._topics_of(client) & existing.keys()
            for number in range(existing[name].partitions)
        }
        by_pattern = any(client.subscription and client.subscription[1] for client in inside.values())
        if (
            len(given) != len(set(given))
            or not wanted.issuperset(given)
            or (len(given) < len(wanted) and not by_pattern)
        ):
            return f"{sorted(given)} are assigned, but {sorted(wanted)} should be"
        self.has_unassigned = len(given) < len(wanted)
        return ""

    def _topics_of(self, client: Client) -> set[str]:
        """Return the topics that a client subscribes to by name, or by pattern."""
        names, pattern = client.subscription or ((), None)
        return {*names, *(self.coordinator.matching(pattern) if pattern else ())}

    # ---- steps

    def _step(self, step: Step) -> None:
        if step.client is None:
            getattr(self, f"_do_{step.do}")(step.value)
        else:
            getattr(self, f"_do_{step.do}")(self.clients[step.client], step.value)

    def _end_faults(self) -> None:
        """End all faults."""
        for client in self.clients:
            client.network_quality, client.behavior = NetworkQuality(), Behavior()
            client.transport_faults.clear()
            client.error_faults.clear()
            client.stalled_until = min(client.stalled_until, self.now + 1)
            client.frozen_until = min(client.frozen_until, self.now + 1)

    def _do_network(self, client: Client, quality: tuple[int, float, float]) -> None:
        client.network_quality = NetworkQuality(*quality)

    def _do_crash(self, client: Client, restarts_after: int | None) -> None:
        if client.member is None:
            return
        self.count("crash of a static member" if client.plan.instance_id else "crash")
        client.crash()
        if restarts_after is not None:
            self.schedule(self.now + restarts_after, self._restart, client, client.process)

    def _restart(self, client: Client, process: int) -> None:
        if client.process == process:
            client.start()

    def _do_leave(self, client: Client, _: None) -> None:
        self.count("leave")
        client.leave()

    def _do_subscribe(self, client: Client, subscription: tuple[tuple[str, ...], str | None]) -> None:
        self.count("subscription changed")
        client.subscribe(*subscription)

    def _do_stall(self, client: Client, milliseconds: int) -> None:
        self.count("application stalled")
        client.stalled_until = max(client.stalled_until, self.now + milliseconds)

    def _do_freeze(self, client: Client, milliseconds: int) -> None:
        self.count("process frozen")
        client.frozen_until = max(client.frozen_until, self.now + milliseconds)

    def _do_callbacks(self, client: Client, value: tuple[int, float]) -> None:
        slow, failing = value
        client.behavior = dataclasses.replace(client.behavior, callback_ms=slow, callback_failures=failing)

    def _do_commits(self, client: Client, value: tuple[int, float, float]) -> None:
        slow, failing, lost = value
        client.behavior = dataclasses.replace(
            client.behavior, commit_ms=slow, commit_failures=failing, commit_losses=lost
        )

    def _do_metadata(self, client: Client, value: tuple[int, float]) -> None:
        slow, gaps = value
        client.behavior = dataclasses.replace(client.behavior, metadata_ms=slow, metadata_gaps=gaps)

    def _do_disconnect(self, client: Client, _: None) -> None:
        if client.member is not None:
            self.count("coordinator lost")
            client.handle(events.CoordinatorLost())

    def _do_error(self, client: Client, value: tuple[int, bool]) -> None:
        client.error_faults.append(value)

    def _do_transport(self, client: Client, retriable: bool) -> None:
        client.transport_faults.append(retriable)

    def _do_fail_over(self, milliseconds: int) -> None:
        if self._moved_at is None:
            self.count("fail-over")
            self._moved_at = self.now, self.now + milliseconds
            self.schedule(self.now + milliseconds, self._take_over)

    def _take_over(self) -> None:
        self._moved_at = None
        self.coordinator.fail_over(self.now)

    def _do_topics(self, changes: tuple[tuple[str, int], ...]) -> None:
        self._change_topics(changes)

    def _change_topics(self, changes: tuple[tuple[str, int], ...]) -> None:
        """Create, grow or delete topics (0 partitions); topics never shrink."""
        topics = dict(self.coordinator.topics)
        for name, partitions in changes:
            known = topics.get(name)
            if known is None and partitions:
                if name in self._names:
                    self.recreated.add(name)
                    self.count("topic recreated")
                elif self.now:
                    self.count("topic created")
                self._names.add(name)
                topics[name] = Topic(UUID(int=self._ids.getrandbits(128)), partitions)
            elif known and not partitions:
                self.count("topic deleted")
                del topics[name]
            elif known and partitions > known.partitions:
                self.count("topic grown")
                topics[name] = known._replace(partitions=partitions)
        self.coordinator.change_topics(topics)
