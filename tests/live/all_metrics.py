"""Every metric that `assignor watch` can serve, with its labels, for rules and dashboards that name them."""

from __future__ import annotations

import threading

import pyarrow as pa

from assignor.lag import GROUP_LAG
from assignor.replay.metrics import WatchMetrics
from tests.live.alert_rules import Samples, scrape
from tests.live.test_watcher import in_a_storm


def all_metrics() -> Samples:
    """Return the samples of a watch whose group `billing` has a value of each metric."""
    watcher = in_a_storm()
    watcher.conditions.of("billing").unowned = 1
    metrics = WatchMetrics(watcher, threading.Lock(), 10)
    metrics.checked = 100.0
    metrics.lag = pa.Table.from_pylist([{**dict.fromkeys(GROUP_LAG.names, 0), "group_id": "billing"}], GROUP_LAG)
    times = ("lag", "behind_seconds", "growth_per_second", "catch_up_seconds", "deleted_in_seconds")
    row = {"group_id": "billing", "topic": "t", "member_id": "a", **dict.fromkeys(times, 1)}
    metrics.in_time.sums = {kind: [row] for kind in ("group", "topic", "member")}
    return scrape(list(metrics.collect()))


def label_names_of(known: Samples, names: set[str]) -> set[str]:
    """Return the labels that metrics have."""
    return {name for metric in names for series in known[metric] for name, _ in series}
