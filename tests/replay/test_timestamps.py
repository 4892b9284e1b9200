"""Timestamps, offsets and settings at the ends of 64 bits: each call returns, and no other record is affected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignor import _core
from assignor.cli import main
from assignor.cluster.log import LogEnd
from assignor.cluster.records import SCHEMA
from assignor.cluster.timestamps import LATEST_TIME, is_valid, latest
from assignor.lag import LARGEST_LAG, TIMED_END_OFFSETS, group_lag, partition_lag
from assignor.replay import Replay
from assignor.replay.events import event_dicts
from assignor.replay.silences import taken
from assignor.replay.watcher import Watcher
from tests.replay.logs import classic, classic_gone, commit, event, member

if TYPE_CHECKING:
    from pathlib import Path

    from tests.replay.logs import Event

Row = dict[str, Any]

NOW = 1_700_000_000_000
SMALLEST, LARGEST = -(2**63), 2**63 - 1
INVALID = [SMALLEST, -1, LATEST_TIME + 1, LARGEST - 60_000, LARGEST - 1, LARGEST]

edges = st.one_of(
    st.sampled_from([SMALLEST, -60_000, 0, 60_000, NOW, LATEST_TIME, LARGEST - 60_000, LARGEST]).flatmap(
        lambda time: st.integers(max(SMALLEST, time - 2), min(LARGEST, time + 2))
    ),
    st.integers(NOW, NOW + 400_000),
    st.integers(SMALLEST, LARGEST),
)
sizes = st.sampled_from([1, 2, 20, 100, 60_000, LARGEST - NOW, LARGEST - 1, LARGEST])
records = st.sampled_from(
    [
        classic(1, member("a", ["t"], {"t": [0, 1]})),
        classic(2, member("a", ["t"], {"t": [0]}), member("b", ["t"], {"t": [1]})),
        classic(3, member("a", ["t"], {"t": [0]})),
        commit("t", 0, offset=5),
        commit("t", 0, offset=SMALLEST),
        commit("t", 0, offset=LARGEST),
        commit("t", 1),
        commit("t", 0, offset=None),
        classic_gone(),
    ]
)


def of_group(group: str, found: Event) -> tuple[bytes, bytes | None]:
    """Return key and value of a record of group g as a record of another group, whose id has one character."""
    assert found.key is not None
    return found.key[:4] + group.encode() + found.key[5:], found.value


def batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def row(offset: int, at: int, group: str, found: Event, partition: int = 0) -> Row:
    key, value = of_group(group, found)
    return {"partition": partition, "offset": offset, "timestamp": at, "key": key, "value": value}


@settings(deadline=2_000)
@given(
    st.lists(st.tuples(edges, st.sampled_from("gh"), records), max_size=30),
    st.integers(1, 30),
    edges,
    st.fixed_dictionaries(dict.fromkeys(("never_committed_ms", "stuck_factor", "storm_window_ms"), sizes)),
)
def test_batches_groups_and_single_records_give_equal_events(
    drawn: list[tuple[int, str, Event]], size: int, until: int, given_settings: dict[str, Any]
) -> None:
    rows = [row(offset, at, group, found) for offset, (at, group, found) in enumerate(drawn)]
    replay = Replay(**given_settings)
    single = [
        found for each in rows for found in replay.push((each["offset"], each["timestamp"], each["key"], each["value"]))
    ]
    single += replay.advance(until)
    assert (deadline := replay.next_deadline()) is None or deadline > until
    single += replay.finish()
    other = Replay(**given_settings)._core
    split = [
        found
        for start in range(0, len(rows), size)
        for found in event_dicts(other.push(batch(rows[start : start + size])))
    ]
    split += event_dicts(other.advance(until)) + event_dicts(other.finish())
    assert single == split
    assert all(0 <= found["at"] <= LATEST_TIME or found["at"] > NOW for found in single)

    grouped = Replay(**given_settings)._core
    kinds = list({found["event"] for found in single})
    found = []
    for part in (batch(sorted(rows, key=lambda each: (each["key"][4], each["offset"]))), None):
        found += event_dicts(grouped.push_groups(part, until=until, kinds=kinds)[2])
    assert sorted(map(json.dumps, single)) == sorted(map(json.dumps, found))


@pytest.mark.parametrize("time", INVALID)
def test_an_invalid_timestamp_is_an_event_and_is_counted(time: int) -> None:
    replay = Replay()
    (found,) = replay.push((3, time, *of_group("g", commit("t", 0))))
    expected = {"event": "invalid_timestamp", "group": "g", "at": 0, "offset": 3, "record_type": 1, "timestamp": time}
    assert expected == {name: found[name] for name in expected}
    assert [] == replay.push((4, time, *of_group("g", commit("t", 0))))
    assert [] == replay.push((5, NOW, *of_group("g", commit("t", 0))))
    assert 2 == replay.counts()["invalid_timestamps"]
    (state,) = replay.states()
    assert (2, 3) == (state["invalid_timestamps"], state["first_invalid"])


@pytest.mark.parametrize("time", [0, 1, NOW, LATEST_TIME])
def test_a_valid_timestamp_is_not_counted(time: int) -> None:
    replay = Replay()
    assert [] == replay.push((0, time, *of_group("g", commit("t", 0))))
    assert [] == replay.push((1, 0, *of_group("g", commit("t", 0))))
    assert (0, time > 0) == tuple(replay.counts()[name] for name in ("invalid_timestamps", "time_backwards"))


def test_calls_at_the_end_of_time_return() -> None:
    replay = Replay(never_committed_ms=LARGEST)
    replay.push((0, NOW, *of_group("g", classic(1, member("a", ["t"], {"t": [0]})))))
    assert replay.next_deadline() is None
    assert [] == replay.advance(LARGEST)
    replay = Replay()
    replay.push((0, NOW, *of_group("g", classic(1, member("a", ["t"], {"t": [0]})))))
    assert ["offsets"] == [found["event"] for found in replay.advance(LARGEST)]
    assert replay.next_deadline() is None


def recorded(folder: Path, invalid: int | None) -> Path:
    """Write a recording of 2 groups that commit every second for 2 minutes; a record of h can have another time."""
    rows = []
    for place, group in enumerate("gh"):
        rows.append(row(place, NOW, group, classic(1, member("a", ["t"], {"t": [0]}))))
    for second in range(1, 120):
        for place, group in enumerate("gh"):
            is_invalid = (group, second) == ("h", 60)
            at = invalid if invalid is not None and is_invalid else NOW + 1_000 * second
            rows.append(row(2 * second + place, at, group, commit("t", 0, offset=second)))
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / "records.parquet")
    ends = [{"at": NOW + 119_000, "topic": "t", "partition": 0, "start_offset": 0, "end_offset": 500}]
    pq.write_table(pa.Table.from_pylist(ends, TIMED_END_OFFSETS), folder / "end_offsets.parquet")
    return folder


@pytest.mark.parametrize("time", INVALID)
def test_a_report_says_where_a_timestamp_is_invalid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], time: int
) -> None:
    words = ["report", str(recorded(tmp_path / "in", time)), "--engine", "local", "--out", str(tmp_path / "out")]
    assert 0 == main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert 1 == found["invalid_timestamps"]
    assert [0, 1] == [group["invalid_timestamps"] for group in found["groups"]]
    (finding,) = found["findings"]
    assert ("invalid_timestamps", "warning", "h") == tuple(finding[name] for name in ("kind", "severity", "group"))
    assert "1 record has a timestamp not between 1970 and 9999" == finding["text"]
    assert finding["evidence"].startswith("It is at offset 121. ")
    assert 0 == main([*words, "--page", str(tmp_path / "page.html")])
    assert "1 record has a timestamp not between 1970 and 9999, see the findings" in capsys.readouterr().out
    assert str(time) not in (tmp_path / "page.html").read_text(encoding="utf-8") or time == -1


@pytest.mark.parametrize("time", [*INVALID, None])
def test_a_replay_prints_an_event_for_an_invalid_timestamp_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], time: int | None
) -> None:
    words = ["replay", str(recorded(tmp_path / "in", time)), "--engine", "local"]
    assert 0 == main([*words, "--json"])
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    others = {"generation", "rebalance", "member"}
    found = [
        (each["event"], each["group"], each["at"], each["offset"]) for each in events if each["event"] not in others
    ]
    assert ([] if time is None else [("invalid_timestamp", "h", NOW + 59_000, 121)]) == found
    assert 0 == main(words)
    text = f"record of type 1 at offset 121: the timestamp {time} is not between 1970 and 9999"
    assert (time is not None) == (text in capsys.readouterr().out)


@pytest.mark.parametrize("time", INVALID)
def test_a_watcher_ignores_an_invalid_timestamp(time: int) -> None:
    watcher = Watcher()
    watcher.start(is_earliest=True)
    rows = [row(0, NOW, "g", classic(1, member("a", ["t"], {"t": [0, 1]}))), row(1, time, "g", commit("t", 0))]
    found = watcher.push(batch(rows), {0: 2}, NOW)
    assert "invalid_timestamp" in {event["event"] for event in found}
    ends = {0: LogEnd(2, 2)}
    assert [] == watcher.settle(ends, NOW + 10_000)
    assert ["offsets"] == [event["event"] for event in watcher.settle(ends, NOW + 61_000)]
    assert [] == watcher.push(batch([row(2, time, "h", commit("t", 0, offset=None))]), {0: 3}, NOW + 62_000)[1:]
    assert [] == watcher.settle({0: LogEnd(3, 3)}, NOW + 63_000)
    assert Watcher(state=watcher.state("c")).counts() == watcher.counts()


def test_a_watcher_of_a_log_without_timestamps_follows_the_local_time() -> None:
    watcher = Watcher()
    watcher.start(is_earliest=True)
    rows = [row(offset, -1, "g", commit("t", 0)) for offset in range(3)]
    assert ["invalid_timestamp"] == [event["event"] for event in watcher.push(batch(rows), {0: 3}, NOW)]
    assert [] == watcher.settle({0: LogEnd(3, 3)}, NOW + 1_000)
    assert 3 == watcher.counts()["invalid_timestamps"]


def silences(rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the silences of a partition in which two groups write records at these times."""
    finder = _core.SilenceFinder()
    columns = [[partition for _, partition in rows for _ in range(2)], [at for at, _ in rows for _ in range(2)]]
    names = ["g", "h"] * len(rows)
    arrays = [pa.array(columns[0], pa.int32()), pa.array(columns[1], pa.int64()), pa.array(names)]
    finder.add(pa.RecordBatch.from_arrays(arrays, ["partition", "timestamp", "group_id"]))
    return [(found.since, found.until) for found in taken(finder)]


