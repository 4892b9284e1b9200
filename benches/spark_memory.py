"""Plans a fleet in a session of its own.

`python -m benches.spark_memory FOLDER GROUPS MEMBERS TOPICS_PER_GROUP TOPICS ROUNDS` is the program.

What is printed, as JSON, are the seconds of each round and the most bytes in memory, of Java and of a Python worker.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benches.spark_fleets import Size, written
from benches.spark_report_sections import timed
from benches.spark_session import Peak, peak, session


def main(arguments: Sequence[str]) -> None:
    """Plans, and tells."""
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
