"""Implementations of assignment: their calls, their workloads, the checks of their answers, and their times."""

from __future__ import annotations

import functools
import gc
import importlib.metadata
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any, get_args

import assignor._core
from assignor import Group, Plan, Topics, assign, check, plan
from benches import peers
from benches.checks import WrongAnswerError
from benches.peers import Answer
from benches.rebalances import Rebalance, answers, in_turn, options, rebalances, topic_ids
from benches.timing import Pace, Sampler, Times, interleave, sampler
from benches.workloads import PAIRS, AssignorName, Shape, Workload

RACK_STEPS = 20_000_000
"""The most (member, topic, partition) triples for which the reference computes an assignment with racks."""

REFERENCE_PARTITIONS = 3_000
"""The largest number of partitions for which the reference computes an assignment, except for range."""

CHECKED = 200_000
"""The most partitions for which an answer is checked with `check`; of larger answers, only the size is checked."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """An implementation of assignment.

    Attributes:
        name: Name in tables and test ids.
        prepare: Function that returns the call to time, with its input ready. For an event with several rebalances,
            the call returns a list.
        read: Function from the result of a rebalance to a mapping of member to partitions.
        package: Distribution that contains the implementation.
        shapes: Shapes of subscriptions that it supports; only `lists` for an implementation that takes columns.
        slow: True if it is not timed on the largest workloads.
        racks: True if it supports racks.
        assignors: Assignors that it supports.
    """

    name: str
    prepare: Callable[[Workload, Shape], Callable[[], Any]]
    read: Callable[[Any], Answer] = dict
    package: str = "assignor"
    shapes: tuple[Shape, ...] = ("lists", "fresh", "sets", "objects")
    slow: bool = False
    racks: bool = True
    assignors: tuple[AssignorName, ...] = get_args(AssignorName)

    @property
    def version(self) -> str | None:
        """Version of the package, or None if it is not installed."""
        if self.package == "assignor":
            return assignor._core.__version__
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def takes(self, workload: Workload, shape: Shape = "lists") -> bool:
        """Return True if the package is installed and supports the workload, and the workload is not too large."""
        if self.version is None or shape not in self.shapes or (self.slow and workload.pairs > PAIRS):
            return False
        if workload.assignor not in self.assignors:
            return False
        if workload.assignor != "range" and self.name == "reference":
            return workload.total_partitions <= REFERENCE_PARTITIONS
        if workload.racks == "two" and self.name == "reference":
            return workload.pairs * workload.partitions <= RACK_STEPS
        return self.racks or workload.racks == "none"

    def assert_right(self, workload: Workload, result: Any) -> None:
        """Raise an error if an answer is wrong. The order of partitions in the lists of peers is ignored.

        The sticky assignors of Python peers move other partitions than Kafka's. So their answers may differ from ours,
        but must be complete and as balanced.

        Raises:
            WrongAnswerError: The result is wrong.
        """
        results = result if workload.event == "rolling" else [result]
        found = [self.read(each) for each in results]
        expected = right_answers(workload)
        if self.package != "assignor" and workload.assignor == "sticky":
            is_right = all(starmap(_is_balanced, zip(rebalances(workload), expected, found, strict=True)))
        else:
            is_right = all(starmap(self._equals, zip(expected, found, strict=True)))
        if not is_right:
            raise WrongAnswerError(f"{self.name} is wrong about {workload.name}")

    def _equals(self, expected: Plan, answer: Answer) -> bool:
        if self.package == "assignor":
            return answer == dict(expected)
        owned = {member: set(partitions) for member, partitions in answer.items()}
        return owned == {member: set(partitions) for member, partitions in dict(expected).items()}


def _is_balanced(rebalance: Rebalance, expected: Plan, answer: Answer) -> bool:
    sizes = sorted(len(list(partitions)) for partitions in answer.values())
    return not check(answer, *rebalance) and sizes == sorted(expected.counts())


@functools.lru_cache(maxsize=1)
def right_answers(workload: Workload) -> list[Plan]:
    """Return the engine's answer to each rebalance, after it is checked.

    It is compared with the reference's answer. If the group is too large for the reference, `check` must find nothing;
    if it is larger than `CHECKED`, only the number of partitions is checked.

    Raises:
        WrongAnswerError: The engines differ, or the answer is incomplete.
    """
    inputs = rebalances(workload)
    found = answers(workload)[-len(inputs) :]
    arguments = {**options(workload), **topic_ids(workload)}
    for rebalance, kept in zip(inputs, found, strict=True):
        if IMPLEMENTATIONS["reference"].takes(workload):
            if dict(kept) != assign(*rebalance, **arguments, engine="reference"):
                raise WrongAnswerError(f"the engines differ on {workload.name}")
        elif workload.total_partitions <= CHECKED:
            findings = check(dict(kept), *rebalance, group_protocol=kept.group_protocol)
            if workload.assignor == "cooperative-sticky":  # it withholds partitions that another member still owns
                findings = replace(findings, unowned=())
            if findings:
                raise WrongAnswerError(f"the answer to {workload.name} is incomplete: {findings}")
        elif kept.counts().sum() != workload.total_partitions:
            partitions = f"{kept.counts().sum()} partitions instead of {workload.total_partitions}"
            raise WrongAnswerError(f"the answer to {workload.name} has {partitions}")
    return found


def right_answer(workload: Workload) -> Plan:
    """Return the right answer to the only rebalance of a workload."""
    (answer,) = right_answers(workload)
    return answer


def forget_answers() -> None:
    """Free the cached answers, so that the garbage collector does not traverse them."""
    right_answers.cache_clear()
    answers.cache_clear()


def _assign(workload: Workload, shape: Shape) -> Callable[[], Any]:
    arguments = {**options(workload), **topic_ids(workload)}
    return in_turn(functools.partial(assign, *rebalance, **arguments) for rebalance in rebalances(workload, shape))


def _assign_topics(workload: Workload, shape: Shape) -> Callable[[], Any]:
    return functools.partial(assign, Topics(workload.partitions_per_topic()), workload.subscriptions(shape))


def _plan(workload: Workload, shape: Shape) -> Callable[[], Any]:
    arguments = {**options(workload), **topic_ids(workload)}
    return in_turn(functools.partial(plan, *rebalance, **arguments) for rebalance in rebalances(workload, shape))


def _plan_columns(workload: Workload, _: Shape) -> Callable[[], Any]:
    return functools.partial(plan, workload.topic_columns(), workload.member_columns())


def _plan_group(workload: Workload, shape: Shape) -> Callable[[], Any]:
    groups = [Group(*rebalance, **topic_ids(workload)) for rebalance in rebalances(workload, shape)]
    chosen = options(workload)
    return in_turn(functools.partial(group.plan, **chosen) if chosen else group.plan for group in groups)


def _reference(workload: Workload, shape: Shape) -> Callable[[], Any]:
    arguments = {**options(workload), **topic_ids(workload), "engine": "reference"}
    return in_turn(functools.partial(assign, *rebalance, **arguments) for rebalance in rebalances(workload, shape))


IMPLEMENTATIONS = {
    implementation.name: implementation
    for implementation in (
        Implementation("assign", _assign),
        Implementation("assign, Topics", _assign_topics, assignors=("range",)),
        Implementation("plan", _plan),
        Implementation("plan, columns", _plan_columns, shapes=("lists",), assignors=("range",)),
        Implementation("Group.plan", _plan_group),
        Implementation(
            "kafka-python",
            peers.kafka_python,
            peers.read_kafka_python,
            package="kafka-python",
            slow=True,
            racks=False,
            assignors=peers.ASSIGNORS,
        ),
        Implementation(
            "aiokafka",
            peers.aiokafka,
            peers.read_aiokafka,
            package="aiokafka",
            slow=True,
            racks=False,
            assignors=peers.ASSIGNORS,
        ),
        Implementation("reference", _reference, slow=True),
    )
}
"""All implementations by name."""


def prepared(name: str, workload: Workload, shape: Shape = "lists") -> Callable[[], Any]:
    """Return a call of an implementation, after its answer is checked."""
    call = IMPLEMENTATIONS[name].prepare(workload, shape)
    IMPLEMENTATIONS[name].assert_right(workload, call())
    return call


def timed(
    workload: Workload,
    shape: Shape,
    names: Iterable[str],
    pace: Pace,
    others: Mapping[str, Sampler] | None = None,
    known: Mapping[str, float] | None = None,
    *,
    frees: bool = False,
) -> Times:
    """Time implementations on one group, each after its answer is checked.

    `others` have their turn first in each round; `known` has the seconds of implementations that were measured before,
    by name. With `frees`, the time to free each result is included.
    """
    samplers = dict(others or {})
    seconds = dict(known or {})
    for name in names:
        call = IMPLEMENTATIONS[name].prepare(workload, shape)
        start = time.perf_counter()
        result = call()
        seconds[name] = time.perf_counter() - start
        IMPLEMENTATIONS[name].assert_right(workload, result)
        del result
        samplers[name] = sampler(call, frees=frees)
    return interleave(samplers, pace, seconds)


def series(name: str, workloads: Iterable[Workload], pace: Pace, shape: Shape = "lists") -> Times:
    """Time one implementation on several groups, each after its answer is checked."""
    samplers = {workload.name: sampler(prepared(name, workload, shape)) for workload in workloads}
    forget_answers()
    gc.collect()
    return interleave(samplers, pace, alike=True)
