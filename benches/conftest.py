"""Options of pytest-benchmark runs, and the rejection of builds that are not release builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.implementations import require_release
from benches.selections import SELECTIONS


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--selection`."""
    parser.addoption("--selection", choices=list(SELECTIONS), default="default", help="the groups to time")


def pytest_collect_file(file_path: Path) -> None:
    """Stop the run before a benchmark is collected if the core is not a release build."""
    if not file_path.name.startswith("bench_"):
        return
    try:
        require_release()
    except RuntimeError as error:
        raise pytest.UsageError(str(error)) from None
