"""Cluster with racks that the tests of this folder share, and the groups of its topics."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from tests.broker.plugins.mixed_groups import RACKS, MixedGroups
from tests.broker.plugins.racks import RackedCluster
from tests.broker.running import running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedGroups]:
    """Start a cluster with racks, and create the topics."""
    with running(RackedCluster, tmp_path_factory.mktemp("racks"), RACKS) as cluster, MixedGroups(cluster) as found:
        found.create_topics(orders=(1, 2, 3, 1, 2, 3, 1), payments=(2, 3, 1, 2), single=(3,))
        yield found
    gc.collect()
