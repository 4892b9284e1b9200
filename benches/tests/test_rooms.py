"""Tests that each room times only right answers, and of the inputs of its benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from assignor.clients import kafka_python_assignors
from assignor.coordinator import Coordinator, Effects, ErrorCode, GroupState, HeartbeatRequest
from assignor.coordinator.context import Answer
from assignor.coordinator.responses import HeartbeatResponse
from benches import (
    bench_assign,
    bench_coordinator,
    bench_matching,
    bench_replay,
    bench_scaling,  # noqa: F401 - registers its section
    bench_segments,
    bench_subscription_state,
    patterns,
)
from benches.bench_clients import calls
from benches.checks import WrongAnswerError
from benches.coordinator_groups import CoordinatedGroups, GroupSet
from benches.java_process import JavaMissingError
from benches.memory import Use, live_bytes
from benches.report import SECTIONS, Run
from benches.workloads import Workload
from tests.support import segment_bytes

ONCE = Run("quick", is_once=True)


@pytest.mark.parametrize(
    "name",
    ["encode", "clients", "sticky-peers", "coordinator", "coordinator-groups", "scaling"],
)
def test_a_section_in_this_process_measures_each_row(name: str) -> None:
    measured = SECTIONS[name].measure(ONCE)

    assert measured.rows
    assert all(min(seconds) > 0 for row in measured.rows for seconds in row.times.values())


@pytest.mark.parametrize(("module", "name"), [(bench_assign, "java"), (bench_coordinator, "coordinator-java")])
def test_without_java_a_section_has_the_reason(module: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise JavaMissingError("mvn was not found")

    monkeypatch.setattr(module, "JavaAssignors" if name == "java" else "JavaProcess", missing)

    assert SECTIONS[name].measure(ONCE).note.endswith("Not timed: mvn was not found.")


def test_a_wrong_answer_of_a_client_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_python_assignors, "RangeAssignor", kafka_python_assignors.RoundRobinAssignor)

    with pytest.raises(WrongAnswerError, match=r"^assignor is wrong about 3x1x6$"):
        calls("kafka-python", Workload(3, 1, 6))


@pytest.mark.parametrize("name", bench_matching.available())
def test_an_implementation_matches_the_topics_that_re_matches(name: str) -> None:
    assert sum(map(len, bench_matching.prepared(name, 300, 40)())) > 40


def test_an_implementation_that_matches_other_topics_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: list[str], topics: list[str]) -> Callable[[], object]:
        return lambda: [[*topics]]

    names = patterns.names(500)
    assert (500, 200) == (len(set(names)), len(set(patterns.patterns(200, names))))
    monkeypatch.setattr(bench_matching, "available", lambda: {"resolve": wrong})
    with pytest.raises(WrongAnswerError, match="resolve does not match what re matches"):
        bench_matching.prepared("resolve", 300, 40)


@pytest.mark.parametrize(
    ("operation", "method", "answer"),
    [
        ("assign_from_user", "assigned", set()),
        ("seek", "position", [0]),
        ("pause, resume", "paused", set()),
        ("is_assigned", "is_assigned", [True]),
        ("fetchable_partitions", "fetchable_partitions", []),
        ("all_consumed", "all_consumed", {}),
    ],
)
@pytest.mark.parametrize("name", bench_subscription_state.installed())
def test_a_subscription_state_is_timed_only_if_it_is_right(
    name: str, operation: str, method: str, answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bench_subscription_state.offers(name, operation):
        bench_subscription_state.prepared(name, operation, 3)()
        monkeypatch.setattr(bench_subscription_state.CLASSES[name], method, lambda *_: answer)
        with pytest.raises(WrongAnswerError, match=f"{name} is wrong about {operation}"):
            bench_subscription_state.prepared(name, operation, 3)


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize("group_set", [GroupSet(1, 250), GroupSet(20, 3, topics=1, partitions=6)])
def test_a_rebalance_completes_the_next_generation_of_every_group(group_set: GroupSet, embedded: bool) -> None:
    coordinated = CoordinatedGroups(group_set, embedded)
    coordinated.form()
    coordinated.rebalance()
    coordinated.heartbeat_all()

    described = map(coordinated.coordinator.describe, coordinated.group_ids())
    assert 2 == coordinated.generation
    assert {(GroupState.STABLE, group_set.members)} == {(each.state, len(each.members)) for each in described}


def test_a_tenth_of_the_sessions_expire() -> None:
    coordinated = bench_coordinator.formed(GroupSet(1, 50))
    bench_coordinator.OPERATIONS["session expires"](coordinated)

    assert 45 == len(coordinated.coordinator.describe("group-0").members)


def test_a_wrong_answer_of_the_coordinator_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: Coordinator, request: HeartbeatRequest, _now: int, correlation: object = None) -> Effects:
        assert request.generation_id == 1
        return Effects(answers=(Answer(correlation, HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)),))

    coordinated = bench_coordinator.formed(GroupSet(1, 20))
    monkeypatch.setattr(Coordinator, "heartbeat", wrong)

    with pytest.raises(WrongAnswerError, match=r": heartbeats have the error codes UNKNOWN_MEMBER_ID instead of NONE$"):
        coordinated.heartbeat_all()
    with pytest.raises(WrongAnswerError, match=r"^wrong result of the coordinator: requests have the error codes "):
        bench_coordinator.OPERATIONS["heartbeat"](coordinated)


def test_live_bytes_count_each_object_once() -> None:
    text = "x" * 1_000
    size = sys.getsizeof(text)

    assert size <= live_bytes([text, text]) - live_bytes([]) < size + 64
    assert 500 < live_bytes(bench_coordinator.formed(GroupSet(1, 100)).coordinator) / 100 < 2_000


def test_memory_beyond_the_result_is_a_share_of_the_result() -> None:
    assert Use(before=100, alive=300, peak=330, collect=[]).beyond == pytest.approx(0.15)
    assert Use(before=None, alive=None, peak=None, collect=[]).beyond is None


def test_a_wrong_owner_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_replay.Owners, "push", lambda _: [])

    with pytest.raises(WrongAnswerError, match="0 partitions have another owner after 1 current assignments"):
        bench_replay.check_current(3)


def broken_logs() -> Iterator[tuple[Callable[[pa.RecordBatch], None], pa.RecordBatch, str]]:
    log = bench_replay.commit_log(2, 50)
    values = [*log["value"].to_pylist()[:-1], b"\0"]
    yield bench_replay.check_replay, log.set_column(0, "offset", pa.array([0] * log.num_rows)), "duplicates"
    yield bench_replay.check_decoding, log.set_column(3, "value", pa.array(values)), "not decoded"


@pytest.mark.parametrize(("check", "log", "message"), list(broken_logs()), ids=["replay", "decoding"])
def test_a_wrong_answer_about_records_is_not_timed(
    check: Callable[[pa.RecordBatch], None], log: pa.RecordBatch, message: str
) -> None:
    with pytest.raises(WrongAnswerError, match=message):
        check(log)


def broken_segments() -> Iterator[tuple[bytes, int, str]]:
    contents = list(bench_segments.batch_contents())
    data, count, _ = bench_segments.checked_segment("gzip", 50_000)
    changed = bytearray(data)
    changed[-1] ^= 1
    yield bytes(changed), count, "records differ"
    yield data, count + 1, "records differ"
    batches = [segment_bytes.batch(0, each, bench_segments.RECORDS) for each in contents[:count]]
    yield b"".join(batches), count, "records differ"


@pytest.mark.parametrize(("data", "count", "message"), list(broken_segments()), ids=["damaged", "missing", "offsets"])
def test_a_wrong_answer_about_segments_is_not_timed(data: bytes, count: int, message: str) -> None:
    with pytest.raises(WrongAnswerError, match=message):
        bench_segments.check_reading(data, list(bench_segments.batch_contents()), count)
