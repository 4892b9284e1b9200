"""Program that assigns a fleet in a new session, to measure its memory.

`python -m benches.spark_memory FOLDER GROUPS MEMBERS TOPICS_PER_GROUP TOPICS ROUNDS` prints, as JSON, the seconds of
each round and the peak memory of Java and of the largest Python worker, in bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benches.spark_fleets import Size, written
from benches.spark_session import Peak, peak, session
from benches.spark_timing import timed


def main(arguments: Sequence[str]) -> None:
    """Assign the fleet and print the measurements."""
    folder, groups, members, topics_per_group, topics, rounds = arguments
    size = Size(int(groups), int(members), int(topics_per_group), int(topics))
    peaks: list[Peak] = []
    with session("2g") as spark:
        given = written(spark, size, Path(folder))
        found = timed({"": given.fleet().assign}, int(rounds), lambda _: peaks.append(peak()))
        peaks.append(peak())
    highest = {"java": max(each.java for each in peaks), "worker": max(each.worker for each in peaks)}
    sys.stdout.write(json.dumps({"seconds": found.seconds[""], **highest, "load": found.load}))


if __name__ == "__main__":
    main(sys.argv[1:])
