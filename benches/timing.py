"""Times calls side by side: all sides are called in turn, round after round, so that noise falls on all of them.

A ratio is taken within a round and its median over the rounds is what is reported: whatever slows the machine down for
a while slows both sides of a ratio. Before every sample the garbage collector runs; while it is taken, the collector is
on, as users have it. A call that is slow enough is a sample by itself and its result is freed after the clock has
stopped. A shorter one is repeated until the sample is far above the clock's resolution: freeing the results, and some
50 ns of the loop, are then inside.
"""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SHORT = 200e-6
"""A call that takes less than this many seconds is repeated within a sample."""

SAMPLE = 2e-3
"""How many seconds a sample of repeated calls should take."""

Sampler = Callable[[int], float]
"""Makes so many calls; answers the seconds of one."""

Times = dict[str, list[float]]
"""By side, the seconds of a call in each round."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How many rounds there are.

    Attributes:
        seconds: How long the rounds of one comparison may go on.
        fewest: Rounds that there are even so.
        most: Rounds after which it is enough.
    """

    seconds: float
    fewest: int
    most: int


def sampler(call: Callable[[], Any]) -> Sampler:
    """A sampler of a call in this process."""

    def sample(calls: int) -> float:
        gc.collect()
        if calls == 1:
            start = time.perf_counter()
            result = call()
            seconds = time.perf_counter() - start
            del result  # freed outside the timing
            return seconds
        repeats = itertools.repeat(None, calls)
        start = time.perf_counter()
        for _ in repeats:
            call()
        return (time.perf_counter() - start) / calls

    return sample


def interleave(samplers: Mapping[str, Sampler], pace: Pace) -> Times:
    """The times of all sides, called in turn; the first round is a rehearsal that tells how many rounds there can be."""
    start = time.perf_counter()
    calls = {side: _calls(sample(1)) for side, sample in samplers.items()}
    cost = time.perf_counter() - start + SAMPLE * sum(count > 1 for count in calls.values())
    rounds = min(max(int(pace.seconds / cost), pace.fewest), pace.most)
    times: Times = {side: [] for side in samplers}
    for _ in range(rounds):
        for side, sample in samplers.items():
            times[side].append(sample(calls[side]))
    return times


def ratio(times: Times, slow: str, fast: str) -> float:
    """How many times as long one side takes as another: the median over the rounds."""
    return statistics.median(theirs / ours for theirs, ours in zip(times[slow], times[fast], strict=True))


def _calls(seconds: float) -> int:
    return math.ceil(SAMPLE / seconds) if seconds < SHORT else 1
