"""Player of programs: it sends requests to a broker and to our coordinator in virtual time.

Virtual time is the real time at which a request was sent. Timers of the broker start a little later than ours, because
it handles a request later. So nothing is sent while a timer is about to expire. If the machine was so slow that the
result may differ, the program is played again with another group.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode as KioErrorCode
from kio.schema.offset_fetch.v9 import OffsetFetchRequest
from kio.schema.offset_fetch.v9.request import OffsetFetchRequestGroup
from kio.schema.types import GroupId
from kio.static.primitive import i32

from assignor import TopicPartition
from tests.broker.classic_comparison import (
    Difference,
    Entry,
    Recording,
    Replica,
    compare,
    compare_offsets,
    needs_new_id,
)
from tests.broker.classic_programs import Step
from tests.broker.classic_requests import Cast, DeleteRequest
from tests.coordinator import kio_descriptions
from tests.coordinator.kio_messages import request_to_kio

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from assignor.coordinator import Coordinator, CoordinatorConfig
    from tests.broker.classic_connection import Connections
    from tests.broker.classic_programs import Program

QUIET = 0.012
"""Seconds after which a request without a response is assumed to wait for an event."""

CLEAR_MS = 120
"""Nothing is sent within this number of milliseconds before a timer expires."""

PAST_MS = 100
"""Milliseconds after the expiry of a timer until its effects are compared."""

CLOSE_MS = 20
"""Milliseconds, to which the time of the slowest response is added.

