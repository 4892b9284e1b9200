"""Lines and metrics of a watch in which groups are in a rebalance loop or a storm, without a cluster."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow as pa

from assignor.cluster import records
from assignor.cluster.log import LogEnd
from assignor.replay.event_lines import EventLines
from assignor.replay.metrics import WatchMetrics
from assignor.replay.watch_state import WatchState
from assignor.replay.watcher import Watcher
from tests.replay import looping_groups as groups
from tests.replay.looping_groups import MINUTE, SECOND, Group

if TYPE_CHECKING:
    from tests.replay.logs import Row
    from tests.support.record_bytes import LogRecord


class Watched:
    """Watcher with its lines of text, as the command prints them.

    Attributes:
        watcher: The watcher.
        lines: All lines.
    """

    def __init__(self, watcher: Watcher | None = None) -> None:
        self.watcher = watcher or Watcher()
        if self.watcher.is_silent:
            self.watcher.start(is_earliest=True)
        self._text = EventLines(self.watcher.groups())
        self.lines: list[str] = []

    def push(self, logged: list[LogRecord], size: int = 7) -> Watched:
        """Push records in pieces."""
        for start in range(0, len(logged), size):
            rows = [{"partition": 3, **record._asdict()} for record in logged[start : start + size]]
            batch = pa.RecordBatch.from_pylist(rows, schema=records.SCHEMA)
            self._print(self.watcher.push(batch, {3: rows[-1]["offset"] + 1}))
        return self

    def settle(self, now: int) -> Watched:
        """Let the clock of the watch reach a time."""
        end = self.watcher.positions[3]
        self._print(self.watcher.settle({3: LogEnd(end, end)}, now))
        return self

    def _print(self, events: list[Row]) -> None:
        watcher = self.watcher
        storms = [group for group, found in watcher.conditions.groups.items() if found.storm_since is not None]
        self.lines += self._text.lines(events, watcher.loop_changes, loops=watcher.loops.current(), storms=storms)
        watcher.loop_changes.clear()

    def about(self, word: str) -> list[str]:
        """Return the lines with a word, without their times."""
        return [line[25:] for line in self.lines if word in line]

    def active(self) -> float:
        """Return the value of the gauge of rebalance loops."""
        metrics = WatchMetrics(self.watcher, threading.Lock()).collect()
        return next(each.samples[0].value for each in metrics if each.name == "assignor_rebalance_loops_active")


def test_a_loop_has_one_line_at_its_beginning_and_one_at_its_end() -> None:
    group = groups.leader_joins_again(Group(), 2, 300, 8.5 * SECOND)
    watched = Watched().push(group.records)

    assert [
        "g  rebalance loop begins: 20 rebalances since 2023-11-14 22:13:20.000, usually every 8.5 s: the leader joins "
        "again; client: app on 10.0.0.1"
    ] == watched.about("loop")
    assert (20, 1) == (len(watched.about("rebalance, generation")), watched.active())

    watched.settle(group.at + 60 * SECOND)
    assert 1 == len(watched.about("loop"))
    watched.settle(group.at + 100 * SECOND)

    assert (
        "g  rebalance loop ended: 300 rebalances from 2023-11-14 22:13:20.000 to 2023-11-14 22:55:41.500, usually "
        "every 8.5 s: the leader joins again; client: app on 10.0.0.1"
    ) == watched.about("loop")[1]
    assert 0 == watched.active()
    assert len(watched.lines) < 60


def test_members_that_change_in_a_loop_have_no_lines() -> None:
    group = groups.new_id_each_time(Group(), 2, 300, 500)
    watched = Watched().push(group.records)

    assert 1 == len(watched.about("rebalance loop begins: 20 rebalances"))
    assert len(watched.about("member joined")) < 25
    assert len(watched.lines) < 100


def test_a_change_of_other_members_has_its_lines() -> None:
    group = groups.leader_joins_again(Group(), 2, 100, 8.5 * SECOND).wait(4 * SECOND).change(joins=1)
    for _ in range(50):
        group.wait(8.5 * SECOND).again()
    watched = Watched().push(group.records)

    assert ["g  rebalance, generation 101: consumer_subscribed"] == [
        line.partition(";")[0] for line in watched.about("rebalance, generation 101")
    ]
    assert 1 == len(watched.about("loop"))


def test_a_storm_has_no_lines_of_its_rebalances() -> None:
    group = groups.leader_joins_again(Group(), 3, 400, 100)
    watched = Watched().push(group.records).settle(group.at + 10 * MINUTE)

    begin, end = watched.about("REBALANCE STORM")
    assert begin.startswith("g  REBALANCE STORM begins: 20 rebalances")
    assert end.startswith("g  REBALANCE STORM ended at 2023-11-14 22:13:59.900: 399 rebalances")
    assert 21 == len(watched.about("rebalance, generation"))
    assert [] == watched.about("loop")


def test_a_loop_goes_on_after_a_restart_of_the_watch() -> None:
    group = groups.one_joins_and_leaves(Group(), 4, 200, 20 * SECOND)
    before = Watched().push(group.records[:200])
    state = WatchState.from_bytes(before.watcher.state("cluster").to_bytes())
    after = Watched(Watcher(state=state)).push(group.records[200:]).settle(group.at + 20 * MINUTE)

    assert 1 == len(before.about("loop begins"))
    (ended,) = after.lines
    assert ended[25:].startswith("g  rebalance loop ended: 400 rebalances from 2023-11-14 22:13:30.000")


def test_a_watch_that_is_silent_at_first_knows_the_loop() -> None:
    group = groups.leader_joins_again(Group(), 2, 100, 8.5 * SECOND)
    watcher = Watcher()
    rows = [{"partition": 3, **record._asdict()} for record in group.records]
    watcher.push(pa.RecordBatch.from_pylist(rows, schema=records.SCHEMA), {3: len(rows)})
    watcher.start()
    watched = Watched(watcher).settle(group.at + 3 * MINUTE)

    (ended,) = watched.lines
    assert "rebalance loop ended: 100 rebalances" in ended
