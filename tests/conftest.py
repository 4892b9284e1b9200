"""Fixtures that every room of tests shares."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

import vector_files
from assignor.errors import MissingDependencyError
from engines import ENGINES, Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from xdist.remote import Producer

    from broker.cluster import Cluster
    from broker.recording import Recording
    from broker.story import Story

SHARED = {"broker": ("test_broker_", "test_member_oracle", "test_record_oracle"), "spark": ("test_spark_",)}
"""How the files begin whose tests share what takes long to start."""

ALONE = ("test_spark_fleet_killed", "test_spark_java")
"""How those of them begin whose tests start what they need themselves."""

hypothesis.settings.register_profile("short", max_examples=100, deadline=None, print_blob=True)
hypothesis.settings.register_profile("long", max_examples=5000, deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("ASSIGNOR_PROFILE") or "short")


@pytest.fixture(scope="module", autouse=True)
def _what_is_kept_is_out_of_sight() -> None:
    """What earlier files keep, such as vectors, costs those nothing that call the collector again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each behaviour test runs on both engines."""
    found: Engine = request.param
    return found


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark session for all tests that ask for one, started when the first does.

    Spark's workers cannot import the tests: what they are to run must be a function within a function.
    """
    from assignor.spark.session import session

    with contextlib.ExitStack() as stack:
        try:
            given = stack.enter_context(session(app="assignor tests", cores=2, memory="1g"))
        except MissingDependencyError as error:
            pytest.skip(str(error))
        # Many small queries: compiling each costs more than running it. Sessions of single tests do compile theirs.
        given.conf.set("spark.sql.codegen.wholeStage", "false")
        given.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        yield given


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One real Kafka broker for all tests that ask for one, started when the first does."""
    from broker.cluster import BrokerMissingError, Cluster

    try:
        cluster = Cluster(tmp_path_factory.mktemp("kafka"))
    except BrokerMissingError as error:
        pytest.skip(str(error))
    with cluster:
        yield cluster


@pytest.fixture(scope="session")
def tell(broker: Cluster) -> Iterator[Callable[..., Story]]:
    """Begins stories with that broker; with ASSIGNOR_RECORD in the environment they become vectors at the end."""
    from broker import recording
    from broker.story import Story

    told: list[Recording] = []
    yield functools.partial(Story, broker, keep=told.append)
    if recording.wanted():
        recording.write(vector_files.OWN_FOLDER / recording.FILE, told)


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """With several workers each file stays with one of them, and so do all that share a broker or a Spark session."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(Path(nodeid.partition("::")[0]).name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """How tests are shared out."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes the longest comes first, as it waits for most of it."""
    items.sort(key=lambda item: (_group(item.path.name) not in SHARED, not item.path.name.startswith(ALONE)))


def _group(file: str) -> str:
    """What the tests of a file share, or the file itself."""
    if file.startswith(ALONE):
        return file
    return next((group for group, names in SHARED.items() if file.startswith(names)), file)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted, such as what was asked of a real broker, is printed whether they pass or not."""
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        counts = [f"{name}: {value}" for name, value in report.user_properties]
        if counts:
            terminalreporter.section(report.nodeid.partition("::")[2])
            terminalreporter.write_line("\n".join(counts))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where skips are forbidden (continuous integration), a skipped test fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if reporter and skipped and os.environ.get("ASSIGNOR_NO_SKIPS") and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{len(skipped)} skipped, and ASSIGNOR_NO_SKIPS is set: failing", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
