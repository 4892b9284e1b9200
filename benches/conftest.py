"""Cases of pytest-benchmark, and the rejection of builds that are not release builds.

A module `bench_*.py` has a function `cases`, which yields what is timed in this process. Without `--benchmark-enable`,
each call is made once and not timed, as in `make test`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benches.checks import require_release
from benches.report import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.timing import Case


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--size`."""
    parser.addoption("--size", choices=["quick", "default"], default="quick", help="the groups to time")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each case of a module."""
    if "case" in metafunc.fixturenames:
        cases: Iterator[Case] = metafunc.module.cases(Run(metafunc.config.getoption("--size")))
        metafunc.parametrize("case", [pytest.param(case, id=f"{case.group}-{case.name}") for case in cases])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop the run before a benchmark is timed if the core is not a release build."""
    if session.config.getoption("benchmark_enable"):
        try:
            require_release()
        except RuntimeError as error:
            raise pytest.UsageError(str(error)) from None
