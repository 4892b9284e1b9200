"""Clusters for fixtures: started for a `with` block, or the reason why the tests that need them are skipped."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pytest

from tests.broker.class_archive import make_archive
from tests.broker.cluster import BrokerMissingError, Cluster
from tests.broker.plugins.racks import RackedCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Arguments = ParamSpec("Arguments")
AnyCluster = TypeVar("AnyCluster", bound=Cluster | RackedCluster)


@contextlib.contextmanager
def running(
    make: Callable[Arguments, AnyCluster], *arguments: Arguments.args, **options: Arguments.kwargs
) -> Iterator[AnyCluster]:
    """Start a cluster for the block, or skip the test if a broker cannot run here.

    Args:
        make: Class of the cluster.
        *arguments: Arguments of the class.
        **options: Its keyword arguments.
    """
    try:
        make_archive()
        cluster = make(*arguments, **options)
    except BrokerMissingError as error:
        pytest.skip(str(error))
    with cluster:
        yield cluster
