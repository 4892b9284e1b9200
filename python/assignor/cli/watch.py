"""Command `assignor watch`: the events of a live cluster as they happen."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.cli.configuration import add_config
from assignor.cli.connection import add_connection, connection_settings
from assignor.cli.selection import add_groups, utf8_name
from assignor.dependencies import require
from assignor.errors import IllegalArgumentError
from assignor.terminal import colours, flush, log, needs_ascii, print_json, print_json_text, print_lines
from assignor.validation import check_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from assignor.cluster.connection import ClientSettings
    from assignor.page.watch_page import WatchPage
    from assignor.replay.watch_loop import WatchLoop, WatchOptions

    Report = Callable[[list[dict[str, Any]]], None]

_STARTS = ("latest", "earliest")
_HIGHEST_PORT = 65_535
_METRICS_HOST = "127.0.0.1"
_METRICS_GROUPS = 1_000
_INTERVAL = 10.0
_SHORTEST_INTERVAL, _LONGEST_INTERVAL = 1.0, 30.0
"""Limits of `--interval`. After a longer time, a wait or a rebalance may have ended and begun again in between."""

_LAST_PAGE_SECONDS = 1.0
"""Time to write the page after Ctrl-C or SIGTERM."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Follow the topic __consumer_offsets of a live cluster and print each event when it happens, on one line: "
        "rebalances with causes and evidence, members, storms, stuck members, unusual offsets and moved coordinators. "
        "Growing lag and long rebalances are lines on standard error. The command changes nothing on the cluster. It "
        "ends after the time of --for, or with exit code 130 after Ctrl-C. With --admin it polls the brokers "
        "instead, which needs no permission on this topic and shows less."
    )
    add_config(command)
    add_connection(command)
    add_groups(command)
    command.add_argument(
        "--topic",
        action="append",
        default=[],
        type=utf8_name,
        metavar="PATTERN",
        help="measure the lag in these topics only; patterns are those of --group",
    )
    command.add_argument(
        "--admin",
        action="store_true",
        help="poll groups, offsets and lag with an Admin client instead of reading __consumer_offsets",
    )
    command.add_argument(
        "--interval",
        type=float,
        metavar="SECONDS",
        help="with --admin: seconds from one poll to the next, from "
        f"{_SHORTEST_INTERVAL:g} to {_LONGEST_INTERVAL:g} (default: {_INTERVAL:g})",
    )
    command.add_argument(
        "--cluster",
        default="",
        type=utf8_name,
        metavar="NAME",
        help="name of the cluster in the events of --json (default: empty)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object per event and line instead of text")
    command.add_argument(
        "--lag",
        action="store_true",
        help="also print the lag of every group, in records and in time, each time that it is measured",
    )
    command.add_argument(
        "--from",
        dest="start",
        choices=_STARTS,
        help=f"latest: report new events only; earliest: first report those of the whole log (default: {_STARTS[0]})",
    )
    command.add_argument(
        "--state",
        metavar="FILE",
        help="continue from this file if it exists, and save the state in it, so that a later run misses no event",
    )
    command.add_argument(
        "--for",
        dest="seconds",
        type=float,
        metavar="SECONDS",
        help="end with exit code 0 this long after the log has been read to its end, or after the first poll (default: "
        "no end)",
    )
    command.add_argument(
        "--page",
        metavar="FILE",
        help="write a page with charts, one HTML file, while events happen and at the end (needs altair, "
        "vl-convert-python)",
    )
    command.add_argument("--metrics", type=int, metavar="PORT", help="serve metrics for Prometheus on this port")
    command.add_argument(
        "--metrics-host",
        metavar="HOST",
        help=f"address on which metrics are served (default: {_METRICS_HOST})",
    )
    command.add_argument(
        "--serve",
        action="store_true",
        help="with --metrics: also serve the page of --page, which browsers keep up to date, at / of the same port",
    )
    command.add_argument(
        "--metrics-groups",
        type=int,
        metavar="N",
        help=f"highest number of groups with their own metrics; the others are summed up (default: {_METRICS_GROUPS})",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    _check(options)
    settings = connection_settings(options)
    require(
        *("pyarrow", "confluent_kafka"),
        *(() if options.metrics is None else ("prometheus_client",)),
        *(("altair", "vl_convert") if options.page is not None or options.serve else ()),
    )
    from assignor.replay.watch_loop import WatchOptions

    has_views = options.metrics is not None or options.page is not None or options.lag
    wanted = WatchOptions(
        groups=tuple(options.group),
        topics=tuple(options.topic),
        is_earliest=options.start == "earliest",
        state_file=None if options.state is None else Path(options.state),
        seconds=options.seconds,
        has_lag=True,
        waits_for_lag=has_views,
        reports_each_lag=options.lag,
        has_retention=has_views or options.json,
        cluster=options.cluster,
        interval=options.interval,
    )
    reports: list[Report] = []

    def report(events: list[dict[str, Any]]) -> None:
        for each in reports:
            each(events)

    if wanted.is_earliest and wanted.state_file is not None and wanted.state_file.exists():
        log(f"--from earliest has no effect: the watch continues from {wanted.state_file}")
    watch = _watch(settings, wanted, report, is_admin=options.admin)
    reports.append(_printer(watch, is_json=options.json))
    watch.report_lag = _lag_printer(is_json=options.json, is_complete=options.lag)
    page = None
    if options.page is not None or options.serve:
        from assignor.page.watch_page import WatchPage

        page = WatchPage(settings.address, watch.watcher, watch.lock, lambda: watch.lag, watch.lag_history)
        reports.append(page.add)
    if options.metrics is not None:
        _serve(watch, options, page if options.serve else None)
    if options.page is None or page is None:
        watch.run()
        return 0
    from assignor.page.page_file import PageFile

    file = PageFile(options.page, page, log, lambda: watch.is_stopped)
    reports.append(lambda _: file.write_if_due())
    try:
        watch.run()
    except (KeyboardInterrupt, SystemExit):
        file.finish(_LAST_PAGE_SECONDS)
        raise
    except Exception:
        file.finish()
        raise
    file.finish()
    return 0


def _serve(watch: WatchLoop, options: argparse.Namespace, page: WatchPage | None) -> None:
    """Serve the metrics of a watch, and its page."""
    from assignor.replay.metrics import WatchMetrics
    from assignor.replay.watch_server import PATIENCE, serve, unready

    metrics = watch.metrics = WatchMetrics(watch.watcher, watch.lock, options.metrics_groups)
    patience = PATIENCE + options.interval if options.admin else PATIENCE
    current = None
    if page is not None:
        from assignor.page.live_page import LivePage

        current = LivePage(page, lambda: unready(metrics, time.time(), patience)).current
    serve(metrics, options.metrics, options.metrics_host, patience=patience, page=current)
    address = f"http://{options.metrics_host}:{options.metrics}"
    log(f"metrics: {address}/metrics")
    if page is not None:
        log(f"page: {address}/")


def _watch(settings: ClientSettings, wanted: WatchOptions, report: Report, *, is_admin: bool) -> WatchLoop:
    """Return the watch of a log or, with `is_admin`, the one that polls."""
    if is_admin:
        from assignor.replay.admin_watch import AdminWatch

        return AdminWatch(settings, wanted, report, log)
    from assignor.replay.watch import Watch

    return Watch(settings, wanted, report, log)


def _check(options: argparse.Namespace) -> None:
    for name, default in (("metrics_host", _METRICS_HOST), ("metrics_groups", _METRICS_GROUPS)):
        given = getattr(options, name)
        if given is None:
            setattr(options, name, default)
        elif options.metrics is None:
            raise IllegalArgumentError(f"--{name.replace('_', '-')} {given} needs --metrics")
    if options.serve and options.metrics is None:
        raise IllegalArgumentError("--serve needs --metrics: the page has the port of the metrics")
    if options.admin and options.state is not None:
        raise IllegalArgumentError(f"--state {options.state}: a watch with --admin has no state to continue from")
    if options.admin and options.start is not None:
        raise IllegalArgumentError(f"--from {options.start}: a watch with --admin reads no log, only the present state")
    if options.interval is not None:
        if not options.admin:
            raise IllegalArgumentError(f"--interval {options.interval:g} needs --admin")
        if not _SHORTEST_INTERVAL <= options.interval <= _LONGEST_INTERVAL:
            raise IllegalArgumentError(
                f"--interval {options.interval:g}: the number of seconds must be from {_SHORTEST_INTERVAL:g} to "
                f"{_LONGEST_INTERVAL:g}"
            )
    else:
        options.interval = _INTERVAL
    if options.seconds is not None and not options.seconds >= 0:
        raise IllegalArgumentError(f"--for {options.seconds:g}: the number of seconds must be at least 0")
    if options.metrics is not None and not 1 <= options.metrics <= _HIGHEST_PORT:
        raise IllegalArgumentError(f"--metrics {options.metrics}: a port must be from 1 to {_HIGHEST_PORT}")
    if options.metrics_groups < 1:
        raise IllegalArgumentError(f"--metrics-groups {options.metrics_groups}: the number must be at least 1")
    if options.state is not None:
        check_path(options.state, "--state", is_of_pyarrow=False)
    if options.state is not None and Path(options.state).is_dir():
        raise IllegalArgumentError(f"--state {options.state}: it is a folder; give the path of a file")
    if options.state is not None and Path(options.state).exists() and not Path(options.state).is_file():
        raise IllegalArgumentError(f"--state {options.state}: it is not a regular file; give another path")
    if options.state is not None and not os.access(folder := Path(options.state).parent, os.W_OK | os.X_OK):
        raise IllegalArgumentError(f"--state {options.state}: {folder} is not a folder in which files can be written")


def _printer(watch: WatchLoop, *, is_json: bool) -> Report:
    """Return a function that prints events, each on one line."""
    if is_json:
        from assignor.replay.events import to_json

        ascii_only = needs_ascii()

        def print_events(events: list[dict[str, Any]]) -> None:
            for event in events:
                print_json_text(to_json(event, ascii_only=ascii_only))
            flush()

        return print_events
    from assignor.replay.event_lines import EventLines

    lines: EventLines | None = None

    def print_text(events: list[dict[str, Any]]) -> None:
        nonlocal lines
        if lines is None:
            lines = EventLines(watch.watcher.groups(), colour=colours())
        watcher = watch.watcher
        storms = [group for group, found in watcher.conditions.groups.items() if found.storm_since is not None]
        print_lines(lines.lines(events, watcher.loop_changes, loops=watcher.loops.current(), storms=storms))
        flush()

    return print_text


def _lag_printer(*, is_json: bool, is_complete: bool) -> Report | None:
    """Return a function that prints the lag of groups, each on one line.

    In text, that the lag of a group grows is a line on standard error, which `--json` has, too.
    """
    if is_json:

        def print_rows(rows: list[dict[str, Any]]) -> None:
            for row in rows:
                print_json(row)
            flush()

        return print_rows
    if not is_complete:
        return None
    from assignor.report.lag_text import measured_lines

    def print_text(rows: list[dict[str, Any]]) -> None:
        print_lines(measured_lines(rows))
        flush()

    return print_text
