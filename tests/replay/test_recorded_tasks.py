"""Replay of recorded applications: tasks as the clients said, and targets that equal those of Kafka's assignors."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cluster import Recording
from assignor.replay.recorded import replay
from tests.support.recorded_applications import RECORDINGS, folder, said, settled

if TYPE_CHECKING:
    from assignor.replay.events import Event

Row = dict[str, Any]


OUTCOMES = {
    "streams_connect_share": {
        ("connect-archive", None, "not_determined"): 9,
        ("connect-archive-lines", "range", "equal"): 12,
        ("connect-files", None, "not_determined"): 20,
        ("connect-write-lines", "range", "equal"): 5,
        ("mailers", "simple", "equal"): 15,
        ("page-archive", None, "not_determined"): 12,
        ("page-counter", "sticky", "equal"): 11,
        ("resizers", "simple", "equal"): 9,
    },
    "streams_share_4_4": {
        ("mailers", "simple", "equal"): 15,
        ("page-counter", "sticky", "equal"): 4,
        ("page-counter", "sticky", "not_determined"): 5,
        ("resizers", "simple", "equal"): 9,
    },
}
"""Numbers of targets and of assignments of leaders by group, assignor and outcome, or class if the outcome is unknown.

The assignor of streams groups has other rules in Kafka 4.4, and the log does not name the version of the broker.
"""


@functools.cache
def events(name: str) -> list[Event]:
    """Return the events of a recording."""
    return list(replay(Recording.open(folder(name))))


def tasks_at(name: str, group: str, time: int) -> list[Row]:
    """Return the tasks of each member in the last generation up to a time."""
    found = [event for event in events(name) if event["group"] == group and event["at"] <= time]
    return next(event["tasks"] for event in reversed(found) if event["event"] == "generation" and event["tasks"])


@pytest.mark.parametrize(("name", "label", "group"), settled("streams") + settled("stream"))
def test_processes_have_the_tasks_that_their_threads_said(name: str, label: str, group: str) -> None:
    time, clients = said(name, label, group)
    by_thread = [(each["process"], each["active"], each["standby"]) for each in clients.values()]
    tasks = tasks_at(name, group, time)
    assert sorted(by_thread) == sorted((each["process"], each["active"], each["standby"]) for each in tasks)
    assert not any(each["warmup"] for each in tasks)


@pytest.mark.parametrize(("name", "label", "group"), settled("connect"))
def test_workers_have_the_connectors_and_tasks_that_their_rest_interface_said(
    name: str, label: str, group: str
) -> None:
    time, clients = said(name, label, group)
    shown = {each["process"]: each["active"] for each in tasks_at(name, group, time)}
    assert shown == {
        f"http://{address}/": sorted(each["connectors"] + each["tasks"]) for address, each in clients.items()
    }


def test_problems_of_recorded_workers_are_the_delays_after_a_crash() -> None:
    generations = [event for event in events("streams_connect_share") if event["event"] == "generation"]
    found = {
        (event["group"], event["generation"]): event["task_problems"]
        for event in generations
        if event["kind"] == "classic" and event["task_problems"]
    }
    delay = "the leader delays the next rebalance by 8000 ms"
    assert found == {
        ("connect-files", 13): [
            delay,
            "5 tasks have no owner: tail-audit, write-lines, write-lines-0, write-lines-1, write-lines-2",
        ],
        ("connect-files", 15): [
            delay,
            "5 tasks have no owner: tail-access, tail-access-0, tail-errors-0, write-lines, write-lines-1",
        ],
    }
    classes = {(event["group"], (event["comparison"] or {}).get("class")) for event in generations}
    assert {("page-archive", "not_determined"), ("connect-files", "not_determined")} <= classes


def test_tasks_of_a_recorded_worker_move_only_to_another_address() -> None:
    generations = [event for event in events("streams_connect_share") if event["event"] == "generation"]
    moved = {
        event["generation"]: [each["task"] for each in event["moved_tasks"]]
        for event in generations
        if event["group"] == "connect-files" and event["moved_tasks"]
    }
    assert moved == {
        8: ["write-lines", "write-lines-0", "write-lines-1", "write-lines-2"],
        12: ["tail-access", "tail-access-0", "tail-errors-0"],
        14: ["tail-audit", "write-lines", "write-lines-0", "write-lines-1", "write-lines-2"],
        16: ["tail-access", "tail-access-0", "tail-errors-0", "write-lines", "write-lines-1"],
        18: ["tail-access", "write-lines", "write-lines-0", "write-lines-1", "write-lines-2"],
    }


@pytest.mark.parametrize("name", RECORDINGS)
def test_targets_equal_those_of_kafkas_assignors_or_are_not_determined(name: str) -> None:
    found: Counter[tuple[str, str | None, str]] = Counter()
    for event in events(name):
        if event["event"] == "generation" and (comparison := event["comparison"]) is not None:
            outcome, is_unknown = comparison["outcome"], comparison["outcome"] == "unknown"
            found[event["group"], comparison["assignor"], comparison["class"] if is_unknown else outcome] += 1
            assert not is_unknown or comparison["remarks"]
    assert OUTCOMES[name] == found
