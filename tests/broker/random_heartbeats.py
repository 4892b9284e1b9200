"""Random heartbeats to a real coordinator, in orders that no client sends.

Members join, rejoin, change their subscriptions, report too few partitions, use another epoch, leave, and have the
instance id of another process; topics grow. A seed determines everything except the topic ids, which the broker
generates.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.member import HeartbeatRequest
from assignor.member.messages import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from tests.broker import topic_buckets

if TYPE_CHECKING:
    from assignor.member import HeartbeatResponse
    from assignor.member.messages import Assignment
    from tests.broker.scenario import Scenario

__all__ = ["FILE", "send_random_heartbeats"]

FILE = "member_exchanges_at_random.jsonl.gz"
"""File of the random scenarios, in the format of `recording.py`."""

RESOLVED_AGAIN = 10_000
"""Milliseconds from the first pattern of a group until the coordinator may resolve the group's patterns again.

From then on, a difference of milliseconds decides which heartbeat makes the coordinator resolve them. So a scenario
with patterns ends at this time.
"""

PATTERNS = ("t[01]", ".*", "t2|x", "none")


@dataclass(slots=True)
class RandomMember:
    """Member that sends random heartbeats.

    Attributes:
        member_id: Member id; changes when it joins again as a new process.
        instance_id: Instance id of a static member, else None.
        assignor: Requested assignor.
        epoch: Last epoch of the coordinator.
        given: Last assignment of the coordinator.
        is_joined: True if the member believes that it is in the group.
        subscription: Last subscribed names and pattern.
    """

    member_id: str
    instance_id: str | None
    assignor: str | None
    epoch: int = 0
    given: Assignment = field(default_factory=dict)
    is_joined: bool = False
    subscription: tuple[tuple[str, ...] | None, str | None] = (None, None)


def send_random_heartbeats(scenario: Scenario, seed: int, steps: int) -> None:
    """Send random heartbeats of a seed; with some seeds, members subscribe by pattern."""
    rng = random.Random(seed)
    counts = {f"t{index}": rng.randint(1, 5) for index in range(rng.randint(1, 3))}
    topic_buckets.create_topics(scenario, counts, share_bucket=False)  # the model does not keep the order in a bucket
    by_pattern = rng.random() < 0.35
    members = [
        RandomMember(
            _new_id(rng),
            f"i{index}" if rng.random() < 0.3 else None,
            rng.choice([None, scenario.assignor, "range", "uniform"]),
        )
        for index in range(rng.randint(2, 6))
    ]
    end: int | None = None
    for _ in range(steps):
        member, choice = rng.choice(members), rng.random()
        if choice < 0.02 and not by_pattern:
            _grow(scenario, rng)
            continue
        request = _draw_request(scenario, rng, member, by_pattern=by_pattern)
        if end is None and request.subscribed_topic_regex:
            end = scenario.now() + RESOLVED_AGAIN
        _apply_response(member, request, scenario.heartbeat(request))
        if end is not None:
            scenario.await_patterns()
        if rng.random() < 0.05:
            scenario.describe()
        if end is not None and scenario.now() >= end:
            scenario.recording.drop_since(end)
            return


def _draw_request(
    scenario: Scenario, rng: random.Random, member: RandomMember, *, by_pattern: bool
) -> HeartbeatRequest:
    def heartbeat(epoch: int, **fields: Any) -> HeartbeatRequest:
        return HeartbeatRequest(scenario.group, member.member_id, epoch, instance_id=member.instance_id, **fields)

    choice = rng.random()
    if not member.is_joined or choice < 0.02:
        if rng.random() < 0.3:
            member.member_id = _new_id(rng)
        names, pattern = _draw_subscription(scenario, rng, by_pattern=by_pattern)
        return heartbeat(
            JOIN_EPOCH,
            rebalance_timeout_ms=rng.choice([2_000_000, 3_000_000]),
            subscribed_topic_names=names,
            subscribed_topic_regex=pattern,
            server_assignor=member.assignor,
            topic_partitions={},
        )
    if choice < 0.08:
        return heartbeat(rng.choice([LEAVE_EPOCH, LEAVE_STATIC_EPOCH]) if member.instance_id else LEAVE_EPOCH)
    if choice < 0.15:
        names, pattern = _draw_subscription(scenario, rng, by_pattern=by_pattern)
        if by_pattern:
            names, pattern = names or (), pattern or ""
        owned = rng.choice([None, member.given])
        return heartbeat(
            member.epoch, subscribed_topic_names=names, subscribed_topic_regex=pattern, topic_partitions=owned
        )
    if choice < 0.18:
        epoch = max(1, member.epoch + rng.choice([-2, -1, 1]))
        return heartbeat(epoch, topic_partitions=rng.choice([None, member.given, {}]))
    if choice < 0.21:
        names, pattern = member.subscription
        return heartbeat(
            member.epoch,
            rebalance_timeout_ms=2_000_000,
            subscribed_topic_names=names,
            subscribed_topic_regex=pattern,
            server_assignor=member.assignor,
            topic_partitions=member.given,
        )
    if choice < 0.6:
        return heartbeat(member.epoch, topic_partitions=member.given if rng.random() < 0.9 else {})
    return heartbeat(member.epoch)


def _draw_subscription(
    scenario: Scenario, rng: random.Random, *, by_pattern: bool
) -> tuple[tuple[str, ...] | None, str | None]:
    if by_pattern and rng.random() < 0.6:
        return None, scenario.topic(rng.choice(PATTERNS))
    names = sorted(scenario.ids)
    return tuple(sorted(rng.sample(names, rng.randint(rng.random() > 0.1, len(names))))), None


def _grow(scenario: Scenario, rng: random.Random) -> None:
    name = rng.choice(sorted(scenario.ids))
    if scenario.counts[name] < 8:
        scenario.grow_topic(name.removeprefix(scenario.topic("")), scenario.counts[name] + rng.randint(1, 2))


def _apply_response(member: RandomMember, request: HeartbeatRequest, response: HeartbeatResponse) -> None:
    """Update the member with a response."""
    if response.error_code or request.member_epoch < 0:
        member.is_joined = False
        return
    member.is_joined = True
    member.epoch = response.member_epoch
    names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    if request.member_epoch == JOIN_EPOCH:
        member.subscription, member.given = (names, pattern), {}
    else:
        member.subscription = (
            member.subscription[0] if names is None else names,
            member.subscription[1] if pattern is None else pattern,
        )
    if response.assignment is not None:
        member.given = {topic_id: tuple(ids) for topic_id, ids in response.assignment.items()}


def _new_id(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))
