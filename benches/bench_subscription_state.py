"""Benchmarks of `SubscriptionState`, one implementation at a time, to compare two versions with pytest-benchmark."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches.selections import SELECTIONS
from benches.subscription_states import ASSIGNMENTS, FEW, OPERATIONS, installed, offers, prepare

CASES = [
    (implementation, each)
    for each in (*OPERATIONS, *ASSIGNMENTS)
    for implementation in installed()
    if offers(implementation, each)
]


@pytest.mark.parametrize(("implementation", "operation"), CASES)
def test_subscription_state(
    benchmark: BenchmarkFixture, implementation: str, operation: str, pytestconfig: pytest.Config
) -> None:
    many = SELECTIONS[pytestconfig.getoption("--selection")].partitions // 10
    call = prepare(implementation, operation, many if operation in ASSIGNMENTS else FEW)
    benchmark.group = operation
    benchmark(call)
