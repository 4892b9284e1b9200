"""Moves of partitions from a current assignment to a plan."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from assignor.ordering import java_order
from assignor.reference.fleet.owned import spans

if TYPE_CHECKING:
    from assignor.reference.fleet.owned import Owned, OwnedSpan
    from assignor.reference.fleet.roster import Plan

MAX_INT32 = 2**31 - 1


class Move(NamedTuple):
    """Span of partitions that moves from one member to another; None means no member."""

    topic: str
    start: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which is not needed
    from_member: str | None
    to_member: str | None


def moves(current: Owned, plan: Plan) -> list[Move]:
    """Return the moves, by topic in Java's order and then by id; `current` may be in any order.

    If several members have a partition, each of them except its new owner gives it up, in the order of member ids.
    """
    before: dict[str, list[tuple[str, OwnedSpan]]] = defaultdict(list)
    for member, span in current:
        before[span.topic].append((member, span))
    after: dict[str, list[tuple[str, OwnedSpan]]] = defaultdict(list)
    for member, partitions in plan.assignment.items():
        for span in spans(partitions):
            after[span.topic].append((member, span))
    topics = sorted(before.keys() | after.keys(), key=java_order)
    return [move for topic in topics for move in moves_of_topic(topic, before[topic], after[topic])]


def moves_of_topic(topic: str, before: Owned, after: Owned) -> list[Move]:
    """Return the moves of a topic. Between two neighbouring bounds of spans, all partitions have the same owners."""
    ends = sorted({end for _, span in before + after for end in (span.start, span.start + span.count)})
    found: dict[tuple[str | None, str | None], list[Move]] = defaultdict(list)
    for start, end in itertools.pairwise(ends):
        [to] = holders(after, start) or {None}
        for giver in holders(before, start) or {None}:
            pieces = found[giver, to]
            if giver == to:
                continue
            # The count must fit into an int32.
            if pieces and pieces[-1].start + pieces[-1].count == start and end - pieces[-1].start <= MAX_INT32:
                pieces[-1] = pieces[-1]._replace(count=end - pieces[-1].start)
            else:
                pieces.append(Move(topic, start, end - start, giver, to))
    found_moves = [move for pieces in found.values() for move in pieces]
    return sorted(found_moves, key=lambda move: (move.start, move.from_member or ""))


def holders(held: Owned, id: int) -> set[str | None]:
    """Return the members that have a partition."""
    return {member for member, span in held if span.start <= id < span.start + span.count}
