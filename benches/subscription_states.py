# ruff: noqa: D102 - `Holder` documents the methods
"""Benchmark of `SubscriptionState`, compared with the classes of kafka-python and aiokafka.

Each operation is timed for the classes that have it. kafka-python takes a lock in each call. aiokafka creates a future
for each partition that is assigned or paused, in its event loop. Ours validates its arguments.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import importlib.metadata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import assignor._core
from assignor import SubscriptionState, TopicPartition
from benches.implementations import WrongAnswerError
from benches.selections import Selection
from benches.tables import ReportSection, Table, milliseconds, shown
from benches.timing import interleave, ratio, sampler

FEW = 1_000
"""Partitions on which single operations are timed."""

OFFSET = 42

Partitions = Sequence[TopicPartition]


class Holder(Protocol):
    """Object of one of the classes, with assigned partitions; each method does one operation on many partitions.

    A holder has no attribute for an operation that its class does not have.
    """

    @classmethod
    def by_group(cls, topics: list[str], partitions: Partitions) -> Any:
        """Assign partitions of subscribed topics."""

    @classmethod
    def by_user(cls, partitions: Partitions) -> Any:
        """Assign partitions without a group."""

    def assigned(self) -> set[TopicPartition]:
        """Return the assigned partitions."""

    def paused(self) -> set[TopicPartition]:
        """Return the paused partitions."""

    def seek(self, partitions: Partitions) -> None:
        """Seek each partition to `OFFSET`."""

    def position(self, partitions: Partitions) -> list[int]:
        """Return the offset of each partition."""

    def pause(self, partitions: Partitions) -> None:
        """Pause each partition."""

    def resume(self, partitions: Partitions) -> None:
        """Resume each partition."""

    def is_assigned(self, partitions: Partitions) -> list[bool]:
        """Return for each partition True if it is assigned."""


class Ours:
    """Holder of assignor's class."""

    package = "assignor"

    def __init__(self) -> None:
        self.state = SubscriptionState("latest")

    @classmethod
    def by_group(cls, topics: list[str], partitions: Partitions) -> Ours:
        holder = cls()
        holder.state.subscribe(topics)
        holder.state.assign_from_subscribed(partitions)
        return holder

    @classmethod
    def by_user(cls, partitions: Partitions) -> Ours:
        holder = cls()
        holder.state.assign_from_user(partitions)
        return holder

    def assigned(self) -> set[TopicPartition]:
        return self.state.assigned_partitions()

    def paused(self) -> set[TopicPartition]:
        return self.state.paused_partitions()

    def seek(self, partitions: Partitions) -> None:
        state = self.state
        for tp in partitions:
            state.seek(tp, OFFSET)

    def position(self, partitions: Partitions) -> list[int]:
        state = self.state
        return [state.position(tp).offset for tp in partitions]  # type: ignore[union-attr]  # all have positions

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
        return self.state.fetchable_partitions()

    def all_consumed(self, _: Partitions) -> dict[TopicPartition, Any]:
        return self.state.all_consumed()


class KafkaPython(Ours):
    """Holder of kafka-python's class; methods with the same names and arguments are inherited."""

    package = "kafka-python"
    state: Any

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


class Aiokafka:
    """Holder of aiokafka's class."""

    package = "aiokafka"

    def __init__(self) -> None:
        from aiokafka.consumer.subscription_state import SubscriptionState as Theirs

        self.state = Theirs()

    @classmethod
    @_in_loop
    def by_group(cls, topics: list[str], partitions: Partitions) -> Aiokafka:
        holder = cls()
        holder.state.subscribe(set(topics))
        holder.state.assign_from_subscribed(partitions)
        return holder

    @classmethod
    @_in_loop
    def by_user(cls, partitions: Partitions) -> Aiokafka:
        holder = cls()
        holder.state.assign_from_user(partitions)
        return holder

    def assigned(self) -> set[TopicPartition]:
        return set(self.state.assigned_partitions())

    def paused(self) -> set[TopicPartition]:
        return set(self.state.paused_partitions())

    @_in_loop
    def seek(self, partitions: Partitions) -> None:
        state = self.state
        for tp in partitions:
            state.seek(tp, OFFSET)

    @_in_loop
    def position(self, partitions: Partitions) -> list[int]:
        state = self.state
        return [state._assigned_state(tp).position for tp in partitions]

    @_in_loop
    def pause(self, partitions: Partitions) -> None:
        state = self.state
        for tp in partitions:
            state.pause(tp)

    @_in_loop
    def resume(self, partitions: Partitions) -> None:
        state = self.state
        for tp in partitions:
            state.resume(tp)

    @_in_loop
    def is_assigned(self, partitions: Partitions) -> list[bool]:
        state = self.state
        return [state.is_assigned(tp) for tp in partitions]

    @_in_loop
    def all_consumed(self, _: Partitions) -> dict[TopicPartition, Any]:
        return self.state.subscription.assignment.all_consumed_offsets()  # type: ignore[no-any-return]  # it ships no types


