"""Rejection of builds that are not release builds when pytest-benchmark times calls."""

from __future__ import annotations

import pytest

from benches.checks import require_release


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop the run before a benchmark is timed if the core is not a release build."""
    if session.config.getoption("benchmark_enable"):
        try:
            require_release()
        except RuntimeError as error:
            raise pytest.UsageError(str(error)) from None
