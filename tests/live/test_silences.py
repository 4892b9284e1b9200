"""Silences of the log that a watcher notices while it follows the log."""

from __future__ import annotations

from typing import Any

from assignor.replay.watcher import Watcher
from tests.live.test_watcher import batch, commit, record, started
from tests.support.record_bytes import write_record

Event = dict[str, Any]

SECOND = 1_000
GROUPS = {"billing": 3, "audit": 7}


def committed(second: int) -> list[dict[str, Any]]:
    """Return a commit of each group at a time."""
    return [
        commit(second, second * SECOND + partition, second, group, partition) for group, partition in GROUPS.items()
    ]


def follow(watcher: Watcher, rows: list[dict[str, Any]], *, is_followed: bool = True) -> list[Event]:
    """Push records of one poll, in the order of the partitions."""
    rows = sorted(rows, key=lambda row: (row["partition"], row["offset"]))
    received = rows[-1]["timestamp"] if is_followed else None
    return watcher.push(batch(*rows), {row["partition"]: row["offset"] + 1 for row in rows}, received)


def generation(offset: int, at: int, number: int, *members: str) -> dict[str, Any]:
    """Return a record of a generation of `billing`, whose members have a session timeout of 10 s."""
    rows = [
        {
            "memberId": id,
            "clientId": "app",
            "clientHost": "/h",
            "sessionTimeout": 10_000,
            "rebalanceTimeout": 10_000,
            "subscription": b"",
            "assignment": b"",
        }
        for id in members
    ]
    value = {"protocolType": "consumer", "generation": number, "currentStateTimestamp": at, "members": rows}
    return record(offset, at, 3, write_record(2, {"group": "billing"}, value, version=3))


def test_a_watcher_reports_a_silence_and_blames_the_coordinator_for_sessions_after_it() -> None:
    watcher = started(cluster="east")
    events = [event for second in range(20) for event in follow(watcher, committed(second))]
    assert [event for event in events if event["event"] == "silence"] == []
    follow(watcher, [generation(100, 20 * SECOND, 1, "m")])
    later = follow(watcher, [generation(200, 140 * SECOND, 2)])

    (silence,) = (event for event in later if event["event"] == "silence")
    times = (silence["since"], silence["until"], silence["log_partitions"], silence["cluster"])
    assert times == (20 * SECOND, 140 * SECOND, None, "east")
    (rebalance,) = (event for event in later if event["event"] == "rebalance")
    assert rebalance["causes"][0] == "coordinator_moved"


def test_groups_that_are_not_watched_show_silences_too() -> None:
    watcher = started(groups=["other"])
    events = [event for second in (*range(20), *range(140, 150)) for event in follow(watcher, committed(second))]

    assert [event["event"] for event in events] == ["silence"]


def test_a_log_that_is_read_from_its_beginning_shows_no_silence() -> None:
    watcher = started()
    pause = [row for second in (*range(20), *range(140, 150)) for row in committed(second)]

    assert [event for event in follow(watcher, pause, is_followed=False) if event["event"] == "silence"] == []


def departed(*, moves: bool) -> str:
    """Return the first cause of a departure 12 s after the last commit, with a session timeout of 10 s."""
    watcher = started()
    watcher.observe_leaders({3: 1, 7: 2}, 0)
    follow(watcher, [generation(100, 0, 1, "m"), generation(101, 0, 2, "m", "n")])
    for second in range(1, 20):
        follow(watcher, [commit(101 + second, second * SECOND, second)])
    if moves:
        for at in (21_000, 22_000):
            watcher.observe_leaders({3: 2, 7: 2}, at)
    (rebalance,) = (
        event for event in follow(watcher, [generation(200, 31 * SECOND, 3, "n")]) if event["event"] == "rebalance"
    )
    return str(rebalance["causes"][0])


def test_sessions_that_expire_after_the_coordinator_moved_are_not_blamed_on_the_application() -> None:
    assert departed(moves=True) == "coordinator_moved"
    assert departed(moves=False) != "coordinator_moved"
