"""Calls whose cost should double when one size doubles, and the section of the report that doubles the sizes.

Functions that assign or read a plan start with the groups of `GROWING`. The other functions start with 1,000 topics,
patterns, members, partitions or records, or with a tenth of that number, which then doubles three times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from assignor import Plan, Subscription, TopicPartition, check, match_topics, plan, resolve
from assignor.wire import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from benches import patterns
from benches.bench_assign import doubled, growing
from benches.bench_matching import with_matcher
from benches.bench_replay import (
    Owners,
    check_current,
    check_decoding,
    check_replay,
    commit_log,
    decoded,
    metadata_log,
    replayed,
)
from benches.checks import require
from benches.report import Part, Row, Run, Target, section
from benches.timing import interleave, sampler
from benches.workloads import Axis, Racks, Workload, doubling

GROWING: dict[Axis, Workload] = {
    "members": Workload(1250, 100, 500),
    "topics": Workload(1000, 125, 50),
    "partitions": Workload(1000, 10, 6250),
}
"""First group of each series, by the size that doubles."""

FEW = 20
"""Number of topics, patterns, members or groups that stays the same while another size doubles."""

Call = Callable[[], Any]
Prepare = Callable[[int], Call]
"""Function from a size to a call whose answer is checked."""


@section(
    "growth",
    "Growth",
    "Milliseconds, min / median, as one size doubles three times, and the factor of each doubling.",
    "this / previous",
)
def growth(run: Run) -> Iterator[Part]:
    measured = list(_series(run))
    yield from (row for row, _ in measured)
    yield from (target for _, target in measured)


def _series(run: Run) -> Iterator[tuple[Row, Target]]:
    starts = run.of(GROWING, dict.fromkeys(GROWING, Workload(50, 10, 20)))
    racks: Racks
    for racks in ("none", "two"):
        for axis, start in starts.items():
            yield doubled("assign", start, axis, racks, run)
            yield doubled("plan", start, axis, racks, run)
    for axis, start in starts.items():
        calls = {workload.name: with_plans(workload) for workload in doubling(start, axis)}
        for name in calls[start.name]:
            label = f"{name}, {axis} from {start.name}"
            yield _timed(label, {workload: found[name] for workload, found in calls.items()}, run)
    for name, (divisor, prepare) in OTHERS.items():
        sizes = [run.of(1_000, 100) // divisor << step for step in range(4)]
        yield _timed(f"{name} from {sizes[0]:,}", {str(size): prepare(size) for size in sizes}, run)


def _timed(label: str, calls: Mapping[str, Call], run: Run) -> tuple[Row, Target]:
    run.report(label)
    samplers = {name: sampler(call) for name, call in calls.items()}
    return growing(label, interleave(samplers, run.pace(1.5, 7), alike=True))


def _check(is_right: bool, name: str) -> None:
    require(is_right, f"{name} is wrong")


def with_plans(workload: Workload) -> dict[str, Call]:
    """Return calls that check an assignment or read a plan.

    Each call that reads a plan makes new plans, because a plan keeps what it has computed.

    Raises:
        WrongAnswerError: An answer is wrong.
    """
    topics, members = workload.partitions_per_topic(), workload.subscriptions()
    # The first member leaves and a last one joins, so all partitions move, whatever the size of the group.
    replaced = {**members, "new": members["member0"]}
    del replaced["member0"]
    found, after = plan(topics, members), plan(topics, replaced)
    lists = dict(found)
    diff = found.diff(after)
    _check(diff.added.get("new", []) == after["new"] and found.diff(found).moved == 0, "diff")
    _check(diff.moved == workload.total_partitions, "diff")
    _check(sum(map(len, diff.revoked.values())) == sum(map(len, diff.added.values())), "diff")
    encoded = {member: list(decode_assignment(data).partitions) for member, data in found.encode().items()}
    _check(encoded == lists, "encode")
    _check(Plan.from_json(found.to_json()) == found, "to_json")
    _check(found.balance().max == found.counts().max(), "balance")
    _check(int(found.spans().count.sum()) == workload.total_partitions, "spans")
    _check(not check(lists, topics, members), "check")
    _check(bool(check({**lists, "member0": []}, topics, members).unowned) == bool(lists["member0"]), "check")
    return {
        "check": partial(check, lists, topics, members),
        "Plan.diff": lambda: plan(topics, members).diff(plan(topics, replaced)),
        "Plan.encode": lambda: plan(topics, members).encode(),
        "Plan.balance": lambda: plan(topics, members).balance(),
        "Plan.spans": lambda: plan(topics, members).spans(),
        "Plan.to_json": lambda: plan(topics, members).to_json(),
    }


def with_one_pattern(count: int) -> Call:
    """Return a call of `match_topics` with a number of topics."""
    topics = patterns.names(count)
    found = partial(match_topics, r"(?:eu|us)[._-].*[0-9]{2}", topics)
    _check(found() == found(engine="reference"), "match_topics")
    return found


def with_patterns(topic_count: int, pattern_count: int) -> Call:
    """Return a call of `resolve` with a number of topics and a number of members with a pattern each."""
    topics = patterns.names(topic_count)
    texts = patterns.patterns(pattern_count, topics)
    group = {f"member{number}": Subscription(pattern=text) for number, text in enumerate(texts)}
    call = partial(resolve, group, topics)
    _check(list(call().values()) == with_matcher(texts, topics)(), "resolve")
    return call


def with_topic_matcher(topic_count: int, pattern_count: int) -> Call:
    """Return a call that adds a number of topics and patterns to a new `TopicMatcher`."""
    topics = patterns.names(topic_count)
    texts = patterns.patterns(pattern_count, topics)
    call = with_matcher(texts, topics)
    _check(call()[0] == match_topics(texts[0], topics, engine="reference"), "TopicMatcher")
    return call


def with_names(count: int) -> Call:
    """Return a call of `resolve` for a number of members that name their topics."""
    topics = patterns.names(FEW)
    group = {f"member{number}": list(topics) for number in range(count)}
    call = partial(resolve, group, topics)
    _check(call() == group, "resolve")
    return call


def with_subscription(count: int) -> Call:
    """Return a call that encodes and decodes the subscription to a number of topics."""
    subscription = Subscription(tuple(patterns.names(count)))
    found = decode_subscription(encode_subscription(subscription)).topics
    _check(sorted(found) == sorted(subscription.topics), "decode_subscription")
    return lambda: decode_subscription(encode_subscription(subscription))


def with_assignment(count: int) -> Call:
    """Return a call that encodes and decodes an assignment with a number of partitions."""
    partitions = tuple(TopicPartition(f"topic{id % FEW}", id // FEW) for id in range(count))
    _check(set(decode_assignment(encode_assignment(partitions)).partitions) == set(partitions), "decode_assignment")
    return lambda: decode_assignment(encode_assignment(partitions))


def with_log(
    call: Callable[[pa.RecordBatch], Any], check: Callable[[pa.RecordBatch], None], log: pa.RecordBatch
) -> Call:
    """Return a call that reads a log."""
    check(log)
    return partial(call, log)


def with_owners(count: int) -> Call:
    """Return a call that replays a record of each member of a consumer group."""
    check_current(count)
    return Owners(count, count).push


decoding, replaying = partial(with_log, decoded, check_decoding), partial(with_log, replayed, check_replay)


OTHERS: dict[str, tuple[int, Prepare]] = {
    "match_topics, topics": (1, with_one_pattern),
    "resolve, topics": (1, lambda count: with_patterns(count, FEW)),
    "resolve, patterns": (10, lambda count: with_patterns(10 * FEW, count)),
    "resolve, members": (1, with_names),
    "TopicMatcher, topics": (1, lambda count: with_topic_matcher(count, FEW)),
    "TopicMatcher, patterns": (10, lambda count: with_topic_matcher(10 * FEW, count)),
    "encode_subscription and decode_subscription, topics": (1, with_subscription),
    "encode_assignment and decode_assignment, partitions": (1, with_assignment),
    "decode_batch, commits": (1, lambda count: decoding(commit_log(FEW, count))),
    "decode_batch, members of 5 generations": (10, lambda count: decoding(metadata_log(5, count))),
    "Replay.push, commits": (1, lambda count: replaying(commit_log(FEW, count))),
    "Replay.push, groups": (10, lambda count: replaying(commit_log(count, 0))),
    "Replay.push, current assignments of members": (1, with_owners),
    "Replay.push, members of 5 generations": (10, lambda count: replaying(metadata_log(5, count, changes=True))),
}
"""Other functions. The key names the function and the size that doubles; the value has the divisor of the first size,
and the function that prepares the call."""
