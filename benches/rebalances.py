"""Inputs of the rebalances of an event; each starts from the partitions that members own since the previous rebalance.

Before any event except `first`, the engine assigns the group once, and the members own the assigned partitions. Java's
program (`benches/java/src/main/java/TimedGroup.java`) does the same with Kafka's answers. Checksums of all answers are
compared, so both have the same inputs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from assignor import Plan, Subscription, TopicPartition, plan
from benches.workloads import SERVER, Event, Shape, Workload

GENERATION = 5
"""Generation in which members got the partitions that they own."""

RESTARTS = 3
"""Number of members that restart in a rolling restart, with two rebalances each."""


class Rebalance(NamedTuple):
    """The input of one assignment."""

    topics: Mapping[str, Any]
    subscriptions: Mapping[str, Any]


def options(workload: Workload) -> dict[str, Any]:
    """Return the arguments of `plan` that choose the assignor, empty for range."""
    if workload.assignor == "range":
        return {}
    if workload.assignor in SERVER:
        group_protocol, assignor = SERVER[workload.assignor]
        return {"assignor": assignor, "group_protocol": group_protocol}
    return {"assignor": workload.assignor}


def topic_ids(workload: Workload) -> dict[str, Any]:
    """Return the topic ids as an argument of `plan` and `Group`; only the broker's assignors use them."""
    return {"topic_ids": workload.topic_ids()} if workload.assignor in SERVER else {}


def members(event: Event, count: int) -> list[dict[str, int]]:
    """Return member ids with their numbers for each rebalance of an event; the first rebalance precedes the event."""
    current = {f"member{member}": member for member in range(count)}
    found = [current]
    if event == "join":
        found.append({**current, f"member{count}": count})
    elif event == "leave":
        found.append({id: number for id, number in current.items() if number != count // 2})
    elif event == "rolling":
        for restart in range(RESTARTS):
            number = restart * (count // RESTARTS)
            current = {id: other for id, other in current.items() if other != number}
            found.append(current)
            current = {**current, f"member{number}-again": number}
            found.append(current)
    return found


def rebalances(workload: Workload, shape: Shape = "lists") -> list[Rebalance]:
    """Return the input of each timed rebalance.

    `shape` applies only to the first assignment by range. Otherwise members are `Subscription` objects, and members
    with equal topics share a tuple.
    """
    topics = workload.partitions_per_topic()
    if workload.event == "first" and workload.assignor == "range":
        return [Rebalance(topics, workload.subscriptions(shape))]
    groups = members(workload.event, workload.members)
    if workload.event == "first":
        return [Rebalance(topics, _subscriptions(workload, groups[0], None))]
    plans = answers(workload)
    return [
        Rebalance(topics, _subscriptions(workload, group, before))
        for group, before in zip(groups[1:], plans, strict=False)
    ]


def in_turn(calls: Iterable[Callable[[], Any]]) -> Callable[[], Any]:
    """Return a call that makes all calls in order, or the only call."""
    made = list(calls)
    return made[0] if len(made) == 1 else lambda: [call() for call in made]


@functools.lru_cache(maxsize=1)
def answers(workload: Workload) -> list[Plan]:
    """Return the engine's answer to each rebalance of an event, including the one that precedes the event.

    The cached answers are plans, because the garbage collector does not traverse plans while implementations are timed.
    """
    topics = workload.partitions_per_topic()
    arguments = {**options(workload), **topic_ids(workload)}
    if workload.event == "first":
        return [plan(topics, workload.subscriptions(), **arguments)]
    found: list[Plan] = []
    for group in members(workload.event, workload.members):
        subscriptions = _subscriptions(workload, group, found[-1] if found else None)
        found.append(plan(topics, subscriptions, **arguments))
    return found


def _subscriptions(workload: Workload, group: Mapping[str, int], before: Plan | None) -> dict[str, Subscription]:
    names = [f"topic{topic}" for topic in range(workload.topics)]
    lists: dict[range, tuple[str, ...]] = {}
    subscriptions = {}
    for id, number in group.items():
        wanted = workload.topics_of_member(number)
        topics = lists.setdefault(wanted, tuple(names[wanted.start : wanted.stop]))
        owned: tuple[TopicPartition, ...] = ()
        generation = None
        if before is not None and id in before:
            owned, generation = tuple(before[id]), GENERATION
        rack = workload.rack_of_member(number)
        subscriptions[id] = Subscription(topics, rack=rack, owned_partitions=owned, generation=generation)
    return subscriptions
