"""`Clusters.current_balance`: the balance of current assignments, for any assignor."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fleet.columns import Row, ask, cluster, group, member

TOPICS = cluster({"t": [["r0"], ["r1"], ["r0"], ["r1"]], "u": 4})


def balance(asked: Row) -> Row:
    [found] = ask("current_balance", [TOPICS], [asked])
    return dict(found)


def some(found: Row, *names: str) -> tuple[Any, ...]:
    return tuple(found[name] for name in names)


@pytest.mark.parametrize("assignor", [None, "range", "sticky", "stream"])
def test_all_columns_describe_the_current_assignment(assignor: str | None) -> None:
    members = [
        member("a", "t", "u", assignor=assignor, rack="r1"),
        member("b", "t", "gone", assignor=assignor, group_instance_id="x"),
        member("c", assignor=assignor),
        member(None, "other"),
    ]

    found = balance(group(*members, current=[("a", "t", 0, 2), ("a", "u", 3, 1), ("b", "t", 3, 1)]))

    record_bytes = found.pop("record_bytes")
    assert {
        "group_protocol": None,
        "computed_as": None,
        "members": 3,
        "unnamed_members": 1,
        "unsubscribed_members": 1,
        "topics": 2,
        "unknown_topics": 1,
        "partitions": 4,
        "unowned": 4,
        "idle_members": 1,
        "least_loaded": 0,
        "most_loaded": 3,
        "co_partition_breaks": 3,
        "rack_misses": 1,
        "most_loaded_member": "a",
        "mean_load": 4 / 3,
    } == found
    assert (assignor == "stream") == (record_bytes is None)


def test_a_partition_of_two_members_counts_for_both() -> None:
    asked = group(member("a", "t"), member("b", "t"), current=[("a", "t", 0, 3), ("b", "t", 2, 2), ("b", "t", 3, 1)])

    found = balance(asked)

    assert (4, 0, 2, 3, 2.5) == some(found, "partitions", "unowned", "least_loaded", "most_loaded", "mean_load")


def test_owners_of_a_partition_are_compared_as_a_set() -> None:
    members = [member("a", "t", "u"), member("b", "t", "u")]
    both = [(id, topic, 0, 2) for id in "ab" for topic in "tu"]

    same = balance(group(*members, current=both))
    other = balance(group(*members, current=[*both[:3], ("b", "u", 0, 1)]))
    # Partition 3 of t has an owner, partition 3 of u does not.
    without = balance(group(*members, current=[*both, ("a", "t", 3, 1)]))

    assert (0, 1, 1) == tuple(found["co_partition_breaks"] for found in (same, other, without))


def test_an_owner_without_a_row_counts_as_a_member() -> None:
    found = balance(group(member("b", "t"), current=[("z", "u", 0, 3), ("a", "u", 3, 1)]))

    assert (3, 0, "z", 4, 1, 4) == some(
        found, "members", "unsubscribed_members", "most_loaded_member", "partitions", "topics", "unowned"
    )


def test_partitions_that_do_not_exist_are_left_out() -> None:
    current = [("a", "beyond", 0, 2**31 - 1), ("a", "t", 3, 2**31 - 4), ("a", "u", 4, 1)]

    found = balance(group(member("a", "t"), current=current))

    assert (1, 1, 3, 1) == some(found, "members", "partitions", "unowned", "topics")


def test_owners_of_a_group_without_member_rows_are_its_members() -> None:
    found = balance(group(current=[("a", "t", 0, 4)]))

    assert (1, 4, 4, None) == some(found, "members", "partitions", "most_loaded", "record_bytes")


def test_an_invalid_run_is_rejected() -> None:
    from tests.fleet.columns import clusters, groups, outcome_of

    asked = groups(group(member("a", "t"), current=[("a", "t", 0, 0)]))

    kind, message = outcome_of("current_balance", clusters(TOPICS), asked)

    assert "IllegalArgumentError" == kind
    assert message.endswith("start 0 and count 0 of topic 't' are not a range of partition ids")
