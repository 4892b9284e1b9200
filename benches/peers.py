"""Assignors of kafka-python and aiokafka: their calls with decoded input."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from assignor import TopicPartition
from benches.rebalances import GENERATION, Rebalance, in_turn, rebalances
from benches.workloads import AssignorName, Shape, Workload

Answer = Mapping[str, Iterable[tuple[str, int]]]

ASSIGNORS: tuple[AssignorName, ...] = ("range", "roundrobin", "sticky")
"""The assignors that are timed."""


def assignors(package: str) -> dict[AssignorName, Any]:
    """Return the assignors of `kafka` or `aiokafka`, whose modules have the same names."""
    classes = {"range": "Range", "roundrobin": "RoundRobin", "sticky.sticky_assignor": "Sticky"}
    modules = {name: importlib.import_module(f"{package}.coordinator.assignors.{name}") for name in classes}
    found = (getattr(modules[name], f"{prefix}PartitionAssignor") for name, prefix in classes.items())
    return dict(zip(ASSIGNORS, found, strict=True))


def kafka_python(workload: Workload, shape: Shape) -> Callable[[], Any]:
    """Return the call of kafka-python's assignor."""
    from kafka.coordinator.assignors.sticky.user_data import StickyAssignorUserData
    from kafka.protocol.consumer.group import JoinGroupResponse
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    chosen = assignors("kafka")[workload.assignor]

    def call(rebalance: Rebalance) -> Callable[[], Any]:
        members = []
        for member, topics, owned in _decoded(rebalance):
            data = StickyAssignorUserData(list(owned.items()), GENERATION) if owned else b""
            metadata = ConsumerProtocolSubscription(0, topics, data)
            members.append(
                JoinGroupResponse.JoinGroupResponseMember(member_id=member, group_instance_id=None, metadata=metadata)
            )
        if workload.assignor == "sticky":  # it keeps state
            return lambda: chosen().assign(Cluster(workload), members)
        return functools.partial(chosen.assign, Cluster(workload), members)

    return in_turn(map(call, rebalances(workload, shape)))


def aiokafka(workload: Workload, shape: Shape) -> Callable[[], Any]:
    """Return the call of aiokafka's assignor."""
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignorUserDataV1
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

    chosen = assignors("aiokafka")[workload.assignor]

    def call(rebalance: Rebalance) -> Callable[[], Any]:
        members = {}
        for member, topics, owned in _decoded(rebalance):
            data = StickyAssignorUserDataV1(list(owned.items()), GENERATION).encode() if owned else b""
            members[member] = ConsumerProtocolMemberMetadata(0, topics, data)
        return functools.partial(chosen.assign, Cluster(workload), members)

    return in_turn(map(call, rebalances(workload, shape)))


def _decoded(rebalance: Rebalance) -> Iterable[tuple[str, Collection[str], dict[str, list[int]]]]:
    """Yield members with their topics and owned ids. Peers also take sets of topics."""
    for member, wanted in rebalance.subscriptions.items():
        if isinstance(wanted, (list, set)):
            yield member, wanted, {}
        else:
            owned: dict[str, list[int]] = {}
            for topic, id in wanted.owned_partitions:
                owned.setdefault(topic, []).append(id)
            yield member, list(wanted.topics), owned


class Cluster:
    """Replacement for the peers' cluster metadata; like the original, it returns new sets."""

    def __init__(self, workload: Workload) -> None:
        self._partitions = {
            f"topic{topic}": dict.fromkeys(range(count)) for topic, count in enumerate(workload.partition_counts())
        }

    def topics(self, exclude_internal_topics: bool = True) -> set[str]:  # noqa: ARG002 - the signature of the peers
        """Return the names of the topics."""
        return set(self._partitions)

    def partitions_for_topic(self, topic: str) -> set[int]:
        """Return the partition ids of a topic."""
        return set(self._partitions[topic].keys())


def read_kafka_python(result: Mapping[str, Any]) -> Answer:
    """Return a result of kafka-python's assignor as a mapping of member to partitions."""
    return {member: _flat(assignment.assigned_partitions) for member, assignment in result.items()}


def read_aiokafka(result: Mapping[str, Any]) -> Answer:
    """Return a result of aiokafka's assignor as a mapping of member to partitions."""
    return {member: _flat(assignment.assignment) for member, assignment in result.items()}


def _flat(assignment: Iterable[tuple[str, list[int]]]) -> list[TopicPartition]:
    return [TopicPartition(topic, id) for topic, ids in assignment for id in ids]
