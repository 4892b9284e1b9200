"""Random logs of groups, for the tests of events.

The logs have the records of all kinds of groups in an order that a broker can write, and in orders that it cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.replay.logs import CONSUMER, SHARE, STREAMS, classic, classic_gone, commit, event, member, metadata
from tests.support.mutation import mutated
from tests.support.record_bytes import LogRecord, subscription

if TYPE_CHECKING:
    import random

    from tests.replay.logs import Event, Row

TOPICS = {"t": 4, "u": 3}

METADATA = metadata({0: {"t": 3}, 5_000: TOPICS, 40_000: {"t": 4}})


def random_log(rng: random.Random, length: int) -> list[LogRecord]:
    """Return a log of one group with gaps, steps back in time, duplicates and damaged records."""
    found: list[LogRecord] = []
    now, offset, generation = rng.randrange(10_000), rng.randrange(100), 0
    while len(found) < length:
        generation += rng.choice([0, 1, 1, 1, 2])
        step = rng.choice([0, 1, 50, 1_000, 7_000, 70_000])
        now += step if rng.random() < 0.97 else -step
        series = rng.random()
        steps = [(0, each) for each in random_step(rng, generation)]
        if series < 0.05:  # a storm
            members = random_members(rng)
            steps = [(500, classic(generation + place, *members)) for place in range(5)]
            generation += 5
        elif series < 0.1:  # regular commits
            owner = member("a", ["t"], {"t": [0, 1]})
            commits = [commit("t", rng.randrange(2), offset=place) for place in range(8)]
            steps = [(1_000, each) for each in [classic(generation, owner), *commits]]
        for pause, each in steps:
            now += pause
            offset += rng.choice([1, 1, 1, 3])
            value = each.value
            if value is not None and rng.random() < 0.03:
                value = mutated(rng, value)
            found.append(LogRecord(offset, now, each.key, value))
            if rng.random() < 0.02:
                found.append(rng.choice(found))
    return found


def random_step(rng: random.Random, generation: int) -> list[Event]:
    """Return the records that one request causes."""
    match rng.randrange(8):
        case 0 | 1 | 2:
            return [classic(generation, *random_members(rng), **random_protocol(rng))]
        case 3:
            return [classic_gone()]
        case 4 | 5:
            return [commit(rng.choice("tu"), rng.randrange(4), offset=rng.choice([None, *range(9)]))]
        case 6:
            return consumer_step(rng, generation)
        case _:
            group = rng.choice([SHARE, STREAMS])
            name = rng.choice("ab")
            steps = [
                [group.joins(name)],
                [*group.leaves(name)],
                [group.epoch(generation)],
                [group.target_epoch(generation)],
            ]
            return [each for step in rng.sample(steps, 2) for each in step]


def random_protocol(rng: random.Random) -> dict[str, str]:
    names = ["range", "range", "cooperative-sticky", "stream"]
    return {"protocol": rng.choice(names), "protocol_type": rng.choice(["consumer"] * 9 + ["connect"])}


def random_members(rng: random.Random) -> list[Row]:
    """Return members of a classic group that divide some partitions among themselves."""
    names = rng.sample("abcd", rng.randrange(4))
    gets: dict[str, dict[str, list[int]]] = {name: {} for name in names}
    for topic, count in TOPICS.items():
        for id in range(rng.choice([count - 1, count])):
            if names and rng.random() < 0.9:
                gets[rng.choice(names)].setdefault(topic, []).append(id)
    return [
        member(
            name + rng.choice(["", "", "-2"]),
            rng.choice([subscription("t"), subscription("t", "u"), b"\0"])
            if rng.random() < 0.2
            else subscription("t", "u"),
            gets[name] if rng.random() < 0.97 else b"\0\0\1",
            instance=rng.choice([None, None, f"instance-{name}"]),
        )
        for name in names
    ]


def consumer_step(rng: random.Random, epoch: int) -> list[Event]:
    """Return records of a consumer group."""
    name = rng.choice("abc")
    pattern = rng.choice([None, "t.*"])
    has = {rng.choice("tu"): [rng.randrange(4)]}
    steps = [
        [
            CONSUMER.joins(
                name, subscribedTopicNames=["t"], subscribedTopicRegex=pattern, instanceId=rng.choice([None, "i"])
            )
        ],
        [*CONSUMER.leaves(name)],
        [event(16, {"groupId": "g", "regularExpression": "t.*"}, {"topics": rng.sample(["t", "u"], 1)})],
        [CONSUMER.epoch(epoch, metadataHash=rng.randrange(2))],
        [CONSUMER.target_of(name, has), CONSUMER.target_epoch(epoch)],
        [CONSUMER.has(name, rng.choice([epoch, -2]), 0, has)],
        [CONSUMER.epoch(None)],
    ]
    count = rng.randrange(1, 4)
    return [each for place in sorted(rng.sample(range(len(steps)), count)) for each in steps[place]]
