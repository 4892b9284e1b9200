"""Fixtures that the tests of all folders use."""

from __future__ import annotations

import gc

import pytest

from tests.support.engines import ENGINES, Engine


@pytest.fixture(scope="module", autouse=True)
def _freeze_objects() -> None:
    """Freeze objects created by earlier tests so that tests that call `gc.collect()` stay fast."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Run a behaviour test on each engine."""
    found: Engine = request.param
    return found
