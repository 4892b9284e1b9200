"""Benchmarks of the coordinator, one request type at a time, to compare two versions with pytest-benchmark."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.coordinator_costs import OPERATIONS, SPENDING
from benches.coordinator_report_sections import LEADERS, crowd_of
from benches.coordinator_workloads import Life

CROWDS = {"1 x 1,000": crowd_of(1, 1_000), "1,000 x 3": crowd_of(1_000, 3)}


@pytest.mark.parametrize("groups", CROWDS)
@pytest.mark.parametrize("leader", LEADERS)
def test_full_rebalance(benchmark: BenchmarkFixture, leader: str, groups: str) -> None:
    life = Life(CROWDS[groups], embedded=LEADERS[leader])
    life.found()
    benchmark.group = f"full rebalance, {groups}"
    benchmark(life.rebalance)


@pytest.mark.parametrize("groups", CROWDS)
@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in SPENDING])
def test_requests(benchmark: BenchmarkFixture, operation: str, groups: str) -> None:
    life = Life(CROWDS[groups])
    life.found()
    benchmark.group = f"{operation}, {groups}"
    benchmark(lambda: OPERATIONS[operation](life))