If two timers are due within this time of each other, the broker may let them expire in another order.
"""

SLOW_MS = 80
"""A response that takes more milliseconds than this may have delayed a timer of the broker too much."""

ENDS_MS = 10
"""A timer that expires this soon after a step may have expired during the step."""

SOON_MS = 5_000
"""Timers that expire later than this do not expire within a program."""

LOOK_AGAIN = (0.02, 0.05, 0.2)
"""Pauses in seconds before an unexpected group is described again."""

TRIES = 12

HASTY = "no time was left to describe the group again"
"""Reason to abort a try with an unexpected description. If most tries end like that, it counts as a difference."""


class SpoiltError(Exception):
    """Error for a try whose result may differ because the machine was slow or timers were close to each other."""


@dataclass
class Played:
    """Result of playing a program.

    Attributes:
        recording: Recording of the last try.
        differences: Differences in the last step; empty if all steps agree.
        spoilt: Reasons of aborted tries.
        is_spoilt: True if the last try was aborted.
    """

    recording: Recording
    differences: list[Difference] = field(default_factory=list)
    spoilt: list[str] = field(default_factory=list)
    is_spoilt: bool = False


class Player:
    """Player of programs with one broker.

    Args:
        connections: Connections to the broker.
        config: Configuration of the broker.
        topic_ids: Ids of the existing topics.
        make: Factory of the compared coordinator.
        prefix: Prefix of group ids.
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

    async def play_all(self, programs: Sequence[Program], at_once: int) -> list[Played]:
        """Play programs, `at_once` at a time. Repeat aborted ones in further rounds, fewer at a time."""
        played: dict[int, Played] = {}
        left = list(range(len(programs)))
        for _ in range(TRIES):
            free = asyncio.Semaphore(at_once)
            results = await asyncio.gather(*(self._when(free, programs[index]) for index in left))
            for index, result in zip(left, results, strict=True):
                if index in played:
                    result.spoilt = [*played[index].spoilt, *result.spoilt]
                played[index] = result
            left = [index for index in left if played[index].is_spoilt]
            at_once = max(at_once // 2, 1)
        for index in left:
            played[index].is_spoilt = played[index].spoilt.count(HASTY) <= TRIES // 2
        return [played[index] for index in range(len(programs))]

    async def play(self, program: Program) -> Played:
        """Play a program once."""
        if program.empty_group_id:  # there is only one such group
            async with self._empty_group_id:
                return await self._play(program)
        return await self._play(program)

    async def _when(self, free: asyncio.Semaphore, program: Program) -> Played:
        async with free:
            return await self.play(program)

    async def _play(self, program: Program) -> Played:
        group_id = "" if program.empty_group_id else f"{self._prefix}-{next(self._groups)}"
        run = _Run(self._connections, Recording(program, group_id, self._config, self._topic_ids), self._make)
        try:
            await run.play()
        except SpoiltError as error:
            run.played.spoilt.append(str(error))
            run.played.is_spoilt = True
        return run.played


class _Run:
    """One try of a program."""

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
        self._slowest_ms = 0.0
        self._step_ms = 0.0
        self._is_hidden = False  # the group cannot be described, so new member ids cannot be seen

    async def play(self) -> None:
        if not self._recording.group_id:
            await self._connections.ask(kio_descriptions.delete_request([""], 2))
        for step in self._recording.program.steps:
            await self._keep_clear()
            if self.played.differences or self._is_hidden:
                break
            if step.kind == "wait":
                await self._wait_step(step)
            else:
                await self._request_step(step)
        if not self.played.differences:
            self._recording.offsets = await self._fetch_offsets()
            self.played.differences = compare_offsets(self._recording, self._replica)

    async def _fetch_offsets(self) -> dict[TopicPartition, tuple[int, int, str]]:
        group = OffsetFetchRequestGroup(
            group_id=GroupId(self._recording.group_id), member_id=None, member_epoch=i32(-1), topics=None
        )
        answer = await self._connections.ask(OffsetFetchRequest(groups=(group,), require_stable=False))
        assert not answer.groups[0].error_code
        return {
            TopicPartition(topic.name, each.partition_index): (
                each.committed_offset,
                each.committed_leader_epoch,
                each.metadata,
            )
            for topic in answer.groups[0].topics
            for each in topic.partitions
        }

    def _now(self) -> int:
        return int((time.monotonic() - self._start) * 1000)

    async def _keep_clear(self) -> None:
        """Wait for timers that expire soon."""
        while not self.played.differences and not self._is_hidden:
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
        self._step_ms = 0.0
        last = None
        deadline = self._replica.next_deadline()
        while deadline is not None and deadline <= until + CLEAR_MS:
            if last is not None and deadline - last < CLOSE_MS + self._slowest_ms:
                raise SpoiltError("timers expired close to each other")
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
        actor, request = asked
        self._step_ms = 0.0
        number = len(self._recording.entries)
        entry = Entry(number, self._now(), step, request, look=step.look)
        before = self._replica.next_deadline()
        self._asked[number] = asked
        if isinstance(request, DeleteRequest):
            wire, client_id = kio_descriptions.delete_request([request.group_id], request.version), "tests"
        else:
            wire = request_to_kio(request, self._recording.topic_ids)
            client_id = self._recording.program.actors[actor].client_id
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
        if arrived_at and number in answers:
            self._took((arrived_at[0] - sent) * 1000)
        await self._finish(entry, answers, before)

    def _took(self, milliseconds: float) -> None:
        """Record the time of a response: a timer of the broker may be late by this time."""
        self._step_ms = max(self._step_ms, milliseconds)
        self._slowest_ms = max(self._slowest_ms, milliseconds)

    def _check_time(self, before: int | None) -> None:
        """Abort the try if a timer may have expired during the step, or if a slow response may have delayed a timer."""
        after, now = self._replica.next_deadline(), self._now()
        if any(deadline is not None and deadline <= now + ENDS_MS for deadline in (before, after)):
            raise SpoiltError("a timer expired during a request")
        if self._step_ms > SLOW_MS and after is not None and after < now + SOON_MS:
            raise SpoiltError("a response was slow")

    def _arrive(self, number: int, done: asyncio.Future[Any], arrived_at: list[float]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._arrived[number] = done.result()
            arrived_at.append(time.monotonic())

    async def _look(self, entry: Entry) -> None:
        group_id = self._recording.group_id
        began = time.monotonic()
        entry.looked = await self._connections.ask(kio_descriptions.describe_request([group_id], entry.look))
        self._took((time.monotonic() - began) * 1000)

    def _find_new_id(self, entry: Entry) -> str | None:
        ids = [member.member_id for member in entry.looked.groups[0].members]
        answer = self._arrived.get(entry.number)
        if answer is not None:
            ids.append(getattr(answer, "member_id", ""))
        asked = getattr(entry.request, "member_id", "")
        return next((each for each in ids if each and each not in self._seen and each != asked), None)

    async def _finish(self, entry: Entry, answers: Mapping[int, Any], before: int | None = None) -> None:
        """Wait for expected responses, describe the group again if needed, compare, and update the actors."""
        self._check_time(before)
        deadline, is_hasty = self._replica.next_deadline(), False
        for pause in LOOK_AGAIN:
            missing = set(answers) - set(self._arrived)
            entry.answers = dict(self._arrived)
            if not missing and not compare(entry, answers, self._replica.look(entry.look), []):
                break
            if deadline is not None and deadline < self._now() + 1000 * pause + SLOW_MS:
                is_hasty = True
                break
            await asyncio.sleep(pause)
            await self._look(entry)
        self._check_time(before=None)
        entry.answers, self._arrived = self._arrived, {}
        self._recording.entries.append(entry)
        problems = self._replica.problems()
        self.played.differences = compare(entry, answers, self._replica.look(entry.look), problems)
        if is_hasty and self.played.differences:
            raise SpoiltError(HASTY)
        self._is_hidden = entry.looked.groups[0].error_code is KioErrorCode.unknown_server_error
        self._seen |= {member.member_id for member in entry.looked.groups[0].members}
        for number, answer in sorted(entry.answers.items()):
            actor, request = self._asked[number]
            self._cast.answered(actor, request, answer)
            if member_id := getattr(answer, "member_id", ""):
                self._seen.add(member_id)
