"""Benchmarks of assignment, one implementation at a time, to compare two versions with pytest-benchmark.

Run `pytest benches --benchmark-only --benchmark-autosave` before a change, and with `--benchmark-compare` after it. For
ratios to peers use `run.py`, which calls the implementations in turn.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.implementations import IMPLEMENTATIONS
from benches.selections import SELECTIONS
from benches.workloads import Shape, Workload


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each group, shape and implementation that takes it."""
    cases = SELECTIONS[metafunc.config.getoption("--selection")].peers
    tests = [
        pytest.param(workload, shape, name, id=f"{workload.name}-{shape}-{name}")
        for workload, shape in cases
        for name, implementation in IMPLEMENTATIONS.items()
        if implementation.takes(workload, shape)
    ]
    metafunc.parametrize(("workload", "shape", "name"), tests)


def test_assign(benchmark: BenchmarkFixture, workload: Workload, shape: Shape, name: str) -> None:
    call = IMPLEMENTATIONS[name].prepare(workload, shape)
    IMPLEMENTATIONS[name].assert_right(workload, call())
    benchmark.group = f"{workload.name} {shape}"
    benchmark(call)
