"""Moves of coordinators in a recording: events, causes of what they led to, and changes that they do not explain.

The log is that of group g in partition 3 of `__consumer_offsets`, with the history of the brokers beside it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import Recording, records
from assignor.cluster.broker_history import BROKERS, COORDINATORS
from assignor.errors import AssignorError
from assignor.replay.coordinator_moves import Move, Outage, coordinator_events, moved_because, moves_of, outages_of
from assignor.replay.events import to_json
from assignor.replay.recorded import replay
from tests.replay.logs import CONSUMER, classic, commit, log, member, metadata
from tests.replay.test_departures import SECOND, leaving

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.replay.logs import Event as Step

Row = dict[str, Any]

T0 = 1_700_000_000_000
PARTITION = 3

Leader = tuple[int, int, int | None]
Registration = tuple[int, int, str | None, bool]


def made(
    folder: Path,
    steps: Iterable[Step],
    leaders: Sequence[Leader] | None = None,
    brokers: Sequence[Registration] = (),
) -> Recording:
    """Return a recording whose times begin at `T0`; without leaders it has no history of brokers."""
    rows = [{"partition": PARTITION, **each._asdict(), "timestamp": T0 + each.timestamp} for each in log(steps)]
    pq.write_table(pa.Table.from_pylist(rows, schema=records.SCHEMA), folder / "records.parquet")
    pq.write_table(pa.Table.from_pylist(metadata({T0: {"t": 4}})), folder / "topics.parquet")
    if leaders is not None:
        for name, schema, found in (("coordinators", COORDINATORS, leaders), ("brokers", BROKERS, brokers)):
            values = [dict(zip(schema.names, (T0 + row[0], *row[1:]), strict=True)) for row in found]
            pq.write_table(pa.Table.from_pylist(values, schema), folder / f"{name}.parquet")
    return Recording.open(folder)


def last_rebalance(recording: Recording) -> Row:
    return [event for event in replay(recording) if event["event"] == "rebalance"][-1]


def moved(at: int, *, previous: int = 2, leader: int = 1, partition: int = PARTITION) -> list[Leader]:
    return [(0, partition, previous), (at, partition, leader)]


SESSION = 10 * SECOND
DIES = leaving(
    18 * SECOND, session=SESSION, times=[1_000_000 + SECOND * second for second in (1, 2, 3, 9)], every=2_000
)
"""Member b commits until 1,009 s, and is missing from the generation at 1,027 s."""
END = 1_027 * SECOND


def test_a_session_that_expires_after_a_move_blames_the_coordinator_and_names_the_brokers(tmp_path: Path) -> None:
    at = END - SESSION - 300
    brokers: list[Registration] = [
        (0, 2, "a", True),
        (at, 2, "a", False),
        (at + 60_000, 2, "a", True),
    ]
    found = last_rebalance(made(tmp_path, DIES, moved(at), brokers))

    assert found["causes"][:3] == ["coordinator_moved", "consumer_dead", "application_crashed"]
    assert "Member b is missing: its session expired." in found["evidence"]
    assert (
        "Its coordinator changed 10.3 s before: it moved from broker 2 to broker 1; broker 2 was fenced from "
        "2023-11-14 22:30:16.700 to 2023-11-14 22:31:16.700." in found["evidence"]
    )


def test_a_coordinator_that_took_over_again_counts(tmp_path: Path) -> None:
    at = END - SESSION
    leaders: list[Leader] = [(0, PARTITION, 1), (at - 4_000, PARTITION, None), (at, PARTITION, 1)]
    recording = made(tmp_path, DIES, leaders)
    found = last_rebalance(recording)

    assert found["causes"][0] == "coordinator_moved"
    assert "broker 1 took over again after 4.0 s without a coordinator." in found["evidence"]
    assert coordinator_events(recording) == []


@pytest.mark.parametrize(
    ("leaders", "why"),
    [
        (moved(END - 2 * SECOND), "a session that began with the move cannot have expired"),
        (moved(END - SESSION - 400 * SECOND), "it would have expired earlier"),
        (moved(END - SESSION, partition=4), "the coordinator of other groups moved"),
        (moved(END - SESSION, leader=2), "the leader is the same"),
        (moved(END + SECOND), "it moved later"),
        ([(END - SESSION, PARTITION, 1)], "the first known leader is no move"),
        ([], "no leader is known"),
    ],
)
def test_a_move_that_led_to_nothing_is_no_cause(tmp_path: Path, leaders: list[Leader], why: str) -> None:
    expected = last_rebalance(made(tmp_path, DIES))
    found = last_rebalance(made(tmp_path, DIES, leaders))

    assert "coordinator_moved" not in found["causes"], why
    assert (expected["causes"], expected["evidence"]) == (found["causes"], found["evidence"])


def test_a_member_that_committed_after_the_move_is_not_explained_by_it(tmp_path: Path) -> None:
    at = 1_005 * SECOND  # the last commit of the member is at 1,009 s
    steps = leaving(8 * SECOND, session=SESSION, times=[1_000_000 + SECOND * second for second in (1, 2, 3, 9)])

    assert "coordinator_moved" not in last_rebalance(made(tmp_path, steps, moved(at)))["causes"]


def rejoining(at: int, *joined: str) -> list[Step]:
    """Return a log in which the same member has a new generation, perhaps with new ones."""
    both = [classic(0, protocol_type="").at(0), classic(1, member("a", ["t"], {"t": [0]})).at(SECOND)]
    members = [member(id, ["t"], {"t": [place]}) for place, id in enumerate(("a", *joined))]
    return [*both, commit("t", 0).at(2 * SECOND), classic(2, *members).at(at)]


def test_members_that_join_again_right_after_a_move_may_do_so_because_of_it(tmp_path: Path) -> None:
    found = last_rebalance(made(tmp_path, rejoining(62 * SECOND), moved(60 * SECOND)))

    assert found["causes"] == ["leader_rejoined", "coordinator_moved"]
    assert found["evidence"].endswith("Its coordinator changed 2 s before: it moved from broker 2 to broker 1.")


@pytest.mark.parametrize("steps", [rejoining(70 * SECOND), rejoining(61 * SECOND, "b")])
def test_a_later_rebalance_or_one_with_a_new_member_is_not_explained_by_a_move(
    tmp_path: Path, steps: list[Step]
) -> None:
    expected = last_rebalance(made(tmp_path, steps))["causes"]

    assert last_rebalance(made(tmp_path, steps, moved(60 * SECOND)))["causes"] == expected


def test_a_session_of_a_kip_848_member_that_expires_after_a_move_blames_the_coordinator(tmp_path: Path) -> None:
    def steps(at: int) -> list[Step]:
        target = [CONSUMER.epoch(2), CONSUMER.target_of("b", {"t": [1]}), CONSUMER.target_epoch(2)]
        begin = [CONSUMER.joins("b", subscribedTopicNames=["t"]), *target, CONSUMER.has("b", 2, 0, {"t": [1]})]
        gone = [*CONSUMER.leaves("b"), CONSUMER.epoch(3), commit("t", 3)]
        return [*(each.at(0) for each in begin), *(each.at(at) for each in gone)]

    found = last_rebalance(made(tmp_path, steps(160 * SECOND), moved(114 * SECOND)))
    assert found["causes"][0] == "coordinator_moved"
    found = last_rebalance(made(tmp_path, steps(130 * SECOND), moved(114 * SECOND)))
    assert "coordinator_moved" not in found["causes"]


# ---- events


def test_moves_between_the_same_brokers_within_a_second_are_one_event(tmp_path: Path) -> None:
    leaders: list[Leader] = [(0, 3, 2), (0, 4, 2), (50_000, 3, 1), (50_600, 4, 1), (90_000, 3, 2), (95_000, 3, None)]
    (event, back) = coordinator_events(made(tmp_path, DIES, leaders))

    assert event == {
        "event": "coordinator",
        "cluster": "",
        "group": None,
        "kind": None,
        "at": T0 + 50_000,
        "offset": -1,
        "previous": "2",
        "leader": "1",
        "log_partitions": ["3"],  # no group is in partition 4
        "groups": 1,
    }
    assert (back["at"], back["previous"], back["leader"]) == (T0 + 90_000, "1", "2")


def test_replay_prints_the_moves_in_the_order_of_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, DIES, moved(END - SESSION))

    assert main(["replay", str(tmp_path), "--json", "--engine", "local"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert [event["at"] - T0 for event in events if event["event"] == "coordinator"] == [END - SESSION]
    assert main(["replay", str(tmp_path), "--engine", "local"]) == 0
    assert "coordinator of 1 group moved from broker 2 to broker 1" in capsys.readouterr().out
    assert main(["replay", str(tmp_path), "--json", "--engine", "local", "--group", "g"]) == 0
    assert '"coordinator"' not in capsys.readouterr().out


@pytest.mark.spark
def test_spark_finds_the_same_events_and_causes(tmp_path: Path, spark: SparkSession) -> None:
    from assignor.spark.event_lines import event_lines

    recording = made(tmp_path, DIES, moved(END - SESSION), [(0, 2, "a", True), (END - SESSION, 2, "a", False)])
    found = sorted((json.loads(line) for *_, line in event_lines(spark, recording)), key=_place)

    assert found == sorted((json.loads(to_json(event)) for event in replay(recording)), key=_place)
    assert any("coordinator_moved" in (event.get("causes") or ()) for event in found)


def _place(event: Row) -> tuple[int, str]:
    return event["at"], json.dumps(event)


def test_a_report_has_the_moves_and_the_outages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "recording"
    recording.mkdir()
    made(recording, DIES, moved(END - SESSION), [(0, 2, "a", True), (END - SESSION, 2, "a", False)])
    command = ["report", str(recording), "--out", str(tmp_path / "report"), "--engine", "local"]

    main([*command, "--json"])
    assert json.loads(capsys.readouterr().out)["brokers"] == {
        "moves": [{"at": T0 + END - SESSION, "previous": "2", "leader": "1", "log_partitions": ["3"], "groups": 1}],
        "outages": [{"broker": "2", "since": T0 + END - SESSION, "until": None}],
    }
    main(command)
    text = capsys.readouterr().out
    assert "Coordinators and brokers" in text
    assert "broker 2 was fenced at 2023-11-14 22:30:17.000 and has not come back" in text
    main([*command, "--since", "2023-11-14T23:00:00Z", "--json"])
    found = json.loads(capsys.readouterr().out)["brokers"]
    assert (found["moves"], len(found["outages"])) == ([], 1)


# ---- moves and outages


def test_the_time_without_a_leader_is_part_of_a_move(tmp_path: Path) -> None:
    leaders: list[Leader] = [(0, 3, 2), (10, 3, None), (25, 3, 1), (30, 3, 1), (40, 4, None), (50, 4, 1)]

    assert moves_of(made(tmp_path, DIES, leaders)) == [Move(T0 + 25, 3, 2, 1, 15)]


def test_outages_are_the_times_in_which_a_known_broker_was_not_available(tmp_path: Path) -> None:
    brokers: list[Registration] = [
        (0, 1, None, False),
        (1, 1, None, True),
        (2, 2, "a", True),
        (10, 2, "a", False),
        (11, 2, "b", False),
        (20, 2, "b", True),
        (30, 1, None, False),
    ]
    recording = made(tmp_path, DIES, [], brokers)

    assert outages_of(recording) == [Outage(2, T0 + 10, T0 + 20), Outage(1, T0 + 30, None)]
    until = recording.select(until=T0 + 15)
    assert outages_of(until) == [Outage(2, T0 + 10, None)]


@pytest.mark.parametrize(
    ("outage", "is_named"),
    [
        (Outage(2, T0, T0 + 5_000), False),
        (Outage(2, T0, T0 + 50_000), True),
        (Outage(2, T0 + 9_000, None), True),
        (Outage(2, T0 + 60_000, None), False),
        (Outage(1, T0 + 10_000, None), False),
    ],
)
def test_a_move_names_the_outage_of_the_previous_broker_only(outage: Outage, is_named: bool) -> None:
    text = moved_because(Move(T0 + 10_000, 3, 2, 1, 1_000), [outage])

    assert text.startswith("it moved from broker 2 to broker 1")
    assert is_named == ("fenced" in text)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"at": [1], "partition": [1]}), "has no column leader; its columns are at, partition"),
        (pa.table({"at": ["x"], "partition": [1], "leader": [1]}), "cannot be read as"),
        (pa.table({"at": pa.array([None], pa.int64()), "partition": [1], "leader": [1]}), "column at has nulls"),
    ],
)
def test_a_file_of_another_form_is_named(tmp_path: Path, table: pa.Table, message: str) -> None:
    recording = made(tmp_path, DIES, [])
    pq.write_table(table, tmp_path / "coordinators.parquet")

    with pytest.raises(AssignorError, match=r"coordinators\.parquet.*") as found:
        moves_of(recording)
    assert message in str(found.value)
    (tmp_path / "coordinators.parquet").write_bytes(b"no parquet")
    with pytest.raises(AssignorError, match=r"coordinators\.parquet cannot be read as Parquet: "):
        moves_of(recording)
