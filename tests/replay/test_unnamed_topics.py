"""Topic ids without a name: replay does not know which partitions have an owner or a committed offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.replay import Replay
from tests.replay.event_logs import cut_storm, push_batch, replayed
from tests.replay.logs import CONSUMER, Event, commit, log, metadata
from tests.replay.logs import replayed as history_of
from tests.support.recorded_fleet import topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.replay.logs import Row

BOTH = {"t": 2, "u": 2}
HOUR = 3_600_000


def owners(*, wanted: Sequence[str] = ("t", "u")) -> list[Event]:
    """Return the records of a consumer group whose only member owns all partitions of the topics."""
    has = {topic: [0, 1] for topic in wanted}
    return [
        CONSUMER.joins("a", subscribedTopicNames=["t", "u"]),
        CONSUMER.epoch(1),
        CONSUMER.target_of("a", has),
        CONSUMER.target_epoch(1),
        CONSUMER.has("a", 1, 0, has),
    ]


def found(events: Sequence[Event], names: Row, *, end: int | None = HOUR) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return problem and partitions of the events of offsets."""
    given, _ = replayed({"g": log([each.at(0) for each in events])}, metadata({0: names, 1: names}), end=end)
    offsets = [each for each in given if each["event"] == "offsets"]
    return [(each["problem"], [tuple(key) for key in each["topic_partitions"]]) for each in offsets]


@pytest.mark.parametrize("names", [{}, {"t": 2}])
def test_a_commit_has_no_known_owner_while_a_topic_id_has_no_name(names: Row) -> None:
    assert found([*owners(), commit("u", 0), commit("v", 0)], names, end=None) == []


def test_a_commit_without_an_owner_is_found_if_all_topic_ids_have_names() -> None:
    assert found([*owners(), commit("u", 0), commit("v", 0)], BOTH, end=None) == [("not_owned", [("v", 0)])]


def test_a_partition_of_a_topic_without_a_name_may_have_a_committed_offset() -> None:
    assert found([*owners(), commit("u", 0), commit("u", 1)], {"t": 2}) == [("never_committed", [("t", 0), ("t", 1)])]
    assert found(owners(), {}) == []
    assert found(owners(), BOTH) == [("never_committed", [("t", 0), ("t", 1), ("u", 0), ("u", 1)])]


def test_the_report_counts_no_partition_of_a_topic_without_a_name_as_never_committed() -> None:
    history = history_of(*owners(), topics=metadata({0: {"t": 2}, 90_000: {"t": 2}}))
    assert [("t", 0, 2)] == [(gap["topic"], gap["start"], gap["count"]) for gap in history["gaps"]]


def test_the_owners_are_known_again_when_the_member_gives_the_topic_up() -> None:
    later = [CONSUMER.has("a", 1, 0, {"t": [0, 1]}), commit("v", 0)]
    assert found([*owners(), commit("v", 1), *later], {"t": 2}, end=None) == [("not_owned", [("v", 0)])]


def test_later_topic_metadata_that_names_the_id_makes_owners_known() -> None:
    replay = Replay(metadata({0: {"t": 2}}), is_open=True)
    records = log([each.at(0) for each in [*owners(), commit("t", 0), commit("t", 1), commit("u", 0), commit("v", 0)]])
    before = [event for record in records[:-1] for event in replay.push(record)]
    replay.observe_topics(metadata({1: BOTH}))
    copy = Replay(metadata({0: {"t": 2}, 1: BOTH}), is_open=True)
    copy.restore(replay.snapshot())

    for each in (replay, copy):
        (stray,) = each.push(records[-1])
        (late,) = [event for event in each.advance(HOUR) if event["event"] == "offsets"]
        assert ("not_owned", [["v", 0]]) == (stray["problem"], stray["topic_partitions"])
        assert ("never_committed", [["u", 1]]) == (late["problem"], late["topic_partitions"])
    assert [] == [event for event in before if event["event"] == "offsets"]


def test_a_topic_without_owners_may_be_the_one_without_a_name() -> None:
    # The metadata has another id of u, for example because the topic was created again.
    names = metadata({0: {"t": 3, "u": 2}, 90_000: {"t": 3, "u": 2}})
    other = [{**row, "topic_id": "other"} if row["topic"] == "u" else row for row in names]
    history = history_of(*owners(), topics=other)
    assert [("t", 2)] == [(gap["topic"], gap["start"]) for gap in history["gaps"] if gap["problem"] == "unowned"]
    events, _ = replayed({"g": log(owners())}, other)
    assert [[["t", 2]]] == [each["unowned"] for each in events if each["event"] == "rebalance"]
    history = history_of(*owners(wanted=["t"]), topics=names)
    gaps = [(gap["topic"], gap["start"]) for gap in history["gaps"] if gap["problem"] == "unowned"]
    assert gaps == [("t", 2), ("u", 0)]


def test_a_recorded_fleet_without_some_topics_has_no_false_findings() -> None:
    known = topics()
    names = sorted({row["topic"] for row in known})
    rows = cut_storm(30, 10)

    def keys(lacking: set[str]) -> dict[str, set[tuple[str, str, int]]]:
        replay = Replay([row for row in known if row["topic"] not in lacking])
        given = [event for records in rows.values() for event in push_batch(replay, records)]
        given += replay.advance(max(record.timestamp for records in rows.values() for record in records))
        offsets = [event for event in given if event["event"] == "offsets"]
        return {
            problem: {
                (event["group"], topic, id)
                for event in offsets
                if event["problem"] == problem
                for topic, id in event["topic_partitions"]
            }
            for problem in ("never_committed", "not_owned", "two_owners", "not_subscribed", "unknown_partition")
        }

    truth = keys(set())
    for lacking in [set(names), *({name} for name in names)]:
        found = keys(lacking)
        assert found["never_committed"] <= truth["never_committed"], lacking
        assert {problem for problem, each in found.items() if each} <= {"never_committed"}, lacking
