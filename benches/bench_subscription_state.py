"""The subscription states one at a time under pytest-benchmark, to compare a change with what was before it."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from goals import SELECTIONS
from subscription_states import ASSIGNMENTS, FEW, OPERATIONS, installed, prepare


@pytest.mark.parametrize("operation", [*OPERATIONS, *ASSIGNMENTS])
@pytest.mark.parametrize("side", installed())
def test_subscription_state(
    benchmark: BenchmarkFixture, side: str, operation: str, pytestconfig: pytest.Config
) -> None:
    many = SELECTIONS[pytestconfig.getoption("--selection")].partitions // 10
    call = prepare(side, operation, many if operation in ASSIGNMENTS else FEW)
    if call is None:
        pytest.skip(f"{side} has no {operation}")
    benchmark.group = operation
    benchmark(call)
