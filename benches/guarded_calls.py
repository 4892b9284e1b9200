"""Calls whose instructions are counted, and the program `python -m benches.guarded_calls CALL...` that makes them.

callgrind runs the program. `getppid` marks the beginning and the end of each call: callgrind then writes the count
since the previous mark. So the start of Python, the creation of the input and the release of the result are not
counted. Each call is made once before it is counted, which excludes the cost of first calls.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from assignor import check, plan
from benches import growth
from benches.bench_replay import Owners, commit_log, decoded, metadata_log, replayed
from benches.implementations import IMPLEMENTATIONS
from benches.workloads import AssignorName, Shape, SubscriptionType, Workload

HOMOGENEOUS = Workload(300, 100, 20)
HETEROGENEOUS = replace(HOMOGENEOUS, subscription="HETEROGENEOUS")
RACKS = replace(HOMOGENEOUS, racks="two")
RACKS_AND_SIZES = replace(RACKS, subscription="HETEROGENEOUS", sizes="differ")
TINY = Workload(3, 2, 6)
ASSIGNORS: tuple[AssignorName, ...] = (
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "uniform",
    "server-range",
    "simple",
)

MANY = 100
"""Number of times that a tiny group is assigned, so that the marks do not distort the count."""

Prepare = Callable[[], Callable[[], Any]]
"""Function that returns a call with its input ready."""


def _implementation(name: str, workload: Workload, shape: Shape = "lists") -> Prepare:
    return lambda: IMPLEMENTATIONS[name].prepare(workload, shape)


def _joined(name: str, assignor: AssignorName, subscription: SubscriptionType = "HOMOGENEOUS") -> Prepare:
    """Return a function that prepares a call of an assignor other than range, for a group that a member has joined."""
    workload = replace(HOMOGENEOUS, assignor=assignor, subscription=subscription, event="join")
    return _implementation(name, workload, "objects")


def _many(prepare: Prepare) -> Prepare:
    def prepared() -> Callable[[], None]:
        call = prepare()

        def calls() -> None:
            for _ in itertools.repeat(None, MANY):
                call()

        return calls

    return prepared


def _encode() -> Callable[[], Any]:
    return plan(HOMOGENEOUS.partitions_per_topic(), HOMOGENEOUS.subscriptions()).encode


def _check() -> Callable[[], Any]:
    topics, members = HOMOGENEOUS.partitions_per_topic(), HOMOGENEOUS.subscriptions()
    return functools.partial(check, dict(plan(topics, members)), topics, members)


def _diff() -> Callable[[], Any]:
    return growth.with_plans(HOMOGENEOUS)["Plan.diff"]


def _on_log(call: Callable[[pa.RecordBatch], Any], log: Callable[..., pa.RecordBatch], *sizes: int) -> Prepare:
    return lambda: functools.partial(call, log(*sizes))


_metadata = functools.partial(metadata_log, changes=True)

CALLS: dict[str, Prepare] = {
    "assign": _implementation("assign", HOMOGENEOUS),
    "assign, heterogeneous": _implementation("assign", HETEROGENEOUS),
    "assign, tiny": _many(_implementation("assign", TINY)),
    "plan": _implementation("plan", HOMOGENEOUS),
    "plan, heterogeneous": _implementation("plan", HETEROGENEOUS),
    "plan, fresh": _implementation("plan", HOMOGENEOUS, "fresh"),
    "plan, sets": _implementation("plan", HOMOGENEOUS, "sets"),
    "plan, objects": _implementation("plan", HOMOGENEOUS, "objects"),
    "plan, racks": _implementation("plan", RACKS),
    "plan, columns": _implementation("plan, columns", HOMOGENEOUS),
    "plan, columns, racks": _implementation("plan, columns", RACKS),
    "plan, columns, racks, sizes differ": _implementation("plan, columns", RACKS_AND_SIZES),
    "plan, tiny": _many(_implementation("plan", TINY)),
    "Group.plan": _implementation("Group.plan", HOMOGENEOUS),
    "plan.encode": _encode,
    "plan.diff": _diff,
    "check": _check,
    "match_topics": lambda: growth.with_one_pattern(300),
    "resolve": lambda: growth.with_patterns(300, 50),
    "TopicMatcher": lambda: growth.with_topic_matcher(300, 50),
    "decode_subscription": lambda: growth.with_subscription(1_000),
    "decode_assignment": lambda: growth.with_assignment(1_000),
    **{f"Group.plan, {assignor}": _joined("Group.plan", assignor) for assignor in ASSIGNORS},
    **{f"Group.plan, {assignor}, half": _joined("Group.plan", assignor, "HALF") for assignor in ASSIGNORS},
    "plan, sticky": _joined("plan", "sticky"),
    "plan, uniform": _joined("plan", "uniform"),
    "decode_batch, commits": _on_log(decoded, commit_log, 10, 1_000),
    "decode_batch, group metadata": _on_log(decoded, _metadata, 10, 100),
    "Replay.push, commits": _on_log(replayed, commit_log, 10, 1_000),
    "Replay.push, group metadata": _on_log(replayed, _metadata, 10, 100),
    "Replay.push, current assignments": lambda: Owners(300, 300).push,
}
"""The calls by name. Unless the name says otherwise, there are 300 members and 100 topics of 20 partitions, and each
member subscribes to all topics by a list. In calls with an assignor, one member has just joined, and the others own
their partitions. `plan.diff` also makes the two plans, and calls that decode a message also encode it. Calls that match
names have 300 topics, and one or 50 patterns; messages have 1,000 topics or partitions. `decode_batch` and
`Replay.push` read the records that the name of the call mentions: 1,000 commits, 10 generations of 100 members, or 300
records of members of a consumer group."""


def main(names: Iterable[str]) -> None:
    """Make the calls, each between two marks."""
    gc.disable()  # the cost of a collection depends on all objects that were created before
    for name in names:
        call = CALLS[name]()
        call()
        os.getppid()
        result = call()
        os.getppid()
        del result, call


if __name__ == "__main__":
    main(sys.argv[1:])
