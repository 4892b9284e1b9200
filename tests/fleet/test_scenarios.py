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


def test_each_step_starts_from_the_result_of_the_previous_step() -> None:
    steps = [("add_members", 1), ("make_static",), ("make_static",), ("set_racks", ["r"])]

    assert (3, 3, 3, 6) == course(PAIR, *steps)


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


def test_a_step_changes_nothing_in_a_group_without_members() -> None:
    assert (1, 0, 0, 0) == course(PAIR, ("remove_members", 2), ("add_members", 5), ("add_topic", "new", 1))
    assert (0, 0, 0, 0) == course(group(), ("add_members", 5), ("multiply_partitions", 2**31))


def test_new_members_copy_the_last_member_with_the_most_frequent_subscription() -> None:
    asked = group(member("a", "t"), member("b", "t", rack="r"), member("c", "u"), member("d"))

    found = play(asked, ("add_members", 4))

    # Six members subscribe to t now, and each has one of its partitions.
    assert (8, 1, 0) == (found["members"], found["idle_members"], found["least_loaded"])
    assert ("c", 2) == (found["most_loaded_member"], found["most_loaded"])


def test_equal_subscriptions_count_as_one_in_any_order() -> None:
    asked = group(
        member("a", "t", "u"),
        member("b", "u", "t"),
        member("c", "t"),
        member("d", "t"),
        member("e", "u", "t", "u"),
    )

    # a, b and e subscribe to both topics, and so does the new member. Each of the four has one partition of u.
    found = play(asked, ("add_members", 1), ("grow_partitions", "u", 4))

    assert (2, 6, 10, 2) == tuple(found[name] for name in ("rebalances", "members", "partitions", "most_loaded"))


def test_copies_of_static_members_are_static() -> None:
    asked = group(member("a", "t", group_instance_id="z"), member("b", "t", group_instance_id="y"))

    # The new member copies a, the last one. Its instance id equals its member id, so it sorts before y and z.
    found = play(asked, ("add_members", 1), ("multiply_partitions", 1), ("remove_members", 2), ("make_static",))

    assert (2, "a-") == (found["rebalances"], found["most_loaded_member"][:2])
    assert (0, 1) == (found["idle_members"], found["members"])


def test_topics_of_removed_members_without_other_subscribers_are_dropped() -> None:
    asked = group(member("a", "t"), member("b", "u", "gone"))

    found = play(asked, ("remove_members", 1))

    assert (1, 0, 6) == (found["topics"], found["unknown_topics"], found["partitions"])
    assert (1, 0, 1, 6) == course(asked, ("remove_members", 1), ("grow_partitions", "u", 9))


def test_members_are_put_on_racks_in_kafkas_order() -> None:
    asked = group(member("a", "racks"), member("b", "racks", group_instance_id="x"))

    # b is first, so b is on r1 and a on r0: they exchange their partitions.
    assert (1, 2) == course(asked, ("set_racks", ["r1", "r0"]))[:2]
    assert (1, 0) == course(asked, ("set_racks", ["r0", "r1", "r2"]))[:2]
    assert 1 == play(asked, ("set_racks", ["r0"]))["rack_misses"]


def test_new_partitions_repeat_the_racks_of_the_existing_ones() -> None:
    asked = group(member("a", "racks", rack="r0"), member("b", "racks", rack="r1"))

    found = play(asked, ("multiply_partitions", 3))

    # 0, 2 and 4 are on r0, the others on r1.
    assert (1, 0, 6, 0) == (found["rebalances"], found["moved"], found["partitions"], found["rack_misses"])
    # In plain ranges a has 0 to 2; with racks a has 0, 2 and 4.
    assert 0 == play(asked, ("grow_partitions", "racks", 5))["rack_misses"]


def test_all_members_subscribe_to_a_new_topic_unless_their_pattern_does_not_match_it() -> None:
    asked = group(member("a", pattern="t|new"), member("b", pattern="t"), member("c"))

    found = play(asked, ("add_topic", "new", 4))

    assert (1, 10, 0) == (found["rebalances"], found["partitions"], found["idle_members"])
    assert (0, 0, 2, 6) == course(group(*asked["members"][1:2], member("d", pattern="t")), ("add_topic", "new", 4))


