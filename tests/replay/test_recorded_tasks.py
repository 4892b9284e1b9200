"""Tasks that a replay shows of recorded applications, compared with what the clients said they own."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cluster import Recording
from assignor.replay.recorded import replay
from tests.support.recorded_applications import folder, said, settled

if TYPE_CHECKING:
    from assignor.replay.events import Event

Row = dict[str, Any]


@functools.cache
def events(name: str) -> list[Event]:
    """Return the events of a recording."""
    return list(replay(Recording.open(folder(name))))


def tasks_at(name: str, group: str, time: int) -> list[Row]:
    """Return the tasks of each member in the last generation up to a time."""
    found = [event for event in events(name) if event["group"] == group and event["at"] <= time]
    return next(event["tasks"] for event in reversed(found) if event["event"] == "generation" and event["tasks"])


@pytest.mark.parametrize(("name", "label", "group"), settled("streams"))
def test_processes_have_the_tasks_that_their_threads_said(name: str, label: str, group: str) -> None:
    time, clients = said(name, label, group)
    by_thread = [(each["process"], each["active"], each["standby"]) for each in clients.values()]
    tasks = tasks_at(name, group, time)
    assert sorted(by_thread) == sorted((each["process"], each["active"], each["standby"]) for each in tasks)
    assert not any(each["warmup"] for each in tasks)
