"""Scenarios on the real Kafka brokers that the tests share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.broker import recording
from tests.broker.cluster import PATIENT, Cluster
from tests.broker.running import running
from tests.broker.scenario import Scenario
from tests.support import vector_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.broker.recording import Recording


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start one real broker, share it, and stop it after this folder's tests: an idle broker needs processor time."""
    with running(Cluster, tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def patient_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start one broker that changes a group only when a heartbeat arrives, and share it."""
    with running(Cluster, tmp_path_factory.mktemp("patient"), PATIENT) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def start_scenario(broker: Cluster) -> Iterator[Callable[..., Scenario]]:
    """Return a factory of scenarios with the broker; write them as vectors at the end if ASSIGNOR_RECORD is set."""
    recordings: list[Recording] = []
    yield functools.partial(Scenario, broker, keep=recordings.append)
    if recording.wanted():
        recording.write(vector_files.OWN_FOLDER / recording.FILE, recordings)
