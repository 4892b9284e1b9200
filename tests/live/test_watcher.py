"""The watcher: its events for the recorded fleet in small pieces, its clocks, and no events before `start`."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assignor.cluster import Recording
from assignor.cluster.log import LogEnd
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import in_log_order
from assignor.replay.events import to_json
from assignor.replay.recorded import replay_batches
from assignor.replay.watch_state import WatchState
from assignor.replay.watcher import MARGIN_MS, Watcher
from tests.replay.logs import member
from tests.support.record_bytes import write_record
from tests.support.recorded_fleet import RECORDING

Event = dict[str, Any]

STORM = "inventory-sync"
"""Group with 12,474 generations."""

LATER = 10_000_000
"""Milliseconds after which all deadlines of the fleet have passed."""


@functools.cache
def fleet() -> pa.RecordBatch:
    """Return the committed records of the fleet in the order of time, without most of the storm."""
    recording = Recording.open(RECORDING)
    batches = [batch.filter(pc.invert(batch["aborted"])) for batch in in_log_order(recording)]
    records = pa.Table.from_batches(batches).sort_by([("timestamp", "ascending"), ("offset", "ascending")])
    of_storm = pc.equal(records["group_id"], STORM)
    storm = records.filter(of_storm)
    cut = storm["offset"][storm.num_rows // 10].as_py()
    records = records.filter(pc.or_(pc.invert(of_storm), pc.less(records["offset"], cut)))
    return records.combine_chunks().to_batches()[0]


@functools.cache
def snapshots() -> list[pa.RecordBatch]:
    """Return the topic metadata of each time."""
    rows = topics_table(Recording.open(RECORDING).topics())
    return [rows.filter(pc.equal(rows["t"], time)) for time in sorted(set(rows["t"].to_pylist()))]


def time_of(snapshot: pa.RecordBatch) -> int:
    time: int = snapshot["t"][0].as_py()
    return time


@functools.cache
def expected() -> Counter[str]:
    """Return the events of the replay of the fleet, up to the time at which its deadlines have passed.

    A watcher does not report members as stuck, because no lag is measured here.
    """
    end = pc.max(fleet()["timestamp"]).as_py() + LATER
    events = replay_batches([fleet()], topics_table(_all_topics()), end)
    return Counter(to_json(event) for event in events if event["event"] != "stuck" and not _is_open_cost(event))


def _is_open_cost(event: Event) -> bool:
    """Return True for the cost of a rebalance that only the end of a finite log returns."""
    return event["event"] == "cost" and event["cost_open"] is True


def _all_topics() -> pa.Table:
    return pa.Table.from_batches(snapshots())


def piecewise(size: int, restart: int = 0) -> Counter[str]:
    """Return the events of a watcher that gets the records in pieces, each after topic metadata newer than the piece.

    Args:
        size: Records of a piece.
        restart: Number of pieces after which the watcher is replaced by one with its saved state; 0 for never.
    """
    watcher = Watcher()
    watcher.start(is_earliest=True)
    found: list[Event] = []
    topics = list(snapshots())
    found += watcher.observe_topics(topics.pop(0))
    known = 0
    for number, start in enumerate(range(0, fleet().num_rows, size)):
        if restart and number and number % restart == 0:
            watcher = Watcher(state=WatchState.from_bytes(watcher.state("cluster").to_bytes()))
        part = fleet().slice(start, size)
        now = pc.max(part["timestamp"]).as_py()
        while topics and known <= now:
            known = time_of(topics[0])
            found += watcher.observe_topics(topics.pop(0))
        positions = {row["partition"]: row["offset"] + 1 for row in part.select(["partition", "offset"]).to_pylist()}
        found += watcher.push(part, positions, now)
        found += watcher.settle({id: LogEnd(at, at) for id, at in watcher.positions.items()}, now)
    later = snapshots()[-1].set_column(0, "t", pa.array([now + LATER] * snapshots()[-1].num_rows))
    found += watcher.observe_topics(later)
    found += watcher.settle({id: LogEnd(at, at) for id, at in watcher.positions.items()}, now + LATER)
    return Counter(map(to_json, found))


@pytest.mark.parametrize(("size", "restart"), [(500, 0), (37, 0), (500, 3)])
def test_small_pieces_give_the_events_of_a_replay(size: int, restart: int) -> None:
    found = piecewise(size, restart)

    assert Counter() == expected() - found
    assert Counter() == found - expected()
    assert found.total() > 2_000


# ---- clocks


def record(offset: int, at: int, partition: int, written: tuple[bytes, bytes | None]) -> dict[str, Any]:
    """Return a record of the log."""
    return {"partition": partition, "offset": offset, "timestamp": at, "key": written[0], "value": written[1]}


def commit(offset: int, at: int, committed: int = 7, group: str = "billing", partition: int = 3) -> dict[str, Any]:
    """Return a record of the log with a committed offset."""
    key = {"group": group, "topic": "orders", "partition": 0}
    value = {"offset": committed, "commitTimestamp": at, "leaderEpoch": -1}
    return record(offset, at, partition, write_record(1, key, value, version=3))


def generation(offset: int, at: int, number: int, group: str = "billing", partition: int = 3) -> dict[str, Any]:
    """Return a record of a generation with one member, which owns a partition."""
    value = {
        "protocolType": "consumer",
        "generation": number,
        "protocol": "range",
        "leader": "m",
        "currentStateTimestamp": at,
        "members": [member("m", ["orders"], {"orders": [0]})],
    }
    return record(offset, at, partition, write_record(2, {"group": group}, value, version=3))


def batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=fleet().schema.remove(6).remove(5))


def started(**given: Any) -> Watcher:
    watcher = Watcher(**given)
    watcher.start(is_earliest=True)
    return watcher


def storms(found: list[Event]) -> list[tuple[str, int, int | None]]:
    return [(each["group"], each["at"], each["until"]) for each in found if each["event"] == "storm"]


def in_a_storm(**given: Any) -> Watcher:
    """Return a watcher of a group with a storm, whose last rebalance has the offset 21 and the time 1021."""
    watcher = started(**given)
    rows = [generation(number, 1_000 + number, number) for number in range(1, 22)]
    assert [("billing", 1_021, None)] == storms(watcher.push(batch(*rows), {3: 22}, received=5_000))
    return watcher


def test_a_storm_ends_on_an_idle_log_whose_end_is_known() -> None:
    watcher = in_a_storm()
    deadline = 1_012 + 60_000
    asked = 5_000 + deadline - 1_021 + MARGIN_MS

    assert [] == storms(watcher.settle({3: LogEnd(22, 22)}, asked - 1))
    assert [("billing", deadline, 1_021)] == storms(watcher.settle({3: LogEnd(22, 22)}, asked))
    assert [] == watcher.settle({3: LogEnd(22, 22)}, asked + LATER)


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ({}, "the brokers did not answer"),
        ({3: LogEnd(23, 23)}, "a record is not read yet"),
        ({3: LogEnd(22, 23)}, "a transaction is open"),
        ({4: LogEnd(22, 22)}, "another partition is read"),
    ],
)
def test_the_clock_stops_while_earlier_records_can_follow(ends: dict[int, LogEnd], reason: str) -> None:
    watcher = in_a_storm()

    assert [] == storms(watcher.settle(ends, LATER)), reason
    assert [("billing", 61_012, 1_021)] == storms(watcher.settle({3: LogEnd(22, 22)}, LATER))


def test_records_of_other_groups_of_the_partition_advance_the_clock() -> None:
    watcher = in_a_storm()

    assert [] == storms(watcher.push(batch(commit(22, 62_011, group="other")), {3: 23}))
    assert [] == storms(watcher.settle({}, 0))
    assert [] == storms(watcher.push(batch(commit(23, 62_012, group="other")), {3: 24}))
    assert [("billing", 61_012, 1_021)] == storms(watcher.settle({}, 0))


def test_a_clock_follows_the_timestamps_of_a_broker_whose_clock_is_behind() -> None:
    watcher = started()
    watcher.push(batch(commit(0, 1_000)), {3: 1}, received=90_000)

    watcher.settle({3: LogEnd(1, 1)}, 95_000)

    assert 6_000 - MARGIN_MS == watcher.state("c").clocks[3][1]


def test_a_clock_does_not_run_ahead_of_the_local_time() -> None:
    watcher = started()
    watcher.push(batch(commit(0, 500_000)), {3: 1}, received=90_000)
    watcher.settle({3: LogEnd(1, 1)}, 600_000)

    assert 600_000 - MARGIN_MS == watcher.state("c").clocks[3][1]


# ---- before `start`


def test_a_watcher_knows_the_groups_from_before_its_start_and_reports_only_later_events() -> None:
    watcher = Watcher()
    assert [] == watcher.push(batch(generation(0, 1_000, 1), commit(1, 1_500, 9)), {3: 2})
    assert [] == watcher.settle({3: LogEnd(2, 2)}, 100_000)
    watcher.start()

    assert ["billing"] == [group["group"] for group in watcher.groups()]
    (event,) = watcher.push(batch(commit(2, 100_500, 3)), {3: 3})
    assert ("went_back", "") == (event["problem"], event["cluster"])


def two_partitions(time: int) -> pa.RecordBatch:
    """Return topic metadata with which the assignment of `generation` differs from Kafka's."""
    common = {"t": time, "topic": "orders", "topic_id": "", "racks": [None]}
    return pa.RecordBatch.from_pylist([{**common, "partition": id} for id in (0, 1)], schema=snapshots()[0].schema)


