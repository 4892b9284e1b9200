"""Task assignment of streams groups as in the broker's `StickyTaskAssignor`: as even as possible, with few moves.

First each task gets one active copy, then the tasks with state get standby copies. Both begin with the tasks that a
member had before.

Source: kafka-group-coordinator 4.3.1, `org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assignor.errors import IllegalArgumentError
from assignor.reference.assign.server.streams_sticky.active import assign_active
from assignor.reference.assign.server.streams_sticky.previous import Member, Previous
from assignor.reference.assign.server.streams_sticky.processes import Processes
from assignor.reference.assign.server.streams_sticky.quota import Quota
from assignor.reference.assign.server.streams_sticky.standby import assign_standby
from assignor.reference.assign.server.streams_sticky.target import Target
from assignor.reference.assign.server.streams_sticky.topology import Task, by_id, tasks_of
from assignor.reference.assign.table_order import table_of_names


def assign_tasks(
    topology: Mapping[str, tuple[int, bool]],
    members: Sequence[tuple[str, str, Sequence[Task], Sequence[Task]]],
    standby_replicas: int,
) -> list[tuple[list[Task], list[Task]]]:
    """Return the active and the standby tasks of each member, sorted by subtopology id and number.

    Args:
        topology: Subtopology id to the number of its tasks, and True if they have state.
        members: Id, process id, and previous active and standby tasks of each member, in the order in which the broker
            puts the members into its table.
        standby_replicas: Number of standby copies of a task with state.

    Raises:
        IllegalArgumentError: The group has tasks and no members.
    """
    tasks = tasks_of(topology)
    if tasks and not members:
        raise IllegalArgumentError(f"the group has {len(tasks)} tasks and no members: no member can get a task")
    stateful = [task for task in tasks if topology[task[0]][1]]
    given = {member[0]: Member(*member) for member in members}
    in_order = [given[id] for id in table_of_names(list(given))]

    previous = Previous(in_order)
    target = Target(
        Processes(in_order),
        active_quota=Quota(len(tasks), len(members)),
        total_quota=Quota(len(tasks) + standby_replicas * len(stateful), len(members)),
    )
    assign_active(tasks, previous, target)
    assign_standby(stateful, standby_replicas, previous, target)
    return [(sorted(target.active[id], key=by_id), sorted(target.standby[id], key=by_id)) for id in given]
