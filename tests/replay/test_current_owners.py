"""Owners in a consumer group: updated when a member changes, and computed again after a restart from a snapshot."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from assignor.replay import Replay
from tests.replay.logs import CONSUMER, Event, Row, commit, metadata
from tests.support.record_bytes import LogRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

MEMBERS, PARTITIONS = "abcdef", [("t", 0), ("t", 1), ("t", 2), ("u", 0), ("u", 1)]
BEFORE, AFTER = metadata({0: {"t": 3}}), metadata({1: {"t": 3, "u": 2}})


def has(name: str, partitions: Sequence[tuple[str, int]]) -> Event:
    """Return the current assignment of a member."""
    return CONSUMER.has(
        name, 1, 0, {topic: [id for each, id in partitions if each == topic] for topic, _ in partitions}
    )


def steady_step(rng: random.Random, owned: dict[str, list[tuple[str, int]]]) -> list[Event]:
    """Return the records of a step in which each partition has one owner, and update what members own."""
    name, place = rng.choice(MEMBERS), rng.random()
    if name not in owned:
        owned[name] = []
        return [CONSUMER.joins(name, subscribedTopicNames=["t", "u"], instanceId=rng.choice([None, f"i-{name}"]))]
    if place < 0.1:
        del owned[name]
        return [*CONSUMER.leaves(name)]
    free = [each for each in PARTITIONS if not any(each in mine for mine in owned.values())]
    mine = [each for each in owned[name] if rng.random() < 0.7]
    owned[name] = sorted(mine + rng.sample(free, rng.randrange(len(free) + 1)))
    return [has(name, owned[name])]


def wild_step(rng: random.Random) -> list[Event]:
    """Return records that a broker does not write: partitions with two owners, and shared instance ids."""
    name = rng.choice(MEMBERS)
    tombstones = CONSUMER.leaves(name)
    shared = CONSUMER.joins(name, subscribedTopicNames=["t"], instanceId=rng.choice([None, "i-a", "one"]))
    return rng.choice(
        [[shared], [*tombstones], [tombstones[0]], [tombstones[1]], [has(name, rng.sample(PARTITIONS, 2))]]
    )


def random_log(rng: random.Random, length: int) -> list[LogRecord]:
    """Return records of current assignments, members and commits."""
    wildness, time = rng.choice([0, 0, 0.05, 0.5]), 0
    owned: dict[str, list[tuple[str, int]]] = {}
    found: list[LogRecord] = []
    while len(found) < length:
        time += rng.choice([0, 1, 500, 1_000, 1_000, 30_000])
        if rng.random() < 0.5:
            events = [commit(*rng.choice(PARTITIONS), offset=rng.choice([None, *range(9)]))]
        else:
            events = wild_step(rng) if rng.random() < wildness else steady_step(rng, owned)
        found += [LogRecord(len(found) + place, time, each.key, each.value) for place, each in enumerate(events)]
    return found


def test_updated_owners_give_the_events_of_computed_owners() -> None:
    rng = random.Random(8)
    problems = set()
    for _ in range(20):
        topics, factor, limit = rng.choice([BEFORE, []]), rng.choice([2, 10]), rng.choice([700, 60_000])
        settings: Row = {"stuck_factor": factor, "never_committed_ms": limit}
        kept, restarted = (Replay(topics, **settings) for _ in range(2))
        log = random_log(rng, 80)
        named = rng.randrange(80)
        for place, record in enumerate(log):
            state, restarted = restarted.snapshot(), Replay([*topics, *AFTER] if place > named else topics, **settings)
            restarted.restore(state)
            expected = kept.push(record)
            assert expected == restarted.push(record), record
            if place == named:
                assert kept.observe_topics(AFTER) == restarted.observe_topics(AFTER)
            assert kept.next_deadline() == restarted.next_deadline()
            problems |= {each.get("problem", each["event"]) for each in expected}
        assert kept.states() == restarted.states()
        assert kept.positions() == restarted.positions()
        assert kept.advance(10**12) == restarted.advance(10**12)
    assert {"stuck", "not_owned", "never_committed"} <= problems