def test_an_unknown_topic_is_assigned_after_it_is_added() -> None:
    asked = group(member("a", "new"), member("b", "new"))

    found = play(asked, ("add_topic", "new", 4))

    assert (0, 1, 4, 1) == tuple(found[name] for name in ("unknown_topics", "topics", "partitions", "rebalances"))


def test_a_new_subscription_to_an_existing_topic_causes_a_rebalance() -> None:
    asked = group(member("a", "t"), member("b", "t", "u"))

    # b had both partitions of u.
    assert (1, 1, 2, 8) == course(asked, ("add_topic", "u", 1))


def test_members_are_sorted_by_instance_id_once_all_are_static() -> None:
    asked = group(member("a", "t"), member("b", "t", group_instance_id="x"))

    assert (1, 6, 2, 6) == course(asked, ("make_static",))
    assert (1, 6, 2, 6) == course(asked, ("make_static",), ("rolling_restart", None), ("make_static",))


def test_only_dynamic_members_cause_rebalances_when_they_restart() -> None:
    asked = group(member("a", "t"), member("b", "t", group_instance_id="x"))

    # b has the first three partitions; a leaves and gets the others again.
    assert (2, 6, 2, 6) == course(asked, ("rolling_restart", None))
    assert (4, 12, 2, 6) == course(asked, ("rolling_restart", False))
    assert (0, 0, 2, 6) == course(asked, ("rolling_restart", True))


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


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], (3, 2, 6)),
        ([("remove_members", 1)], (2, 1, 6)),
        ([("remove_members", 9)], (0, 0, 0)),
        ([("add_members", 2)], (5, 4, 6)),
        ([("add_topic", "new", 3)], (3, 0, 9)),
        ([("add_topic", "new", 3), ("rolling_restart", None)], (3, 0, 9)),
    ],
)
def test_unsubscribed_members_are_counted_at_the_end(steps: list[Step], expected: tuple[int, int, int]) -> None:
    asked = group(member("a", "t"), member("b"), member("c"), member(None))

    found = play(asked, *steps)

    assert expected == tuple(found[name] for name in ("members", "unsubscribed_members", "partitions"))
    # Rows without an id are not members, so steps do not change their number.
    assert 1 == found["unnamed_members"]


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


def owned(verb: str, asked: Row, *arguments: Any) -> dict[str, set[tuple[str, int]]]:
    """Return the partitions of each member."""
    [rows] = ask(verb, [TOPICS], [asked], *arguments)
    found: dict[str, set[tuple[str, int]]] = {}
    for row in rows:
        ids = range(row["start"], row["start"] + row["count"])
        found.setdefault(row["member_id"], set()).update((row["topic"], id) for id in ids)
    return found


def test_assign_after_returns_the_assignment_after_all_steps() -> None:
    def after(*steps: Step, asked: Row = PAIR) -> dict[str, set[tuple[str, int]]]:
        return owned("assign_after", asked, [("s", None, list(steps))])

    before = {"a": {("t", 0), ("t", 1), ("t", 2)}, "b": {("t", 3), ("t", 4), ("t", 5)}}
    assert owned("assign", PAIR) == after() == before
    assert {"a": {("t", id) for id in range(6)}} == after(("remove_members", 1))
    assert [2, 2, 2] == [len(partitions) for partitions in after(("add_members", 1)).values()]
    assert {("t", id) for id in range(8)} == set.union(*after(("grow_partitions", "t", 8)).values())
    assert {} == after(("remove_members", 2))
    assert {} == after(asked=group(member("a", "t", assignor="mine")))


def test_assign_after_returns_no_assignment_of_a_group_that_the_scenario_does_not_name() -> None:
    assert {} == owned("assign_after", PAIR, [("s", ["other"], [])])


def test_an_assignment_after_several_scenarios_is_an_error() -> None:
    two: list[Any] = [("one", None, []), ("two", None, [])]
    for scenarios in (two[:0], two):
        found = outcome_of("assign_after", clusters(TOPICS), groups(PAIR), scenarios)
        assert ("IllegalArgumentError", f"assign_after needs one scenario, not {len(scenarios)}") == found
