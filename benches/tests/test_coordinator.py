"""Tests of the coordinator's benchmarks: their groups, the rejection of wrong answers, and their tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assignor.coordinator import Coordinator, Effects, ErrorCode, GroupState, HeartbeatRequest
from assignor.coordinator.context import Answer
from assignor.coordinator.responses import HeartbeatResponse
from benches import coordinator_report_sections
from benches.coordinator_costs import OPERATIONS, SPENDING, costs
from benches.coordinator_memory import live_bytes
from benches.coordinator_report_sections import LEADERS
from benches.coordinator_servers import ServedGroup, ServerMissingError
from benches.coordinator_sockets import read_join
from benches.coordinator_workloads import CoordinatedGroups, GroupSet
from benches.implementations import WrongAnswerError
from benches.java_process import JavaMissingError
from benches.selections import SELECTIONS

SMALL = replace(
    SELECTIONS["quick"],
    group_sets=((1, 20), (10, 3)),
    coordinator_rounds=2,
    group_sizes=(10, 20),
    group_counts=(20, 40),
    served=12,
)


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize("group_set", [GroupSet(1, 250), GroupSet(20, 3, topics=1, partitions=6)])
def test_a_rebalance_completes_the_next_generation_of_every_group(group_set: GroupSet, embedded: bool) -> None:
    coordinated = CoordinatedGroups(group_set, embedded)

    coordinated.form()
    coordinated.rebalance()
    coordinated.heartbeat_all()

    assert 2 == coordinated.generation
    assert group_set.groups == len(coordinated.coordinator.groups())
    assert {(GroupState.STABLE, group_set.members)} == {
        (described.state, len(described.members))
        for described in map(coordinated.coordinator.describe, coordinated.group_ids())
    }


def test_100_members_share_their_topics_and_each_owns_a_partition_of_each_topic() -> None:
    group_set = GroupSet(1, 200)

    assert ["topic0", "topic9"] == [group_set.topics_of(99)[0], group_set.topics_of(99)[-1]]
    assert ["topic10", "topic19"] == [group_set.topics_of(100)[0], group_set.topics_of(100)[-1]]
    assert 20 == len(group_set.partitions_per_topic())
    assert {100} == set(group_set.partitions_per_topic().values())


def test_a_tenth_of_the_sessions_expire() -> None:
    coordinated = CoordinatedGroups(GroupSet(1, 50))
    coordinated.form()

    (what,) = coordinated.expire_a_tenth()

    assert "5 sessions expire" == what
    assert 45 == len(coordinated.coordinator.describe("group-0").members)


def test_a_wrong_answer_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: Coordinator, request: HeartbeatRequest, _now: int, correlation: object = None) -> Effects:
        assert request.generation_id == 1
        return Effects(answers=(Answer(correlation, HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)),))

    coordinated = CoordinatedGroups(GroupSet(1, 20))
    coordinated.form()
    monkeypatch.setattr(Coordinator, "heartbeat", wrong)

    with pytest.raises(WrongAnswerError, match=r": heartbeats have the error codes UNKNOWN_MEMBER_ID instead of NONE$"):
        coordinated.heartbeat_all()
    with pytest.raises(WrongAnswerError, match=r"^wrong result of the coordinator: requests have the error codes "):
        OPERATIONS["heartbeat"](coordinated)


def test_group_sets_take_turns_at_each_operation() -> None:
    times = costs([GroupSet(2, 10), GroupSet(1, 20)], rounds=2)

    assert list(OPERATIONS) == list(times)
    assert set(SPENDING) < set(times)
    assert {("2 x 10", 2), ("1 x 20", 2)} == {
        (name, len(seconds)) for by_group_set in times.values() for name, seconds in by_group_set.items()
    }


def test_the_tables_have_a_row_for_each_phase_and_both_leaders() -> None:
    section = coordinator_report_sections.coordinator(SMALL, lambda _: None, {})

    assert section.figures
    rows = {row[0]: row[1:] for row in section.figures.rows}
    assert ["20", "40", "2"] == [
        rows[f"1 x 20: {phase}"][0] for phase in ("joins", "full rebalance", "2 sessions expire")
    ]
    assert {6} == {len(row) + 1 for row in rows.values()}
    assert 2 + 2 * len(LEADERS) == len(section.figures.head)


def test_costs_have_a_column_for_each_size_and_a_target_for_each_operation() -> None:
    for ask in (coordinator_report_sections.coordinator_members, coordinator_report_sections.coordinator_groups):
        section = ask(SMALL, lambda _: None, {})

        assert section.figures
        assert list(OPERATIONS) == [row[0] for row in section.figures.rows]
        assert {3} == {len(row) for row in section.figures.rows}
        assert len(OPERATIONS) == len(section.target_results)
        assert all(target_result.sense == "<=" for target_result in section.target_results)


def test_memory_is_stated_per_member() -> None:
    section = coordinator_report_sections.coordinator_memory(
        replace(SMALL, memory_sets=((100, 3),)), lambda _: None, {}
    )

    assert section.figures
    ((group_set, live, resident, _, collector),) = section.figures.rows
    assert "100 x 3" == group_set
    assert 500 < float(live.replace(",", "")) < 2_000
    assert not Path("/proc/self/status").exists() or 0 < float(resident.replace(",", "")) < 20_000
    assert collector.endswith(" %")
    assert 0 <= float(collector.removesuffix(" %")) < 100


def test_live_bytes_count_each_object_once() -> None:
    text = "x" * 1_000
    size = sys.getsizeof(text)

    assert size <= live_bytes([text]) - live_bytes([]) < size + 32
    assert live_bytes([text, text]) - live_bytes([text]) < 32
    assert 0 == live_bytes(ErrorCode)


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="the client uses epoll and reads the processor time of another process, which needs Linux",
)
def test_a_group_behind_sockets_is_rebalanced_like_one_in_this_process() -> None:
    with ServedGroup("ours", SMALL.served) as server:
        first, second = server.round(), server.round()

    assert SMALL.served == server.members
    assert ["join", "sync", "heartbeat"] == list(first) == list(second)
    assert all(0 <= spent.waited <= spent.passed for spent in second.values())
    assert all(spent.server > 0 < spent.client for spent in second.values())


def test_an_answer_to_a_join_is_read_as_it_was_written() -> None:
    member = b"\0\2m1\xff\xff\0\0\0\1x"
    answer = bytes(8) + b"\0\0" + b"\0\0\0\7" + b"\0\5range" + b"\0\2m1" + b"\0\2m1" + b"\0\0\0\1" + member

    assert (0, 7, "m1", "m1", {"m1": b"x"}) == read_join(answer)


def test_without_a_broker_the_section_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(implementation: str, members: int) -> Iterator[None]:
        raise ServerMissingError(f"no {implementation} for {members} members")

    monkeypatch.setattr(coordinator_report_sections, "ServedGroup", missing)

    section = coordinator_report_sections.coordinator_broker(SMALL, lambda _: None, {})

    assert "Not timed: no broker for 12 members." == section.note


def test_without_java_the_section_of_the_coordinator_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: GroupSet) -> None:
        raise JavaMissingError("javac was not found")

    monkeypatch.setattr(coordinator_report_sections, "JavaCoordinator", missing)

    section = coordinator_report_sections.coordinator_java(SMALL, lambda _: None, {})

    assert "Not timed: javac was not found." == section.note
