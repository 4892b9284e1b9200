"""Replay of batches and of single records: equal events for the recorded fleet and for random logs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from assignor import _core
from assignor.cluster.metadata import topic_batch
from assignor.errors import SnapshotError, WrongTypeError
from assignor.replay import Replay
from assignor.replay.events import event_dicts
from tests.replay import generated_events
from tests.replay.event_logs import cut_storm
from tests.replay.logs import (
    CONSUMER,
    SHARE,
    STREAMS,
    Event,
    Protocol,
    Row,
    classic,
    classic_gone,
    commit,
    event,
    member,
)
from tests.support.record_bytes import LogRecord
from tests.support.recorded_fleet import topics

LOGS = 30
BAD = (b"\0\2\0\1g", b"\0\x19\0\1g", b"", None, b"\0\1\0\1g\0\1t\0\0\0\1")


# ---- random logs


def random_commit(rng: random.Random) -> list[Event]:
    return [commit(rng.choice("tu"), rng.randrange(3), offset=rng.choice([None, 5, 6, 7, 8]))]


def random_generation(rng: random.Random, generation: int) -> list[Event]:
    """Return a generation of a classic group with random members, or the end of the group."""
    if rng.random() < 0.1:
        return [classic_gone()]
    names = rng.sample("abcd", rng.randrange(4))
    owned: dict[str, dict[str, list[int]]] = {name: {} for name in names}
    for topic, id in (("t", 0), ("t", 1), ("t", 2), ("u", 0), ("u", 1)):
        if names and rng.random() < 0.9:
            owned[rng.choice(names)].setdefault(topic, []).append(id)
    members = []
    for name in names:
        instance = rng.choice(["one", name]) if name in "cd" else None
        member_id = name + rng.choice(["", "2"]) if instance else name
        choices: list[list[str] | bytes] = [["t", "u"], ["t", "u"], ["t"], ["t", "u", "v"], b"\0"]
        wants = rng.choice(choices)
        gets = b"\0" if rng.random() < 0.05 else owned[name]
        members.append(member(member_id, wants, gets, instance=instance))
    protocol = rng.choice(["range", "range", "cooperative-sticky", "other"])
    protocol_type = rng.choice(["consumer"] * 6 + ["connect"])
    return [classic(generation, *members, protocol=protocol, protocol_type=protocol_type)]


def random_epoch_records(rng: random.Random, kind: Protocol, epoch: int) -> list[Event]:
    """Return records of a group with epochs."""
    name = rng.choice("abcd")
    subscription = {"subscribedTopicNames": rng.choice([["t"], ["t", "u"], []])}
    fields: dict[Protocol, Row] = {
        CONSUMER: {**subscription, "subscribedTopicRegex": rng.choice(["", "", "t.*"])},
        SHARE: subscription,
        STREAMS: {},
    }
    if kind != SHARE:
        fields[kind]["instanceId"] = rng.choice([None, None, "one"])
    partitions = {"t": rng.sample(range(3), rng.randrange(3))}
    choices = [
        [kind.joins(name, **fields[kind])],
        [kind.joins(name, **fields[kind])],
        [kind.epoch(epoch, metadataHash=rng.randrange(3))],
        [kind.epoch(epoch, metadataHash=0)],
        [kind.target_epoch(epoch - rng.choice([0, 0, 0, 1]))],
        [kind.has(name, rng.choice([epoch, -2]), rng.randrange(2), {"0": [0, 1]} if kind == STREAMS else partitions)],
        [*kind.leaves(name)],
        [kind.epoch(None)],
    ]
    if kind == STREAMS:
        choices.append([STREAMS.streams_topology(1, {"0": ["t", "u"], "1": ["=r"]})])
    if kind == CONSUMER:
        key = {"groupId": "g", "regularExpression": "t.*"}
        choices.append([CONSUMER.target_of(name, partitions)])
        choices.append([event(16, key, {"topics": rng.choice([["t"], ["t", "u"]])})])
    return rng.choice(choices)


def random_log(rng: random.Random) -> list[LogRecord]:
    """Return a random log of a group, with gaps, duplicates, bad records and times that go backwards."""
    mixtures: list[list[Protocol | None]] = [[None], [CONSUMER], [None, CONSUMER], [None, CONSUMER, STREAMS, SHARE]]
    mixture = rng.choice(mixtures)
    generation, time, offset = rng.choice([0, 1, 1, 5]), 0, 0
    records = []
    for _ in range(rng.randrange(5, 40)):
        time += rng.choice([0, 1, 10, 500, 1_000, 5_000, 70_000])
        generation += rng.choice([0, 1, 1, 1, 2])
        kind, place = rng.choice(mixture), rng.random()
        if place < 0.4:
            events = random_commit(rng)
        elif place < 0.45:
            events = [Event(rng.choice(BAD), rng.choice([b"\0\x63", b"x", None]))]
        else:
            events = random_generation(rng, generation) if kind is None else random_epoch_records(rng, kind, generation)
        for each in events:
            offset += rng.choice([1] * 9 + [0])
            records.append(LogRecord(offset, time - rng.choice([0] * 20 + [3_000]), each.key, each.value))
    return records


def random_settings(rng: random.Random) -> dict[str, Any]:
    return {
        "topics": rng.choice([[], topics()]),
        "is_open": rng.random() < 0.3,
        "storm_rebalances": rng.choice([2, 3, 20]),
        "storm_window_ms": rng.choice([1_000, 60_000]),
        "stuck_factor": rng.choice([2, 10]),
        "stuck_interval_ms": rng.choice([1, 1_000]),
        "never_committed_ms": rng.choice([100, 60_000]),
    }


def test_batches_of_random_logs_have_the_events_of_single_records() -> None:
    rng = random.Random(20)
    seen = set()
    for number in range(LOGS):
        settings = random_settings(rng)
        records = generated_events.random_log(rng, 60) if number % 3 == 0 else random_log(rng)
        single, events = Replay(**settings), []
        for record in records:
            events += single.push(record)
        table = pa.Table.from_pylist([record._asdict() for record in records])
        assert events + single.finish() == batched(table, rng.choice([1, 3, 10, 100]), **settings)
        other = restored(single, **settings)
        late = single.advance(10**12)
        assert late == other.advance(10**12)
        seen |= {each["event"] for each in events + late}
    assert {"generation", "rebalance", "member", "storm", "stuck", "offsets", "bad_record"} == seen


def restored(replay: Replay, **settings: Any) -> Replay:
    """Return another replay with the state of a replay, after a comparison of what both return about it."""
    other = Replay(**settings)
    other.restore(replay.snapshot())
    for method in ("next_deadline", "finish", "states", "positions", "counts"):
        assert getattr(replay, method)() == getattr(other, method)()
    return other


def test_a_member_that_stops_committing_is_stuck_after_a_multiple_of_its_interval() -> None:
    steady = [commit("t", 0, offset=place).at(1_000 * place) for place in range(1, 9)]
    start = classic(1, member("a", ["t"], {"t": [0, 1]})).at(0)
    end = [commit("t", 1).at(40_000), classic(2, member("b", ["t"], {"t": [0, 1]})).at(41_000)]
    records = [
        LogRecord(place, each.time or 0, each.key, each.value) for place, each in enumerate([start, *steady, *end])
    ]

    for factor in (2, 3, 10):
        replay = Replay(stuck_factor=factor)
        events = [each for record in records for each in replay.push(record)]
        found = [(each["at"], each["until"]) for each in events if each["event"] == "stuck"]
        assert found == [(8_000 + 1_000 * factor, None), (40_000, 40_000)]


# ---- batches of the recorded fleet


def fleet() -> pa.Table:
    """Return the records of the fleet without most of the storm, interleaved by time."""
    rows = [(group, record) for group, records in cut_storm(200, 100).items() for record in records]
    rows.sort(key=lambda row: (row[1].timestamp, row[0], row[1].offset))
    return pa.Table.from_pylist([record._asdict() for _, record in rows])


def batched(records: pa.Table, size: int, topics: Sequence[Row] = (), **settings: Any) -> list[Row]:
    """Return the events of batches of a size; each batch has a replay of its own."""
    state, events = None, []
    for batch in records.to_batches(max_chunksize=size):
        replay = _core.Replay(topic_batch(topics), **settings)
        if state is not None:
            replay.restore(state)
        events += event_dicts(replay.push(batch))
        state = replay.snapshot()
    return events + event_dicts(replay.finish())


def test_batches_and_snapshots_change_no_event() -> None:
    records = fleet()
    single = Replay(topics())
    expected = [each for row in records.to_pylist() for each in single.push(tuple(row.values()))]
    expected += single.finish()

    assert expected == batched(records, 1_000_000, topics())
    assert expected == batched(records, 700, topics())
    assert len(expected) > 500


def test_clusters_have_separate_groups() -> None:
    records = pa.Table.from_pylist([record._asdict() for record in random_log(random.Random(1))])
    one = event_dicts(_core.Replay(topic_batch([])).push(records.to_batches()[0]))
    named = records.append_column("cluster", pa.array(["x"] * records.num_rows))
    both = pa.concat_tables([named, records.append_column("cluster", pa.array(["y"] * records.num_rows))])

    found = event_dicts(_core.Replay(topic_batch([])).push(both.combine_chunks().to_batches()[0]))

    assert [{**each, "cluster": name} for name in "xy" for each in one] == found


# ---- invalid input


def test_broken_snapshots_and_columns_are_rejected() -> None:
    replay = Replay()
    replay.push(LogRecord(0, 0, *_commit()))
    data = replay.snapshot()

    for broken in (b"", data[:-1], b"Assignor" + data[8:], data[:8] + b"r" + data[9:], data[:-1] + b"\xff\xff"):
        with pytest.raises(SnapshotError):
            replay.restore(broken)
    assert replay.snapshot() == data
    with pytest.raises(WrongTypeError, match="column offset of the records must be Int64 without nulls; it is missing"):
        _core.Replay(topic_batch([])).push(fleet().drop_columns(["offset"]).to_batches()[0])


def _commit() -> tuple[bytes | None, bytes | None]:
    found = commit("t", 0)
    return found.key, found.value
