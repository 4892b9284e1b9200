"""Real Kafka broker for each file of this folder: its log has the records of the groups of this file only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker.cluster import BrokerMissingError, Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a broker that no other file uses: tests compare the whole log, which other groups would write to."""
    try:
        cluster = Cluster(tmp_path_factory.mktemp("kafka"))
    except BrokerMissingError as error:
        pytest.skip(str(error))
    with cluster:
        yield cluster
