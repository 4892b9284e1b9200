"""Totals of many simulations."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.member.simulation.simulator import Outcome

__all__ = ["Totals"]


@dataclass(slots=True)
class Totals:
    """Totals of simulations.

    Attributes:
        seeds: Number of simulations.
        steps: Number of steps.
        events: Number of events that members handled.
        settling_ms: Longest time from the last fault until a group was settled.
        settling_share: Largest share of the allowed time that a group took to settle.
        faults: Number of faults by name.
    """

    seeds: int = 0
    steps: int = 0
    events: int = 0
    settling_ms: int = 0
    settling_share: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of a simulation."""
        self.seeds += 1
        self.steps += outcome.steps
        self.events += outcome.events
        self.settling_ms = max(self.settling_ms, outcome.settled_after)
        self.settling_share = max(self.settling_share, outcome.settled_after / outcome.settling_limit)
        self.faults += outcome.faults

    def rows(self) -> list[tuple[str, str]]:
        """Return rows of name and number; faults by frequency."""
        return [
            ("seeds", f"{self.seeds:,}"),
            ("steps", f"{self.steps:,}"),
            ("events handled by members", f"{self.events:,}"),
            ("longest time to settle (virtual)", f"{self.settling_ms / 1000:.1f} s"),
            ("largest share of the time limit for settling", f"{self.settling_share:.0%}"),
            *((fault, f"{count:,}") for fault, count in self.faults.most_common()),
        ]

    def write(self, path: Path) -> None:
        """Write the rows to a file, for a page of the docs."""
        path.write_text(json.dumps(self.rows(), indent=0) + "\n", encoding="utf-8")
