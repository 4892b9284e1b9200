"""`Clusters.what_if`: the effect of each step on a group, and its rebalances and moves."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.fleet.columns import Row, ask, cluster, clusters, group, groups, member, outcome_of

TOPICS = cluster({"t": 6, "u": 2, "racks": [["r0"], ["r1"]]})
PAIR = group(member("a", "t"), member("b", "t"))
Step = tuple[Any, ...]


def play(asked: Row, *steps: Step) -> Row:
    """Return the outcome of the steps."""
    [[found]] = ask("what_if", [TOPICS], [asked], [("s", None, list(steps))])
    return dict(found)


def course(asked: Row, *steps: Step) -> tuple[int, int, int, int]:
    """Return the rebalances, the moved partitions, and the members and partitions at the end."""
    found = play(asked, *steps)
    return found["rebalances"], found["moved"], found["members"], found["partitions"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (("add_members", 0), (0, 0, 2, 6)),
        (("add_members", 1), (1, 3, 3, 6)),
        (("remove_members", 0), (0, 0, 2, 6)),
        (("remove_members", 1), (1, 3, 1, 6)),
        (("remove_members", 2), (1, 0, 0, 0)),
        (("remove_members", 2**32 - 1), (1, 0, 0, 0)),
        (("multiply_partitions", 0), (0, 0, 2, 6)),
        (("multiply_partitions", 1), (0, 0, 2, 6)),
        (("multiply_partitions", 2), (1, 3, 2, 12)),
        (("grow_partitions", "t", 8), (1, 1, 2, 8)),
        (("grow_partitions", "t", 5), (0, 0, 2, 6)),
        (("grow_partitions", "u", 8), (0, 0, 2, 6)),
        (("grow_partitions", "none", 8), (0, 0, 2, 6)),
        (("set_racks", []), (0, 0, 2, 6)),
        (("set_racks", ["r"]), (1, 0, 2, 6)),
        (("add_topic", "new", 3), (1, 0, 2, 9)),
        (("add_topic", "new", 0), (1, 0, 2, 6)),
        (("add_topic", "u", 99), (1, 0, 2, 8)),
        (("add_topic", "t", 99), (0, 0, 2, 6)),
        (("make_static",), (1, 0, 2, 6)),
        (("rolling_restart", None), (4, 12, 2, 6)),
        (("rolling_restart", False), (4, 12, 2, 6)),
        (("rolling_restart", True), (0, 0, 2, 6)),
    ],
)
def test_a_step_has_the_expected_effect(step: Step, expected: tuple[int, ...]) -> None:
    assert expected == course(PAIR, step)


@pytest.mark.parametrize(
    ("steps", "partitions"),
    [
        ([("multiply_partitions", 2), ("multiply_partitions", 3)], 36),
        ([("multiply_partitions", 2), ("multiply_partitions", 0)], 12),
        ([("multiply_partitions", 2), ("grow_partitions", "t", 13)], 13),
        ([("multiply_partitions", 2), ("grow_partitions", "t", 11)], 12),
        ([("grow_partitions", "t", 7), ("multiply_partitions", 2)], 14),
        ([("grow_partitions", "t", 10), ("grow_partitions", "t", 8)], 10),
        ([("multiply_partitions", 2), ("add_topic", "new", 3)], 15),
        ([("add_topic", "new", 3), ("multiply_partitions", 2)], 18),
        ([("add_topic", "new", 3), ("grow_partitions", "new", 4)], 10),
        ([("add_topic", "new", 3), ("add_topic", "new", 9)], 9),
        ([("add_topic", "u", 3), ("multiply_partitions", 2)], 16),
    ],
)
def test_each_step_starts_from_the_partition_counts_after_the_previous_step(steps: list[Step], partitions: int) -> None:
    assert partitions == play(PAIR, *steps)["partitions"]


def test_a_restarted_client_has_another_id() -> None:
    uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    old = "app-8c9f0b1e-6f0e-4e5c-9d0a-3b8f6f7f2a11"

    ids = [
        play(group(member(id, "t"), id=group_id), ("rolling_restart", None))["most_loaded_member"]
        for id, group_id in ((old, "g"), (old, "g"), (old, "h"), ("app", "g"), ("", "g"))
    ]

    assert all(re.fullmatch(f"{'app-' if number < 4 else '-'}{uuid}", id) for number, id in enumerate(ids))
    assert ids[0] == ids[1]
    assert 4 == len(set(ids))
    assert old not in ids


def test_scenarios_apply_to_the_groups_that_they_name() -> None:
    scenarios = [("all", None, []), ("none", [], []), ("one", ["h", "x"], [("add_members", 1)])]
    asked = [group(member("a", "t"), id=id) for id in ("g", "h")]

    found = ask("what_if", [TOPICS], asked, scenarios)

    assert [["all"], ["all", "one"]] == [[row["scenario"] for row in rows] for rows in found]
    assert [[], []] == ask("what_if", [TOPICS], asked, [])


def test_a_group_without_an_id_differs_from_the_group_with_an_empty_id() -> None:
    asked = [group(member("a", "t"), id=id) for id in ("", None)]

    found = ask("what_if", [TOPICS], asked, [("all", None, []), ("one", [""], [])])

    assert [["all", "one"], ["all"]] == [[row["scenario"] for row in rows] for rows in found]


# ---- invalid input, and large input


@pytest.mark.parametrize(
    ("step", "topic", "count"),
    [
        (("multiply_partitions", 2**32 - 1), "t", 6 * (2**32 - 1)),
        (("grow_partitions", "t", 10_000_001), "t", 10_000_001),
        (("add_topic", "new", 2**32 - 1), "new", 2**32 - 1),
    ],
)
def test_too_many_partitions_are_rejected(step: Step, topic: str, count: int) -> None:
    found = outcome_of("what_if", clusters(TOPICS), groups(PAIR), [("s", None, [step])])

    reason = f"topic '{topic}' would have {count} partitions; the limit is 10000000"
    assert ("IllegalArgumentError", f"group 'g' of cluster 'c': scenario 's': {reason}") == found


GROWN: dict[str, int] = {f"t{number}": 10_000_000 for number in range(26)}


@pytest.mark.parametrize("assignor", ["roundrobin", "sticky", "cooperative-sticky"])
@pytest.mark.parametrize(
    ("topics", "added", "count"),
    [(GROWN, [("add_topic", "new", 10_000_000)], 270_000_000), ({"new": 2**28 + 1}, [], 2**28 + 1)],
)
def test_no_step_exceeds_the_number_of_partitions_that_the_assignor_supports(
    assignor: str, topics: dict[str, int], added: list[Step], count: int
) -> None:
    asked = group(member("a", "new", *topics))
    scenario = ("s", None, [*added, ("use", assignor, "classic")])
    found = outcome_of("what_if", clusters(cluster(topics)), groups(asked), [scenario])

    limit = f"the limit of assignor '{assignor}' of group_protocol 'classic' is {2**28}"
    reason = f"group 'g' of cluster 'c': scenario 's': the topics have {count} partitions; {limit}"
    assert ("IllegalArgumentError", reason) == found


def test_large_groups_are_simulated_quickly() -> None:
    assert (1, 2002, 6) == tuple(
        play(PAIR, ("add_members", 2000))[name] for name in ("rebalances", "members", "partitions")
    )
    assert 6_000 == play(PAIR, ("multiply_partitions", 1_000))["partitions"]


def test_an_unknown_step_is_rejected() -> None:
    found = outcome_of("what_if", clusters(TOPICS), groups(PAIR), [("s", None, [("explode", 1)])])

    assert ("IllegalArgumentError", "a scenario has no step 'explode'") == found


def test_assign_after_returns_no_assignment_of_a_group_that_the_scenario_does_not_name() -> None:
    assert [[]] == ask("assign_after", [TOPICS], [PAIR], [("s", ["other"], [])])


def test_an_assignment_after_several_scenarios_is_an_error() -> None:
    two: list[Any] = [("one", None, []), ("two", None, [])]
    for scenarios in (two[:0], two):
        found = outcome_of("assign_after", clusters(TOPICS), groups(PAIR), scenarios)
        assert ("IllegalArgumentError", f"assign_after needs one scenario, not {len(scenarios)}") == found