@pytest.mark.parametrize(("is_earliest", "expected"), [(False, []), (True, ["generation"])])
def test_an_earlier_generation_that_waits_for_topic_metadata_is_reported_only_if_the_start_is_earliest(
    is_earliest: bool, expected: list[str]
) -> None:
    watcher = Watcher()
    watcher.observe_topics(two_partitions(500))
    watcher.push(batch(generation(0, 1_000, 1)), {3: 1})
    watcher.start(is_earliest=is_earliest)

    assert expected == [event["event"] for event in watcher.observe_topics(two_partitions(2_000))]


def test_topic_metadata_that_is_observed_twice_is_stored_once() -> None:
    watcher = started()
    watcher.observe_topics(two_partitions(500))
    changed = two_partitions(2_000).slice(0, 1)

    for _ in range(2):
        watcher.observe_topics(changed)

    assert [500, 500, 2_000] == watcher.topics()["t"].to_pylist()


def test_topic_metadata_after_the_clock_was_set_back_replaces_that_of_later_times() -> None:
    watcher = started()
    for time in (500, 2_000, 1_000, 1_500):
        watcher.observe_topics(two_partitions(time) if time == 2_000 else two_partitions(time).slice(0, 1))

    watcher.observe_topics(two_partitions(2_000))

    assert [500, 1_500, 2_000, 2_000] == watcher.topics()["t"].to_pylist()


