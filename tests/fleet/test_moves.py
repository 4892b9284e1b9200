"""`Clusters.moves`: moves from the current assignment to the plan."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fleet.columns import Row, ask, cluster, clusters, group, groups, member, outcome_of

MAX_INT32 = 2**31 - 1
TOPICS = cluster({"t": 6, "u": 2})


def moves(*current: tuple[Any, ...], known: Row = TOPICS) -> list[tuple[Any, ...]]:
    """Return the moves of a group in which the plan gives partitions 0 to 2 of t to a, and 3 to 5 to b."""
    [found] = ask("moves", [known], [group(member("a", "t"), member("b", "t"), current=list(current))])
    return [tuple(move.values()) for move in found]


def test_groups_without_a_current_column_own_no_partitions() -> None:
    asked = {**group(member("a", "t")), "current": None}

    assert [[{"topic": "t", "start": 0, "count": 6, "from_member": None, "to_member": "a"}]] == ask(
        "moves", [TOPICS], [asked]
    )


def test_ids_may_be_any_non_negative_int32() -> None:
    kept = ("a", "t", 0, 3), ("b", "t", 3, 3)

    assert [("x", 1, MAX_INT32, "a", None)] == moves(*kept, ("a", "x", 1, MAX_INT32))
    assert [("x", MAX_INT32, 1, "a", None)] == moves(*kept, ("a", "x", MAX_INT32, 1))
    assert [("x", 0, MAX_INT32, "a", None), ("x", MAX_INT32, 1, "a", None)] == moves(
        *kept, ("a", "x", 0, MAX_INT32), ("a", "x", MAX_INT32, 1)
    )


@pytest.mark.parametrize(
    ("start", "count", "shown"),
    [
        (-1, 1, "start -1 and count 1"),
        (0, 0, "start 0 and count 0"),
        (0, -1, "start 0 and count -1"),
        (2, MAX_INT32, f"start 2 and count {MAX_INT32}"),
        (MAX_INT32, 2, f"start {MAX_INT32} and count 2"),
        (MAX_INT32, -(2**31), f"start {MAX_INT32} and count {-(2**31)}"),
        (None, 1, "start null and count 1"),
        (1, None, "start 1 and count null"),
    ],
)
@pytest.mark.parametrize("verb", ["moves", "current_balance"])
def test_an_invalid_run_is_rejected(verb: str, start: int | None, count: int | None, shown: str) -> None:
    asked = group(member("a", "t"), current=[("b", "t", start, count)])

    kind, message = outcome_of(verb, clusters(TOPICS), groups(asked))

    assert "IllegalArgumentError" == kind
    assert f"group 'g' of cluster 'c': member 'b': {shown} of topic 't' are not a range of partition ids" == message
