"""Benchmarks of the coordinator, one request type at a time, to compare two versions with pytest-benchmark."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.coordinator_costs import OPERATIONS, SPENDING
from benches.coordinator_report_sections import LEADERS, group_set_of
from benches.coordinator_workloads import CoordinatedGroups

GROUP_SETS = {"1 x 1,000": group_set_of(1, 1_000), "1,000 x 3": group_set_of(1_000, 3)}


@pytest.mark.parametrize("groups", GROUP_SETS)
@pytest.mark.parametrize("leader", LEADERS)
def test_full_rebalance(benchmark: BenchmarkFixture, leader: str, groups: str) -> None:
    coordinated = CoordinatedGroups(GROUP_SETS[groups], embedded=LEADERS[leader])
    coordinated.form()
    benchmark.group = f"full rebalance, {groups}"
    benchmark(coordinated.rebalance)


@pytest.mark.parametrize("groups", GROUP_SETS)
@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in SPENDING])
def test_requests(benchmark: BenchmarkFixture, operation: str, groups: str) -> None:
    coordinated = CoordinatedGroups(GROUP_SETS[groups])
    coordinated.form()
    benchmark.group = f"{operation}, {groups}"
    benchmark(lambda: OPERATIONS[operation](coordinated))
