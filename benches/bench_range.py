"""Range assignment on every selected workload and side, each paired round by round with ours.

A side's answer is asserted before it is timed, and no time is asserted. What is timed is one call after a
`gc.collect()`; before it, in the same round, `assign` and `plan` are timed in the same way, so that whatever else the
machine does falls on both. Their times are kept as `extra_info["paired"]`, in seconds, in the order of `stats.data`.
"""

from __future__ import annotations

import gc
import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from sides import ENGINES, OURS
from workloads import SELECTIONS, WORKLOADS

FEWEST, MOST = 3, 30
"""Rounds of a slow side and of a quick one."""

SECONDS = {"quick": 0.05, "default": 0.3, "all": 0.3}
"""How long the rounds of one test may go on, by selection; the fewest rounds are run even so."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each workload and each side that takes it, the sides of a workload together."""
    workloads = SELECTIONS[metafunc.config.getoption("--selection")]
    sides = ((workload, engine) for workload in workloads for engine in ENGINES.values() if engine.takes(workload))
    metafunc.parametrize(("workload", "engine"), [(workload.name, engine.name) for workload, engine in sides])


def test_range(benchmark: BenchmarkFixture, request: pytest.FixtureRequest, workload: str, engine: str) -> None:
    group, side = WORKLOADS[workload], ENGINES[engine]
    call = side.prepare(group)
    start = time.perf_counter()
    result = call()
    cost = time.perf_counter() - start
    side.assert_right(group, result)
    del result
    ours = {name: ENGINES[name].prepare(group) for name in OURS if name != engine}
    paired: dict[str, list[float]] = {name: [] for name in ours}

    def time_ours() -> None:
        for name, our_call in ours.items():
            gc.collect()
            start = time.perf_counter()
            result = our_call()
            paired[name].append(time.perf_counter() - start)
            del result  # freed outside the timing, as the side's result is
        gc.collect()

    start = time.perf_counter()
    time_ours()
    cost += time.perf_counter() - start
    rounds = int(SECONDS[request.config.getoption("--selection")] / cost)
    for times in paired.values():
        times.clear()  # that round was a rehearsal

    benchmark.group = workload
    benchmark.extra_info.update(
        workload=workload,
        engine=engine,
        members=group.members,
        topics=group.topics,
        partitions=group.total_partitions,
        pairs=group.pairs,
        correct=True,  # asserted above
        paired=paired,
    )
    benchmark.pedantic(call, setup=time_ours, rounds=min(max(rounds, FEWEST), MOST))  # type: ignore[no-untyped-call]  # it has no annotations
