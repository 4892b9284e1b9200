"""Scenarios on the real Kafka broker that the tests share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.broker import recording
from tests.broker.scenario import Scenario
from tests.support import vector_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.broker.cluster import Cluster
    from tests.broker.recording import Recording


@pytest.fixture(scope="session")
def start_scenario(broker: Cluster) -> Iterator[Callable[..., Scenario]]:
    """Return a factory of scenarios with the broker; write them as vectors at the end if ASSIGNOR_RECORD is set."""
    recordings: list[Recording] = []
    yield functools.partial(Scenario, broker, keep=recordings.append)
    if recording.wanted():
        recording.write(vector_files.OWN_FOLDER / recording.FILE, recordings)
