"""Cluster with racks that the tests of this folder share, and the groups of its topics."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.broker.cluster import BrokerMissingError
from tests.broker.plugins.mixed_groups import RACKS, MixedGroups
from tests.broker.plugins.racks import RackedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedGroups]:
    """Start a cluster with racks, and create the topics."""
    try:
        cluster = RackedCluster(tmp_path_factory.mktemp("racks"), RACKS)
    except BrokerMissingError as error:
        pytest.skip(str(error))
    with cluster, MixedGroups(cluster) as running:
        running.create_topics(orders=(1, 2, 3, 1, 2, 3, 1), payments=(2, 3, 1, 2), single=(3,))
        yield running
    gc.collect()
