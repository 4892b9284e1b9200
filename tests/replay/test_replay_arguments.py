"""Errors of `Replay` and `Watcher` for arguments of other types, for numbers that do not fit, and for broken text."""

from __future__ import annotations

from typing import Any

import pytest

from assignor.errors import AssignorError, IllegalArgumentError, SnapshotError, WrongTypeError
from assignor.replay import Replay
from assignor.replay.silences import Silence
from assignor.replay.watcher import Watcher
from tests.replay.logs import commit, log

SETTINGS = (
    *("storm_rebalances", "storm_window_ms", "stuck_factor", "stuck_interval_ms", "never_committed_ms"),
    "session_timeout_ms",
)
SURROGATE = "\ud800"
ROW = {"t": 0, "topic": "t", "topic_id": "", "partition": 0, "racks": [""]}
LARGEST = 2**63 - 1


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("1", WrongTypeError, "must be an int, not str: '1'"),
        (True, WrongTypeError, "must be an int, not bool: True"),
        (1.0, WrongTypeError, "must be an int, not float: 1.0"),
        (None, WrongTypeError, "must be an int, not None"),
        (2**63, IllegalArgumentError, "cannot be over 9223372036854775807: 9223372036854775808"),
        (-(2**63) - 1, IllegalArgumentError, "cannot be under -9223372036854775808: -9223372036854775809"),
        (0, IllegalArgumentError, "must be >= 1, not 0"),
        (-LARGEST, IllegalArgumentError, "must be >= 1, not -9223372036854775807"),
    ],
)
def test_a_setting_is_a_positive_number_of_64_bits(
    name: str, value: object, kind: type[AssignorError], text: str
) -> None:
    with pytest.raises(kind) as found:
        Replay(**{name: value})  # type: ignore[arg-type]  # the value is invalid
    assert f"{name} {text}" == str(found.value)
    Replay(**{name: LARGEST})  # type: ignore[arg-type]  # the name is one of several


@pytest.mark.parametrize("name", ["is_open", "is_compared"])
def test_a_flag_is_a_bool(name: str) -> None:
    with pytest.raises(WrongTypeError, match=f"{name} must be a bool, not int: 1"):
        Replay(**{name: 1})  # type: ignore[arg-type]  # the value is invalid


@pytest.mark.parametrize(
    ("topics", "kind", "text"),
    [
        (7, WrongTypeError, "must be an iterable of rows, not int: 7"),
        ("t", WrongTypeError, "must be an iterable of rows, not str: 't'"),
        ([7], WrongTypeError, "row 0 must be a mapping with t, topic, topic_id, partition, racks, not int: 7"),
        ([ROW, {**ROW, "t": "x"}], IllegalArgumentError, "column t cannot be read as int64"),
        ([{**ROW, "t": LARGEST + 1}], IllegalArgumentError, "column t cannot be read as int64"),
        ([{**ROW, "topic": 5}], WrongTypeError, "column topic cannot be read as string"),
        ([{**ROW, "topic": SURROGATE}], IllegalArgumentError, "column topic cannot be read as string"),
        ([{**ROW, "topic": None}], IllegalArgumentError, "column topic of the topic metadata must have no nulls"),
        ([{**ROW, "partition": 2**31}], IllegalArgumentError, "column partition cannot be read as int32"),
        ([{**ROW, "partition": -1}], IllegalArgumentError, "column partition of the topic metadata must not be"),
        ([{**ROW, "racks": 1}], WrongTypeError, "column racks cannot be read as list"),
        ([ROW, {"topic": "t"}], WrongTypeError, "row 1 has no t; a row has t, topic, topic_id, partition, racks"),
    ],
)
def test_topic_metadata_is_checked(topics: Any, kind: type[AssignorError], text: str) -> None:
    with pytest.raises(kind) as found:
        Replay(topics)
    assert text in str(found.value)
    replay = Replay(is_open=True)
    with pytest.raises(kind) as found:
        replay.observe_topics(topics)
    assert text in str(found.value)
    assert [] == replay.observe_topics([ROW])


