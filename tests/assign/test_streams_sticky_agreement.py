"""Agreement of the engines on streams groups, and properties of every answer."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from assignor.reference.assign.server.streams_sticky import active, processes, standby
from assignor.reference.assign.server.streams_sticky.java_queue import JavaQueue
from assignor.reference.assign.server.streams_sticky.processes import Process
from assignor.reference.assign.server.streams_sticky.quota import Quota
from assignor.reference.assign.server.streams_sticky.target import Target
from assignor.reference.assign.server.streams_sticky.topology import by_id
from assignor.server import MemberTasks
from tests.assign.streams_groups import StreamsGroup, rounds, small_groups

SEEDS = 60


def drawn() -> list[StreamsGroup]:
    """Return random groups in all their rounds."""
    return [each for seed in range(SEEDS) for each in rounds(seed)]


@pytest.mark.parametrize(("tasks", "members", "replicas"), [(2, 2, (0, 1, 2)), (2, 3, (1,)), (1, 3, (0, 1, 2, 9))])
def test_the_engines_agree_on_all_small_groups(tasks: int, members: int, replicas: tuple[int, ...]) -> None:
    for asked in small_groups(tasks, members, replicas):
        assert asked.assign("rust") == asked.assign("reference"), asked


def test_the_engines_agree_on_random_groups() -> None:
    for asked in drawn():
        assert list(asked.assign("rust").items()) == list(asked.assign("reference").items()), asked


class _OrderedQueue(JavaQueue[Any]):
    """Queue that returns elements with equal keys in the order of insertion."""

    def take(self) -> Any:
        first = min(self._elements, key=self._key)
        self._elements.remove(first)
        return first

    def add(self, element: Any) -> None:
        self._elements.append(element)


def _fixed_in_4_2_2(_: Callable[..., Any]) -> Callable[..., Any]:
    def candidate(task: Any, members: Any, target: Target) -> Any:
        return active._candidate([each for each in members if task not in target.process(each).tasks], target)

    return candidate


def _keeping_the_queue(_: Callable[..., Any]) -> Callable[..., Any]:
    return lambda process, task, member: process._count(task, member)


MUTATIONS: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "equal elements of a queue come in the order of insertion": (processes, "JavaQueue", lambda _: _OrderedQueue),
    "the candidate's process decides, as in 4.2.2": (standby, "_candidate", _fixed_in_4_2_2),
    "the quota does not fall": (Quota, "count", lambda _: lambda _self, _tasks: None),
    "the queue of a process is never dropped": (Process, "add", _keeping_the_queue),
    "active tasks are kept by subtopology": (active, "by_number", lambda _: by_id),
    "standby tasks are kept by subtopology": (standby, "by_number", lambda _: by_id),
    "the first member with the state is the candidate": (
        Target, "is_less_loaded", lambda _: lambda _self, _member, _other: False
    ),
    "processes and members are in the order given": (processes, "table_of_names", lambda _: lambda names, _=0: names),
    "the table of processes has the default size": (
        processes, "table_of_names", lambda table: lambda names, _=0: table(names)
    ),
}  # fmt: skip
"""Broken rules of the reference: what to replace, and how."""


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_random_groups_show_a_broken_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, replace = MUTATIONS[name]
    monkeypatch.setattr(owner, attribute, replace(getattr(owner, attribute)))
    groups = itertools.chain.from_iterable(map(rounds, range(SEEDS)))

    assert any(asked.assign("rust") != asked.assign("reference") for asked in groups)


@pytest.mark.parametrize(
    "name", ["the candidate's process decides, as in 4.2.2", "the first member with the state is the candidate"]
)
def test_the_small_groups_show_a_broken_rule(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, replace = MUTATIONS[name]
    monkeypatch.setattr(owner, attribute, replace(getattr(owner, attribute)))
    groups = itertools.chain(small_groups(1, 3, (1, 2)), small_groups(2, 3, (1,)))

    assert any(asked.assign("rust") != asked.assign("reference") for asked in groups)


def test_each_task_has_its_copies_and_no_process_has_two() -> None:
    for asked in drawn():
        answer = asked.assign()
        names = [(id, number) for id, (count, _) in asked.topology.items() for number in range(count)]
        owners = Counter(task for found in answer.values() for task in found.active)
        copies = Counter(task for found in answer.values() for task in found.standby)
        spread = {member.process_id for member in asked.members.values()}
        most = min(asked.standby_replicas, len(spread) - 1)

        assert dict.fromkeys(names, 1) == owners
        assert {task: most for task in names if asked.topology[task[0]][1] and most} == copies
        for process in spread:
            of_process = [found for id, found in answer.items() if asked.members[id].process_id == process]
            held = Counter(task for found in of_process for task in (*found.active, *found.standby))
            assert held.total() == len(held)


def test_a_settled_group_of_one_thread_per_process_does_not_move() -> None:
    def again(asked: StreamsGroup, answer: dict[str, MemberTasks]) -> StreamsGroup:
        kind = type(next(iter(asked.members.values())))
        members = {id: kind(member.process_id, *answer[id]) for id, member in asked.members.items()}
        return asked._replace(members=members)

    settle = functools.partial(small_groups, 2, 3, (1,))
    settled = 0
    for asked in itertools.islice(settle(), 0, None, 7):
        answer = asked.assign()
        moved = again(asked, answer).assign()
        settled += moved == answer
        assert {id: found.active for id, found in answer.items()} == {id: found.active for id, found in moved.items()}
    assert settled
