"""Events that tests make, with the fields that a page reads."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]


def rebalance(group: str, at: int, generation: int = 1, **fields: Any) -> Event:
    """Return a rebalance without changes; the given fields replace its own."""
    return {
        "event": "rebalance",
        "cluster": "",
        "group": group,
        "kind": "classic",
        "at": at,
        "offset": generation,
        "generation": generation,
        "causes": ["leader_rejoined"],
        "evidence": "",
        "joined": [],
        "left": [],
        "replaced": [],
        "moved": [],
        "unowned": [],
        **fields,
    }


def storm(group: str, since: int, until: int | None, rebalances: int, **fields: Any) -> Event:
    """Return the event of a storm."""
    return {
        "event": "storm",
        "cluster": "",
        "group": group,
        "kind": "classic",
        "at": since,
        "offset": 1,
        "since": since,
        "until": until,
        "rebalances": rebalances,
        "topic_partitions": [["orders", 0], ["orders", 1]],
        "unowned": [["orders", 1]],
        **fields,
    }


def reported(group: str, **fields: Any) -> dict[str, Any]:
    """Return the row of a group in a report."""
    return {
        "group": group,
        "kind": "classic",
        "state": "Stable",
        "protocol": "range",
        "generation": 3,
        "members": 2,
        "partitions": 5,
        "unowned": 0,
        **fields,
    }


def finding(group: str, severity: str, **fields: Any) -> dict[str, Any]:
    """Return the row of a finding in a report."""
    return {
        "kind": "storm",
        "severity": severity,
        "since": None,
        "until": None,
        "group": group,
        "text": f"text of {group}",
        "evidence": f"evidence of {group}",
        **fields,
    }
