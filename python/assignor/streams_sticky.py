"""The assignor of streams groups (KIP-1071), which the broker runs: it assigns tasks, not partitions.

Source: org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from assignor._engine import check_engine, choose
from assignor.errors import IllegalArgumentError
from assignor.names import Engine
from assignor.validation import check_name, read_bool, read_entries, read_int, read_items, shown, wrong_type

Task = tuple[str, int]
"""Subtopology id and number of a task; the number is that of the partitions that the task reads."""


class MemberTasks(NamedTuple):
    """Tasks of a member of a streams group, sorted by subtopology id (in Java's order) and number.

    Attributes:
        active: Tasks that the member processes.
        standby: Tasks whose state the member keeps a copy of.
        warmup: Tasks whose state the member restores before it gets them; the assignor of Kafka 4.3.1 gives none.
    """

    active: list[Task]
    standby: list[Task]
    warmup: list[Task]


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """A member of a streams group, with its previous target assignment.

    A member is a thread of an application. The threads of a process have the same process id and share its state.
    A task is any pair of a subtopology id and a number; tasks that do not exist any more have no effect.

    Attributes:
        process_id: Id of the member's process.
        active: Active tasks of the previous target assignment.
        standby: Standby tasks of the previous target assignment.
        warmup: Warm-up tasks of the previous target assignment, which the assignor does not read.
        instance_id: Instance id of a static member, which the assignor does not read.
        client_tags: Tags of the client, which the assignor does not read.

    Raises:
        WrongTypeError: A value has the wrong type; NullArgumentError for None.
        IllegalArgumentError: A task is listed twice, or its number is negative or not an int32, or a text has a lone
            surrogate. The message names the process, the field, the task and the value.

    Example:
        >>> StreamsMember("p", active=[["0", 1]]).active
        (('0', 1),)
    """

    process_id: str
    active: Sequence[Task] = ()
    standby: Sequence[Task] = ()
    warmup: Sequence[Task] = ()
    instance_id: str | None = None
    client_tags: Mapping[str, str] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        """Validate the fields, and convert tasks to tuples."""
        check_name(self.process_id, "StreamsMember: process_id")
        owner = f"StreamsMember of process {shown(self.process_id)}"
        for name in ("active", "standby", "warmup"):
            object.__setattr__(self, name, _read_tasks(getattr(self, name), f"{owner}: {name}"))
        if self.instance_id is not None:
            check_name(self.instance_id, f"{owner}: instance_id")
        if self.client_tags is not None:
            object.__setattr__(self, "client_tags", _read_tags(self.client_tags, f"{owner}: client_tags"))


class StreamsStickyAssignor:
    """The broker's assignor of streams groups: few moves, and a similar number of tasks on each member.

    It is Kafka's `StickyTaskAssignor` of 4.2.0, 4.2.1, 4.3.0 and 4.3.1. The assignor of 4.2.2 gives other answers for
    some groups with standby tasks (KAFKA-20899). Those of 4.1 and from 4.4 on use other rules.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: The engine is unknown.

    Example:
        >>> members = {"a": StreamsMember("p", active=[("0", 0), ("0", 1)]), "b": StreamsMember("q")}
        >>> answer = StreamsStickyAssignor().assign({"0": (2, True)}, members, standby_replicas=1)
        >>> answer["a"]
        MemberTasks(active=[('0', 0)], standby=[('0', 1)], warmup=[])
        >>> answer["b"]
        MemberTasks(active=[('0', 1)], standby=[('0', 0)], warmup=[])
    """

    name: ClassVar[str] = "sticky"

    def __init__(self, *, engine: Engine = "rust") -> None:
        check_engine(engine)
        self.engine: Engine = engine

    def __repr__(self) -> str:
        return f"assignor.server.{type(self).__name__}(engine={self.engine!r})"

    def assign(
        self,
        topology: Mapping[str, tuple[int, bool]],
        members: Mapping[str, StreamsMember],
        *,
        standby_replicas: int = 0,
    ) -> dict[str, MemberTasks]:
        """Return the tasks of each member, in the order of `members`.

        The order of `members` is that in which the broker puts them into its hash table. It matters only for members
        or processes whose ids share a bucket of the table. The order of `topology` does not matter.

        Args:
            topology: Subtopology id to the number of its tasks, and True if they have state. The number of tasks is the
                largest number of partitions of a source topic of the subtopology.
            members: Member id to process and previous target assignment.
            standby_replicas: Number of standby copies of a task with state (`num.standby.replicas`). A task gets fewer
                copies if the group has too few processes.

        Raises:
            WrongTypeError: A value has the wrong type; NullArgumentError for None.
            IllegalArgumentError: A count is negative or not an int32, the topology has more than 2**28 tasks, or the
                group has tasks and no members.
            OutOfMemoryError: The assignment does not fit into memory.
        """
        from assignor import _core  # the core loads when it is first needed

        subtopologies = _read_topology(topology)
        group = _read_members(members)
        replicas = _read_count(standby_replicas, "standby_replicas")
        assign_tasks = choose(self.engine, _core.assign_tasks, "assign.server.streams_sticky")
        given = [(id, member.process_id, member.active, member.standby) for id, member in group.items()]
        tasks = assign_tasks(subtopologies, given, replicas)
        return {id: MemberTasks(active, standby, []) for id, (active, standby) in zip(group, tasks, strict=True)}


def _read_tasks(tasks: Iterable[object], what: str) -> tuple[Task, ...]:
    """Return the tasks of an iterable; errors begin with `what`."""
    wanted = "a pair of subtopology id and number"
    found: dict[Task, None] = {}
    for entry in read_entries(tasks, what, "an iterable of tasks"):
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise wrong_type(f"{what}: a task", wanted, entry)
        subtopology, number = entry
        owner = f"{what}: task {shown(entry)}"
        task = check_name(subtopology, f"{owner}: the subtopology id"), _read_count(number, f"{owner}: the number")
        if task in found:
            raise IllegalArgumentError(f"{what}: task {shown(task)} is given twice")
        found[task] = None
    return tuple(found)


def _read_tags(tags: Mapping[str, str], what: str) -> dict[str, str]:
    """Return client tags; errors begin with `what`."""
    if not isinstance(tags, Mapping):
        raise wrong_type(what, "a mapping of str to str, or None", tags)
    items = read_items(tags, what)
    return {check_name(key, f"{what}: a tag"): check_name(tag, f"{what}[{shown(key)}]") for key, tag in items}


def _read_topology(topology: Mapping[str, tuple[int, bool]]) -> dict[str, tuple[int, bool]]:
    """Return the topology with checked values."""
    if not isinstance(topology, Mapping):
        raise wrong_type("topology", "a mapping of subtopology id to number of tasks and state", topology)
    found: dict[str, tuple[int, bool]] = {}
    for id, entry in read_items(topology, "topology"):
        what = f"topology[{shown(check_name(id, 'topology: a subtopology id'))}]"
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise wrong_type(what, "a pair of the number of tasks and whether they have state", entry)
        if id in found:
            raise IllegalArgumentError(f"topology has {shown(id)} twice")
        count, is_stateful = entry
        found[id] = (
            _read_count(count, f"{what}: the number of tasks"),
            read_bool(is_stateful, f"{what}: whether the tasks have state"),
        )
    return found


def _read_members(members: Mapping[str, StreamsMember]) -> dict[str, StreamsMember]:
    """Return the members with checked ids and classes."""
    if not isinstance(members, Mapping):
        raise wrong_type("members", "a mapping of member id to StreamsMember", members)
    found: dict[str, StreamsMember] = {}
    for id, member in read_items(members, "members"):
        what = f"members[{shown(check_name(id, 'members: a member id'))}]"
        if not isinstance(member, StreamsMember):
            raise wrong_type(what, "a StreamsMember", member)
        if id in found:
            raise IllegalArgumentError(f"members has {shown(id)} twice")
        found[id] = member
    return found


def _read_count(value: object, what: str) -> int:
    """Return an int32 that is not negative."""
    number = read_int(value, what, bits=32)
    if number < 0:
        raise IllegalArgumentError(f"{what} cannot be negative: {number}")
    return number
