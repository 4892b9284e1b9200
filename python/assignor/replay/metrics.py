"""Metrics of a watcher for Prometheus, in a registry of their own.

Metrics of groups have the label `group`. To limit the number of series, only some groups have a label of their own; the
others are summed up under one label. Counters of a group with a label exist at 0 before the first event, because
Prometheus computes an increase only between two samples.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.replay.conditions import Condition
from assignor.replay.event_text import PROBLEMS
from assignor.replay.lag_metrics import LagMetrics
from assignor.replay.metric_labels import GroupLabels, Weight

with dependency("prometheus_client"):
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.registry import Collector

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Mapping, Set

    import pyarrow as pa
    from prometheus_client.core import Metric

    from assignor.replay.watch_model import Summary
    from assignor.replay.watcher import Watcher

Event = dict[str, Any]
Sums = dict[str, defaultdict[tuple[str, ...], float]]


def _zeros() -> defaultdict[tuple[str, ...], float]:
    return defaultdict(float)


MOST_GROUPS = 1_000
"""Highest number of groups with a label of their own."""


class WatchMetrics(Collector):
    """Metrics of a watcher.

    Args:
        watcher: The watcher.
        lock: Lock that is held while the watcher changes.
        most_groups: Highest number of groups with a label of their own.

    Attributes:
        behind: Number of offsets of the log that are not read yet.
        is_caught_up: True once the log was read to the end that it had when the watch began, or after the first poll.
        checked: Time in seconds at which all brokers last returned the ends of the log; None before that.
        lag: Lag of groups, with the columns of `assignor.lag.GROUP_LAG`; None before it is known.
        in_time: Metrics of lag in time.
    """

    def __init__(self, watcher: Watcher, lock: threading.Lock, most_groups: int = MOST_GROUPS) -> None:
        self.behind = 0
        self.is_caught_up = False
        self.checked: float | None = None
        self.lag: pa.Table | None = None
        self.in_time = LagMetrics()
        self._watcher = watcher
        self._lock = lock
        self._labels = GroupLabels(most_groups)
        self._counts: Sums = defaultdict(_zeros)
        self._current: dict[str, str] = {}

    def observe(self, events: Iterable[Event]) -> None:
        """Count new events."""
        for event in events:
            if event["group"] is None:
                continue
            group = self._labels.of(event["group"])
            if event["event"] == "rebalance":
                self._counts["rebalances"][group,] += 1
                self._counts["causes"][group, event["kind"], event["causes"][0]] += 1
                self._add_cost(group, event)
            elif event["event"] == "cost":
                self._add_cost(group, event)
            elif event["event"] == "storm" and event["until"] is None:
                self._counts["storms"][group,] += 1
            elif event["event"] == "offsets" and event.get("since") in (None, event["at"]):
                self._counts["offset_problems"][group, event["problem"]] += 1

    def _add_cost(self, group: str, event: Event) -> None:
        """Add what an event says of the cost of a rebalance; what it does not know adds nothing."""
        for key, (field, unit) in _COSTS.items():
            self._counts[key][group,] += (event.get(field) or 0) / unit
        for key, (field, unit) in _COSTS_BY_CAUSE.items():
            if event.get(field):
                self._counts[key][group, event["kind"], event["causes"][0]] += event[field] / unit

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now; the registry calls it for each request."""
        with self._lock:
            found = [*self._of_groups(), *self.in_time.collect(self._current), *self._of_log()]
        yield from found

    def _of_groups(self) -> Iterator[Metric]:
        summaries = [found for found in self._watcher.summaries() if found.state != "gone"]
        lags = {row["group_id"]: row for row in self.lag.to_pylist()} if self.lag is not None else {}
        looping = {loop.group for loop in self._watcher.loops.current()}
        self._choose(summaries, lags, looping)
        self._current = {found.group: self._labels.of(found.group) for found in summaries}
        sums: Sums = defaultdict(_zeros)
        for found in summaries:
            label = self._labels.of(found.group)
            self._add_zeros(label, found.kind)
            condition = self._watcher.conditions.groups.get(found.group, _NO_CONDITION)
            sums["members"][label, found.kind] += found.members
            sums["state"][label, found.state] += 1
            sums["storms"][label,] += condition.storm_since is not None
            sums["loops"][label,] += found.group in looping
            sums["stuck"][label,] += len(condition.stuck)
            sums["rebalancing"][label,] += condition.rebalancing_since is not None
            sums["growing"][label,] += condition.growing_since is not None
            if condition.unowned is not None:
                sums["unowned"][label,] += condition.unowned
            lag = lags.get(found.group)
            if lag is not None:
                sums["lag"][label,] += lag["lag"] or 0
                sums["lag_unknown"][label,] += lag["unknown"]
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

    def _choose(self, summaries: Iterable[Summary], lags: Mapping[str, Mapping[str, Any]], looping: Set[str]) -> None:
        """Choose the groups with labels of their own, and end the counters of those that lose theirs.

        Args:
            summaries: The groups.
            lags: Rows of `assignor.lag.GROUP_LAG` by group.
            looping: Ids of the groups in a rebalance loop.
        """
        conditions = self._watcher.conditions.groups
        lost = self._labels.choose(
            [
                Weight(
                    found.group,
                    found.group in looping or conditions.get(found.group, _NO_CONDITION).is_problem,
                    found.members,
                    lags.get(found.group, {}).get("lag") or 0,
                )
                for found in summaries
            ]
        )
        if lost:
            for counts in self._counts.values():
                for key in [key for key in counts if key[0] in lost]:
                    del counts[key]

    def _add_zeros(self, label: str, kind: str) -> None:
        """Add the counters of a label at 0. There is a series for each cause that occurred, and at least one."""
        if (label,) not in self._counts["storms"]:
            self._counts["storms"][label,] = 0
        if (label,) not in self._counts["rebalances"]:
            self._counts["rebalances"][label,] = 0
            self._counts["causes"][label, kind, "unknown"] = 0
            for key in _COSTS:
                self._counts[key].setdefault((label,), 0)
        for problem in PROBLEMS:
            if (label, problem) not in self._counts["offset_problems"]:
                self._counts["offset_problems"][label, problem] = 0

    def _of_log(self) -> Iterator[Metric]:
        counts = self._watcher.counts()
        bad = counts["bad_records"] + counts["unknown_types"]
        yield CounterMetricFamily("assignor_records", "Records read from the log.", value=self._watcher.records)
        yield CounterMetricFamily("assignor_bad_records", "Records of an unknown type, or not decodable.", value=bad)
        yield GaugeMetricFamily("assignor_log_behind_offsets", "Offsets of the log not read yet.", value=self.behind)
        if self.checked is not None:
            text = "Time at which all brokers last returned the ends of the log."
            yield GaugeMetricFamily("assignor_log_checked_timestamp_seconds", text, value=self.checked)


