"""Spark session, scheduling and reporting that tests/ and benches/tests/ share."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

import assignor
from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

    from tests.broker.cluster import Cluster

SHARED = {
    "tests/broker/plugins": "cluster with racks",
    "tests/broker/test_clients.py": "spark",  # has brokers of its own
    "tests/broker": "broker",
    "tests/live": "live brokers",  # one after another, each file with its own
    "tests/spark": "spark",
    "benches/tests/test_spark.py": "spark",
}
"""Folders and files whose tests share a resource that starts slowly, and the name of the resource."""

ALONE = (
    "tests/broker/test_coordinator.py",
    "tests/spark/test_java.py",
    "tests/spark/test_killed.py",
)
"""Files in folders of `SHARED` that run on a separate worker: they take minutes, or do not use the shared resource."""

AFTER_TIMEOUT = 300
"""Seconds after the timeout of a test until its process ends, with the stacks of all threads on standard error.

pytest-timeout raises an exception in the main thread. It has no effect in a C call that never returns or if the test
catches it, and a test that failed has no timeout for its fixtures.
"""

STDERR = pytest.StashKey[int]()
"""File descriptor of standard error."""

UNTIMED: Any = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow], "print_blob": True}
"""Settings of Hypothesis with which no test fails because the machine is slow."""
hypothesis.settings.register_profile(
    "short", max_examples=30, derandomize=bool(os.environ.get("ASSIGNOR_SEED")), **UNTIMED
)
hypothesis.settings.register_profile("long", max_examples=5000, **UNTIMED)
hypothesis.settings.load_profile(os.environ.get("ASSIGNOR_PROFILE") or "short")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start one local Spark session when a test first asks for it, and share it.

    Spark's worker processes cannot import the tests: a function that they run must be nested in another function, so
    that it is pickled by value.
    """
    from assignor.spark.session import session
    from tests.spark.java_options import worker_options

    with contextlib.ExitStack() as stack:
        try:
            with pytest.MonkeyPatch.context() as patch:
                for name, value in worker_options().items():
                    patch.setenv(name, value)
                given = stack.enter_context(session(app="assignor tests", cores=2, memory="1g"))
        except MissingDependencyError as error:
            pytest.skip(str(error))
        yield given


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start one real Kafka broker when a test first asks for it, and share it."""
    from tests.broker.cluster import Cluster
    from tests.broker.running import running

    with running(Cluster, tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


def pytest_configure(config: pytest.Config) -> None:
    """Let interrupts reach the programs that tests start, even if pytest is a background job, which ignores them.

    Raises:
        UsageError: `ASSIGNOR_INSTALLED` is a folder, and the tests import another package than the one installed there.
    """
    installed = os.environ.get("ASSIGNOR_INSTALLED")
    if installed and not Path(assignor.__file__).is_relative_to(installed):
        raise pytest.UsageError(f"the tests import {assignor.__file__}, which is not in {installed}")
    assert sys.__stderr__
    config.stash[STDERR] = os.dup(sys.__stderr__.fileno())  # later, pytest captures what tests write there
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process if a test never ends."""
    _limit(item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Restart the time limit for the fixtures of a failed test: pytest's own function for this hook cancels it."""
    if isinstance(node, pytest.Item):
        _limit(node)


def _limit(item: pytest.Item) -> None:
    marker = item.get_closest_marker("timeout")
    timeout = float(marker.args[0] if marker else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(timeout + AFTER_TIMEOUT, exit=True, file=item.config.stash[STDERR])


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Schedule all tests of a file, and all files that share a resource, on one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)

    def schedule(self) -> None:
        """Give two files to each worker, also to one that replaces a worker that ended.

        A worker does not run the last test that it has until it gets more tests.
        """
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test during which a worker ended, and leave the remaining tests to other workers.

        xdist would repeat that test, which may never end, and wait for results of files that have been completed.
        """
        units = self.assigned_work[node]
        running = next((nodeid for unit in units.values() for nodeid, is_done in unit.items() if not is_done), None)
        if running:
            units[_scope(running)][running] = True
        for scope in [scope for scope, unit in units.items() if all(unit.values())]:
            del units[scope]
        super().remove_node(node)
        return running


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Return the scheduler for several workers."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that take longest first."""
    items.sort(key=lambda item: (_scope(item.nodeid) not in SHARED.values(), not item.nodeid.startswith(ALONE)))


def _scope(nodeid: str) -> str:
    """Return the resource that a test shares with other files, or its file."""
    file = nodeid.partition("::")[0]
    if file in ALONE:
        return file
    return next((name for place, name in SHARED.items() if file == place or file.startswith(f"{place}/")), file)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests counted, such as the requests sent to a real broker, whether they passed or not."""
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        counts = [f"{name}: {value}" for name, value in report.user_properties]
        if counts:
            terminalreporter.section(report.nodeid.partition("::")[2])
            terminalreporter.write_line("\n".join(counts))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run if a test was skipped and ASSIGNOR_NO_SKIPS is set, as it is in continuous integration."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if reporter and skipped and os.environ.get("ASSIGNOR_NO_SKIPS") and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} skipped, and ASSIGNOR_NO_SKIPS is set: failing", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