def test_records_with_invalid_timestamps_are_no_silence_and_end_none() -> None:
    before = [(NOW + 1_000 * second, 0) for second in range(30)]
    after = [(NOW + 100_000 + 1_000 * second, 0) for second in range(30)]
    assert [(NOW + 29_000, NOW + 100_000)] == silences([*before, *after])
    for time in INVALID:
        assert [] == silences([*before, *[(time, 0)] * 70, *after])
        assert [] == silences([*before, (time, 0)])


def test_the_latest_time_is_the_largest_valid_timestamp() -> None:
    assert NOW == latest(pa.array([1, NOW, None, *INVALID]))
    assert LATEST_TIME == latest(pa.array([LATEST_TIME, LATEST_TIME + 1]))
    assert latest(pa.array(INVALID)) is None
    assert latest(pa.array([], pa.int64())) is None
    assert [True, False, None] == is_valid(pa.array([0, -1, None])).to_pylist()


def test_a_sum_of_lags_does_not_overflow() -> None:
    places = {"topic": ["t"] * 3, "partition": [0, 1, 2]}
    positions = {"group_id": ["g"] * 3, **places, "member_id": ["a", "a", None], "committed": [0, 1, LARGEST]}
    ends = {**places, "start_offset": [SMALLEST, 0, 0], "end_offset": [LARGEST] * 3}
    rows = partition_lag(pa.table(positions), pa.table(ends))
    assert [LARGEST, LARGEST - 1, 0] == rows["lag"].to_pylist()
    assert [0, 0, 0] == rows["deleted"].to_pylist()
    (group,) = group_lag(rows).to_pylist()
    assert (LARGEST_LAG, 0) == (group["lag"], group["unowned_lag"])


def test_the_key_of_a_record_of_another_group_is_its_own() -> None:
    assert event(1, {"group": "h", "topic": "t", "partition": 0}, None).key == of_group("h", commit("t", 0))[0]