@pytest.mark.parametrize(
    ("record", "kind", "text"),
    [
        (None, WrongTypeError, "record must be a tuple of offset, timestamp, key and value, not None"),
        ((0, 0, None), WrongTypeError, "record must be a tuple of offset, timestamp, key and value, not tuple: (0, 0"),
        ([0, 0, b"", b""], WrongTypeError, "record must be a tuple of offset, timestamp, key and value, not list: [0"),
        (("0", 0, b"", b""), WrongTypeError, "record: offset must be an int, not str: '0'"),
        ((2**63, 0, b"", b""), IllegalArgumentError, "record: offset cannot be over 9223372036854775807"),
        ((0, -(2**63) - 1, b"", b""), IllegalArgumentError, "record: timestamp cannot be under -9223372036854775808"),
        ((0, None, b"", b""), WrongTypeError, "record: timestamp must be an int, not None"),
        ((0, 0, "key", b""), WrongTypeError, "record: key must be bytes, not str: 'key'"),
        ((0, 0, b"", [1]), WrongTypeError, "record: value must be bytes, not list: [1]"),
    ],
)
def test_a_record_is_checked(record: Any, kind: type[AssignorError], text: str) -> None:
    replay = Replay()
    with pytest.raises(kind) as found:
        replay.push(record)
    assert str(found.value).startswith(text)
    assert 0 == replay.counts()["records"]


@pytest.mark.parametrize(
    ("cluster", "kind", "text"),
    [
        (7, WrongTypeError, "cluster must be a str, not int: 7"),
        (b"c", WrongTypeError, "cluster must be a str, not bytes: b'c'"),
        (SURROGATE, IllegalArgumentError, "cluster has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
    ],
)
def test_the_name_of_a_cluster_is_checked(cluster: Any, kind: type[AssignorError], text: str) -> None:
    replay = Replay()
    calls = (
        lambda: replay.push(log([commit("t", 0)])[0], cluster),
        lambda: replay.advance(0, cluster),
        lambda: replay.forget("g", cluster),
        lambda: Watcher(cluster=cluster),
    )
    for call in calls:
        with pytest.raises(kind) as found:
            call()
        assert text == str(found.value)


@pytest.mark.parametrize(
    ("now", "kind"), [("0", WrongTypeError), (None, WrongTypeError), (2**63, IllegalArgumentError)]
)
def test_a_time_is_checked(now: Any, kind: type[AssignorError]) -> None:
    with pytest.raises(kind, match=r"^now "):
        Replay().advance(now)


def test_the_id_of_a_group_is_checked() -> None:
    with pytest.raises(WrongTypeError, match="group must be a str, not int: 7"):
        Replay().forget(7)  # type: ignore[arg-type]  # the id is invalid
    with pytest.raises(IllegalArgumentError, match="groups: a group id has a lone surrogate"):
        Watcher(groups=[SURROGATE])
    with pytest.raises(WrongTypeError, match="groups must be an iterable of group ids, not str: 'orders'"):
        Watcher(groups="orders")


@pytest.mark.parametrize(
    ("silences", "kind", "text"),
    [
        (7, WrongTypeError, "silences must be an iterable of Silence, not int: 7"),
        ([7], WrongTypeError, "silence 0 must be a Silence, not int: 7"),
        ([(0, 1, (0,))], WrongTypeError, "silence 0 must be a Silence, not tuple: (0, 1, (0,))"),
        ([Silence(0, 2**63, (), is_whole_log=True)], IllegalArgumentError, "silence 0: until cannot be over"),
        (
            [(0, 1, (2**31,), True)],
            IllegalArgumentError,
            "silence 0: a partition cannot be over 2147483647: 2147483648",
        ),
        ([(0, 1, 5, True)], WrongTypeError, "silence 0: partitions must be an iterable of int, not int: 5"),
        ([(0, 1, (), 1)], WrongTypeError, "silence 0: is_whole_log must be a bool, not int: 1"),
    ],
)
def test_silences_are_checked(silences: Any, kind: type[AssignorError], text: str) -> None:
    with pytest.raises(kind) as found:
        Replay().observe_silences(silences)
    assert str(found.value).startswith(text)


@pytest.mark.parametrize("data", [None, "text", 7, [1], b"", bytes(range(64))])
def test_a_snapshot_is_bytes_of_a_replay(data: Any) -> None:
    replay = Replay()
    with pytest.raises(SnapshotError if isinstance(data, bytes) else WrongTypeError):
        replay.restore(data)
    replay.restore(bytearray(replay.snapshot()))  # type: ignore[arg-type]  # other bytes are accepted
