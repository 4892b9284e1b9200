"""Reader and comparison of the cases of streams groups among the vectors of the kind `assignors`.

A case has tasks in place of partitions: pairs of a subtopology id and a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assignor.ordering import computed_order, java_order, string_hash, table_order
from assignor.server import StreamsMember, StreamsStickyAssignor
from tests.support.engines import Engine
from tests.support.vector_fields import check_fields, label

KIND = "assignors"
ASSIGNOR = "streams_sticky"

Json = dict[str, Any]
Task = tuple[str, int]
Tasks = dict[str, list[Task]]
"""Tasks of a member by role: active, standby and warmup."""

ROLES = ("active", "standby", "warmup")


@dataclass(frozen=True)
class StreamsCase:
    """One input and Kafka's answer.

    Attributes:
        name: Name that a failure is reported with.
        topology: Subtopology id to its number of tasks, and True if they have state.
        standby_replicas: Number of standby copies of a task with state.
        members: Members in the order in which Kafka inserted them into its hash table.
        expected: Kafka's answer.
        member_order: Order in which Kafka's table lists the members; None if the case does not have it.
        process_order: Processes with their members as listed by tables that the recording program filled; None if the
            case does not have it.
    """

    name: str
    topology: dict[str, tuple[int, bool]]
    standby_replicas: int
    members: dict[str, StreamsMember]
    expected: dict[str, Tasks]
    member_order: list[str] | None
    process_order: list[tuple[str, list[str]]] | None


def parse(line: Json, place: str = "case") -> StreamsCase:
    """Return one case.

    Raises:
        ValueError: The assignor or a field is unknown, or a needed field is missing.
    """
    name = label(line, place)
    if line.get("assignor") != ASSIGNOR:
        raise ValueError(f"{name}: unknown assignor: {line.get('assignor')!r}")
    needs = {"assignor", "topology", "standby_replicas", "members", "expected"}
    check_fields(KIND, name, line, needs, {"member_order", "process_order"})
    topology, members, expected = {}, {}, {}
    for subtopology in line["topology"]:
        check_fields(KIND, name, subtopology, {"subtopology", "tasks", "stateful"})
        topology[subtopology["subtopology"]] = subtopology["tasks"], subtopology["stateful"]
    for member in line["members"]:
        check_fields(KIND, name, member, {"member_id", "process_id", *ROLES}, {"instance_id", "client_tags"})
        members[member["member_id"]] = StreamsMember(
            member["process_id"],
            **{role: _tasks(member[role]) for role in ROLES},
            instance_id=member.get("instance_id"),
            client_tags=member.get("client_tags"),
        )
    for member_id, tasks in line["expected"].items():
        check_fields(KIND, name, tasks, ROLES)
        expected[member_id] = {role: _tasks(tasks[role]) for role in ROLES}
    if len(topology) != len(line["topology"]) or len(members) != len(line["members"]):
        raise ValueError(f"{name}: a subtopology or a member is given twice")
    processes = line.get("process_order")
    return StreamsCase(
        name=name,
        topology=topology,
        standby_replicas=line["standby_replicas"],
        members=members,
        expected=expected,
        member_order=line.get("member_order"),
        process_order=None if processes is None else [(process, list(of)) for process, of in processes],
    )


def answer(case: StreamsCase, engine: Engine) -> dict[str, Tasks]:
    """Return the answer of an engine to the input of the case."""
    found = StreamsStickyAssignor(engine=engine).assign(
        case.topology, case.members, standby_replicas=case.standby_replicas
    )
    return {member: {role: list(getattr(tasks, role)) for role in ROLES} for member, tasks in found.items()}


def assert_equals_kafkas(case: StreamsCase, found: Mapping[str, Tasks]) -> None:
    """Fail unless every member has Kafka's tasks, sorted by subtopology id and number."""
    assert list(case.members) == list(found), f"{case.name}: the members"
    assert set(case.expected) == set(found), f"{case.name}: the members"
    for member, tasks in case.expected.items():
        assert tasks == found[member], f"{case.name}: {member!r}"


def assert_has_table_order(case: StreamsCase) -> int:
    """Fail unless the tables of the case have the order that `assignor.ordering` computes; return their number.

    Kafka's class adds processes to its table by `putIfAbsent`; the program that recorded `process_order` added them by
    `computeIfAbsent`, which inserts at the other end of a bucket.
    """
    listed = _listed(list(case.members))
    if case.member_order is not None:
        assert case.member_order == listed, f"{case.name}: member_order"
    if case.process_order is not None:
        capacity = 1 << (len(listed) - 1).bit_length()
        processes = computed_order(
            [case.members[member].process_id for member in listed], string_hash, capacity, java_order
        )
        of_process: dict[str, list[str]] = {}
        for member in listed:
            of_process.setdefault(case.members[member].process_id, []).append(member)
        assert case.process_order == [(process, _listed(of_process[process])) for process in processes], (
            f"{case.name}: process_order"
        )
    return (case.member_order is not None) + (case.process_order is not None)


def _listed(names: list[str]) -> list[str]:
    """Return names in the order of a hash table that they are put into."""
    return table_order(names, [string_hash(name) for name in names], natural=[java_order(name) for name in names])


def _tasks(entries: list[list[Any]]) -> list[Task]:
    return [(subtopology, number) for subtopology, number in entries]