_NO_CONDITION = Condition()
_COSTS = {
    "revoked": ("revoked", 1),
    "assigned": ("assigned", 1),
    "paused": ("paused", 1),
    "unknown_pauses": ("unknown_pauses", 1),
    "pause": ("partition_ms", 1_000),
    "lost": ("lost_ms", 1_000),
}
"""Counters of costs, with the fields of events and the units of the fields."""
_COSTS_BY_CAUSE = {"pause_by_cause": ("partition_ms", 1_000)}
_GAUGES = {
    "members": ("group_members", "Members of the group.", ("group", "kind")),
    "state": ("group_state", "Groups in this state: 1 for the state of a group.", ("group", "state")),
    "storms": ("storms_active", "Rebalance storms in progress: 1 or 0 for a group.", ("group",)),
    "loops": ("rebalance_loops_active", "Rebalance loops in progress: 1 or 0 for a group.", ("group",)),
    "stuck": ("stuck_members", "Members that stopped committing offsets although records wait.", ("group",)),
    "rebalancing": ("long_rebalances_active", "Rebalances longer than the rebalance timeout: 1 or 0.", ("group",)),
    "growing": ("lag_growing", "Groups whose lag grows: 1 or 0 for a group.", ("group",)),
    "unowned": ("unowned_partitions", "Partitions of subscribed topics without an owner.", ("group",)),
    "lag": ("group_lag_offsets", "End offsets minus committed offsets, where both are known.", ("group",)),
    "lag_unknown": ("group_lag_unknown_partitions", "Partitions whose lag is unknown.", ("group",)),
}
_COUNTERS = {
    "rebalances": ("group_rebalances", "Rebalances.", ("group",)),
    "causes": ("rebalances", "Rebalances by their most likely cause.", ("group", "kind", "cause")),
    "revoked": ("group_revoked_partitions", "Partitions that rebalances took from members.", ("group",)),
    "assigned": ("group_assigned_partitions", "Partitions that rebalances gave to members.", ("group",)),
    "paused": ("group_pauses", "Pauses of partitions by rebalances, of a known duration.", ("group",)),
    "unknown_pauses": ("group_unknown_pauses", "Partitions in rebalances whose pause is not known.", ("group",)),
    "pause": ("group_pause_partition_seconds", "Partition-seconds without commits by rebalances.", ("group",)),
    "lost": ("group_lost_partition_seconds", "The same beyond the usual interval between commits.", ("group",)),
    "pause_by_cause": (
        *("rebalance_pause_partition_seconds", "Partition-seconds without commits, by cause of the rebalance."),
        ("group", "kind", "cause"),
    ),
    "storms": ("storms", "Rebalance storms that began.", ("group",)),
    "offset_problems": ("offset_problems", "Events of unusual offsets.", ("group", "problem")),
}
