"""What checking the input costs: the core beside a twin of it that trusts its input.

The twin is the same source, compiled with `--cfg assignor_unchecked`, which turns every `ensure!` of the binding into
nothing. Both are loaded here and called in turn. Two cores that are the same come out within 3 % of each other.
"""

from __future__ import annotations

import functools
from types import ModuleType

import assignor._core
from assignor.errors import AssignorError
from benches import twins
from benches.sides import WrongAnswerError
from benches.timing import Pace, Times, interleave, sampler
from benches.twins import TwinMissingError
from benches.workloads import Shape, Workload

REFUSED = ({"t": [0, 0]}, {"a": ["t"]})
"""A group that the core refuses, for an id that is there twice."""


def trusting() -> ModuleType:
    """The core without its checks.

    Raises:
        TwinMissingError: There is none to be had here, or what was built refuses wrong input all the same.
    """
    library = twins.build("unchecked")
    module = twins.load(library)
    try:
        module.plan(*REFUSED)
    except AssignorError:
        raise TwinMissingError(f"{library.name} was built without its checks, and checks all the same") from None
    return module


def timed(core: ModuleType, verb: str, workload: Workload, shape: Shape, pace: Pace) -> Times:
    """Times `assign` or `plan` of both cores, called `checked` and `unchecked`, on the same input.

    Raises:
        WrongAnswerError: Their answers differ.
    """
    given = workload.partitions_per_topic(), workload.subscriptions(shape)
    cores = {"checked": assignor._core, "unchecked": core}
    calls = {name: functools.partial(getattr(each, verb), *given) for name, each in cores.items()}
    answers = [dict(call()) for call in calls.values()]
    if answers[0] != answers[1]:
        raise WrongAnswerError(f"{verb} without checks differs on {workload.name}")
    answers.clear()
    return interleave({name: sampler(call) for name, call in calls.items()}, pace, alike=True)
