"""Implementations of assignment that are timed: their calls, their workloads, and checks of their answers."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import assignor._core
from assignor import Group, Plan, TopicPartition, Topics, assign, check, plan
from benches.workloads import PAIRS, Shape, Workload

Answer = Mapping[str, Iterable[tuple[str, int]]]

RACK_STEPS = 20_000_000
"""The reference is not asked about more (member, topic, partition) triples where rack logic is on."""

CHECKED = 200_000
"""Of more partitions only their number is checked where the reference is not asked."""


class WrongAnswerError(Exception):
    """The answer of an implementation is wrong, so it is not timed."""


def require_release() -> None:
    """Raise an error if the build of the core is not optimised.

    Raises:
        RuntimeError: The core that is imported is a debug build.
    """
    if assignor._core.__build__ == "debug":
        raise RuntimeError(
            f"{assignor._core.__file__} is a debug build, and its times would mean nothing; "
            "build in release mode with `make build` and run again"
        )


@dataclass(frozen=True, slots=True)
class Implementation:
    """An implementation of assignment.

    Attributes:
        name: What tables and test ids call it.
        prepare: Makes the call that is timed; all its input is ready when this returns.
        read: The result of the call as member to partitions.
        package: The distribution it comes from.
        shapes: How it can be given the subscriptions; columns have no shape, and so are in the first.
        slow: Whether it is spared the largest workloads.
        racks: Whether it knows racks.
    """

    name: str
    prepare: Callable[[Workload, Shape], Callable[[], Any]]
    read: Callable[[Any], Answer] = dict
    package: str = "assignor"
    shapes: tuple[Shape, ...] = ("lists", "fresh", "sets", "objects")
    slow: bool = False
    racks: bool = True

    @property
    def version(self) -> str | None:
        """The version of its package, or None where that is not installed."""
        if self.package == "assignor":
            return assignor._core.__version__
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def takes(self, workload: Workload, shape: Shape = "lists") -> bool:
        """Whether it is installed, and the workload is neither strange to it nor too large."""
        if self.version is None or shape not in self.shapes or (self.slow and workload.pairs > PAIRS):
            return False
        if workload.racks == "two" and self.name == "reference":
            return workload.pairs * workload.partitions <= RACK_STEPS
        return self.racks or workload.racks == "none"

    def assert_right(self, workload: Workload, result: object) -> None:
        """Refuses a wrong answer; peers, whose lists have other orders, are compared as sets.

        Raises:
            WrongAnswerError: The result is not the right answer.
        """
        expected, answer = dict(right_answer(workload)), self.read(result)
        if self.package == "assignor" and answer == expected:
            return
        owned = {member: set(partitions) for member, partitions in answer.items()}
        wanted = {member: set(partitions) for member, partitions in expected.items()}
        if self.package == "assignor" or owned != wanted:
            raise WrongAnswerError(f"{self.name} is wrong about {workload.name}")


@functools.lru_cache(maxsize=1)
def right_answer(workload: Workload) -> Plan:
    """The engine's answer, known to be right: equal to the reference's or, where that takes too long, complete.

    It is kept as a plan, which gives the garbage collector nothing to walk through while implementations are timed.

    Raises:
        WrongAnswerError: The engines differ, or partitions are left out or given to two.
    """
    topics, subscriptions = workload.partitions_per_topic(), workload.subscriptions()
    kept = plan(topics, subscriptions)
    if IMPLEMENTATIONS["reference"].takes(workload):
        if dict(kept) != assign(topics, subscriptions, engine="reference"):
            raise WrongAnswerError(f"the engines differ on {workload.name}")
    elif workload.total_partitions <= CHECKED:
        findings = check(dict(kept), topics, subscriptions)
        if findings:
            raise WrongAnswerError(f"the answer to {workload.name} is incomplete: {findings}")
    elif kept.counts().sum() != workload.total_partitions:
        raise WrongAnswerError(f"the answer to {workload.name} has {kept.counts().sum()} partitions")
    return kept


def _assign(workload: Workload, shape: Shape) -> Callable[[], Any]:
    return functools.partial(assign, workload.partitions_per_topic(), workload.subscriptions(shape))


def _assign_topics(workload: Workload, shape: Shape) -> Callable[[], Any]:
    return functools.partial(assign, Topics(workload.partitions_per_topic()), workload.subscriptions(shape))


def _plan(workload: Workload, shape: Shape) -> Callable[[], Any]:
    return functools.partial(plan, workload.partitions_per_topic(), workload.subscriptions(shape))


def _plan_columns(workload: Workload, _: Shape) -> Callable[[], Any]:
    return functools.partial(plan, workload.topic_columns(), workload.member_columns())


def _plan_group(workload: Workload, shape: Shape) -> Callable[[], Any]:
    return Group(workload.partitions_per_topic(), workload.subscriptions(shape)).plan


def _reference(workload: Workload, shape: Shape) -> Callable[[], Any]:
    topics, subscriptions = workload.partitions_per_topic(), workload.subscriptions(shape)
    return functools.partial(assign, topics, subscriptions, engine="reference")


def _simple(workload: Workload, shape: Shape) -> Callable[[], Any]:
    return functools.partial(simple_range, workload.partitions_per_topic(), workload.subscriptions(shape))


def simple_range(partitions_per_topic: Mapping[str, Any], subscriptions: Mapping[str, Any]) -> Answer:
    """Range assignment in the fewest lines: no static members, no racks, nothing checked."""
    consumers: dict[str, list[str]] = {topic: [] for topic in sorted(partitions_per_topic)}
    for member in sorted(subscriptions):
        for topic in subscriptions[member]:
            consumers[topic].append(member)
    assignment: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    for topic, members in consumers.items():
        each, extra = divmod(partitions_per_topic[topic], len(members) or 1)
        end = 0
        for rank, member in enumerate(members):
            start, end = end, end + each + (rank < extra)
            assignment[member] += [TopicPartition(topic, id) for id in range(start, end)]
    return assignment


def _kafka_python(workload: Workload, shape: Shape) -> Callable[[], Any]:
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.protocol.consumer.group import JoinGroupResponse
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    members = [
        JoinGroupResponse.JoinGroupResponseMember(
            member_id=member, group_instance_id=None, metadata=ConsumerProtocolSubscription(0, topics, b"")
        )
        for member, topics in _decoded(workload, shape)
    ]
    return functools.partial(RangePartitionAssignor.assign, _Cluster(workload), members)


def _aiokafka(workload: Workload, shape: Shape) -> Callable[[], Any]:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

    members = {member: ConsumerProtocolMemberMetadata(0, topics, b"") for member, topics in _decoded(workload, shape)}
    return functools.partial(RangePartitionAssignor.assign, _Cluster(workload), members)


def _decoded(workload: Workload, shape: Shape) -> list[tuple[str, Collection[str]]]:
    """Members with their topics, as a peer has them once it has decoded the subscriptions; both take sets too."""
    return [
        (member, wanted if isinstance(wanted, (list, set)) else list(wanted.topics))  # type: ignore[union-attr]  # a Subscription
        for member, wanted in workload.subscriptions(shape).items()
    ]


class _Cluster:
    """The one question that the peers' assignors ask their cluster metadata, answered as it does: by a new set."""

    def __init__(self, workload: Workload) -> None:
        self._partitions = {
            f"topic{topic}": dict.fromkeys(range(count)) for topic, count in enumerate(workload.partition_counts())
        }

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(self._partitions[topic].keys())


