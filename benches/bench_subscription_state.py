# ruff: noqa: D102 - `Ours` documents the methods
"""Benchmarks of `SubscriptionState`, compared with the classes of kafka-python and aiokafka.

Each operation is timed for the classes that have it. kafka-python takes a lock in each call. aiokafka creates a future
for each partition that is assigned or paused, in its event loop. Ours validates its arguments.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assignor import SubscriptionState, TopicPartition
from benches.checks import require
from benches.implementations import IMPLEMENTATIONS
from benches.report import Part, Row, Run, missing, section
from benches.timing import Case, interleave, sampler

FEW = 1_000
"""Partitions on which single operations are timed."""

OFFSET = 42

Partitions = Sequence[TopicPartition]


class Ours:
    """Partitions that are held by this package's class; each method does one operation on many partitions.

    A class without an operation has no such method.
    """

    def __init__(self) -> None:
        self.state: Any = SubscriptionState("latest")

    def subscribe(self, partitions: Partitions) -> None:
        self.state.subscribe(_topics(partitions))
        self.state.assign_from_subscribed(partitions)

    def assign(self, partitions: Partitions) -> None:
        self.state.assign_from_user(partitions)

    def assigned(self) -> set[TopicPartition]:
        return set(self.state.assigned_partitions())

    def paused(self) -> set[TopicPartition]:
        return set(self.state.paused_partitions())

    def seek(self, partitions: Partitions) -> None:
        state = self.state
        for tp in partitions:
            state.seek(tp, OFFSET)

    def position(self, partitions: Partitions) -> list[int]:
        state = self.state
        return [state.position(tp).offset for tp in partitions]

    def pause(self, partitions: Partitions) -> None:
        state = self.state
        for tp in partitions:
            state.pause(tp)

    def resume(self, partitions: Partitions) -> None:
        state = self.state
        for tp in partitions:
            state.resume(tp)

    def is_assigned(self, partitions: Partitions) -> list[bool]:
        state = self.state
        return [state.is_assigned(tp) for tp in partitions]

    def is_fetchable(self, partitions: Partitions) -> list[bool]:
        state = self.state
        return [state.is_fetchable(tp) for tp in partitions]

    def fetchable_partitions(self, _: Partitions) -> list[TopicPartition]:
        return self.state.fetchable_partitions()  # type: ignore[no-any-return]  # the state is of any class

    def all_consumed(self, _: Partitions) -> dict[TopicPartition, Any]:
        return self.state.all_consumed()  # type: ignore[no-any-return]  # the state is of any class


class KafkaPython(Ours):
    """Partitions that are held by kafka-python's class, whose methods have the same names and arguments."""

    def __init__(self) -> None:
        from kafka.consumer.subscription_state import SubscriptionState as Theirs

        self.state = Theirs("latest")

    def all_consumed(self, _: Partitions) -> dict[TopicPartition, Any]:
        return self.state.all_consumed_offsets()  # type: ignore[no-any-return]  # it ships no types


_LOOP: list[asyncio.AbstractEventLoop] = []


