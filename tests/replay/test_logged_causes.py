"""Causes that a broker logged: they come first, and what the records show besides them stays behind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.replay import Replay
from assignor.replay.logged_events import LogMatches
from assignor.sources.logged_reasons import Fact, reason_fact
from assignor.sources.logged_rebalances import LoggedRebalance, TimedFact
from tests.replay.logs import CONSUMER, classic, classic_gone, log, member, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.replay.logs import Event as Step

Row = dict[str, Any]

START = 1_000_000
SECOND = 1_000
A = member("a", ["t"], {"t": [0]})
B = member("b", ["t"], {"t": [1]})
C = member("c", ["t"])
JOIN = "Adding new member c with group instance id null; client reason: not provided"
LEAVE = "Removing member b on LeaveGroup; client reason: not provided"
EXPIRY = "removing member b on heartbeat expiration."
LEADER = "Leader a re-joining group during Stable; client reason: not provided"


def logged(
    reason: str | None, generation: int | None = 2, at: int = START + 9 * SECOND, *later: str, kind: str = "classic"
) -> LoggedRebalance:
    """Return a rebalance with a reason, and others that were logged in its join phase."""
    texts = [each for each in (reason, *later) if each is not None]
    return LoggedRebalance("g", kind, generation, at, tuple(TimedFact(at, reason_fact(text)) for text in texts))


def replayed(steps: Iterable[Step], *rebalances: LoggedRebalance, cluster: str = "") -> list[Row]:
    """Return the events of a log, replayed with what brokers logged."""
    replay = Replay(metadata({0: {"t": 4}}))
    replay.observe_broker_log(rebalances, cluster)
    return [found for record in log(steps) for found in replay.push(record)] + replay.finish()


def last(events: Sequence[Row]) -> Row:
    return [each for each in events if each["event"] == "rebalance"][-1]


def pair(*after: Row, at: int = START + 10 * SECOND) -> list[Step]:
    """Return generation 1 with members a and b, and generation 2 with others."""
    return [classic(0, protocol_type="").at(START), classic(1, A, B).at(START), classic(2, *after).at(at)]


@pytest.mark.parametrize(
    ("after", "reason", "causes"),
    [
        # The line says how the only missing member left.
        ([A], LEAVE, ["consumer_closed"]),
        ([A], EXPIRY, ["consumer_dead", "application_crashed"]),
        ([A], LEAVE.replace("not provided", "consumer poll timeout has expired."), ["poll_interval_exceeded"]),
        # Member b is missing too, and the line says nothing about it.
        ([A, C], JOIN, ["consumer_subscribed", "consumer_closed", "consumer_dead", "application_crashed"]),
        # The join of c stays: the records show it.
        ([A, C], EXPIRY, ["consumer_dead", "application_crashed", "consumer_subscribed"]),
        ([A, B, C], JOIN, ["consumer_subscribed"]),
        ([A, B, C], LEADER, ["leader_rejoined", "consumer_subscribed"]),
        # One of the members that can have joined again did.
        ([A, B | {"subscription": B["subscription"] + b"\0"}], LEADER, ["leader_rejoined"]),
        ([A, B], "Updating metadata for member b during Stable", ["owned_partitions_changed"]),
    ],
)
def test_the_logged_cause_is_the_first(after: list[Row], reason: str, causes: list[str]) -> None:
    alone, found = last(replayed(pair(*after))), last(replayed(pair(*after), logged(reason)))

    assert causes == found["causes"]
    assert (START + 9 * SECOND, reason) == (found["logged_at"], found["logged_reason"])
    assert alone["causes"] == found["inferred_causes"]
    assert found["evidence"].startswith(
        f"The broker logged at 1970-01-01 00:16:49.000: {reason.rstrip('.')}. The records"
    )
    assert found["evidence"].endswith(alone["evidence"])
    assert [None] * 3 == [alone[name] for name in ("logged_at", "logged_reason", "inferred_causes")]
    same = [name for name in alone if not name.startswith(("logged", "inferred", "causes", "evidence"))]
    assert [alone[name] for name in same] == [found[name] for name in same]


def test_a_topic_that_grew_agrees_with_a_leader_that_joined_again() -> None:
    grown = [*pair(A, B | {"assignment": member("x", [], {"t": [1, 2, 9]})["assignment"]})]
    found = last(replayed(grown, logged(LEADER)))

    assert found["causes"][0] == found["inferred_causes"][0] == "partitions_increased"


def test_what_was_logged_in_the_join_phase_comes_second() -> None:
    late = logged(JOIN, 2, START, "removing member b on heartbeat expiration")
    found = last(replayed(pair(A, C), late))

    assert ["consumer_subscribed", "consumer_dead", "application_crashed"] == found["causes"]
    assert "It also logged at" in found["evidence"]


def test_the_member_that_left_has_the_logged_cause() -> None:
    def left(*rebalances: LoggedRebalance) -> list[str]:
        events = replayed(pair(A), *rebalances)
        (found,) = (each["causes"] for each in events if each["event"] == "member" and each["action"] == "left")
        return list(found)

    assert "consumer_closed" == left()[0]
    assert ["consumer_dead", "application_crashed"] == left(logged(EXPIRY))
    assert left() == left(logged(JOIN)) == left(logged(EXPIRY.replace("member b", "member x")))


@pytest.mark.parametrize(
    "other",
    [
        logged(EXPIRY, 3),
        logged(EXPIRY, 2, START + 13 * SECOND),
        logged(EXPIRY, 2, START - 700 * SECOND),
        logged(EXPIRY)._replace(group="h"),
        logged(EXPIRY, None),
    ],
)
def test_lines_about_other_rebalances_change_nothing(other: LoggedRebalance) -> None:
    assert replayed(pair(A)) == replayed(pair(A), other)
    assert replayed(pair(A)) == replayed(pair(A), logged(EXPIRY), cluster="another")


def test_of_two_lives_of_a_group_the_line_before_the_record_counts() -> None:
    steps = [*pair(A), classic_gone().at(START + 20 * SECOND), *(step.at(START + 60 * SECOND) for step in pair(A)[:2])]
    steps.append(classic(2, A).at(START + 70 * SECOND))
    found = replayed(steps, logged(EXPIRY), logged(LEAVE, 2, START + 69 * SECOND))

    assert [None, EXPIRY, None, LEAVE] == [each["logged_reason"] for each in found if each["event"] == "rebalance"]


def test_a_line_without_a_reason_only_has_a_time() -> None:
    found = last(replayed(pair(A), logged(None)))
    unknown = last(replayed(pair(A), logged("the moon is full")))

    assert (START + 9 * SECOND, None) == (found["logged_at"], found["logged_reason"])
    assert found["inferred_causes"] == found["causes"] == last(replayed(pair(A)))["causes"] == unknown["causes"]
    assert unknown["logged_reason"] is None
    assert "the moon is full" in unknown["evidence"]


def epochs(gap: int = 10 * SECOND) -> list[Step]:
    """Return a consumer group whose member b leaves."""
    joins = [CONSUMER.joins("a"), CONSUMER.joins("b"), CONSUMER.epoch(2), CONSUMER.target_epoch(2)]
    leaves = [*CONSUMER.leaves("b"), CONSUMER.epoch(3), CONSUMER.target_epoch(3)]
    return [*(step.at(START) for step in joins), *(step.at(START + gap) for step in leaves)]


def fenced(generation: int | None, at: int, who: str = "b") -> LoggedRebalance:
    fact = Fact(("consumer_dead", "application_crashed"), (who,), f"Member {who} fenced from the group")
    return LoggedRebalance("g", "consumer", generation, at, (TimedFact(at, fact),))


def test_an_epoch_is_found_by_its_number_or_by_its_members() -> None:
    at = START + 10 * SECOND
    alone = replayed(epochs())
    assert "consumer_closed" == last(alone)["causes"][0]
    for line in (fenced(3, at), fenced(None, at), fenced(None, at - SECOND)):
        found = replayed(epochs(), line)
        assert ["consumer_dead", "application_crashed"] == last(found)["causes"]
        assert ["expired"] == [each["action"] for each in found if each["event"] == "member"][2:]
    for line in (fenced(None, at, "x"), fenced(3, at - 9 * SECOND), fenced(None, at + 9 * SECOND)):
        assert alone == replayed(epochs(), line)


def test_rebalances_without_a_record_are_events_too() -> None:
    lines = [logged(EXPIRY), logged(JOIN, 3, START + 20 * SECOND), logged(LEAVE, 7)._replace(group="h")]
    matches = LogMatches(lines)
    for event in replayed(pair(A), *lines):
        if event["event"] == "rebalance":
            matches.add(event)
    found = matches.unrecorded()

    assert [("g", 3, ["consumer_subscribed"]), ("h", 7, ["consumer_closed"])] == [
        (each["group"], each["generation"], each["causes"]) for each in found
    ]
    assert [(-1, ["c"], []), (-1, [], ["b"])] == [(each["offset"], each["joined"], each["left"]) for each in found]
    assert all(each["evidence"].endswith("The recording has no record of this generation.") for each in found)
    assert last(replayed(pair(A))).keys() == found[0].keys()
    comparison = matches.comparison()
    assert (3, 0, 1, 0, 2) == (
        comparison.logged,
        comparison.first,
        comparison.among,
        comparison.missing,
        comparison.only_logged,
    )
    (row,) = comparison.differences
    assert ("g", 2, "consumer_dead") == (row["group"], row["generation"], row["logged"])


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(WrongTypeError, match=re.escape("rebalances[0] must be a LoggedRebalance, not")):
        Replay().observe_broker_log([("g", 2)])  # type: ignore[list-item]  # of the test
    wrong = logged(None)._replace(facts=(TimedFact(0, Fact(("full_moon",), (), "")),))
    with pytest.raises(IllegalArgumentError, match='cause "full_moon": a broker logs no such cause'):
        Replay().observe_broker_log([wrong])
