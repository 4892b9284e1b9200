"""Tasks of streams groups in generations: who has which, what moved, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.replay import Replay
from assignor.replay.task_text import task_text
from assignor.report.group_tasks import GroupTasks, ProcessTasks, TaskMoves
from tests.replay.logs import STREAMS, Event, log, metadata, replayed
from tests.replay.streams_logs import epoch, joins

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPICS = metadata({0: {"t": 2, "u": 2}})
TOPOLOGY = STREAMS.streams_topology(0, {"0": ["t"], "1": ["u"]}, stateful=["1"])

FIRST = [
    *[joins("a", "P"), joins("b", "P"), joins("c", "Q"), TOPOLOGY, epoch(2)],
    STREAMS.target_of("a", {"0": [0], "1": [0]}, **{"1": [1]}),
    STREAMS.target_of("b", {"0": [1]}),
    *[STREAMS.target_of("c", {"1": [1]}, **{"1": [0]}), STREAMS.target_epoch(2)],
]
"""Three members on two processes, with a copy of the state of subtopology 1 on each."""

SECOND = [
    *[joins("d", "R"), epoch(3)],
    STREAMS.target_of("a", {"0": [1]}, **{"1": [1]}),
    STREAMS.target_of("b", {"0": [0]}),
    STREAMS.target_of("c", {"1": [1]}),
    *[STREAMS.target_of("d", {"1": [0]}), STREAMS.target_epoch(3)],
]
"""A process joins and gets an active task with state; members of a process exchange tasks without state."""


def last(*events: Event, topics: Sequence[Any] = TOPICS) -> dict[str, Any]:
    """Return the last generation."""
    found: dict[str, Any] = replayed(*events, topics=topics)["generations"][-1]
    return found


def test_tasks_are_shown_by_process() -> None:
    assert last(*FIRST)["tasks"] == [
        {"member": "a", "process": "P", "active": ["0_0", "1_0"], "standby": ["1_1"], "warmup": []},
        {"member": "b", "process": "P", "active": ["0_1"], "standby": [], "warmup": []},
        {"member": "c", "process": "Q", "active": ["1_1"], "standby": ["1_0"], "warmup": []},
    ]


def test_a_task_moves_between_processes_and_not_between_their_members() -> None:
    moved = [{"task": "1_0", "process": "R"}]
    found = last(*FIRST, *SECOND)
    assert (found["moved_tasks"], found["moved_state"]) == (moved, moved)
    assert (last(*FIRST)["moved_tasks"], last(*FIRST)["moved_state"]) == ([], [])


def test_a_task_that_moves_to_its_standby_copy_moves_no_state() -> None:
    swap = [STREAMS.target_of("a", {"0": [0]}, **{"1": [0, 1]}), STREAMS.target_of("c", {"1": [0, 1]})]
    found = last(*FIRST, epoch(3), *swap, STREAMS.target_epoch(3))
    assert (found["moved_tasks"], found["moved_state"]) == ([{"task": "1_0", "process": "Q"}], [])


def test_moves_are_not_known_if_the_log_lacks_the_generation_before() -> None:
    late = [*FIRST[:4], epoch(9), *FIRST[5:8], STREAMS.target_epoch(9)]
    assert (last(*late)["moved_tasks"], last(*late)["moved_state"]) == (None, None)


def test_a_group_without_members_has_no_tasks_and_keeps_its_last_processes() -> None:
    gone = [each for id in "abc" for each in (STREAMS.target_of(id, None), *STREAMS.leaves(id))]
    empty = [*FIRST, *gone, epoch(3)]
    back = [joins("e", "Q"), epoch(4), STREAMS.target_of("e", {"0": [0, 1], "1": [0, 1]}), STREAMS.target_epoch(4)]

    assert last(*empty)["tasks"] == []
    assert last(*empty, *back)["moved_tasks"] == [{"task": task, "process": "Q"} for task in ("0_0", "0_1", "1_0")]
    assert last(*empty, *back)["moved_state"] == []


def test_an_epoch_without_a_target_has_no_known_tasks() -> None:
    assert [last(*FIRST, epoch(3), epoch(4))[name] for name in ("tasks", "moved_tasks", "task_problems")] == [None] * 3


def changed(place: int, *events: Event) -> list[Event]:
    """Return the first log with an event replaced."""
    return [*FIRST[:place], *events, *FIRST[place + 1 :]]


PROBLEMS = {
    "none": (FIRST, []),
    "two owners": (
        changed(7, STREAMS.target_of("c", {"0": [1], "1": [1]})),
        ["task 0_1 has 2 owners: b, c"],
    ),
    "copies": (
        changed(6, STREAMS.target_of("b", {"0": [1]}, **{"1": [0]})),
        ["process P has 2 copies of task 1_0: a, b"],
    ),
    "no owner": (changed(6), ["task 0_1 has no owner"]),
    "foreign": (
        changed(6, STREAMS.target_of("b", {"0": [1], "9": [0, 1]})),
        ["the topology has no subtopology for the tasks 9_0, 9_1"],
    ),
    "beyond": (
        changed(6, STREAMS.target_of("b", {"0": [1, 2, -1]})),
        ["the source topics have no partitions for the tasks 0_-1, 0_2"],
    ),
    "epochs": (
        changed(1, STREAMS.joins("b", processId="P", topologyEpoch=1)),
        ["the topology epochs of the members differ: 0 (a, c), 1 (b)"],
    ),
    "process": (changed(2, STREAMS.joins("c", topologyEpoch=0)), ["no process id: c"]),
    "topology": (changed(3), ["the log lacks the topology of the group"]),
    "not ready": (
        [*changed(4, epoch(2, validatedTopologyEpoch=-1))[:5], STREAMS.target_epoch(2)],
        ["the broker has not accepted the topology: topics are missing or have wrong numbers of partitions"],
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_named(name: str) -> None:
    events, problems = PROBLEMS[name]
    assert last(*events)["task_problems"] == problems


def test_a_topology_without_its_topics_is_named() -> None:
    assert last(*FIRST, topics=metadata({0: {"u": 2}}))["task_problems"] == [
        "the topic metadata lacks source topics of subtopology 0: t"
    ]
    assert last(*FIRST, topics=())["task_problems"] == []


def test_ends_of_source_topics_need_tasks_if_both_snapshots_have_them() -> None:
    grows = metadata({0: {"t": 2, "u": 2}, 60_000: {"t": 3, "u": 2}})
    grown = metadata({0: {"t": 3, "u": 2}, 60_000: {"t": 3, "u": 2}})
    later = metadata({60_000: {"t": 3, "u": 2}})
    problems = [last(*FIRST, topics=topics)["task_problems"] for topics in (grows, grown, later)]
    assert problems == [[], ["task 0_2 has no owner"], []]


def test_a_snapshot_keeps_what_moves_are_found_from() -> None:
    records = [(each.offset, each.timestamp, each.key, each.value) for each in log([*FIRST, *SECOND])]
    for cut in range(len(records)):
        replay, events = Replay(TOPICS), []
        for record in records[:cut]:
            events += replay.push(record)
        restored = Replay(TOPICS)
        restored.restore(replay.snapshot())
        for record in records[cut:]:
            events += restored.push(record)
        found = [each for each in (*events, *restored.finish()) if each["event"] == "generation"]
        assert [len(each["moved_state"]) for each in found] == [0, 1]
        assert [each["comparison"]["class"] for each in found] == ["not_determined"] * 2


def test_names_of_tasks_are_shortened() -> None:
    assert (
        task_text(["0_0", "0_1", "0_2", "1_5", "orders", "orders-0", "a_007"]) == "0_0–2, 1_5, a_007, orders, orders-0"
    )
    assert task_text([f"{number}_0" for number in range(20)]).endswith("19_0, 1_0, and 8 more")


def test_a_report_lists_processes_moves_and_problems() -> None:
    processes = (ProcessTasks("P", ("a", "b"), ("0_0", "0_1"), ("1_0",), ()), ProcessTasks(None, ("c",), (), (), ()))
    moves = (TaskMoves(2, 5, None, None), TaskMoves(3, 6, 1, 2))
    tasks = GroupTasks(3, 6, processes, moves, ("task 1_0 has no owner",))

    assert list(tasks.lines("g")) == [
        "g: generation 3, 3 members on 2 processes",
        "  P: 2 active: 0_0–1; 1 standby: 1_0",
        "  c: no tasks",
        "  moved in 1 generation: 1 active task, 2 copies of state",
        "  problem: task 1_0 has no owner",
    ]
    assert tasks.to_json()["moves"][1] == {"generation": 3, "at": 6, "moved_tasks": 1, "moved_state": 2}
