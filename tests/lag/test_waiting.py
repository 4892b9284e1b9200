"""Whether records waited for a silent member: rules of `assignor.waiting`, each with counterexamples."""

from __future__ import annotations

from typing import Any

import pytest

from assignor.waiting import PATIENCE, WAIT_MS, Position, Waiting, find_waiting

SILENCE: dict[str, Any] = {"since": 100_000, "until": 400_000, "usual_ms": 5_000, "is_lasting": False}
COMMITTED = [(100_000, 500)]


def found(*positions: Position, commits: list[tuple[int, int | None]] | None = None, **given: Any) -> Waiting | None:
    """Return the waiting records of a member that committed offset 500 and was silent for 300 s."""
    return find_waiting(COMMITTED if commits is None else commits, positions, **{**SILENCE, **given})


def test_an_end_offset_above_the_committed_offset_shows_waiting_records() -> None:
    assert Waiting(150_000, 90, None) == found(Position(120_000, 500), Position(150_000, 520), Position(390_000, 590))


def test_end_offsets_that_equal_the_committed_offset_show_none() -> None:
    assert None is found(*(Position(at, 500) for at in range(100_000, 400_000, 10_000)))
    assert None is found()
    assert None is found(Position(200_000, 400))


def test_an_end_offset_before_the_silence_shows_records_that_already_waited() -> None:
    assert Waiting(100_000, 7, None) == found(Position(50_000, 507))
    assert None is found(Position(50_000, 500))


def test_another_group_that_read_further_shows_waiting_records() -> None:
    assert Waiting(110_000, 30, "other") == found(Position(110_000, 510, "other"), Position(200_000, 530, "other"))
    assert None is found(Position(110_000, 500, "other"), Position(300_000, 499, "other"))


def test_an_end_offset_overrules_a_commit_beyond_the_end() -> None:
    assert None is found(Position(110_000, 510, "other"), Position(120_000, 500))


@pytest.mark.parametrize("group", [None, "other"])
def test_records_that_arrive_just_before_the_silence_ends_show_nothing(group: str | None) -> None:
    assert None is found(Position(100_000, 500), Position(400_000 - WAIT_MS + 1, 900, group))
    assert found(Position(100_000, 500), Position(400_000 - WAIT_MS, 900, group))


def test_a_member_with_rare_commits_may_let_records_wait_for_longer() -> None:
    usual = 20_000

    assert None is found(Position(400_000 - PATIENCE * usual + 1, 900), usual_ms=usual)
    assert found(Position(400_000 - PATIENCE * usual, 900), usual_ms=usual)


def test_one_end_offset_at_the_end_of_a_lasting_silence_is_enough() -> None:
    assert Waiting(400_000, 400, None) == found(Position(400_000, 900), is_lasting=True)
    assert found(Position(10_000, 100), Position(400_000, 900), is_lasting=True)


def test_records_that_just_arrived_at_the_end_of_a_lasting_silence_show_nothing() -> None:
    assert None is found(Position(390_000, 500), Position(400_000, 900), is_lasting=True)
    assert None is found(Position(400_000, 900, "other"), is_lasting=True)


def test_commits_during_the_silence_count() -> None:
    ends = [Position(110_000, 900), Position(120_000, 900)]

    assert None is found(*ends, commits=[*COMMITTED, (115_000, 900)])
    assert found(*ends, commits=[*COMMITTED, (115_000, 800)])
    assert None is found(*ends, commits=[*COMMITTED, (105_000, None)])
    assert None is found(*ends, commits=[])
