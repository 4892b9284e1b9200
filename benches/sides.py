"""The sides that a benchmark times: how each is called, which workloads it is spared, whether its answer is right."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import assignor._core
from assignor import Plan, TopicPartition, assign, check, plan
from workloads import Workload

Answer = Mapping[str, Iterable[tuple[str, int]]]

PAIRS = 1_000_000
"""The slow sides are not asked about more (member, topic) pairs: seconds become minutes."""

RACK_STEPS = 20_000_000
"""Nor is the reference about more (member, topic, partition) triples where rack logic is on."""


def require_release() -> None:
    """Refuses to time a build that is not optimised.

    Raises:
        RuntimeError: The core that is imported is a debug build.
    """
    if assignor._core.__build__ == "debug":
        raise RuntimeError(
            f"{assignor._core.__file__} is a debug build, and its times would mean nothing; "
            "build in release mode with `make build` and run again"
        )


@dataclass(frozen=True, slots=True)
class Engine:
    """A side.

    Attributes:
        name: What tables and test ids call it.
        prepare: Makes the call that is timed; all its input is ready when this returns.
        read: The result of the call as member to partitions.
        slow: Whether it is spared the largest workloads.
        package: The distribution it comes from.
    """

    name: str
    prepare: Callable[[Workload], Callable[[], Any]]
    read: Callable[[Any], Answer] = dict
    slow: bool = False
    package: str = "assignor"

    @property
    def version(self) -> str | None:
        """The version of its package, or None where that is not installed."""
        if self.package == "assignor":
            return assignor._core.__version__
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def takes(self, workload: Workload) -> bool:
        """Whether it is installed and the workload is not too large for it."""
        if self.version is None or (self.slow and workload.pairs > PAIRS):
            return False
        steps = workload.pairs * workload.partitions if workload.racks == "two" else 0
        return self.name != "reference" or steps <= RACK_STEPS

    def assert_right(self, workload: Workload, result: object) -> None:
        """Fails unless the result is the right answer.

        Peers are compared as sets. They know no racks: where rack logic is on, theirs need only be complete.
        """
        expected, answer = dict(right_answer(workload)), self.read(result)
        if self.package == "assignor":
            assert answer == expected, f"{self.name} is wrong about {workload.name}"
        elif workload.racks == "two":
            findings = check(answer, workload.partitions_per_topic(), workload.subscriptions())
            assert not findings, f"{self.name}'s answer to {workload.name} is incomplete: {findings}"
        else:
            owned = {member: set(partitions) for member, partitions in answer.items()}
            wanted = {member: set(partitions) for member, partitions in expected.items()}
            assert owned == wanted, f"{self.name} disagrees about {workload.name}"


@functools.lru_cache(maxsize=1)
def right_answer(workload: Workload) -> Plan:
    """The engine's answer, known to be right: equal to the reference's or, where that takes too long, complete.

    It is kept as a plan, which gives the garbage collector nothing to walk through while sides are timed.
    """
    topics, subscriptions = workload.partitions_per_topic(), workload.subscriptions()
    kept = plan(topics, subscriptions)
    answer = dict(kept)
    if ENGINES["reference"].takes(workload):
        assert answer == assign(topics, subscriptions, engine="reference"), f"the engines differ on {workload.name}"
    else:
        findings = check(answer, topics, subscriptions)
        assert not findings, f"the answer to {workload.name} is incomplete: {findings}"
    return kept


def _assign(workload: Workload) -> Callable[[], Any]:
    return functools.partial(assign, workload.partitions_per_topic(), workload.subscriptions())


def _plan(workload: Workload) -> Callable[[], Any]:
    return functools.partial(plan, workload.partitions_per_topic(), workload.subscriptions())


def _reference(workload: Workload) -> Callable[[], Any]:
    topics, subscriptions = workload.partitions_per_topic(), workload.subscriptions()
    return functools.partial(assign, topics, subscriptions, engine="reference")


def _kafka_python(workload: Workload) -> Callable[[], Any]:
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.protocol.consumer.group import JoinGroupResponse
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    members = [
        JoinGroupResponse.JoinGroupResponseMember(
            member_id=member, group_instance_id=None, metadata=ConsumerProtocolSubscription(0, topics, b"")
        )
        for member, topics in _decoded(workload)
    ]
    return functools.partial(RangePartitionAssignor.assign, _Cluster(workload), members)


def _aiokafka(workload: Workload) -> Callable[[], Any]:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

    members = {member: ConsumerProtocolMemberMetadata(0, topics, b"") for member, topics in _decoded(workload)}
    return functools.partial(RangePartitionAssignor.assign, _Cluster(workload), members)


def _decoded(workload: Workload) -> list[tuple[str, list[str]]]:
    """Members with a list of topics each, as a peer has them once it has decoded the subscriptions."""
    return [
        (member, wanted if isinstance(wanted, list) else list(wanted.topics))
        for member, wanted in workload.subscriptions().items()
    ]


class _Cluster:
    """The one question that the peers' assignors ask their cluster metadata, answered as it does: by a new set."""

    def __init__(self, workload: Workload) -> None:
        self._partitions = {
            topic: dict.fromkeys(range(workload.partitions)) for topic in workload.partitions_per_topic()
        }

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(self._partitions[topic].keys())


def _read_kafka_python(result: Mapping[str, Any]) -> Answer:
    return {member: _flat(assignment.assigned_partitions) for member, assignment in result.items()}


def _read_aiokafka(result: Mapping[str, Any]) -> Answer:
    return {member: _flat(assignment.assignment) for member, assignment in result.items()}


def _flat(assignment: Iterable[tuple[str, list[int]]]) -> list[TopicPartition]:
    return [TopicPartition(topic, id) for topic, ids in assignment for id in ids]


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("assign", _assign),
        Engine("plan", _plan),
        Engine("kafka-python", _kafka_python, _read_kafka_python, slow=True, package="kafka-python"),
        Engine("aiokafka", _aiokafka, _read_aiokafka, slow=True, package="aiokafka"),
        Engine("reference", _reference, slow=True),
    )
}
"""The sides by name: ours in Rust (lists, and spans), the peers, and ours in plain Python."""

OURS = ("assign", "plan")
"""The sides that every other one is paired with."""
