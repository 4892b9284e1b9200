"""Moves of coordinators in a watch: events, lines and counts of groups; and changes of leaders that are none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assignor.replay.coordinators import moved_text
from assignor.replay.event_lines import EventLines
from assignor.replay.events import to_json
from tests.live.test_watcher import batch, commit, record, started
from tests.support.record_bytes import write_record

if TYPE_CHECKING:
    from assignor.replay.watcher import Watcher

NOW = 1_790_000_000_000


def watcher(**given: Any) -> Watcher:
    """Return a watcher of two groups in partition 3, one in partition 17, and a deleted one in partition 5."""
    found = started(**given)
    found.push(batch(commit(0, 1_000, group="a"), commit(1, 1_000, group="b")), {3: 2})
    found.push(batch(commit(0, 1_000, group="c", partition=17)), {17: 1})
    found.push(batch(record(0, 1_000, 5, write_record(2, {"group": "gone"}))), {5: 1})
    return found


def observed(watcher: Watcher, *answers: dict[int, int | None]) -> list[dict[str, Any]]:
    return [event for answer in answers for event in watcher.observe_leaders(answer, NOW)]


def test_a_moved_coordinator_is_an_event_with_its_partitions_and_groups() -> None:
    before: dict[int, int | None] = {3: 2, 4: 2, 5: 2, 17: 2, 20: 1}
    after: dict[int, int | None] = dict.fromkeys(before, 1)

    (event,) = observed(watcher(cluster="blue"), before, after, after, after)

    assert event == {
        "event": "coordinator",
        "cluster": "blue",
        "group": None,
        "kind": None,
        "at": NOW,
        "offset": -1,
        "previous": "2",
        "leader": "1",
        "log_partitions": ["3", "17"],
        "groups": 3,
    }
    assert event == event | json.loads(to_json(event))
    assert "coordinator of 3 groups moved from broker 2 to broker 1" == moved_text(event)
    line = EventLines().line(event)
    assert line == f"2026-09-21 14:13:20.000  {moved_text(event)}; partitions of __consumer_offsets: 3, 17"


def test_each_pair_of_brokers_is_an_event() -> None:
    found = observed(watcher(), {3: 1, 17: 2}, {3: 2, 17: 3}, {3: 2, 17: 3})

    assert [("1", "2", ["3"], 2), ("2", "3", ["17"], 1)] == [
        (event["previous"], event["leader"], event["log_partitions"], event["groups"]) for event in found
    ]


def test_one_group_is_in_the_singular() -> None:
    (event,) = observed(watcher(), {17: 2}, {17: 1}, {17: 1})

    assert "coordinator of 1 group moved from broker 2 to broker 1" == moved_text(event)


def test_the_first_known_leader_is_no_move() -> None:
    assert [] == observed(watcher(), {3: None, 17: 2}, {3: 1, 17: 2}, {3: 1, 17: 2})


def test_a_leader_that_returns_is_no_move() -> None:
    assert [] == observed(watcher(), {3: 2}, {3: None}, {}, {3: None}, {3: 2}, {3: 2})


def test_another_leader_after_a_time_without_leader_is_a_move() -> None:
    (event,) = observed(watcher(), {3: 2}, {3: None}, {3: 1}, {3: 1})

    assert ("2", "1") == (event["previous"], event["leader"])


def test_an_outdated_answer_is_no_move() -> None:
    assert 1 == len(observed(watcher(), {3: 2}, {3: 1}, {3: 1}, {3: 2}, {3: 1}, {3: 1}))


def test_partitions_without_groups_are_no_move() -> None:
    assert [] == observed(watcher(), {4: 2, 5: 2}, {4: 1, 5: 1}, {4: 1, 5: 1})
