"""Memory of a coordinator with its groups, measured in a new process.

`python -m benches.coordinator_memory GROUPS MEMBERS TOPICS PARTITIONS` is that process. It prints, as JSON, the bytes
per member when all groups are Stable, without the memory of the clients. The value is null on systems other than Linux.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benches.coordinator_workloads import CoordinatedGroups, GroupSet
from benches.memory import give_back, resident

ROOT = Path(__file__).resolve().parents[1]


def bytes_per_member(group_set: GroupSet) -> float | None:
    """Return the bytes per member, measured in a new process."""
    sizes = map(str, (group_set.groups, group_set.members, group_set.topics, group_set.partitions))
    done = subprocess.run(
        [sys.executable, "-m", "benches.coordinator_memory", *sizes],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    bytes_each: float | None = json.loads(done.stdout)
    return bytes_each


def main(arguments: Sequence[str]) -> None:
    """Create the groups in this process and print the bytes per member."""
    group_set = GroupSet(*map(int, arguments))
    first = CoordinatedGroups(GroupSet(1, 3))
    first.form()  # exclude what only the first call allocates
    before = _in_use()
    coordinated = CoordinatedGroups(group_set)
    coordinated.form()
    coordinator = coordinated.coordinator
    del coordinated
    after = _in_use()
    bytes_each = None if before is None or after is None else (after - before) / group_set.size
    assert len(coordinator.groups()) == group_set.groups
    sys.stdout.write(json.dumps(bytes_each))


def _in_use() -> int | None:
    gc.collect()
    give_back()
    return resident("VmRSS")


if __name__ == "__main__":
    main(sys.argv[1:])
