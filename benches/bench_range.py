"""The same sides one at a time under pytest-benchmark, to compare a change with what was before it.

`pytest benches --benchmark-only --benchmark-autosave`, and after the change `--benchmark-compare`. Ratios to peers are
what `run.py` is for: it calls the sides in turn.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.goals import SELECTIONS
from benches.sides import SIDES
from benches.workloads import Shape, Workload


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each group, shape and side that takes it, the sides of a group together."""
    cases = SELECTIONS[metafunc.config.getoption("--selection")].peers
    tests = [
        pytest.param(workload, shape, name, id=f"{workload.name}-{shape}-{name}")
        for workload, shape in cases
        for name, side in SIDES.items()
        if side.takes(workload, shape)
    ]
    metafunc.parametrize(("workload", "shape", "name"), tests)


def test_range(benchmark: BenchmarkFixture, workload: Workload, shape: Shape, name: str) -> None:
    call = SIDES[name].prepare(workload, shape)
    SIDES[name].assert_right(workload, call())
    benchmark.group = f"{workload.name} {shape}"
    benchmark(call)
