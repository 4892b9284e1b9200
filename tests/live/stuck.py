"""Group whose member commits every 5 s and then stops, and measurements of its lag."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from assignor.cluster.log import LogEnd
from assignor.lag import partition_lag
from assignor.replay.lag_progress import LagProgress
from assignor.replay.watcher import Watcher
from tests.live.test_watcher import batch, commit, generation, started

INTERVAL = 5_000
"""Milliseconds between the commits of the member."""

LAST = 60_000
"""Time of its last commit in milliseconds."""

COMMITTED = 7
"""Offset of its last commit."""

DEADLINE = LAST + 10 * INTERVAL
"""Time at which the member counts as silent."""


def silent(**given: Any) -> Watcher:
    """Return a watcher of a group whose only member has not committed for ten intervals."""
    watcher = started(**given)
    rows = [generation(0, 1_000, 1)]
    rows += [commit(number, number * INTERVAL) for number in range(1, LAST // INTERVAL + 1)]
    events = watcher.push(batch(*rows), {3: len(rows)}, received=LAST)
    assert not any(event["event"] == "stuck" for event in events)
    events = watcher.settle({3: LogEnd(len(rows), len(rows))}, DEADLINE + 1_000)
    assert [] == events
    return watcher


class Measuring:
    """Measurements of the lag of a watcher."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._progress = LagProgress()

    def measure(self, at: int, end: int | None, start: int = 0) -> tuple[list[dict[str, Any]], int | None]:
        """Measure the lag for an end offset, None if it is not known; return the events and the next due time."""
        places = {"topic": ["orders"], "partition": pa.array([0], pa.int32())}
        offsets = {
            name: pa.array([value], pa.int64()) for name, value in (("start_offset", start), ("end_offset", end))
        }
        self._progress.add(at, partition_lag(self._watcher.committed(), pa.table({**places, **offsets})))
        return self._watcher.confirm_stuck(self._progress.waiting(), at)
