"""Timing of implementations on one group, after their answers are checked."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Mapping

from benches.implementations import IMPLEMENTATIONS, forget_answers
from benches.timing import Pace, Sampler, Times, interleave, sampler
from benches.workloads import Shape, Workload


def timed(
    workload: Workload,
    shape: Shape,
    names: Iterable[str],
    pace: Pace,
    others: Mapping[str, Sampler] | None = None,
    known: Mapping[str, float] | None = None,
    *,
    frees: bool = False,
) -> Times:
    """Time implementations on one group, each after its answer is checked.

    `others` have their turn first in each round; `known` has the seconds of implementations that were measured before,
    by name. With `frees`, the time to free each result is included.
    """
    samplers = dict(others or {})
    seconds = dict(known or {})
    for name in names:
        call = IMPLEMENTATIONS[name].prepare(workload, shape)
        start = time.perf_counter()
        result = call()
        seconds[name] = time.perf_counter() - start
        IMPLEMENTATIONS[name].assert_right(workload, result)
        del result
        samplers[name] = sampler(call, frees=frees)
    return interleave(samplers, pace, seconds)


def series(name: str, workloads: Iterable[Workload], pace: Pace, shape: Shape = "lists") -> Times:
    """Time one implementation on several groups, each after its answer is checked."""
    samplers = {}
    for workload in workloads:
        call = IMPLEMENTATIONS[name].prepare(workload, shape)
        IMPLEMENTATIONS[name].assert_right(workload, call())
        samplers[workload.name] = sampler(call)
    forget_answers()
    gc.collect()
    return interleave(samplers, pace, alike=True)
