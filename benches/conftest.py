"""Refuses to time a debug build, and lets one choose what is timed."""

from __future__ import annotations

import pytest

from goals import SELECTIONS
from sides import require_release


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--selection` names the groups to run on."""
    parser.addoption("--selection", choices=list(SELECTIONS), default="default", help="the groups to time")


def pytest_configure() -> None:
    """A debug build stops the run before anything is collected."""
    try:
        require_release()
    except RuntimeError as error:
        raise pytest.UsageError(str(error)) from None
