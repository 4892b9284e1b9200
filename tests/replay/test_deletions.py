"""Deleted groups and committed offsets: their events, and commits below a deleted offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.replay.history import write_history
from tests.replay.event_logs import replayed
from tests.replay.logs import CONSUMER, SHARE, STREAMS, classic, classic_gone, commit, event, log, member, metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.replay.logs import Event as Step
    from tests.replay.logs import Protocol

Row = dict[str, Any]

DAY = 86_400_000
A = member("a", ["t"], {"t": [0]})
LIFE = [classic(0, protocol_type="").at(0), classic(1, A).at(0), commit("t", 0).at(1_000), classic(2).at(2_000)]


def events_of(steps: Iterable[Step], *names: str, rows: Sequence[Row] = (), **settings: Any) -> list[Row]:
    found, _ = replayed({"g": log(steps)}, rows, **settings)
    return [each for each in found if each["event"] in names]


def deleted(at: int) -> list[Step]:
    """Return the tombstones with which a broker deletes a group and its offset."""
    return [commit("t", 0, offset=None).at(at), classic_gone().at(at)]


@pytest.mark.parametrize(
    ("age", "rows", "cause"),
    [
        (8 * DAY, [], "expired"),
        (7 * DAY, [], "expired"),
        (6 * DAY, [], "deleted"),
        (5_000, metadata({0: {"t": 1}, 3_000: {"t": 1}, 9_000: {"t": 1}}), "deleted"),
        (5_000, metadata({0: {"t": 1}, 9_000: {"u": 1}}), "topic_deleted"),
        (8 * DAY, metadata({0: {"t": 1}, 9_000: {"u": 1}}), "expired"),
    ],
)
def test_a_deleted_offset_has_the_cause_that_its_age_and_the_topics_show(age: int, rows: list[Row], cause: str) -> None:
    found = events_of([*LIFE, commit("t", 0, offset=None).at(1_000 + age)], "offsets_deleted", rows=rows)

    assert [(each["topic_partitions"], each["causes"][0]) for each in found] == [([["t", 0]], cause)]
    assert {"expired", "deleted"} <= set(found[0]["causes"])


def test_a_commit_with_an_expiry_of_its_own_expires_then() -> None:
    value = {"offset": 7, "commitTimestamp": 1_000, "expireTimestamp": 61_000}
    own = event(1, {"group": "g", "topic": "t", "partition": 0}, value, version=1).at(1_000)
    early, late = (
        events_of([*LIFE[:2], own, commit("t", 0, offset=None).at(at)], "offsets_deleted") for at in (60_000, 61_000)
    )

    assert (early[0]["causes"][0], late[0]["causes"][0]) == ("deleted", "expired")


def test_a_tombstone_without_a_known_offset_deletes_nothing() -> None:
    assert events_of([*LIFE[:2], commit("t", 1, offset=None).at(9_000)], "offsets_deleted") == []
    twice = [commit("t", 0, offset=None).at(at) for at in (9_000, 10_000)]
    assert len(events_of([*LIFE, *twice], "offsets_deleted")) == 1


def test_a_group_that_expires_begins_again() -> None:
    again = [classic(1, A).at(9 * DAY), commit("t", 0, offset=3).at(9 * DAY + 1)]
    steps = [*LIFE, *deleted(8 * DAY), *again]
    found = events_of(steps, "offsets_deleted", "group_deleted", "rebalance", "offsets")

    assert [each["event"] for each in found[2:]] == ["offsets_deleted", "group_deleted", "rebalance", "offsets"]
    gone, begins, back = found[3:]
    assert (gone["causes"], gone["generation"], gone["at"]) == (["expired", "deleted"], 2, 8 * DAY)
    assert begins["evidence"].startswith("The group was deleted 24 h before, and begins again.")
    assert (back["problem"], back["topic_partitions"]) == ("went_back", [["t", 0]])
    assert "from 7 to 3" in back["evidence"]


@pytest.mark.parametrize(("offset", "problems"), [(6, ["went_back"]), (7, []), (8, [])])
def test_a_commit_below_a_deleted_offset_went_back(offset: int, problems: list[str]) -> None:
    again = commit("t", 0, offset=offset).at(9_001)
    found = events_of([*LIFE, commit("t", 0, offset=None).at(9_000), again], "offsets")

    assert [each["problem"] for each in found] == problems


def test_only_the_first_commit_after_a_deletion_is_compared_with_the_deleted_offset() -> None:
    later = [commit("t", 0, offset=offset).at(9_000 + offset) for offset in (8, 9)]
    assert events_of([*LIFE, commit("t", 0, offset=None).at(9_000), *later], "offsets") == []


def test_a_group_without_offsets_is_deleted_when_it_is_empty() -> None:
    (found,) = events_of([*LIFE[:2], LIFE[3], classic_gone().at(700_000)], "group_deleted")

    assert found["causes"] == ["expired", "deleted"]
    assert "no committed offsets" in found["evidence"]


def test_a_group_whose_offsets_are_young_was_deleted() -> None:
    assert [each["causes"][0] for each in events_of([*LIFE, *deleted(60_000)], "group_deleted")] == ["deleted"]


@pytest.mark.parametrize("protocol", [CONSUMER, SHARE, STREAMS])
def test_each_kind_of_group_is_deleted_once(protocol: Protocol) -> None:
    life = [protocol.joins("a").at(0), protocol.epoch(1).at(0), *(each.at(1) for each in protocol.leaves("a"))]
    gone = [protocol.epoch(2).at(1), protocol.epoch(None).at(9), protocol.epoch(None).at(10)]
    found = events_of([*life, *gone], "group_deleted")

    assert [(each["at"], each["generation"]) for each in found] == [(9, 2)]


def test_a_conversion_deletes_no_group() -> None:
    upgraded = [classic_gone(), CONSUMER.joins("a", subscribedTopicNames=["t"]), CONSUMER.epoch(3)]
    downgraded = [*CONSUMER.leaves("a"), CONSUMER.epoch(None), classic(3, A)]
    steps = [*LIFE[:2], *(each.at(50) for each in upgraded), *(each.at(90) for each in downgraded)]
    assert events_of(steps, "group_deleted") == []

    # A record of the other protocol that follows later belongs to a new group.
    later = [classic_gone().at(50), *(each.at(51) for each in upgraded[1:])]
    assert [each["at"] for each in events_of([*LIFE[:2], *later], "group_deleted")] == [50]


def test_a_history_has_one_entry_for_offsets_that_were_deleted_together() -> None:
    more = [commit("t", 1).at(1_000), commit("u", 0).at(1_000)]
    gone = [commit(topic, id, offset=None).at(60_000) for topic, id in (("u", 0), ("t", 1), ("t", 0))]
    later = commit("t", 2).at(1_000), commit("t", 2, offset=None).at(61_000)
    steps = [*LIFE[:2], *more, LIFE[2], later[0], LIFE[3], *gone, later[1], classic_gone().at(62_000)]
    found = events_of(steps, "offsets_deleted", "group_deleted")
    assert len(found) == 5

    lines = [line.strip().split("  ")[-1] for line in write_history(found, {}) if line.startswith("  1970")]
    assert lines == [
        "committed offsets deleted: 3 partitions: t[0–1] u[0]",
        "committed offset deleted: t[2]",
        "group expired",
    ]


def test_the_deletion_is_said_at_the_end_of_the_log_and_by_a_deadline() -> None:
    steps = [*LIFE, classic_gone().at(9_000)]
    assert len(events_of(steps, "group_deleted")) == 1
    (found,) = events_of(steps, "group_deleted")
    assert found["at"] == 9_000
    found_by_time, replay = replayed({"g": log(steps)}, end=9_001)
    assert [each["event"] for each in found_by_time].count("group_deleted") == 1
    assert replay.finish() == []
