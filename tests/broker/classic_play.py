"""Plays programs with a broker, many at once, and our coordinator beside it in virtual time.

Virtual time is the real time at which a request was sent. Timers of the broker begin a little later than ours, because
it takes notice of a request later; so nothing is sent while one is about to end, and a program during which the machine
was so slow that it might matter is played again with a group of its own.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import group_descriptions
from broker.classic_comparison import Difference, Entry, Recording, Replica, compare, needs_new_id
from broker.classic_programs import Step
from broker.classic_requests import Cast, DeleteRequest
from group_messages import request_to_kio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from uuid import UUID

    from assignor.coordinator import Coordinator, CoordinatorConfig
    from broker.classic_connection import Connections
    from broker.classic_programs import Program

QUIET = 0.012
"""Seconds after which a request that was not answered is taken to wait for something."""

CLEAR_MS = 120
"""How long before the end of a timer nothing is sent any more."""

PAST_MS = 70
"""How long after the end of a timer its consequences are looked at."""

CLOSE_MS = 40
"""Timers that end so close to each other may end in the other order at the broker."""

SLOW_MS = 50
"""An answer slower than that may have moved a timer too far."""

SOON_MS = 5_000
"""Timers further away than that do not end within a program."""

LOOK_AGAIN = (0.02, 0.05, 0.2)
"""Seconds after which a group is looked at again that did not look as expected."""

TRIES = 6


class SpoiltError(Exception):
    """The machine was so slow, or timers so close, that the broker may answer in another way, and why."""


@dataclass
class Played:
    """What became of a program.

    Attributes:
        recording: The last try.
        differences: Of the last step; none when all went well.
        spoilt: Why earlier tries were given up.
        looks: How often a group was looked at a second time.
        slowest_ms: The slowest answer to a request that did not wait.
    """

    recording: Recording
    differences: list[Difference] = field(default_factory=list)
    spoilt: list[str] = field(default_factory=list)
    looks: int = 0
    slowest_ms: float = 0.0
    given_up: bool = False


class Player:
    """Plays programs with one broker.

    Args:
        connections: To the broker.
        config: What the broker is set to.
        topic_ids: Of the topics that exist there.
        make: Makes the coordinator beside it.
        prefix: How the ids of groups begin.
    """

    def __init__(
        self,
        connections: Connections,
        config: CoordinatorConfig,
        topic_ids: Mapping[str, UUID],
        make: Callable[..., Coordinator],
        prefix: str,
    ) -> None:
        self._connections = connections
        self._config = config
        self._topic_ids = topic_ids
        self._make = make
        self._prefix = prefix
        self._groups = itertools.count()
        self._empty_group_id = asyncio.Lock()

    async def play_all(self, programs: Iterable[Program], at_once: int) -> list[Played]:
        """Play programs, so many at a time."""
        free = asyncio.Semaphore(at_once)

        async def one(program: Program) -> Played:
            async with free:
                return await self.play(program)

        return await asyncio.gather(*map(one, programs))

    async def play(self, program: Program) -> Played:
        """Play a program, again and again until nothing spoils it."""
        if program.empty_group_id:  # of which there is one only
            async with self._empty_group_id:
                return await self._play(program)
        return await self._play(program)

    async def _play(self, program: Program) -> Played:
        spoilt: list[str] = []
        while True:
            group_id = "" if program.empty_group_id else f"{self._prefix}-{next(self._groups)}"
            run = _Run(self._connections, Recording(program, group_id, self._config, self._topic_ids), self._make)
            try:
                await run.play()
            except SpoiltError as error:
                spoilt.append(str(error))
                if len(spoilt) < TRIES:
                    continue
                run.played.given_up = True
            run.played.spoilt = spoilt
            return run.played


class _Run:
    """One try at a program."""

    def __init__(self, connections: Connections, recording: Recording, make: Callable[..., Coordinator]) -> None:
        self.played = Played(recording)
        self._connections = connections
        self._recording = recording
        self._replica = Replica(recording.group_id, recording.config, recording.topic_ids, make)
        self._cast = Cast(recording.program, recording.group_id, recording.topic_ids)
        self._start = time.monotonic()
        self._arrived: dict[int, Any] = {}
        self._seen: set[str] = set()
        self._asked: dict[int, tuple[int, Any]] = {}

    async def play(self) -> None:
        if not self._recording.group_id:
            await self._connections.ask(group_descriptions.delete_request([""], 2))
        for step in self._recording.program.steps:
            await self._keep_clear()
            if self.played.differences:
                return
            if step.kind == "wait":
                await self._wait_step(step)
            else:
                await self._request_step(step)
            if self.played.differences:
                return

    def _now(self) -> int:
        return int((time.monotonic() - self._start) * 1000)

    async def _keep_clear(self) -> None:
        """Let a timer end first that ends soon."""
        while not self.played.differences:
            deadline = self._replica.next_deadline()
            if deadline is None or deadline > self._now() + CLEAR_MS:
                return
            await self._wait(Step("wait"), deadline + PAST_MS)

    async def _wait_step(self, step: Step) -> None:
        deadline = self._replica.next_deadline()
        if step.wait_ms:
            await self._wait(step, self._now() + step.wait_ms)
        elif deadline is not None and deadline - self._now() < SOON_MS:
            await self._wait(step, deadline + PAST_MS)

    async def _wait(self, step: Step, until: int) -> None:
        answers: dict[int, Any] = {}
        last = None
        deadline = self._replica.next_deadline()
        while deadline is not None and deadline <= until + CLEAR_MS:
            if last is not None and deadline - last < CLOSE_MS:
                raise SpoiltError(f"timers end {deadline - last} ms from each other")
            last, until = deadline, max(until, deadline + PAST_MS)
            answers |= self._replica.expire(deadline)
            deadline = self._replica.next_deadline()
        await asyncio.sleep(max(0, until - self._now()) / 1000)
        entry = Entry(len(self._recording.entries), max(until, self._now()), step, None, look=step.look)
        await self._look(entry)
        answers |= self._replica.take(entry)
        await self._finish(entry, answers)

    async def _request_step(self, step: Step) -> None:
        asked = self._cast.request(step)
        if asked is None:
            return
        who, request = asked
        number = len(self._recording.entries)
        entry = Entry(number, self._now(), step, request, look=step.look)
        before = self._replica.next_deadline()
        self._asked[number] = asked
        if isinstance(request, DeleteRequest):
            wire, client_id = group_descriptions.delete_request([request.group_id], request.version), "tests"
        else:
            wire = request_to_kio(request, self._recording.topic_ids)
            client_id = self._recording.program.actors[who].client_id
        sent = time.monotonic()
        answer = await self._connections.send(wire, client_id)
        arrived_at: list[float] = []
        answer.add_done_callback(lambda done: self._arrive(number, done, arrived_at))
        await asyncio.wait([answer], timeout=QUIET)
        await self._look(entry)
        for pause in LOOK_AGAIN:
            if not needs_new_id(entry) or number in self._arrived or self._find_new_id(entry):
                break
            await asyncio.sleep(pause)
            await self._look(entry)
        entry.new_id = self._find_new_id(entry) if needs_new_id(entry) else None
        answers = self._replica.take(entry)
        await self._finish(entry, answers)
        if arrived_at and number in answers:
            took = (arrived_at[0] - sent) * 1000
            self.played.slowest_ms = max(self.played.slowest_ms, took)
            if took > SLOW_MS and self._timers_matter():
                raise SpoiltError(f"an answer took {took:.0f} ms")
        if before is not None and before <= self._now() + 10 and not self.played.differences:
            raise SpoiltError("a timer ended while a request was under way")

    def _timers_matter(self) -> bool:
        deadline = self._replica.next_deadline()
        return deadline is not None and deadline < self._now() + SOON_MS

    def _arrive(self, number: int, done: asyncio.Future[Any], arrived_at: list[float]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._arrived[number] = done.result()
            arrived_at.append(time.monotonic())

    async def _look(self, entry: Entry) -> None:
        group_id = self._recording.group_id
        began = time.monotonic()
        entry.looked = await self._connections.ask(group_descriptions.describe_request([group_id], entry.look))
        if (took := (time.monotonic() - began) * 1000) > SLOW_MS and self._timers_matter():
            raise SpoiltError(f"a look took {took:.0f} ms")

    def _find_new_id(self, entry: Entry) -> str | None:
        ids = [member.member_id for member in entry.looked.groups[0].members]
        answer = self._arrived.get(entry.number)
        if answer is not None:
            ids.append(getattr(answer, "member_id", ""))
        asked = getattr(entry.request, "member_id", "")
        return next((each for each in ids if each and each not in self._seen and each != asked), None)

    async def _finish(self, entry: Entry, answers: Mapping[int, Any]) -> None:
        """Wait for what must come, look again if need be, compare, and tell the members what they were answered."""
        for pause in LOOK_AGAIN:
            missing = set(answers) - set(self._arrived)
            entry.answers = dict(self._arrived)
            if not missing and not compare(entry, answers, self._replica.look(entry.look), []):
                break
            self.played.looks += 1
            await asyncio.sleep(pause)
            await self._look(entry)
        entry.answers, self._arrived = self._arrived, {}
        self._recording.entries.append(entry)
        problems = self._replica.problems()
        self.played.differences = compare(entry, answers, self._replica.look(entry.look), problems)
        self._seen |= {member.member_id for member in entry.looked.groups[0].members}
        for number, answer in sorted(entry.answers.items()):
            who, request = self._asked[number]
            self._cast.answered(who, request, answer)
            if member_id := getattr(answer, "member_id", ""):
                self._seen.add(member_id)