def test_a_storm_before_the_start_lasts_after_it() -> None:
    watcher = Watcher()
    watcher.push(batch(*(generation(number, 1_000 + number, number) for number in range(1, 22))), {3: 22})
    watcher.start()

    assert 1_002 == watcher.conditions.groups["billing"].storm_since
    assert [("billing", 61_012, 1_021)] == storms(watcher.settle({3: LogEnd(22, 22)}, LATER))
    assert watcher.conditions.groups["billing"].storm_since is None


def test_partitions_of_the_log_that_appear_after_the_start_are_reported_from_their_beginning() -> None:
    watcher = Watcher()
    watcher.start()

    found = watcher.push(batch(generation(0, 1_000, 1)), {3: 1})

    assert ["member", "generation", "rebalance"] == [event["event"] for event in found]


def test_only_the_wanted_groups_are_replayed_and_every_record_moves_the_clock() -> None:
    watcher = in_a_storm(groups=["billing"])
    watcher.push(batch(commit(22, 70_000, group="other")), {3: 23})

    assert [("billing", 61_012, 1_021)] == storms(watcher.settle({}, 0))
    assert ["billing"] == [group["group"] for group in watcher.groups()]
    assert (22, 21) == (watcher.records, watcher.counts()["records"])


def test_the_distance_to_the_end_counts_offsets_that_a_reader_can_reach() -> None:
    watcher = started()
    watcher.push(batch(commit(4, 1_000)), {3: 5})

    assert 7 == watcher.behind({3: LogEnd(8, 20), 4: LogEnd(4, 4)})


@pytest.mark.parametrize(("wanted", "count"), [("billing", 1), ("bill*", 1), ("?illing", 1), ("bill", 0), ("*x", 0)])
def test_groups_are_followed_by_name_or_pattern(wanted: str, count: int) -> None:
    watcher = Watcher(groups=[wanted])
    watcher.start()

    watcher.push(batch(generation(0, 1_000, 1)), {3: 1})

    assert count == len(watcher.groups())
    assert bool(count) == watcher.follows("billing")
