"""HTTP server of a watch: `/metrics` for Prometheus, `/health` and `/ready` for whatever runs it, and `/` for people.

`/health` answers 200 while the process serves requests. `/ready` answers 200 once the watch knows the present state of
the groups and as long as all brokers answer it, else 503 with the reason in one line. `/` is the page, if the watch
serves it, and `/version` the time of its newest state.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError

with dependency("prometheus_client"):
    from prometheus_client import CollectorRegistry, make_wsgi_app, start_http_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from assignor.replay.metrics import WatchMetrics

PATIENCE = 60.0
"""Seconds without an answer of all brokers after which a watch is not ready."""


class Served(NamedTuple):
    """Page that is ready to be sent.

    Attributes:
        version: Time of the state that it shows, in milliseconds, as text.
        html: The page in UTF-8.
        compressed: The same, compressed by gzip.
    """

    version: str
    html: bytes
    compressed: bytes


def unready(metrics: WatchMetrics, now: float, patience: float = PATIENCE) -> str | None:
    """Return why a watch is not ready, as one line; None if it is ready.

    Args:
        metrics: Metrics of the watch.
        now: Time in seconds since 1970.
        patience: Seconds for which the last answer of all brokers counts.
    """
    if metrics.checked is None:
        return "the groups of the cluster are not known yet"
    if not metrics.is_caught_up:
        return f"{metrics.behind:,} offsets of the log are not read yet"
    silence = now - metrics.checked
    return f"not all brokers have answered for {silence:.0f} s" if silence > patience else None


def serve(
    metrics: WatchMetrics,
    port: int,
    host: str,
    *,
    patience: float = PATIENCE,
    page: Callable[[], Served] | None = None,
    clock: Callable[[], float] = time.time,
) -> Any:
    """Serve metrics, health, readiness and a page over HTTP from threads, and return the server.

    Args:
        metrics: Metrics of the watch.
        port: Port on which the server listens.
        host: Address on which it listens.
        patience: As for `unready`.
        page: Function that returns the page; None to serve none.
        clock: Returns the time in seconds since 1970.

    Raises:
        IllegalArgumentError: The port cannot be opened, for example because another process uses it.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    try:
        server, _ = start_http_server(port, host, registry)
    except (OSError, OverflowError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise IllegalArgumentError(
            f"--metrics {port}: cannot listen on {host}:{port}: {reason}; choose another --metrics or --metrics-host"
        ) from None
    server.set_app(_application(make_wsgi_app(registry), lambda: unready(metrics, clock(), patience), page))
    return server


def _application(
    metrics: WSGIApplication, reason: Callable[[], str | None], page: Callable[[], Served] | None
) -> WSGIApplication:
    """Return an application that answers its own paths, and passes all others on to that of the metrics."""

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def send(
            body: bytes, kind: str = "text/plain", status: str = "200 OK", *, is_gzip: bool = False
        ) -> list[bytes]:
            encoding = [("Content-Encoding", "gzip")] if is_gzip else []
            headers = [("Content-Type", f"{kind}; charset=utf-8"), ("Cache-Control", "no-store"), *encoding]
            start_response(status, headers)
            return [body]

        path = environ["PATH_INFO"]
        if path == "/health":
            return send(b"ok\n")
        if path == "/ready":
            found = reason()
            status = "200 OK" if found is None else "503 Service Unavailable"
            return send(f"{found or 'ok'}\n".encode(), status=status)
        if page is not None and path == "/version":
            return send(page().version.encode())
        if page is not None and path == "/":
            served = page()
            is_gzip = "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "")
            return send(served.compressed if is_gzip else served.html, "text/html", is_gzip=is_gzip)
        return metrics(environ, start_response)

    return answer
