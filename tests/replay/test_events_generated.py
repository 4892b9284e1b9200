"""Properties of the events of random logs: splits, snapshots, deadlines, duplicates and damaged records."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from assignor import errors
from assignor.replay import Replay
from assignor.replay.events import COMMON, FIELDS
from tests.replay.event_logs import replayed
from tests.replay.generated_events import METADATA, random_log
from tests.replay.logs import classic, commit, event, log, member

if TYPE_CHECKING:
    from tests.support.record_bytes import LogRecord

Event = dict[str, Any]

SETTINGS: dict[str, Any] = {"storm_rebalances": 3, "storm_window_ms": 5_000, "stuck_factor": 2}


def in_pieces(rng: random.Random, records: list[LogRecord], *, is_open: bool) -> tuple[list[Event], Replay]:
    """Replay a log with random snapshots, restores and advances in between."""
    replay, events = Replay(METADATA, is_open=is_open, **SETTINGS), []
    for record in records:
        if rng.random() < 0.3:
            events += replay.advance(record[1] - rng.randrange(3))
        if rng.random() < 0.3:
            data, replay = replay.snapshot(), Replay(METADATA, is_open=is_open, **SETTINGS)
            replay.restore(data)
        events += replay.push(record)
    events += replay.finish()
    return sorted(events, key=lambda each: (each["at"], each["group"] or "", each["offset"])), replay


@pytest.mark.parametrize("seed", range(6))
def test_events_do_not_depend_on_splits_snapshots_and_advances(seed: int) -> None:
    rng = random.Random(seed)
    records = random_log(rng, 120)
    is_open = seed % 2 == 1

    events, whole = replayed({"g": records}, METADATA, is_open=is_open, **SETTINGS)
    split, pieces = in_pieces(rng, records, is_open=is_open)

    assert split == events
    assert pieces.states() == whole.states()
    assert pieces.counts() == whole.counts()
    assert pieces.snapshot() == whole.snapshot()
    assert len(events) > 40
    for each in events:
        assert tuple(each) == (*COMMON, *FIELDS[each["event"]])


def test_random_logs_have_all_events() -> None:
    found = set()
    for seed in range(12):
        events, _ = replayed({"g": random_log(random.Random(seed), 150)}, METADATA, **SETTINGS)
        found |= {(each["event"], each.get("action") or each.get("problem")) for each in events}
    assert {name for name, _ in found} >= FIELDS.keys()
    assert {detail for _, detail in found} >= {"joined", "left", "replaced", "subscription_changed", "went_back"}


def test_a_log_that_is_delivered_twice_gives_each_event_once() -> None:
    records = [record for record in random_log(random.Random(1), 60) if record.key is not None]
    once, _ = replayed({"g": records}, METADATA, **SETTINGS)
    twice, replay = replayed({"g": [*records, *records]}, METADATA, **SETTINGS)
    assert twice == once
    assert replay.counts()["duplicates"] >= len(records)
    assert replay.counts()["records"] == 2 * len(records)


def test_clusters_have_separate_groups() -> None:
    one = log([classic(0), classic(1, member("a", ["t"], {"t": [0]}))])
    replay = Replay()
    events = [each for record in one for cluster in ("x", "y") for each in replay.push(record, cluster)]
    assert [each["cluster"] for each in events if each["event"] == "rebalance"] == ["x", "y"]
    assert [state["cluster"] for state in replay.states()] == ["x", "y"]
    assert replay.counts()["duplicates"] == 0


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
    assert found == expected | {"record_type": number, "error": error}
    counts = replay.counts()
    assert (counts["bad_records"], counts["unknown_types"]) == ((0, 1) if number == 99 else (1, 0))
    assert replay.push((3, 1_000, b"\0\2\0\1g", None)) == []
    assert replay.counts()["duplicates"] == (group is not None)


def test_a_snapshot_that_cannot_be_used_is_rejected() -> None:
    replay = Replay()
    replay.push(log([commit("t", 0)])[0])
    data, states = replay.snapshot(), replay.states()
    wrong = {
        "not a snapshot": b"something else",
        "another engine": data[:8] + b"P" + data[9:],
        "version 2": data[:9] + b"\0\2" + data[11:],
        "length or checksum is wrong": data[:-1],
        "checksum": data[:-1] + b" ",
    }
    for text, changed in wrong.items():
        with pytest.raises(errors.SnapshotError, match=text):
            replay.restore(changed)
    with pytest.raises(errors.SnapshotError, match="settings"):
        Replay(stuck_factor=3).restore(data)
    assert replay.states() == states


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