def _in_loop(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs `work` in an event loop, which aiokafka's futures need."""

    async def run(*arguments: Any) -> Any:
        return work(*arguments)

    @functools.wraps(work)
    def call(*arguments: Any) -> Any:
        if not _LOOP:
            _LOOP.append(asyncio.new_event_loop())
            atexit.register(_LOOP[0].close)
        return _LOOP[0].run_until_complete(run(*arguments))

    return call


class Aiokafka(Ours):
    """Partitions that are held by aiokafka's class."""

    is_fetchable = fetchable_partitions = None  # type: ignore[assignment]  # the class does not have these operations

    def __init__(self) -> None:
        from aiokafka.consumer.subscription_state import SubscriptionState as Theirs

        self.state = _in_loop(Theirs)()

    @_in_loop
    def subscribe(self, partitions: Partitions) -> None:
        self.state.subscribe(set(_topics(partitions)))
        self.state.assign_from_subscribed(partitions)

    def position(self, partitions: Partitions) -> list[int]:
        state = self.state
        return [state._assigned_state(tp).position for tp in partitions]

    def all_consumed(self, _: Partitions) -> dict[TopicPartition, Any]:
        return self.state.subscription.assignment.all_consumed_offsets()  # type: ignore[no-any-return]  # no types

    assign, seek, pause, resume = map(_in_loop, (Ours.assign, Ours.seek, Ours.pause, Ours.resume))
    position, is_assigned, all_consumed = map(_in_loop, (position, Ours.is_assigned, all_consumed))


CLASSES: dict[str, type[Ours]] = {"assignor": Ours, "kafka-python": KafkaPython, "aiokafka": Aiokafka}
"""The classes by their name in the tables, ours first."""

OPERATIONS = (
    "seek",
    "position",
    "pause, resume",
    "is_assigned",
    "is_fetchable",
    "fetchable_partitions",
    "all_consumed",
)
"""Operations on partitions that are assigned and have a position."""

ASSIGNMENTS = {"assign_from_subscribed": "subscribe", "assign_from_user": "assign"}
"""Operations that are timed on many partitions, with the methods."""


def installed() -> list[str]:
    """Return the names of the installed implementations."""
    return [name for name in CLASSES if name == "assignor" or IMPLEMENTATIONS[name].version]


def offers(name: str, operation: str) -> bool:
    """Return True if a class has an operation."""
    return operation in (*ASSIGNMENTS, "pause, resume") or getattr(CLASSES[name], operation) is not None


def prepared(name: str, operation: str, count: int) -> Callable[[], Any]:
    """Return the call of an operation on a number of partitions, 100 per topic, after its answer is checked.

    Raises:
        WrongAnswerError: The answer is wrong.
    """
    partitions = [TopicPartition(f"topic-{id // 100:04d}", id % 100) for id in range(count)]
    check = functools.partial(require, what=f"{name} is wrong about {operation}")

    def made(method: str) -> Ours:
        holder = CLASSES[name]()
        getattr(holder, method)(partitions)
        return holder

    if operation in ASSIGNMENTS:
        call = functools.partial(made, ASSIGNMENTS[operation])
        check(call().assigned() == set(partitions))
        return call
    holder = made("subscribe")
    holder.seek(partitions)
    check(holder.position(partitions) == [OFFSET] * count)
    if operation == "pause, resume":
        holder.pause(partitions)
        check(holder.paused() == set(partitions))
        holder.resume(partitions)
        check(not holder.paused())

        def pause_and_resume() -> None:
            holder.pause(partitions)
            holder.resume(partitions)

        return pause_and_resume
    operate = functools.partial(getattr(holder, operation), partitions)
    answer = operate()
    if operation.startswith("is_"):
        check(answer == [True] * count)
    elif operation == "fetchable_partitions":
        check(sorted(answer) == sorted(partitions))
    elif operation == "all_consumed":
        check({tp: found.offset for tp, found in answer.items()} == dict.fromkeys(partitions, OFFSET))
    return operate


def _topics(partitions: Partitions) -> list[str]:
    return list(dict.fromkeys(tp.topic for tp in partitions))


def sizes(run: Run) -> list[tuple[str, int]]:
    """Return the operations with their numbers of partitions."""
    many = run.of(100_000, 10_000)
    return [*((operation, FEW) for operation in OPERATIONS), *((operation, many) for operation in ASSIGNMENTS)]


def cases(run: Run) -> Iterator[Case]:
    """Yield each operation of this package's class."""
    for operation, count in sizes(run):
        yield Case("subscription state", operation, functools.partial(prepared, "assignor", operation, count))


@section(
    "subscription-state",
    "Subscription state",
    "Milliseconds, min / median, for the operation on all partitions, one after the other (for 1,000 partitions, "
    "this is microseconds per partition), and the peer's time divided by ours. kafka-python takes a lock in each "
    "call. aiokafka creates a future for each partition that is assigned or paused. Ours validates its arguments, "
    "keeps Kafka's order, and stores leader epochs.",
    "this / first",
)
def subscription_state(run: Run) -> Iterator[Part]:
    names = installed()
    for operation, count in sizes(run):
        run.report(f"{operation}: {', '.join(names)}")
        calls = {name: prepared(name, operation, count) for name in names if offers(name, operation)}
        times = interleave({name: sampler(call) for name, call in calls.items()}, run.pace(1.5, 7))
        yield Row(f"{operation}, {count:,}", times)
    yield from missing(name for name in CLASSES if name not in names)
