"""Tests of the section about leaders in Python clients."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from assignor.clients import kafka_python_assignors
from benches.client_steps import CLIENTS, calls, clients
from benches.implementations import WrongAnswerError
from benches.selections import SELECTIONS
from benches.targets import OVER_CLIENTS
from benches.timing import Pace
from benches.workloads import Workload

if TYPE_CHECKING:
    from benches.tables import Raw


def test_each_group_is_timed_in_each_client() -> None:
    raw: Raw = {}

    once = replace(SELECTIONS["quick"], pace=Pace(seconds=0, fewest=1, most=1))
    section = clients(once, lambda _: None, raw)

    assert section.figures is not None
    assert 4 == len(section.figures.rows) == len(raw)
    for times in raw.values():
        assert {4} == {len(times)}
        assert all(seconds for seconds in times.values())


def test_default_run_has_all_targets() -> None:
    assert {(workload, client) for workload in SELECTIONS["default"].clients for client in CLIENTS} == set(OVER_CLIENTS)


def test_a_wrong_answer_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_python_assignors, "RangeAssignor", kafka_python_assignors.RoundRobinAssignor)

    with pytest.raises(WrongAnswerError, match=r"^assignor is wrong about 3x1x6$"):
        calls("kafka-python", Workload(3, 1, 6))
