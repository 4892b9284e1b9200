"""`Clusters.balance`: all columns, with expected values computed by hand."""

from __future__ import annotations

import pytest

from assignor import Subscription, plan
from tests.fleet.columns import Row, ask, cluster, group, member


def balance(known: Row, asked: Row) -> Row:
    [found] = ask("balance", [known], [asked])
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


def test_a_group_without_members_has_no_loads() -> None:
    found = balance(cluster({"t": 4}), group(id=None))

    assert 0 == found["members"] == found["partitions"] == found["idle_members"] == found["co_partition_breaks"]
    assert (None, None, None, None) == tuple(
        found[name] for name in ("least_loaded", "most_loaded", "most_loaded_member", "mean_load")
    )
    # The key, and a value without a protocol.
    assert (2 + 2) + (2 + (2 + 8) + 4 + 2 + 2 + 8 + 4) == found["record_bytes"]


def test_all_rows_of_a_group_without_an_id_count_as_unnamed_members() -> None:
    found = balance(cluster({"t": 4}), group(member("a", "t"), member("a", "u"), member(None), id=None))

    assert (0, 3, 0, 0, 0) == tuple(
        found[name] for name in ("members", "unnamed_members", "unsubscribed_members", "topics", "unknown_topics")
    )


@pytest.mark.parametrize(("topics", "silent"), [(None, 1), ([], 0)])
def test_only_members_without_topics_and_pattern_are_unsubscribed(topics: list[str] | None, silent: int) -> None:
    asked = group(member("a", "t"), member("b", topics=topics), member("c", pattern="none"))

    found = balance(cluster({"t": 4}), asked)

    assert (silent, 2) == (found["unsubscribed_members"], found["idle_members"])


def test_the_most_loaded_member_is_the_first_in_kafkas_order() -> None:
    asked = group(member("a", "t"), member("b", "t", group_instance_id="y"), member("c", "t", group_instance_id="x"))

    assert "c" == balance(cluster({"t": 3}), asked)["most_loaded_member"]
    assert (
        "a" == balance(cluster({"t": 3, "u": 1}), group(member("b", "t"), member("a", "t", "u")))["most_loaded_member"]
    )


def test_a_topic_counts_once() -> None:
    asked = group(member("a", "t", "x", "y", "x"), member("b", "t", "y"), member("c", "z"))

    found = balance(cluster({"t": 3}), asked)

    assert (1, 3) == (found["topics"], found["unknown_topics"])


def test_topics_with_different_consumers_have_co_partition_breaks() -> None:
    known = cluster({"t": 6, "u": 6, "v": 6, "w": 5})

    # t: a has 0 to 2, b has 3 to 5. u and v: a has 0 and 1, b has 2 and 3, c has 4 and 5.
    asked = group(member("a", "t", "u", "v", "w"), member("b", "t", "u", "v"), member("c", "u", "v"))

    assert 3 == balance(known, asked)["co_partition_breaks"]
    assert 0 == balance(known, group(member("a", "t", "u"), member("b", "t", "u")))["co_partition_breaks"]
    assert 0 == balance(known, group(member("a", "t"), member("b", "u")))["co_partition_breaks"]


def test_a_break_counts_once_per_number_of_partitions() -> None:
    known = cluster({"t": 2, "u": 2, "v": 2, "x": 1, "y": 1})

    asked = group(member("b", "t", "u", "v", "x", "y"), member("a", "t", "x", group_instance_id=""))

    # a has t0 and x0, b has all others: partition 0 breaks for topics of two partitions, and for topics of one.
    assert 1 + 1 == balance(known, asked)["co_partition_breaks"]


def test_rack_misses_need_a_member_and_a_replica_with_racks() -> None:
    known = cluster({"t": [["r0"], ["r0", "r1"], [None], [], None, ["r2"], [""]]})

    alone = [balance(known, group(member("a", "t", rack=rack)))["rack_misses"] for rack in ("r0", "far", "", None)]

    assert [2, 4, 0, 0] == alone


def test_a_cluster_without_racks_has_no_misses() -> None:
    assert 0 == balance(cluster({"t": [[None], []], "u": 2}), group(member("a", "t", "u", rack="r")))["rack_misses"]
