"""Streams groups for tests: random ones whose members and tasks change from round to round, and all small ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assignor.server import MemberTasks, StreamsMember, StreamsStickyAssignor
from tests.assign.edge_groups import colliding_name
from tests.support.engines import Engine

Task = tuple[str, int]
Topology = dict[str, tuple[int, bool]]

_NAMES = ("m{}", "streams-client-{}-StreamThread", "～{}", "\U00010000{}")


class StreamsGroup(NamedTuple):
    """The input of the assignor.

    Attributes:
        topology: Subtopology id to the number of tasks, and True if they have state.
        members: Member id to member, in the order of the broker's table.
        standby_replicas: Number of standby copies.
    """

    topology: Topology
    members: dict[str, StreamsMember]
    standby_replicas: int

    def assign(self, engine: Engine = "rust") -> dict[str, MemberTasks]:
        """Return the answer of an engine."""
        assignor = StreamsStickyAssignor(engine=engine)
        return assignor.assign(self.topology, self.members, standby_replicas=self.standby_replicas)


def group(
    topology: Topology, members: Mapping[str, tuple[str, Sequence[Task], Sequence[Task]]], standby_replicas: int = 0
) -> StreamsGroup:
    """Return a group; a member is its process, its active tasks and its standby tasks."""
    return StreamsGroup(topology, {id: StreamsMember(*fields) for id, fields in members.items()}, standby_replicas)


def tasks(text: str) -> list[Task]:
    """Return the tasks of a text such as `0_0 0_1`."""
    return [(id, int(number)) for id, _, number in (name.rpartition("_") for name in text.split())]


def rounds(seed: int, count: int = 6) -> Iterator[StreamsGroup]:
    """Yield the groups of the rounds of a random application; each begins with the answer to the round before.

    Some rounds have tasks that several members had active, or that do not exist.
    """
    rng = random.Random(f"streams {seed}")
    name: Callable[[int], str] = rng.choice([rng.choice(_NAMES).format, colliding_name])
    numbers = itertools.count()
    threads = rng.choice([1, 1, 2, 4, 12])
    topology = {str(id): (rng.randint(0, 12), rng.random() < 0.6) for id in range(rng.choice([1, 2, 3, 12]))}
    replicas = rng.choice([0, 1, 1, 2, 3])
    members: dict[str, StreamsMember] = {}

    def start_process() -> None:
        process = name(next(numbers) + 64) if rng.random() < 0.5 else f"process-{next(numbers)}"
        for _ in range(rng.randint(1, threads)):
            members[name(next(numbers))] = StreamsMember(process)

    for _ in range(rng.choice([1, 2, 3, 5, 12])):
        start_process()
    for _ in range(count):
        given = _spoiled(rng, topology, members) if rng.random() < 0.2 else dict(members)
        asked = StreamsGroup(dict(topology), given, replicas)
        yield asked
        answer = asked.assign()
        members = {id: StreamsMember(given[id].process_id, *answer[id]) for id in given}
        event = rng.random()
        if event < 0.35:
            start_process()
        elif event < 0.6 and len(members) > 1:
            crashed = rng.choice([member.process_id for member in members.values()])
            kept = {id: member for id, member in members.items() if member.process_id != crashed}
            members = kept or members
        elif event < 0.75 and len(members) > 1:
            del members[rng.choice(list(members))]
        elif event < 0.9:
            id = rng.choice([*topology, "new"])
            topology[id] = (rng.randint(0, 12), rng.random() < 0.6)
        else:
            replicas = rng.choice([0, 1, 2])


def _spoiled(rng: random.Random, topology: Topology, members: dict[str, StreamsMember]) -> dict[str, StreamsMember]:
    """Return members with random previous tasks."""
    names = [(id, number) for id, (count, _) in topology.items() for number in range(count + 1)] + [("gone", 0)]

    def some() -> list[Task]:
        return rng.sample(names, rng.randint(0, len(names)))

    return {id: StreamsMember(member.process_id, some(), some()) for id, member in members.items()}


PROCESSES = ("aaa", "aab", "aba", "abb", "abc")
"""All ways to split three members into processes."""


def small_groups(tasks: int, members: int, replicas: Sequence[int]) -> Iterator[StreamsGroup]:
    """Yield all groups of a size: each task was active on any member or none, and standby on any subset of members."""
    ids = "abc"[:members]
    subsets = [found for size in range(members + 1) for found in itertools.combinations(ids, size)]
    shapes = sorted({shape[:members] for shape in PROCESSES})
    for shape, count in itertools.product(shapes, replicas):
        for owners in itertools.product((None, *ids), repeat=tasks):
            for copies in itertools.product(subsets, repeat=tasks):
                yield StreamsGroup({"0": (tasks, True)}, _members(ids, shape, owners, copies), count)


def _members(ids: str, shape: str, owners: Sequence[Any], copies: Sequence[Sequence[str]]) -> dict[str, StreamsMember]:
    return {
        id: StreamsMember(
            process,
            [("0", number) for number, owner in enumerate(owners) if owner == id],
            [("0", number) for number, copy in enumerate(copies) if id in copy],
        )
        for id, process in zip(ids, shape, strict=True)
    }
