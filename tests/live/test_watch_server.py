"""Health and readiness over HTTP: what a service manager asks while a watch begins, runs and loses brokers."""

from __future__ import annotations

import http.client
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from assignor.replay.admin_watch import AdminWatch
from assignor.replay.metrics import WatchMetrics
from assignor.replay.watch import Watch
from assignor.replay.watch_server import PATIENCE, serve, unready
from tests.live.test_watcher import started
from tests.live.watching import Watching, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.replay.watch_loop import WatchLoop
    from tests.broker.cluster import Cluster

CHECKED = 1_000.0


def metrics_of(*, checked: float | None = CHECKED, is_caught_up: bool = True, behind: int = 0) -> WatchMetrics:
    found = WatchMetrics(started(), threading.Lock())
    found.checked, found.is_caught_up, found.behind = checked, is_caught_up, behind
    return found


@contextmanager
def served(metrics: WatchMetrics, now: float) -> Iterator[http.client.HTTPConnection]:
    """Serve on a free port and yield a connection to it."""
    server = serve(metrics, 0, "127.0.0.1", clock=lambda: now)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        yield connection
    finally:
        connection.close()
        server.shutdown()
        server.server_close()


def answer(connection: http.client.HTTPConnection, path: str) -> tuple[int, str]:
    connection.request("GET", path)
    found = connection.getresponse()
    return found.status, found.read().decode()


@pytest.mark.parametrize(
    ("metrics", "later", "expected"),
    [
        (metrics_of(checked=None, is_caught_up=False), 0, "the groups of the cluster are not known yet"),
        (metrics_of(is_caught_up=False, behind=12_345), 1, "12,345 offsets of the log are not read yet"),
        (metrics_of(), PATIENCE, None),
        (metrics_of(behind=7), PATIENCE, None),
        (metrics_of(), PATIENCE + 1, "not all brokers have answered for 61 s"),
    ],
    ids=["before the first answer", "the log is not read", "caught up", "new records", "brokers are lost"],
)
def test_a_watch_is_ready_once_it_knows_the_groups_and_while_brokers_answer(
    metrics: WatchMetrics, later: float, expected: str | None
) -> None:
    assert expected == unready(metrics, CHECKED + later)
    with served(metrics, CHECKED + later) as connection:
        assert (200, "ok\n") == answer(connection, "/health")
        assert ((200, "ok\n") if expected is None else (503, f"{expected}\n")) == answer(connection, "/ready")


def test_a_watch_with_polls_has_patience_for_its_interval() -> None:
    assert unready(metrics_of(), CHECKED + 300, patience=360) is None
    assert unready(metrics_of(), CHECKED + 361, patience=360) == "not all brokers have answered for 361 s"


@pytest.mark.parametrize("path", ["/metrics", "/", "/healthy", "/ready/"])
def test_other_paths_have_the_metrics(path: str) -> None:
    with served(metrics_of(behind=7), CHECKED) as connection:
        status, text = answer(connection, path)

    assert 200 == status
    assert "assignor_log_behind_offsets 7.0" in text


def test_a_query_does_not_change_the_answer() -> None:
    with served(metrics_of(), CHECKED) as connection:
        assert (200, "ok\n") == answer(connection, "/ready?verbose")


@pytest.mark.broker
@pytest.mark.parametrize("make", [Watch, AdminWatch])
def test_a_watch_of_a_broker_is_ready_when_it_knows_the_groups(broker: Cluster, make: type[WatchLoop]) -> None:
    watching = Watching(broker.address, make=make)
    metrics = watching.watch.metrics = WatchMetrics(watching.watch.watcher, watching.watch.lock)
    assert unready(metrics, 0) == "the groups of the cluster are not known yet"

    with watching:
        until(lambda: unready(metrics, metrics.checked or 0) is None)