def _read_kafka_python(result: Mapping[str, Any]) -> Answer:
    return {member: _flat(assignment.assigned_partitions) for member, assignment in result.items()}


def _read_aiokafka(result: Mapping[str, Any]) -> Answer:
    return {member: _flat(assignment.assignment) for member, assignment in result.items()}


def _flat(assignment: Iterable[tuple[str, list[int]]]) -> list[TopicPartition]:
    return [TopicPartition(topic, id) for topic, ids in assignment for id in ids]


IMPLEMENTATIONS = {
    implementation.name: implementation
    for implementation in (
        Implementation("assign", _assign),
        Implementation("assign, Topics", _assign_topics),
        Implementation("plan", _plan),
        Implementation("plan, columns", _plan_columns, shapes=("lists",)),
        Implementation("Group.plan", _plan_group),
        Implementation(
            "kafka-python", _kafka_python, _read_kafka_python, package="kafka-python", slow=True, racks=False
        ),
        Implementation("aiokafka", _aiokafka, _read_aiokafka, package="aiokafka", slow=True, racks=False),
        Implementation("reference", _reference, slow=True),
        Implementation("simple Python", _simple, shapes=("lists", "fresh", "sets"), slow=True, racks=False),
    )
}
"""By name: ours in Rust, which return lists of objects or spans; the peers; ours in plain Python, and the simplest."""


def encoders(workload: Workload) -> dict[str, Callable[[], Any]]:
    """Return two encoders of a whole assignment: from a plan, and from kafka-python's own objects.

    The content is the same: kafka-python's assignor also writes down topics of which a member has no partition, and
    those are left out here.

    Raises:
        WrongAnswerError: The bytes differ.
    """
    from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

    found = plan(workload.partitions_per_topic(), workload.subscriptions())
    contents = {}
    for member in found:
        ids: dict[str, list[int]] = {}
        for topic, id in found[member]:
            ids.setdefault(topic, []).append(id)
        contents[member] = ConsumerProtocolAssignment(3, list(ids.items()), None)

    def theirs() -> dict[str, bytes]:
        return {member: content.encode() for member, content in contents.items()}

    if found.encode(version=3) != theirs():
        raise WrongAnswerError(f"plan.encode() differs from kafka-python's bytes on {workload.name}")
    return {"plan.encode": functools.partial(found.encode, version=3), "kafka-python encode": theirs}
