"""Metrics of a watcher for Prometheus, in a registry of their own.

Metrics of groups have the label `group`. To limit the number of series, only some groups have a label of their own; the
others are summed up under one label.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError, MissingDependencyError

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.registry import Collector
except ImportError as missing:
    raise MissingDependencyError("prometheus_client is not installed: pip install 'assignor[cli]'") from missing

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from prometheus_client.core import Metric

    from assignor.replay.watcher import Watcher

Event = dict[str, Any]

MOST_GROUPS = 1_000
"""Highest number of groups with a label of their own."""

OTHERS = "other groups"
"""Label of all further groups."""


class WatchMetrics(Collector):
    """Metrics of a watcher.

    Args:
        watcher: The watcher.
        lock: Lock that is held while the watcher changes.
        most_groups: Highest number of groups with a label of their own.

    Attributes:
        behind: Number of offsets of the log that are not read yet.
        checked: Time in seconds at which all brokers last returned the ends of the log; None before that.
        lag: Lag of groups, with the columns of `assignor.lag.GROUP_LAG`; None before it is known.
    """

    def __init__(self, watcher: Watcher, lock: threading.Lock, most_groups: int = MOST_GROUPS) -> None:
        self.behind = 0
        self.checked: float | None = None
        self.lag: pa.Table | None = None
        self._watcher = watcher
        self._lock = lock
        self._most_groups = most_groups
        self._labels: set[str] = set()
        self._counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)

    def observe(self, events: Iterable[Event]) -> None:
        """Count new events."""
        for event in events:
            if event["group"] is None:
                continue
            group = self._label(event["group"])
            if event["event"] == "rebalance":
                self._counts["rebalances"][group, event["kind"], event["causes"][0]] += 1
            elif event["event"] == "storm" and event["until"] is None:
                self._counts["storms"][group,] += 1
            elif event["event"] == "offsets":
                self._counts["offset_problems"][group, event["problem"]] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now; the registry calls it for each request."""
        with self._lock:
            found = [*self._of_groups(), *self._of_log()]
        yield from found

    def _of_groups(self) -> Iterator[Metric]:
        summaries = [found for found in self._watcher.summaries() if found[2] != "gone"]
        present = {group for group, *_ in summaries}
        self._forget_all_but(present)
        sums: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        conditions = self._watcher.conditions.groups
        for group, kind, _, members in summaries:
            label = self._label(group)
            sums["members"][label, kind] += members
            condition = conditions.get(group)
            sums["storms"][label,] += condition is not None and condition.storm_since is not None
            sums["stuck"][label,] += len(condition.stuck) if condition else 0
            if condition is not None and condition.unowned is not None:
                sums["unowned"][label,] += condition.unowned
        for row in self.lag.to_pylist() if self.lag is not None else ():
            if row["group_id"] in present:
                label = self._label(row["group_id"])
                sums["lag"][label,] += row["lag"] or 0
                sums["lag_unknown"][label,] += row["unknown"]
        for key, (name, text, labels) in _GAUGES.items():
            gauge = GaugeMetricFamily(f"assignor_{name}", text, labels=labels)
            for values, number in sums[key].items():
                gauge.add_metric(values, number)
            yield gauge
        for key, (name, text, labels) in _COUNTERS.items():
            counter = CounterMetricFamily(f"assignor_{name}", text, labels=labels)
            for values, number in self._counts[key].items():
                counter.add_metric(values, number)
            yield counter

    def _of_log(self) -> Iterator[Metric]:
        counts = self._watcher.counts()
        bad = counts["bad_records"] + counts["unknown_types"]
        yield CounterMetricFamily("assignor_records", "Records read from the log.", value=self._watcher.records)
        yield CounterMetricFamily("assignor_bad_records", "Records of an unknown type, or not decodable.", value=bad)
        yield GaugeMetricFamily("assignor_log_behind_offsets", "Offsets of the log not read yet.", value=self.behind)
        if self.checked is not None:
            text = "Time at which all brokers last returned the ends of the log."
            yield GaugeMetricFamily("assignor_log_checked_timestamp_seconds", text, value=self.checked)

    def _label(self, group: str) -> str:
        """Return `OTHERS` if `most_groups` other groups have labels, else the group id, which becomes a label."""
        if group not in self._labels:
            if len(self._labels) >= self._most_groups:
                return OTHERS
            self._labels.add(group)
        return group

    def _forget_all_but(self, present: set[str]) -> None:
        """Drop the labels of groups that no longer exist, with their counters."""
        gone = self._labels - present
        self._labels -= gone
        for counts in self._counts.values():
            for key in [key for key in counts if key[0] in gone]:
                del counts[key]


_GAUGES = {
    "members": ("group_members", "Members of the group.", ("group", "kind")),
    "storms": ("storms_active", "Rebalance storms in progress: 1 or 0 for a group.", ("group",)),
    "stuck": ("stuck_members", "Members that stopped committing offsets.", ("group",)),
    "unowned": ("unowned_partitions", "Partitions of subscribed topics without an owner.", ("group",)),
    "lag": ("group_lag_offsets", "End offsets minus committed offsets, where both are known.", ("group",)),
    "lag_unknown": ("group_lag_unknown_partitions", "Partitions whose lag is unknown.", ("group",)),
}
_COUNTERS = {
    "rebalances": ("rebalances", "Rebalances by their most likely cause.", ("group", "kind", "cause")),
    "storms": ("storms", "Rebalance storms that began.", ("group",)),
    "offset_problems": ("offset_problems", "Events of unusual offsets.", ("group", "problem")),
}


def serve(metrics: WatchMetrics, port: int, host: str) -> Any:
    """Serve metrics over HTTP at `/metrics` from a thread, and return the server.

    Raises:
        IllegalArgumentError: The port cannot be opened, for example because another process uses it.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    try:
        server, _ = start_http_server(port, host, registry)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise IllegalArgumentError(
            f"--metrics {port}: cannot listen on {host}:{port}: {reason}; choose another --metrics or --metrics-host"
        ) from None
    return server
