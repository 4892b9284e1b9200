"""Timing of several implementations in turn, round after round, so that noise affects all of them.

A ratio is computed within each round, and its median over the rounds is reported, because a slow period of the machine
slows both sides. The garbage collector runs before every sample and is enabled during the sample. A call of more than a
millisecond is one sample, with cold caches, like the rare call of a leader. A shorter call is repeated, and a sample is
the mean. Comparisons with Python clients include freeing the result, which a caller pays for. Otherwise results are
freed while the clock is stopped, except for very short calls, where stopping the clock would distort the time: these
samples include freeing the result and about 50 ns of the loop.
"""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

SHORT = 1e-3
"""A call that takes fewer seconds is repeated within a sample."""

SAMPLE = 2e-3
"""Target duration of a sample of repeated calls, in seconds."""

MANY = 100
"""If a sample has more calls than this, the clock is stopped only after the last call. The fastest implementation then
takes less than 20 µs per call."""

LONG = 0.1
"""A call that takes more seconds needs no warm-up."""

COLLECT = 10e-3
"""Approximate duration of the garbage collection before a sample, in seconds."""

Sampler = Callable[[int], float]
"""Function that makes a number of calls and returns the seconds per call."""

Times = dict[str, list[float]]
"""Seconds per call in each round, by implementation."""


class Case(NamedTuple):
    """Call in this process that pytest-benchmark times.

    Attributes:
        group: What the call computes; its table compares the cases of a group.
        name: Name in the table.
        prepare: Function that returns the call, after its answer is checked.
    """

    group: str
    name: str
    prepare: Callable[[], Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits of the number of rounds.

    Attributes:
        seconds: Target duration of all rounds of a comparison.
        fewest: Smallest number of rounds.
        most: Largest number of rounds.
    """

    seconds: float
    fewest: int
    most: int


def sampler(call: Callable[[], Any], *, frees: bool = False) -> Sampler:
    """Return a sampler of a call in this process. With `frees`, the time to free each result is part of the sample."""

    def sample(calls: int) -> float:
        repeats = itertools.repeat(None, calls)
        gc.collect()
        if frees or calls > MANY:
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

    The number of rounds follows from a first call of each implementation, or from its `known` seconds if these exceed
    `LONG`. With `alike`, all implementations make the same number of calls in a sample as the fastest of them.
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
    """Return the median over the rounds of the time of `slow` divided by the time of `fast`."""
    return statistics.median(theirs / ours for theirs, ours in zip(times[slow], times[fast], strict=True))


def alternate(
    sides: Mapping[str, Callable[[], Mapping[str, float]]], rounds: int, report: Callable[[str], None]
) -> dict[str, Times]:
    """Return the times of each phase; in each round, the sides make all phases in turn and return their times."""
    times: dict[str, Times] = {}
    for number in range(rounds):
        for side, make in sides.items():
            report(f"{side}: round {number + 1} of {rounds}")
            gc.collect()
            for phase, seconds in make().items():
                times.setdefault(phase, {}).setdefault(side, []).append(seconds)
    return times
