"""Section of the report that doubles one size at a time: the cost of each function should double, too.

Functions that assign or read a plan use the groups of `Selection.growing`. The other functions start with
`Selection.growing_from` topics, patterns, members, partitions or records, or with a tenth of that number, which then
doubles three times.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from assignor import Plan, Subscription, TopicPartition, check, match_topics, plan, resolve
from assignor.wire import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from benches import patterns
from benches.comparison import series
from benches.implementations import WrongAnswerError
from benches.matching import with_matcher
from benches.replay_report_sections import check_decoding, check_replay, commit_log, decoded, metadata_log, replayed
from benches.selections import Selection
from benches.tables import Raw, Report, ReportSection, Table, shown
from benches.targets import DOUBLING, TargetResult
from benches.timing import Times, interleave, ratio, sampler
from benches.workloads import Racks, Workload, doubling

FEW = 20
"""Number of topics, patterns, members or groups that stays the same while another size doubles."""

Call = Callable[[], Any]
Prepare = Callable[[int], Call]
"""Function from a size to a call whose answer is checked."""


def growth(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that doubles one size at a time."""
    rows, target_results = [], []
    for label, key, times in _series(selection, report):
        raw[key] = times
        steps = [ratio(times, *pair) for pair in zip(list(times)[1:], times, strict=False)]
        medians = [shown(statistics.median(seconds) * 1000) for seconds in times.values()]
        rows.append([label, *medians, *(f"x{step:.2f}" for step in steps)])
        target_results.append(TargetResult(f"{label}: worst doubling", max(steps), DOUBLING, sense="<="))
    head = ["", "1", "2", "4", "8", "to 2", "to 4", "to 8"]
    note = "Median milliseconds as one size doubles three times, and the factor of each doubling."
    return ReportSection("Growth", note, Table(head, rows), target_results)


def _series(selection: Selection, report: Report) -> Iterator[tuple[str, str, Times]]:
    """Yield the label, the key and the times of each series."""
    racks: Racks
    for racks in ("none", "two"):
        for axis, start in selection.growing.items():
            workloads = doubling(start, axis, racks)
            for name in ("assign", "plan"):
                report(f"{name} on {', '.join(workload.name for workload in workloads)}")
                times = series(name, workloads, selection.own_pace)
                yield f"{name}, {axis} from {workloads[0].name}", f"{name}, {axis}, {racks}", times
    for axis, start in selection.growing.items():
        calls = [(workload.name, with_plans(workload)) for workload in doubling(start, axis)]
        for name in calls[0][1]:
            label = f"{name}, {axis} from {calls[0][0]}"
            report(label)
            yield label, f"{name}, {axis}", _times({case: found[name] for case, found in calls}, selection)
    for name, (divisor, prepare) in OTHERS.items():
        sizes = [selection.growing_from // divisor << step for step in range(4)]
        label = f"{name} from {sizes[0]:,}"
        report(label)
        yield label, name, _times({f"{size:,}": prepare(size) for size in sizes}, selection)


def _times(calls: Mapping[str, Call], selection: Selection) -> Times:
    return interleave({name: sampler(call) for name, call in calls.items()}, selection.own_pace, alike=True)


def _check(is_right: bool, name: str) -> None:
    if not is_right:
        raise WrongAnswerError(f"{name} is wrong")


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


def decoding(log: pa.RecordBatch) -> Call:
    """Return a call that decodes a log."""
    check_decoding(log)
    return partial(decoded, log)


def replaying(log: pa.RecordBatch) -> Call:
    """Return a call that replays a log as events."""
    check_replay(log)
    return partial(replayed, log)


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
    "Replay.push, members of 5 generations": (10, lambda count: replaying(metadata_log(5, count, changes=True))),
}
"""Other functions. The key names the function and the size that doubles; the value has the divisor of
`Selection.growing_from` and the function that prepares the call."""
