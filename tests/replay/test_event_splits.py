"""Events do not depend on batches, restarts from snapshots, further calls of `advance` and the order of groups.

The logs are random ones of all kinds of groups, logs of a simulated coordinator, and that of the recorded fleet. Each
run draws new logs; `ASSIGNOR_SEED` sets the first seed.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor import errors
from assignor.replay import Replay
from tests.replay.event_logs import RECORD, cut_storm, push_batch, replayed
from tests.replay.generated_events import METADATA, random_log
from tests.replay.logs import commit, event, log
from tests.replay.simulated_groups import Simulation
from tests.replay.simulated_log import rows
from tests.support.recorded_fleet import topics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.replay.simulated_log import Record

Event = dict[str, Any]
Logs = dict[tuple[str, str], list[Any]]
"""Records of each group, by cluster and group id."""

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
RUNS = 200 if LONG else 6
SEED = int(os.environ.get("ASSIGNOR_SEED") or random.randrange(10**6))
SETTINGS: dict[str, Any] = {"storm_rebalances": 3, "storm_window_ms": 5_000, "stuck_factor": 2}


def drawn_logs(rng: random.Random) -> tuple[Logs, list[dict[str, Any]]]:
    """Return random logs, and the metadata of their topics."""
    found: Logs = {(f"random {place}", "g"): random_log(rng, 120) for place in range(3)}
    simulation = Simulation(rng, groups=3).run(120)
    groups: dict[bytes, list[Record]] = {}
    for record in simulation.log:
        groups.setdefault(record[2][2:6], []).append(record)  # the group id, such as b"\0\2g0"
    found |= {("simulated", str(key)): records for key, records in groups.items()}
    return found, METADATA + rows(simulation.snapshots)


def in_order(replay: Replay, logs: Logs) -> list[Event]:
    """Replay one group after another, each as one batch."""
    events = [event for (cluster, _), records in logs.items() for event in push_batch(replay, records, cluster)]
    return sorted(events + replay.finish(), key=place)


def in_pieces(
    rng: random.Random, logs: Logs, settings: Mapping[str, Any], fault: str = ""
) -> tuple[list[Event], Replay]:
    """Replay the groups in a random order, in random batches, with restarts and calls of `advance` in between."""
    replay, events = Replay(**settings), []
    waiting = {key: list(records) for key, records in logs.items()}
    saved = replay.snapshot()
    while waiting:
        key = rng.choice(list(waiting))
        size = rng.choice([1, 2, 10, 100])
        batch, rest = waiting[key][:size], waiting[key][size:]
        waiting[key] = rest
        if not rest:
            del waiting[key]
        is_alone = [cluster for cluster, _ in logs].count(key[0]) == 1
        if is_alone and rng.random() < 0.3:
            events += replay.advance(batch[0][1] - rng.randrange(3), key[0])
        if rng.random() < 0.3 or fault == "an old snapshot":
            old, saved = saved, replay.snapshot()
            replay = Replay(**settings)
            if fault != "no snapshot":
                replay.restore(old if fault == "an old snapshot" else saved)
        if fault == "another order" and len(batch) > 1:
            batch.reverse()
        if fault != "a lost batch" or size != 10:
            events += push_batch(replay, batch, key[0])
    return sorted(events + replay.finish(), key=place), replay


def place(event: Event) -> tuple[Any, ...]:
    """Return the place of an event; a sort keeps the order of events with the same place."""
    return event["cluster"], event["group"] or "", event["at"], event["offset"]


def settings_of(rng: random.Random, metadata: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "topics": rng.choice([metadata, []]),
        "is_open": rng.random() < 0.5,
        "storm_rebalances": rng.choice([2, 3, 20]),
        "storm_window_ms": rng.choice([1_000, 60_000]),
        "stuck_factor": rng.choice([2, 10]),
        "stuck_interval_ms": rng.choice([1, 1_000]),
        "never_committed_ms": rng.choice([100, 60_000]),
    }


@pytest.mark.parametrize("run", range(RUNS))
def test_events_do_not_depend_on_batches_restarts_and_the_order_of_groups(run: int) -> None:
    rng = random.Random(SEED + run)
    logs, metadata = drawn_logs(rng)
    settings = settings_of(rng, metadata)
    whole = Replay(**settings)
    expected = in_order(whole, logs)

    events, pieces = in_pieces(rng, logs, settings)

    assert expected == events, SEED + run
    assert (whole.states(), whole.positions(), whole.counts()) == (pieces.states(), pieces.positions(), pieces.counts())
    assert len(expected) > 40


@pytest.mark.parametrize("fault", ["a lost batch", "no snapshot", "an old snapshot", "another order"])
def test_a_wrong_split_changes_the_events(fault: str) -> None:
    rng = random.Random(SEED)
    logs, metadata = drawn_logs(rng)
    settings = settings_of(rng, metadata)

    events, _ = in_pieces(rng, logs, settings, fault)

    assert in_order(Replay(**settings), logs) != events, SEED


def test_the_order_of_groups_changes_no_event_of_the_recorded_fleet() -> None:
    logs: Logs = {("", group or ""): records for group, records in cut_storm(200, 100).items()}
    settings: dict[str, Any] = {"topics": topics()}
    expected = in_order(Replay(**settings), logs)
    replay, events = Replay(**settings), []
    rows = sorted((record[1], key, record) for key, records in logs.items() for record in records)
    for start in range(0, len(rows), 700):
        data, replay = replay.snapshot(), Replay(**settings)
        replay.restore(data)
        events += push_batch(replay, [record for *_, record in rows[start : start + 700]])

    assert expected == sorted(events + replay.finish(), key=place)
    assert len(expected) > 500


def test_snapshots_are_equal_after_equal_records() -> None:
    records = random_log(random.Random(SEED), 60)
    whole = Replay(METADATA, **SETTINGS)
    snapshots = []
    for record in records:
        snapshots.append(whole.snapshot())
        whole.push(record)

    for start, data in enumerate(snapshots):
        replay = Replay(METADATA, **SETTINGS)
        replay.restore(data)
        push_batch(replay, records[start:])
        assert whole.snapshot() == replay.snapshot(), (SEED, start)


# ---- random logs


def test_random_logs_have_all_events() -> None:
    found = set()
    for seed in range(12):
        events, _ = replayed({"g": random_log(random.Random(seed), 150)}, METADATA, **SETTINGS)
        found |= {each["event"] for each in events}
        found |= {each.get("action") or each.get("problem") for each in events}
    kinds = {"generation", "rebalance", "member", "storm", "stuck", "offsets", "bad_record"}
    assert found >= kinds | {"joined", "left", "replaced", "subscription_changed", "went_back"}


def test_a_log_that_is_delivered_twice_gives_each_event_once() -> None:
    records = [record for record in random_log(random.Random(1), 60) if record.key is not None]
    once, _ = replayed({"g": records}, METADATA, **SETTINGS)
    twice, replay = replayed({"g": [*records, *records]}, METADATA, **SETTINGS)
    assert twice == once
    assert replay.counts()["duplicates"] >= len(records)
    assert replay.counts()["records"] == 2 * len(records)


# ---- records and snapshots that cannot be used


@pytest.mark.parametrize(
    ("key", "value", "group", "number", "error"),
    [
        (None, b"", None, None, "null is not allowed at offset 0 while reading key"),
        (b"", b"", None, None, "2 bytes are needed and 0 remain at offset 0 while reading key.type"),
        (b"\0\x63rest", b"", None, 99, "unknown record type 99"),
        (b"\0\2\0\1g", b"\0", "g", 2, "2 bytes are needed and 1 remain at offset 0 while reading value.version"),
        (
            b"\0\2\0\1g",
            b"\0\x09",
            "g",
            2,
            "unknown version 9 (the newest known version is 4) at offset 0 while reading value.version",
        ),
    ],
)
def test_a_bad_record_is_an_event_and_is_counted(
    key: bytes | None, value: bytes, group: str | None, number: int | None, error: str
) -> None:
    replay = Replay()
    (found,) = replay.push((3, 1_000, key, value))
    kind = None if group is None else "offsets"
    expected = {"event": "bad_record", "cluster": "", "group": group, "kind": kind, "at": 1_000, "offset": 3}
    expected |= {"record_type": number, "error": error}
    assert expected == {name: found[name] for name in expected}
    counts = replay.counts()
    assert (counts["bad_records"], counts["unknown_types"]) == ((0, 1) if number == 99 else (1, 0))
    assert replay.push((3, 1_000, b"\0\2\0\1g", None)) == []
    assert replay.counts()["duplicates"] == (group is not None)


def test_a_snapshot_that_cannot_be_used_is_rejected() -> None:
    replay = Replay()
    replay.push(log([commit("t", 0)])[0])
    data = replay.snapshot()
    for broken in (b"", data[:-1], b"Assignor" + data[8:], data[:8] + b"r" + data[9:], data[:-1] + b"\xff\xff"):
        with pytest.raises(errors.SnapshotError):
            replay.restore(broken)
    with pytest.raises(errors.SnapshotError, match="settings"):
        Replay(stuck_factor=3).restore(data)
    assert replay.snapshot() == data


def test_a_batch_without_a_column_is_rejected() -> None:
    batch = pa.RecordBatch.from_pylist([], schema=RECORD.remove(0))
    with pytest.raises(
        errors.WrongTypeError, match="column offset of the records must be Int64 without nulls; it is missing"
    ):
        Replay()._core.push(batch)


def test_settings_are_checked() -> None:
    with pytest.raises(errors.IllegalArgumentError, match="stuck_factor must be >= 1, not 0"):
        Replay(stuck_factor=0)


def test_the_log_of_a_newer_broker_continues_after_an_unknown_type() -> None:
    unknown = event(2, {"group": "g"}, None)
    records = [*log([commit("t", 0)]), *log([unknown])]
    assert records[1].offset == records[0].offset
    replay = Replay()
    assert replay.push((1, 0, b"\0\x63", b"")) != []
    assert replay.push(records[0]) == []
    assert replay.states()[0]["committed_offsets"] == 1
