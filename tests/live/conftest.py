"""Real Kafka broker for each file of this folder: its log has the records of the groups of this file only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker.admin import Admin
from tests.broker.cluster import Cluster
from tests.broker.running import running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a broker that no other file uses: tests compare the whole log, which other groups would write to."""
    with running(Cluster, tmp_path_factory.mktemp("kafka")) as cluster:
        with cluster.connect() as connection:
            Admin(connection).await_coordinators()
        yield cluster
