"""Metrics of lag in time: of groups, of the topics of groups, and of members, with a limited number of series.

A value that is not known has no sample: no number stands for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.replay.metric_labels import OTHERS

with dependency("prometheus_client"):
    from prometheus_client.core import GaugeMetricFamily

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.core import Metric

    from assignor.lag_time_sums import By

    Row = dict[str, Any]
    Key = tuple[str, str]

MOST_SERIES = 1_000
"""Highest number of topics of groups with series of their own, and of members. Those with the highest lag have them;
the others are summed up."""

OTHER = {"topic": "other topics", "member": "other members"}
"""Label of all topics and members without series of their own."""

_NAMES = {"topic": ("group_topic", "topic"), "member": ("member", "member_id")}
_OF_GROUPS: dict[str, tuple[str, str, Callable[[list[float]], float]]] = {
    "behind_seconds": ("group_lag_seconds", "Age of the oldest record that is not read.", max),
    "growth_per_second": ("group_lag_growth_per_second", "Growth of the lag in records per second.", sum),
    "catch_up_seconds": ("group_catch_up_seconds", "Time until the lag is 0, if it goes on falling.", max),
    "deleted_in_seconds": ("group_deletion_seconds", "Time until a record that is not read is deleted.", min),
}
_SUMMED: dict[str, tuple[str, str, Callable[[list[float]], float]]] = {
    "lag": ("offsets", "End offsets minus committed offsets, where both are known.", sum),
    "behind_seconds": ("seconds", "Age of the oldest record that is not read.", max),
}


class LagMetrics:
    """Metrics of lag in time.

    Args:
        most: Highest number of topics with series of their own, and of members.

    Attributes:
        sums: Rows of groups, topics and members, see `assignor.lag_time_sums.sum_lag_in_time`.
    """

    def __init__(self, most: int = MOST_SERIES) -> None:
        self.sums: dict[By, list[Row]] = {}
        self._most = most
        self._chosen: dict[str, set[Key]] = {"topic": set(), "member": set()}

    def collect(self, labels: Mapping[str, str]) -> Iterator[Metric]:
        """Yield the metrics.

        Args:
            labels: Label of each group that exists.
        """
        rows = [row for row in self.sums.get("group", []) if row["group_id"] in labels]
        for field, (name, text, combine) in _OF_GROUPS.items():
            pairs = ((labels[row["group_id"]], row[field]) for row in rows)
            yield _gauge(name, text, ("group",), {(label,): found for label, found in _by_label(pairs, combine)})
        kinds: tuple[By, ...] = ("topic", "member")
        left_out = {}
        for kind in kinds:
            name, column = _NAMES[kind]
            rows = [row for row in self.sums.get(kind, []) if row["group_id"] in labels]
            chosen = self._choose(kind, [(row["group_id"], row[column], row["lag"] or 0) for row in rows], labels)
            left_out[kind,] = float(len(rows) - len(chosen))
            keys = [
                key if (key := (row["group_id"], row[column])) in chosen else (labels[row["group_id"]], OTHER[kind])
                for row in rows
            ]
            for field, (suffix, text, combine) in _SUMMED.items():
                pairs_of_kind = zip(keys, (row[field] for row in rows), strict=True)
                found = dict(_by_label(pairs_of_kind, combine))
                yield _gauge(f"{name}_lag_{suffix}", text, ("group", kind), found)
        yield _gauge("lag_series_left_out", "Topics of groups, and members, that are summed up.", ("kind",), left_out)

    def _choose(self, kind: str, found: list[tuple[str, str, int]], labels: Mapping[str, str]) -> set[Key]:
        """Return the topics or members with series of their own: those with the highest lag in groups with labels.

        One that has series loses them only to one with twice its lag, so that series do not end without need.
        """
        before = self._chosen[kind]
        weights = {
            (group, name): (lag + 1) * (2 if (group, name) in before else 1)
            for group, name, lag in found
            if labels[group] != OTHERS
        }
        order = sorted(weights, key=lambda key: (-weights[key], key))
        self._chosen[kind] = set(order[: self._most])
        return self._chosen[kind]


def _by_label(
    pairs: Iterable[tuple[Any, float | None]], combine: Callable[[list[float]], float]
) -> Iterator[tuple[Any, float]]:
    """Yield each label with its known values combined."""
    found: dict[Any, list[float]] = {}
    for label, value in pairs:
        if value is not None:
            found.setdefault(label, []).append(value)
    for label, values in found.items():
        yield label, combine(values)


def _gauge(name: str, text: str, labels: tuple[str, ...], values: dict[Any, float]) -> Metric:
    gauge = GaugeMetricFamily(f"assignor_{name}", text, labels=labels)
    for key, value in values.items():
        gauge.add_metric(key, value)
    return gauge
