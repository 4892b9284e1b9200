"""Times of jobs on Spark: seconds, and processor seconds of Java and of the Python workers."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benches.spark_session import Spent, spent
from benches.tables import Raw, Report, milliseconds, shown
from benches.timing import Times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(slots=True)
class Timed:
    """Measurements of all rounds, by implementation.

    Attributes:
        seconds: Seconds from the start of each job to its end.
        spent: Processor seconds of each job.
        load: Load of the machine in the last minute before the end.
    """

    seconds: Times = field(default_factory=dict)
    spent: dict[str, list[Spent]] = field(default_factory=dict)
    load: float = 0

    def cells(self, implementation: str) -> list[str]:
        """Return the milliseconds, and the minimum processor seconds of Java and of the workers, as text."""
        taken = [min(each) for each in zip(*self.spent[implementation], strict=True)]
        return [milliseconds(self.seconds[implementation]), *map(shown, taken)]

    def processors(self, slow: str, fast: str) -> float:
        """Return the ratio of the minimum processor times of two implementations."""
        least = [min(map(sum, self.spent[implementation])) for implementation in (slow, fast)]
        return least[0] / least[1] if least[1] else 0

    def raw(self) -> Raw:
        """Return all measurements as JSON values."""
        return {"seconds": self.seconds, "processors": self.spent, "load": self.load}


HEAD = ("ms", "Java CPU s", "Python CPU s")


def run(frame: DataFrame) -> None:
    """Compute all rows and discard them."""
    frame.write.format("noop").mode("overwrite").save()


def timed(ways: Mapping[str, Callable[[], DataFrame]], rounds: int, report: Report, warm: int = 1) -> Timed:
    """Run all implementations in turn, round after round. The first `warm` rounds are not timed."""
    found = Timed({name: [] for name in ways}, {name: [] for name in ways})
    for turn in range(-warm, rounds):
        for name, way in ways.items():
            report(f"round {turn + 1} of {rounds}: {name}")
            gc.collect()
            before, start = spent(), time.perf_counter()
            run(way())
            seconds = time.perf_counter() - start
            if turn >= 0:
                found.seconds[name].append(seconds)
                found.spent[name].append(spent().since(before))
    found.load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    return found
