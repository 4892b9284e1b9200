"""Rebalance storms: many rebalances within a short time that leave the membership unchanged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.replay.events import Partition

__all__ = ["Storm"]


@dataclass
class Storm:
    """Latest rebalances with unchanged membership, and the storm that they form.

    A storm is found when `threshold` rebalances lie within `window` milliseconds. The storm contains at least the later
    half of these rebalances. It also contains earlier ones, back to the latest pause of more than a quarter of the
    window. It ends when fewer than half of `threshold` rebalances lie in the last `window` milliseconds. `since` is
    None if there is no storm, and `count` is the number of its rebalances.
    """

    threshold: int
    window: int
    times: list[int] = field(default_factory=list)
    since: int | None = None
    count: int = 0
    changed: dict[Partition, int] = field(default_factory=dict)

    def change(self, at: int, partitions: Iterable[Partition]) -> None:
        """Add the partitions that have no owner, or another owner than before, in a generation."""
        for partition in partitions:
            self.changed[partition] = at

    def add(self, at: int) -> bool:
        """Add a rebalance; return True if a storm starts with it."""
        self.times = [*self.times, at][-self.threshold :]
        if self.since is not None:
            self.count += 1
            return False
        if len(self.times) < self.threshold or at - self.times[0] >= self.window:
            return False
        first = len(self.times) // 2
        while first > 0 and self.times[first] - self.times[first - 1] <= self.window // 4:
            first -= 1
        self.since, self.count = self.times[first], len(self.times) - first
        return True

    def deadline(self) -> int | None:
        """Return the time at which the storm ends; None without a storm."""
        return None if self.since is None else self.times[len(self.times) // 2] + self.window

    def end(self) -> None:
        """End the storm."""
        self.since, self.count = None, 0

    def partitions(self) -> list[Partition]:
        """Return the partitions that changed since the storm began."""
        return sorted(key for key, at in self.changed.items() if self.since is not None and at >= self.since)
