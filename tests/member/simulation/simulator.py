"""Runs a program: clients, a network and the model of the coordinator, one event after the other in virtual time.

Faults end when the program says so. Then the group has to settle: every member stable, every partition of a topic that
anybody subscribes to owned by one member, as the coordinator's target says.
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
from tests.member.simulation.client import Client, Habits
from tests.member.simulation.coordinator import ModelCoordinator
from tests.member.simulation.invariants import InvariantError, Watch
from tests.member.simulation.network import Weather
from tests.member.simulation.targets import Topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.member.messages import HeartbeatRequest
    from tests.member.simulation.program import Program, Step

__all__ = ["InvariantError", "Outcome", "Simulator", "run"]

_OUTSIDE = (MemberState.UNSUBSCRIBED, MemberState.STALE)
"""Where a member that left may end; one that had not polled for too long stays STALE, as in Kafka's table."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a simulation went.

    Attributes:
        steps: How many steps the program has.
        events: How many events members took.
        settled_after: How long after the last fault the group took to settle, in milliseconds.
        patience: How long it might have taken.
        faults: How often what went wrong.
    """

    steps: int
    events: int
    settled_after: int
    patience: int
    faults: Counter[str]


def run(
    program: Program,
    *,
    member: Callable[..., Member] = Member,
    coordinator: Callable[..., ModelCoordinator] = ModelCoordinator,
) -> Outcome:
    """Runs a program to its end.

    Args:
        program: What happens.
        member: Makes a member, as the class does.
        coordinator: Makes a coordinator, as the class does.

    Raises:
        InvariantError: Something is not as it has to be.
    """
    return Simulator(program, member, coordinator).run()


class Simulator:
    """The world of one program."""

    group_id = "group"

    def __init__(
        self, program: Program, member: Callable[..., Member], coordinator: Callable[..., ModelCoordinator]
    ) -> None:
        self.program = program
        self.now = 0
        self.faults: Counter[str] = Counter()
        self.reborn: set[str] = set()
        self.left_behind = False
        self.watch = Watch(self)
        self.coordinator = coordinator(program.settings)
        self.clients = [Client(index, plan, self) for index, plan in enumerate(program.clients)]
        self._make_member = member
        self._ids = random.Random(program.seed)
        self._names: set[str] = set()
        self._queue: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._scheduled = 0
        self._moved_at: tuple[int, int] | None = None
        self._change_topics(program.topics)

    # ---- what clients and the network use

    def schedule(self, at: int, do: Callable[..., None], *arguments: Any) -> None:
        """Plans something; what is planned for one time happens in the order in which it was planned."""
        self._scheduled += 1
        heapq.heappush(self._queue, (at, self._scheduled, do, arguments))

    def count(self, fault: str) -> None:
        """Something went wrong."""
        self.faults[fault] += 1

    def new_member(self, client: Client) -> Member:
        """The member of a new process."""
        member = self._make_member(
            self.group_id, client.member_id, instance_id=client.plan.instance_id, **dict(client.plan.options)
        )
        self.watch.member_made(member)
        return member

    def answer(self, client: Client, request: HeartbeatRequest) -> HeartbeatResponse:
        """What the coordinator answers, if it is there and nothing is to go wrong."""
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
            return HeartbeatResponse(error_code=code_given, error_message="as the program says")
        return self.coordinator.heartbeat(request, self.now)

    # ---- the run

    def run(self) -> Outcome:
        """Runs to the end."""
        program = self.program
        for client in self.clients:
            self.schedule(client.plan.starts_at, client.start)
        for step in program.steps:
            self.schedule(step.at, self._step, step)
        self.schedule(program.calm_at, self._calm_down)
        self._run_until(program.calm_at)
        pause = program.settings.heartbeat_interval_ms // 2 + 50
        before, settled = "nothing was looked at", 0
        end = program.calm_at + program.patience_ms
        for at in range(program.calm_at + pause, end, pause):
            self._run_until(at)
            before = self._unsettled()
            settled = 0 if before else settled + 1
            if settled > 4 and (not self.left_behind or at + pause >= end):
                self.watch.look()
                if self.left_behind:
                    self.count("partitions left behind by a pattern for good")
                after = at - (settled - 1) * pause - program.calm_at
                return Outcome(len(program.steps), self.watch.events, after, program.patience_ms, self.faults)
        raise self.watch.violated(f"not settled: {before}")

    def _run_until(self, at: int) -> None:
        queue, coordinator = self._queue, self.coordinator
        while queue and queue[0][0] <= at:
            self.now, _, do, arguments = heapq.heappop(queue)
            if self._moved_at is None:
                coordinator.expire(self.now)
            do(*arguments)
        self.now = at

    def _unsettled(self) -> str:
        """What is not yet as it shall be in the end; "" if all is.

        Where a member subscribes by pattern, partitions may be left behind that nobody owns: a coordinator of Kafka
        4.3.1 makes no new target when a member goes over to a pattern that means no topic, and takes a group for one
        of equal subscriptions while a pattern is not resolved yet. Both were seen on a real broker.
        """
        self.coordinator.expire(self.now)
        group = self.coordinator.describe(self.group_id)
        inside = {client.member_id: client for client in self.clients if client.member and client.subscription}
        if group is None:
            return "there is no group" if inside else ""
        if inside.keys() != group.members.keys():
            return f"the group has {sorted(group.members)}, and {sorted(inside)} want to be in it"
        names = {topic.id: name for name, topic in self.coordinator.topics.items()}
        given: list[tuple[str, int]] = []
        for client in self.clients:
            if client.member is None:
                continue
            if client.awaits_leave:
                return f"{client} has not completed its leave"
            if not client.subscription:
                if client.member.state not in _OUTSIDE or client.member.assignment:
                    return f"{client} has left and is not outside"
                continue
            if client.member.state is not MemberState.STABLE:
                return f"{client} is not stable"
            if client.member.epoch != group.members[client.member_id].epoch:
                return f"{client} has another epoch than the coordinator thinks"
            target = {(names[id], number) for id, number in group.targets[client.member_id] if id in names}
            if client.subscription[1] is not None:
                topics = self._topics_of(client)
                target = {partition for partition in target if partition[0] in topics}
            if sorted(target) != sorted(tuple(partition) for partition in client.member.assignment):
                return f"{client} has {client.member.assignment} and shall have {sorted(target)}"
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
            return f"{sorted(given)} is given, and {sorted(wanted)} shall be"
        self.left_behind = len(given) < len(wanted)
        return ""

    def _topics_of(self, client: Client) -> set[str]:
        """The names that a client subscribes to, those among them that its pattern means."""
        names, pattern = client.subscription or ((), None)
        return {*names, *(self.coordinator.matching(pattern) if pattern else ())}

    # ---- steps

    def _step(self, step: Step) -> None:
        if step.client is None:
            getattr(self, f"_do_{step.do}")(step.value)
        else:
            getattr(self, f"_do_{step.do}")(self.clients[step.client], step.value)

    def _calm_down(self) -> None:
        """From now on nothing goes wrong."""
        for client in self.clients:
            client.weather, client.habits = Weather(), Habits()
            client.transport_faults.clear()
            client.error_faults.clear()
            client.stalled_until = min(client.stalled_until, self.now + 1)
            client.frozen_until = min(client.frozen_until, self.now + 1)

    def _do_network(self, client: Client, weather: tuple[int, float, float]) -> None:
        client.weather = Weather(*weather)

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
        client.habits = dataclasses.replace(client.habits, callback_ms=slow, callback_failures=failing)

    def _do_commits(self, client: Client, value: tuple[int, float, float]) -> None:
        slow, failing, lost = value
        client.habits = dataclasses.replace(client.habits, commit_ms=slow, commit_failures=failing, commit_losses=lost)

    def _do_metadata(self, client: Client, value: tuple[int, float]) -> None:
        slow, gaps = value
        client.habits = dataclasses.replace(client.habits, metadata_ms=slow, metadata_gaps=gaps)

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
        """Topics are made, grow (they never shrink), or are gone (0)."""
        topics = dict(self.coordinator.topics)
        for name, partitions in changes:
            known = topics.get(name)
            if known is None and partitions:
                if name in self._names:
                    self.reborn.add(name)
                    self.count("topic made again")
                elif self.now:
                    self.count("topic made")
                self._names.add(name)
                topics[name] = Topic(UUID(int=self._ids.getrandbits(128)), partitions)
            elif known and not partitions:
                self.count("topic deleted")
                del topics[name]
            elif known and partitions > known.partitions:
                self.count("topic grown")
                topics[name] = known._replace(partitions=partitions)
        self.coordinator.change_topics(topics)
