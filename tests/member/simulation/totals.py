"""What a run of many simulations amounts to."""

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
    """Sums over simulations.

    Attributes:
        seeds: How many simulations.
        steps: Of their programs.
        events: That members took.
        settling_ms: The longest time that a group took to settle after the last fault.
        patience: The largest part of the time it had that a group needed.
        faults: How often what went wrong.
    """

    seeds: int = 0
    steps: int = 0
    events: int = 0
    settling_ms: int = 0
    patience: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Takes a simulation in."""
        self.seeds += 1
        self.steps += outcome.steps
        self.events += outcome.events
        self.settling_ms = max(self.settling_ms, outcome.settled_after)
        self.patience = max(self.patience, outcome.settled_after / outcome.patience)
        self.faults += outcome.faults

    def rows(self) -> list[tuple[str, str]]:
        """All of it: what, and how many; faults by how often they happened."""
        return [
            ("seeds", f"{self.seeds:,}"),
            ("steps of programs", f"{self.steps:,}"),
            ("events that members took", f"{self.events:,}"),
            ("longest time to settle", f"{self.settling_ms / 1000:.1f} s, virtual"),
            ("largest part of the time allowed for that", f"{self.patience:.0%}"),
            *((fault, f"{count:,}") for fault, count in self.faults.most_common()),
        ]

    def write(self, path: Path) -> None:
        """Keep the rows, from which a page tells them."""
        path.write_text(json.dumps(self.rows(), indent=0) + "\n", encoding="utf-8")
