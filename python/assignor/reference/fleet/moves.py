"""What changes hands between an assignment that stands and a plan."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from assignor.ordering import java_order
from assignor.reference.fleet.owned import runs

if TYPE_CHECKING:
    from assignor.reference.fleet.owned import Owned, OwnedRun
    from assignor.reference.fleet.roster import Plan

LARGEST = 2**31 - 1


class Move(NamedTuple):
    """A run of partitions that goes from one member to another; None is nobody."""

    topic: str
    start: int
    count: int  # type: ignore[assignment]  # the field hides tuple.count, of no use here
    from_member: str | None
    to_member: str | None


def moves(current: Owned, plan: Plan) -> list[Move]:
    """What changes hands, by topic in Java's order and then by id; what members have comes in any order.

    Of a partition that several members have, each of them but the one that is to have it gives it up; these are in the
    order of their names.
    """
    before: dict[str, list[tuple[str, OwnedRun]]] = defaultdict(list)
    for member, run in current:
        before[run.topic].append((member, run))
    after: dict[str, list[tuple[str, OwnedRun]]] = defaultdict(list)
    for member, partitions in plan.assignment.items():
        for run in runs(partitions):
            after[run.topic].append((member, run))
    topics = sorted(before.keys() | after.keys(), key=java_order)
    return [move for topic in topics for move in moves_of_topic(topic, before[topic], after[topic])]


def moves_of_topic(topic: str, before: Owned, after: Owned) -> list[Move]:
    """The moves of one topic: between two neighbouring ends of runs, all partitions are alike."""
    ends = sorted({end for _, run in before + after for end in (run.start, run.start + run.count)})
    found: dict[tuple[str | None, str | None], list[Move]] = defaultdict(list)
    for start, end in itertools.pairwise(ends):
        [to] = holders(after, start) or {None}
        for giver in holders(before, start) or {None}:
            pieces = found[giver, to]
            if giver == to:
                continue
            # A count is an int32, and one more than the ids that there can be is too much.
            if pieces and pieces[-1].start + pieces[-1].count == start and end - pieces[-1].start <= LARGEST:
                pieces[-1] = pieces[-1]._replace(count=end - pieces[-1].start)
            else:
                pieces.append(Move(topic, start, end - start, giver, to))
    found_moves = [move for pieces in found.values() for move in pieces]
    return sorted(found_moves, key=lambda move: (move.start, move.from_member or ""))


def holders(held: Owned, id: int) -> set[str | None]:
    """Who has a partition."""
    return {member for member, run in held if run.start <= id < run.start + run.count}