HOLDERS: dict[str, type[Any]] = {"assignor": Ours, "kafka-python": KafkaPython, "aiokafka": Aiokafka}
"""The holders by their name in the tables, ours first."""

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

ASSIGNMENTS = ("assign_from_subscribed", "assign_from_user")
"""Operations that are timed on many partitions."""


def installed() -> list[str]:
    """Return the names of the installed implementations."""
    return [name for name, holder in HOLDERS.items() if _version(holder.package) is not None]


def _version(package: str) -> str | None:
    if package == "assignor":
        return assignor._core.__version__
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def partitions_of(count: int) -> Partitions:
    """Return `count` partitions, 100 per topic."""
    return [TopicPartition(f"topic-{id // 100:04d}", id % 100) for id in range(count)]


def offers(implementation: str, operation: str) -> bool:
    """Return True if the class of an implementation has an operation."""
    return operation in (*ASSIGNMENTS, "pause, resume") or hasattr(HOLDERS[implementation], operation)


def prepare(implementation: str, operation: str, count: int) -> Callable[[], Any]:
    """Return the call to time, after its answer is checked.

    Raises:
        WrongAnswerError: The answer is wrong.
    """
    kind, partitions = HOLDERS[implementation], partitions_of(count)
    if operation in ASSIGNMENTS:
        calls = {
            "assign_from_subscribed": functools.partial(kind.by_group, _topics(partitions), partitions),
            "assign_from_user": functools.partial(kind.by_user, partitions),
        }
        _assert(calls[operation]().assigned() == set(partitions), implementation, operation)
        return calls[operation]
    holder = kind.by_group(_topics(partitions), partitions)
    holder.seek(partitions)
    _assert(holder.position(partitions) == [OFFSET] * count, implementation, operation)
    if operation == "pause, resume":
        holder.pause(partitions)
        _assert(holder.paused() == set(partitions), implementation, operation)
        holder.resume(partitions)
        _assert(not holder.paused(), implementation, operation)
        return lambda: (holder.pause(partitions), holder.resume(partitions))
    call = functools.partial(getattr(holder, operation), partitions)
    answer = call()
    if operation.startswith("is_"):
        _assert(answer == [True] * count, implementation, operation)
    elif operation == "fetchable_partitions":
        _assert(set(answer) == set(partitions) and len(answer) == count, implementation, operation)
    elif operation == "all_consumed":
        _assert(
            {tp: found.offset for tp, found in answer.items()} == dict.fromkeys(partitions, OFFSET),
            implementation,
            operation,
        )
    return call


def _topics(partitions: Partitions) -> list[str]:
    return list(dict.fromkeys(tp.topic for tp in partitions))


def _assert(right: bool, implementation: str, operation: str) -> None:
    if not right:
        raise WrongAnswerError(f"{implementation} is wrong about {operation}")


def subscription_state(selection: Selection, report: Callable[[str], None], raw: dict[str, Any]) -> ReportSection:
    """Return the section about the operations of the classes."""
    names, many = installed(), selection.partitions // 10
    rows = []
    for operation, count in [*((each, FEW) for each in OPERATIONS), *((each, many) for each in ASSIGNMENTS)]:
        report(f"{operation}: {', '.join(names)}")
        calls = {name: prepare(name, operation, count) for name in names if offers(name, operation)}
        times = interleave({name: sampler(call) for name, call in calls.items()}, selection.own_pace)
        raw[f"{operation}, {count:,} partitions"] = times
        rows.append([f"{operation}, {count:,}", *_cells(times, names), *_ratios(times, names)])
    note = (
        "Milliseconds, min / median, for the operation on all partitions, one after the other (for 1,000 partitions, "
        "this is microseconds per partition), and the peer's time divided by ours. kafka-python takes a lock in each "
        "call. aiokafka creates a future for each partition that is assigned or paused. Ours validates its arguments, "
        "keeps Kafka's order, and stores leader epochs."
    )
    missing = [name for name in HOLDERS if name not in names]
    if missing:
        note += f" Not timed because not installed: {', '.join(missing)}."
    head = ["operation, partitions", *names, *(f"{name} / ours" for name in names[1:])]
    return ReportSection("Subscription state", note, Table(head, rows))


def _cells(times: dict[str, list[float]], names: Iterable[str]) -> list[str]:
    return [milliseconds(times[name]) if name in times else "-" for name in names]


def _ratios(times: dict[str, list[float]], names: Sequence[str]) -> list[str]:
    ours, *others = names
    return [f"{shown(ratio(times, name, ours))}x" if name in times else "-" for name in others]
