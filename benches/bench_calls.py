"""Calls of this package in this process, which pytest-benchmark times to compare two versions of the package.

Without `--benchmark-enable`, each call is made once, with a small input, and is not timed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches import (
    bench_assign,
    bench_coordinator,
    bench_matching,
    bench_replay,
    bench_scaling,
    bench_segments,
    bench_subscription_state,
)
from benches.report import Run

ROOMS = (
    *(bench_assign, bench_coordinator, bench_matching, bench_replay, bench_scaling, bench_segments),
    bench_subscription_state,
)
"""Modules with a function `cases`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each case."""
    run = Run("default" if metafunc.config.getoption("benchmark_enable") else "quick")
    cases = [case for room in ROOMS for case in room.cases(run)]
    params = [pytest.param(case.group, case.prepare, id=f"{case.group}: {case.name}") for case in cases]
    metafunc.parametrize(("group", "prepare"), params)


def test_call(benchmark: BenchmarkFixture, group: str, prepare: Callable[[], Callable[[], object]]) -> None:
    benchmark.group = group
    benchmark(prepare())
