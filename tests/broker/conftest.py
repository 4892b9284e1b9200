"""Real Kafka broker that the tests of this room share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.broker import recording
from tests.broker.cluster import BrokerMissingError, Cluster
from tests.broker.story import Story
from tests.support import vector_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.broker.recording import Recording


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start one real Kafka broker when a test first asks for it, and share it."""
    try:
        cluster = Cluster(tmp_path_factory.mktemp("kafka"))
    except BrokerMissingError as error:
        pytest.skip(str(error))
    with cluster:
        yield cluster


@pytest.fixture(scope="session")
def tell(broker: Cluster) -> Iterator[Callable[..., Story]]:
    """Return a factory of stories with the broker; write them as vectors at the end if ASSIGNOR_RECORD is set."""
    told: list[Recording] = []
    yield functools.partial(Story, broker, keep=told.append)
    if recording.wanted():
        recording.write(vector_files.OWN_FOLDER / recording.FILE, told)
