"""Heartbeats to a real coordinator that no client would send in this order: what it answers is what it does.

Members join, come again, change their minds, claim too little, come with another epoch, leave, and are other processes
with the same instance id; topics grow. All is drawn from a seed but the ids of the topics, which the broker makes.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.member import HeartbeatRequest
from assignor.member.messages import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from assignor.ordering import DEFAULT_CAPACITY
from tests.member.simulation.hash_tables import folded, uuid_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.member import HeartbeatResponse
    from assignor.member.messages import Assignment
    from tests.broker.scenario import Scenario

__all__ = ["FILE", "send_random_heartbeats"]

FILE = "member_exchanges_at_random.jsonl.gz"
"""Beside the vectors of scenarios told on purpose; as these in `broker/recording.py`."""

RESOLVED = 30
"""Milliseconds after which a pattern is surely resolved."""

PATTERNS = ("t[01]", ".*", "t2|x", "none")


@dataclass(slots=True)
class RandomMember:
    """A member that says whatever is drawn.

    Attributes:
        member_id: Its id; another process has another.
        instance_id: Of a static member.
        assignor: The assignor it asks for.
        epoch: As the coordinator said last.
        given: What the coordinator gave last.
        inside: Whether it is in the group, as far as it knows.
        said: The names and the pattern that it said last.
    """

    member_id: str
    instance_id: str | None
    assignor: str | None
    epoch: int = 0
    given: Assignment = field(default_factory=dict)
    inside: bool = False
    said: tuple[tuple[str, ...] | None, str | None] = (None, None)


def send_random_heartbeats(scenario: Scenario, seed: int, steps: int) -> None:
    """Send heartbeats drawn from a seed; with some seeds, members subscribe by pattern."""
    rng = random.Random(seed)
    counts = {f"t{index}": rng.randint(1, 5) for index in range(rng.randint(1, 3))}
    scenario.create_topics(**counts)
    while again := _in_one_bucket(scenario, counts):
        scenario.delete_topic(again)
        scenario.create_topics(**{again: counts[again]})
    by_pattern = rng.random() < 0.35
    members = [
        RandomMember(
            _new_id(rng),
            f"i{index}" if rng.random() < 0.3 else None,
            rng.choice([None, scenario.assignor, "range", "uniform"]),
        )
        for index in range(rng.randint(2, 6))
    ]
    for _ in range(steps):
        member, drawn = rng.choice(members), rng.random()
        if drawn < 0.02 and not by_pattern:
            _grow(scenario, rng)
            continue
        request = _draw_request(scenario, rng, member, by_pattern=by_pattern)
        _apply_response(member, request, scenario.heartbeat(request))
        if by_pattern:
            scenario.wait(RESOLVED)
        if rng.random() < 0.05:
            scenario.describe()


def _draw_request(
    scenario: Scenario, rng: random.Random, member: RandomMember, *, by_pattern: bool
) -> HeartbeatRequest:
    def says(epoch: int, **fields: Any) -> HeartbeatRequest:
        return HeartbeatRequest(scenario.group, member.member_id, epoch, instance_id=member.instance_id, **fields)

    drawn = rng.random()
    if not member.inside or drawn < 0.02:
        if rng.random() < 0.3:
            member.member_id = _new_id(rng)
        names, pattern = _draw_subscription(scenario, rng, by_pattern=by_pattern)
        return says(
            JOIN_EPOCH,
            rebalance_timeout_ms=rng.choice([20_000, 30_000]),
            subscribed_topic_names=names,
            subscribed_topic_regex=pattern,
            server_assignor=member.assignor,
            topic_partitions={},
        )
    if drawn < 0.08:
        return says(rng.choice([LEAVE_EPOCH, LEAVE_STATIC_EPOCH]) if member.instance_id else LEAVE_EPOCH)
    if drawn < 0.15:
        names, pattern = _draw_subscription(scenario, rng, by_pattern=by_pattern)
        if by_pattern:
            names, pattern = names or (), pattern or ""
        owned = rng.choice([None, member.given])
        return says(member.epoch, subscribed_topic_names=names, subscribed_topic_regex=pattern, topic_partitions=owned)
    if drawn < 0.18:
        epoch = max(1, member.epoch + rng.choice([-2, -1, 1]))
        return says(epoch, topic_partitions=rng.choice([None, member.given, {}]))
    if drawn < 0.21:
        names, pattern = member.said
        return says(
            member.epoch,
            rebalance_timeout_ms=20_000,
            subscribed_topic_names=names,
            subscribed_topic_regex=pattern,
            server_assignor=member.assignor,
            topic_partitions=member.given,
        )
    if drawn < 0.6:
        return says(member.epoch, topic_partitions=member.given if rng.random() < 0.9 else {})
    return says(member.epoch)


def _draw_subscription(
    scenario: Scenario, rng: random.Random, *, by_pattern: bool
) -> tuple[tuple[str, ...] | None, str | None]:
    if by_pattern and rng.random() < 0.6:
        return None, scenario.topic(rng.choice(PATTERNS))
    names = sorted(scenario.ids)
    return tuple(sorted(rng.sample(names, rng.randint(rng.random() > 0.1, len(names))))), None


def _in_one_bucket(scenario: Scenario, names: Iterable[str]) -> str | None:
    """A topic whose id shares its bucket of a hash map with another one's: which is first then depends on the past."""
    taken: set[int] = set()
    for name in names:
        bucket = folded(uuid_hash(scenario.ids[scenario.topic(name)])) % DEFAULT_CAPACITY
        if bucket in taken:
            return name
        taken.add(bucket)
    return None


def _grow(scenario: Scenario, rng: random.Random) -> None:
    name = rng.choice(sorted(scenario.ids))
    if scenario.counts[name] < 8:
        scenario.grow_topic(name.removeprefix(scenario.topic("")), scenario.counts[name] + rng.randint(1, 2))


def _apply_response(member: RandomMember, request: HeartbeatRequest, response: HeartbeatResponse) -> None:
    """Remember what the answer says."""
    if response.error_code or request.member_epoch < 0:
        member.inside = False
        return
    member.inside = True
    member.epoch = response.member_epoch
    names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    if request.member_epoch == JOIN_EPOCH:
        member.said, member.given = (names, pattern), {}
    else:
        member.said = member.said[0] if names is None else names, member.said[1] if pattern is None else pattern
    if response.assignment is not None:
        member.given = {topic_id: tuple(ids) for topic_id, ids in response.assignment.items()}


def _new_id(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128)))
