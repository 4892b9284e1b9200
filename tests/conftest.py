"""Fixtures that every room of tests shares."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(params=["rust", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each behaviour test runs on both engines."""
    return str(request.param)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where skips are forbidden (continuous integration), a skipped test fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if reporter and skipped and os.environ.get("ASSIGNOR_NO_SKIPS") and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} skipped, and ASSIGNOR_NO_SKIPS is set: failing", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
