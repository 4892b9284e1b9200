"""Writer of the Grafana dashboard: `python -m deploy.dashboard` writes `deploy/dashboard.json`.

A dashboard is a long JSON document in which each panel repeats the same fields. This program has only what differs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("dashboard.json")

WIDTH = 24
"""Width of a dashboard in Grafana's units."""

_SOURCE = {"type": "prometheus", "uid": "${source}"}
_GROUP = 'group=~"$group"'


class Panel(NamedTuple):
    """A panel.

    Attributes:
        title: What it shows.
        text: What a value means, for the tooltip.
        expression: Expression of Prometheus.
        legend: Name of a series, from its labels.
        unit: Unit of Grafana.
        kind: Type of the panel in Grafana.
        width: Width in Grafana's units.
        red: For one number: from which value on it is red.
    """

    title: str
    text: str
    expression: str
    legend: str = "{{group}}"
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 12
    red: int = 1


def _now(title: str, text: str, expression: str, red: int = 1) -> Panel:
    """Return a panel with one number."""
    return Panel(title, text, expression, "", kind="stat", width=4, red=red)


ROWS: dict[str, tuple[Panel, ...]] = {
    "Wrong now": (
        _now("Storms", "Groups that rebalance without a change of their members.", "sum(assignor_storms_active)"),
        _now("Long rebalances", "Longer than the rebalance timeout.", "sum(assignor_long_rebalances_active)"),
        _now("Stuck members", "They stopped committing although records wait.", "sum(assignor_stuck_members)"),
        _now("Partitions without owner", "Of subscribed topics.", "sum(assignor_unowned_partitions)"),
        _now("Growing lag", "Groups whose lag grows.", "sum(assignor_lag_growing)"),
        _now(
            "Seconds since all brokers answered",
            "Above 60, the watch is not ready.",
            "time() - max(assignor_log_checked_timestamp_seconds)",
            red=60,
        ),
    ),
    "Rebalances": (
        Panel(
            "Rebalances of groups",
            "Groups with the most rebalances.",
            f"topk(10, sum by (group) (increase(assignor_group_rebalances_total{{{_GROUP}}}[$__rate_interval])))",
        ),
        Panel(
            "Rebalances by cause",
            "The most likely cause of each rebalance.",
            f"sum by (cause) (increase(assignor_rebalances_total{{{_GROUP}}}[$__rate_interval]))",
            "{{cause}}",
        ),
        Panel(
            "Time lost in rebalances",
            "Partition-seconds without commits beyond the usual interval.",
            f"topk(10, sum by (group) (increase(assignor_group_lost_partition_seconds_total{{{_GROUP}}}"
            "[$__rate_interval])))",
            unit="s",
        ),
        Panel(
            "Members",
            "Members of the groups.",
            f"topk(10, sum by (group) (assignor_group_members{{{_GROUP}}}))",
        ),
    ),
    "Lag": (
        Panel(
            "Seconds behind",
            "Age of the oldest record that a group has not read.",
            f"topk(10, max by (group) (assignor_group_lag_seconds{{{_GROUP}}}))",
            unit="s",
        ),
        Panel(
            "Records behind",
            "End offsets minus committed offsets.",
            f"topk(10, sum by (group) (assignor_group_lag_offsets{{{_GROUP}}}))",
        ),
        Panel(
            "Seconds behind by topic",
            "The same for each topic of a group.",
            f"topk(10, max by (group, topic) (assignor_group_topic_lag_seconds{{{_GROUP}}}))",
            "{{group}}: {{topic}}",
            unit="s",
        ),
        Panel(
            "Time until unread records are deleted",
            "Groups that lose records first.",
            f"bottomk(10, min by (group) (assignor_group_deletion_seconds{{{_GROUP}}}))",
            unit="s",
        ),
    ),
    "Groups": (
        Panel("Groups by state", "Number of groups.", "sum by (state) (assignor_group_state)", "{{state}}"),
        Panel(
            "Records of the log not read yet",
            "Offsets of the log that the watch has not read.",
            "max(assignor_log_behind_offsets)",
            "offsets",
        ),
    ),
}
"""Panels by the title of their row."""


def dashboard() -> dict[str, Any]:
    """Return the dashboard, in the format that Grafana imports."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, found in ROWS.items():
        place = {"h": 1, "w": WIDTH, "x": 0, "y": y}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": place})
        x, y = 0, y + 1
        height = 4 if found[0].kind == "stat" else 8
        for panel in found:
            if x + panel.width > WIDTH:
                x, y = 0, y + height
            place = {"h": height, "w": panel.width, "x": x, "y": y}
            panels.append({"id": len(panels) + 1, "gridPos": place, **_panel(panel)})
            x += panel.width
        y += height
    return {
        "title": "Kafka consumer groups (assignor watch)",
        "uid": "assignor-watch",
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "tags": ["kafka"],
        "templating": {"list": [_source(), _groups()]},
        "panels": panels,
    }


def _panel(panel: Panel) -> dict[str, Any]:
    steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.red}]
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.kind == "stat":
        defaults |= {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": steps}}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [
            {"refId": "A", "datasource": _SOURCE, "expr": panel.expression, "legendFormat": panel.legend or "__auto"}
        ],
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus", "hide": 0}


def _groups() -> dict[str, Any]:
    query = "label_values(assignor_group_members, group)"
    return {
        "name": "group",
        "type": "query",
        "label": "Group",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "groups"},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def text() -> str:
    """Return the text of the file."""
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    sys.stderr.write(f"{FILE.name} written\n")
