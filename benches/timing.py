"""Timing of several implementations in turn, round after round, so that noise affects all of them.

A ratio is taken within a round and its median over the rounds is what is reported: whatever slows the machine down for
a while slows both sides of a ratio. Before every sample the garbage collector runs; while it is taken, the collector is
on, as users have it. A call of more than a millisecond is a sample by itself, and so has cold caches, as the rare call
of a leader has. A shorter one is repeated, and a sample is the mean. Results are freed while the clock is stopped, but
for calls so short that stopping it would be felt: freeing the result, and some 50 ns of the loop, are then inside.
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

SHORT = 1e-3
"""A call that takes less than this many seconds is repeated within a sample."""

SAMPLE = 2e-3
"""How many seconds a sample of repeated calls should take."""

MANY = 100
"""With more calls in a sample, of 20 µs each at most, the clock is stopped only after the last."""

LONG = 0.1
"""A call that takes more seconds needs no rehearsal."""

COLLECT = 10e-3
"""About how many seconds the garbage collector takes before a sample."""

Sampler = Callable[[int], float]
"""Makes so many calls; answers the seconds of one."""

Times = dict[str, list[float]]
"""By implementation, the seconds of a call in each round."""


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
        repeats = itertools.repeat(None, calls)
        gc.collect()
        if calls > MANY:
            start = time.perf_counter()
            for _ in repeats:
                call()
            return (time.perf_counter() - start) / calls
        seconds = 0.0
        for _ in repeats:
            start = time.perf_counter()
            result = call()
            seconds += time.perf_counter() - start
            del result  # freed outside the timing
        return seconds / calls

    return sample


def interleave(
    samplers: Mapping[str, Sampler], pace: Pace, known: Mapping[str, float] | None = None, alike: bool = False
) -> Times:
    """Return the times of all implementations, called in turn.

    A first call of each decides the number of rounds; it is left out for calls that are `known` to take long. With
    `alike`, all make as many calls in a sample as the fastest of them.
    """
    rehearsed = {
        implementation: seconds if (seconds := (known or {}).get(implementation, 0)) > LONG else sample(1)
        for implementation, sample in samplers.items()
    }
    calls = {
        implementation: math.ceil(SAMPLE / seconds) if seconds < SHORT else 1
        for implementation, seconds in rehearsed.items()
    }
    if alike:
        calls = dict.fromkeys(calls, max(calls.values()))
    cost = sum(max(calls[implementation] * seconds, SAMPLE) + COLLECT for implementation, seconds in rehearsed.items())
    rounds = min(max(int(pace.seconds / cost), pace.fewest), pace.most)
    times: Times = {implementation: [] for implementation in samplers}
    for _ in range(rounds):
        for implementation, sample in samplers.items():
            times[implementation].append(sample(calls[implementation]))
    return times


def ratio(times: Times, slow: str, fast: str) -> float:
    """How many times as long one implementation takes as another: the median over the rounds."""
    return statistics.median(theirs / ours for theirs, ours in zip(times[slow], times[fast], strict=True))
