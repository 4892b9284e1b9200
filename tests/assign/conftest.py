"""Kafka's own assignors, for the tests of this room that ask them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.assignor_oracle import AssignorOracle, OracleMissingError


@pytest.fixture(scope="session")
def oracle() -> Iterator[AssignorOracle]:
    """Start Kafka's assignors when a test first asks for them, and share them."""
    try:
        started = AssignorOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with started:
        yield started
