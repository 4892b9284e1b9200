"""Tasks of the groups of a report: which process has which tasks, what moved, and what is wrong.

Streams groups, Kafka Streams on the classic protocol and Connect have tasks. A process is one of the application, or a
Connect worker.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.lines import format_count
from assignor.replay.task_text import task_text

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_PROCESSES_SHOWN = 12
_PROBLEMS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ProcessTasks:
    """Tasks of a process.

    Attributes:
        process: Name of the process; None for a member whose process is not known.
        members: Ids of its members.
        active: Names of the tasks that it runs.
        standby: Names of the tasks of whose state it keeps a copy.
        warmup: Names of the tasks whose state it restores before it takes them over.
    """

    process: str | None
    members: tuple[str, ...]
    active: tuple[str, ...]
    standby: tuple[str, ...]
    warmup: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the process, else that of the member."""
        return self.process or ", ".join(self.members)


@dataclass(frozen=True, slots=True)
class TaskMoves:
    """Moves of a generation: active tasks on another process, and copies of state on a process without one before.

    A number is None if the log lacks the generation before.
    """

    generation: int
    at: int
    moved_tasks: int | None
    moved_state: int | None


@dataclass(frozen=True, slots=True)
class GroupTasks:
    """Tasks of a group in its last generation whose tasks are known, and the moves of all such generations."""

    generation: int
    at: int
    processes: tuple[ProcessTasks, ...]
    moves: tuple[TaskMoves, ...]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `assignor report --json` prints."""
        return {
            "generation": self.generation,
            "at": self.at,
            "processes": [asdict(process) for process in self.processes],
            "moves": [asdict(moves) for moves in self.moves],
            "problems": list(self.problems),
        }

    def lines(self, group: str) -> Iterator[str]:
        """Yield lines of text: the processes, the moves and the problems."""
        members = sum(len(process.members) for process in self.processes)
        processes = f"{len(self.processes):,} {'process' if len(self.processes) == 1 else 'processes'}"
        yield f"{group}: generation {self.generation}, {format_count(members, 'member')} on {processes}"
        for process in self.processes[:_PROCESSES_SHOWN]:
            kinds = (("active", process.active), ("standby", process.standby), ("warm-up", process.warmup))
            texts = [f"{len(tasks):,} {kind}: {task_text(tasks)}" for kind, tasks in kinds if tasks]
            yield f"  {process.name}: {'; '.join(texts) or 'no tasks'}"
        if len(self.processes) > _PROCESSES_SHOWN:
            yield f"  and {len(self.processes) - _PROCESSES_SHOWN:,} more, see --json"
        known = [moves for moves in self.moves if moves.moved_tasks is not None and moves.moved_state is not None]
        tasks, state = (sum(getattr(each, name) or 0 for each in known) for name in ("moved_tasks", "moved_state"))
        copies = f"{state:,} {'copy' if state == 1 else 'copies'} of state"
        yield f"  moved in {format_count(len(known), 'generation')}: {format_count(tasks, 'active task')}, {copies}"
        yield from (f"  problem: {problem}" for problem in self.problems[:_PROBLEMS_SHOWN])
        if len(self.problems) > _PROBLEMS_SHOWN:
            yield f"  and {len(self.problems) - _PROBLEMS_SHOWN:,} more problems, see --json"


def read_tasks(part: Path) -> dict[str, GroupTasks]:
    """Return the tasks of each group that has some, from the table `generations` of a report."""
    columns = ["group_id", "generation", "timestamp", "offset", "tasks", "moved_tasks", "moved_state", "task_problems"]
    table = pq.read_table(part / "generations", columns=columns, filters=pc.is_valid(pc.field("tasks")))
    table = table.sort_by([("group_id", "ascending"), ("offset", "ascending")])
    counted = ("tasks", "moved_tasks", "moved_state")
    counts = {name: pc.list_value_length(table[name]).to_pylist() for name in counted}
    rows = table.select(["group_id", "generation", "timestamp"]).to_pylist()
    moves: dict[str, list[TaskMoves]] = {}
    last: dict[str, int] = {}
    for place, row in enumerate(rows):
        numbers = (counts["moved_tasks"][place], counts["moved_state"][place])
        moves.setdefault(row["group_id"], []).append(TaskMoves(row["generation"], row["timestamp"], *numbers))
        if counts["tasks"][place]:  # a group that has no members any more keeps the last
            last[row["group_id"]] = place
    ends = table.select(["tasks", "task_problems"]).take(pa.array(last.values(), pa.int64())).to_pylist()
    return {
        group: GroupTasks(
            generation=rows[place]["generation"],
            at=rows[place]["timestamp"],
            processes=tuple(_processes(end["tasks"])),
            moves=tuple(moves[group]),
            problems=tuple(end["task_problems"]),
        )
        for (group, place), end in zip(last.items(), ends, strict=True)
    }


def _processes(members: Iterable[dict[str, Any]]) -> Iterator[ProcessTasks]:
    """Yield the processes of members; a member whose process is not known has one of its own."""
    found: dict[str | tuple[str], list[dict[str, Any]]] = {}
    for member in members:
        process = member["process"]
        found.setdefault((member["member"],) if process is None else process, []).append(member)
    for process, of_process in found.items():
        tasks = {
            kind: tuple(task for member in of_process for task in member[kind])
            for kind in ("active", "standby", "warmup")
        }
        name = process if isinstance(process, str) else None
        yield ProcessTasks(name, tuple(member["member"] for member in of_process), **tasks)
