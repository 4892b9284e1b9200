"""`Clusters.balance` and `Clusters.current_balance`: all columns, with expected values computed by hand."""

from __future__ import annotations

import pytest

from assignor import Subscription, plan
from tests.fleet.columns import Row, ask, cluster, group, member


def balance(known: Row, asked: Row, verb: str = "balance") -> Row:
    [found] = ask(verb, [known], [asked])
    return dict(found)


def test_all_columns_describe_the_assignment_of_a_group() -> None:
    known = cluster({"t": [["r0"], ["r1"], ["r0"], None], "u": 4, "other": 9})
    members = [
        member("a", "t", "u", rack="r1"),
        member("b", "t", "gone", group_instance_id="x", rack="r0"),
        member("c"),
        member(None, "other"),
    ]

    # b is static, so it comes first and takes t0 and t2, which are on its rack. a has t1 and t3, and all partitions of
    # u.
    expected = {
        "group_protocol": "classic",
        "computed_as": "range",
        "members": 3,
        "unnamed_members": 1,
        "unsubscribed_members": 1,
        "topics": 2,
        "unknown_topics": 1,
        "partitions": 8,
        "unowned": 0,
        "idle_members": 1,
        "least_loaded": 0,
        "most_loaded": 6,
        "co_partition_breaks": 2,
        "rack_misses": 0,
        "most_loaded_member": "a",
        "mean_load": 8 / 3,
    }
    found = balance(known, group(*members))
    record_bytes = found.pop("record_bytes")

    assert expected == found
    assert list(expected) == list(found)
    subscriptions = {
        "a": Subscription(("t", "u"), rack="r1"),
        "b": Subscription(("t", "gone"), rack="r0", group_instance_id="x"),
        "c": Subscription(),
    }
    same = plan({"t": 4, "u": 4}, subscriptions)
    assert same.group_metadata_size("g") == record_bytes


def test_record_bytes_are_the_sum_of_the_fields() -> None:
    key = 2 + (2 + 1)
    head = 2 + (2 + 8) + 4 + (2 + 5) + 2 + 8 + 4
    subscription = 2 + 4 + (2 + 2) + 4 + 4 + 4 + (2 + 2)
    assignment = 2 + 4 + (2 + 2) + (4 + 4 * 3) + 4
    a_member = (2 + 1) + (2 + 3) + 2 + 2 + 4 + 4 + 4 + subscription + 4 + assignment

    found = balance(cluster({"é": 3}), group(member("a", "é", rack="r1", group_instance_id="x-y")))

    assert key + head + a_member == found["record_bytes"]


@pytest.mark.parametrize("assignor", [None, "range", "sticky", "stream"])
def test_all_columns_describe_the_current_assignment(assignor: str | None) -> None:
    members = [
        member("a", "t", "u", assignor=assignor, rack="r1"),
        member("b", "t", "gone", assignor=assignor, group_instance_id="x"),
        member("c", assignor=assignor),
        member(None, "other"),
    ]

    known = cluster({"t": [["r0"], ["r1"], ["r0"], ["r1"]], "u": 4})
    current = [("a", "t", 0, 2), ("a", "u", 3, 1), ("b", "t", 3, 1)]

    found = balance(known, group(*members, current=current), "current_balance")

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
