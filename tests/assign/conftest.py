"""Fixture for Kafka's own assignors, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.assignor_oracle import AssignorOracle, OracleMissingError


@pytest.fixture(scope="session")
def oracle() -> Iterator[AssignorOracle]:
    """Start Kafka's assignors for the first test that uses them, and share them."""
    try:
        started = AssignorOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with started:
        yield started
