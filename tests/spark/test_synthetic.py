"""Synthetic fleet: it is reproducible and valid, and follows the documented distributions."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest

import assignor
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.model import Subscription

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from assignor.spark.synthetic import SyntheticFleet

pytestmark = pytest.mark.spark

Row = dict[str, Any]
Group = tuple[str, str]

SMALL: dict[str, Any] = {
    "groups": 150,
    "members": 5,
    "topics_per_group": 3,
    "clusters": 2,
    "racks": 4,
    "static_share": 0.5,
    "pattern_share": 0.2,
    "asymmetric_share": 0.5,
    "stale_share": 0.0,
    "seed": 2,
}


class Collected:
    """Rows of a fleet, with its members and owned partitions by group."""

    def __init__(self, fleet: SyntheticFleet) -> None:
        self.topics, self.members, self.current = map(rows, fleet)
        self.groups: dict[Group, list[Row]] = defaultdict(list)
        for row in self.members:
            self.groups[row["cluster"], row["group_id"]].append(row)
        self.partitions: dict[str, dict[str, int]] = defaultdict(dict)
        for row in self.topics:
            self.partitions[row["cluster"]][row["topic"]] = row["partitions"]
        self.owned: dict[Group, set[tuple[str, str, int]]] = defaultdict(set)
        for row in self.current:
            span = range(row["start"], row["start"] + row["count"])
            self.owned[row["cluster"], row["group_id"]].update((row["member_id"], row["topic"], id) for id in span)

    def assigned_by_range(self, group: Group, members: list[Row]) -> set[tuple[str, str, int]]:
        """Return the answer of range for these members of a group."""
        topics = self.partitions[group[0]]
        subscriptions = {row["member_id"]: subscription(row) for row in members}
        return {(member, *each) for member, owned in assignor.assign(topics, subscriptions).items() for each in owned}


def subscription(row: Row) -> Subscription:
    """Return the subscription of a member without its rack."""
    static = row["group_instance_id"]
    if row["pattern"] is None:
        return Subscription(row["topics"], group_instance_id=static)
    return Subscription(pattern=row["pattern"], dialect=row["dialect"], group_instance_id=static)


def rows(frame: DataFrame) -> list[Row]:
    """Return the rows of a DataFrame."""
    found: list[Row] = frame.toArrow().to_pylist()
    return found


def ordered(rows: list[Row]) -> list[str]:
    """Return rows in an order that does not depend on Spark."""
    return sorted(map(repr, rows))


@pytest.fixture(scope="module")
def large(spark: SparkSession) -> Collected:
    """Return a fleet of 2,000 groups with the default distributions."""
    from assignor.spark.synthetic import synthetic_fleet

    return Collected(synthetic_fleet(spark, 2000, seed=1))


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> Collected:
    """Return a fleet of 150 groups in two clusters, with every feature in some of them."""
    from assignor.spark.synthetic import synthetic_fleet

    return Collected(synthetic_fleet(spark, **SMALL))


def test_rows_do_not_depend_on_spark_partitions(spark: SparkSession, small: Collected) -> None:
    from assignor.spark.synthetic import synthetic_fleet

    class ManyPartitions:
        def range(self, rows: int) -> DataFrame:
            return spark.range(0, rows, 1, 7)

    again = synthetic_fleet(ManyPartitions(), **SMALL)  # type: ignore[arg-type]  # has the one method that is used
    assert 7 == again.members.rdd.getNumPartitions()
    assert ordered(small.topics) == ordered(rows(again.topics))
    assert ordered(small.members) == ordered(rows(again.members))
    assert ordered(small.current) == ordered(rows(again.current))


def test_rows_depend_on_the_seed(spark: SparkSession, small: Collected) -> None:
    from assignor.spark.synthetic import synthetic_fleet

    other = Collected(synthetic_fleet(spark, **{**SMALL, "seed": -2}))

    assert ordered(small.topics) != ordered(other.topics)
    assert {row["member_id"] for row in small.members}.isdisjoint(row["member_id"] for row in other.members)
    assert ordered(small.current) != ordered(other.current)


def test_the_first_groups_of_a_larger_fleet_are_those_of_a_smaller_one(spark: SparkSession, small: Collected) -> None:
    from assignor.spark.synthetic import synthetic_fleet

    topics = len(small.topics) // 2
    more = synthetic_fleet(spark, **{**SMALL, "groups": 160, "topics": topics})

    assert set(ordered(small.members)) < set(ordered(rows(more.members)))


def test_names_are_marked_as_synthetic_and_topics_differ_by_cluster(small: Collected) -> None:
    assert {"synthetic-0", "synthetic-1"} == set(small.partitions)
    assert all(group.startswith("syn-") for _, group in small.groups)
    assert all(re.fullmatch(r"syn\.[a-z0-9.-]+", row["topic"]) for row in small.topics)
    first, second = small.partitions.values()
    assert set(first) == set(second)
    assert first != second
    assert len(small.topics) == len(first) + len(second)


def test_topics_follow_the_distributions_counted_in_production(large: Collected) -> None:
    counts = [row["partitions"] for row in large.topics]
    lengths = [len(row["topic"]) for row in large.topics]

    assert 2000 * 361 // 553 == pytest.approx(len(large.topics), abs=1)
    assert 1 == min(counts)
    assert 15 == statistics.median(counts)
    assert 50 == max(counts)
    assert 4556 / 361 == pytest.approx(statistics.mean(counts), rel=0.02)
    assert 5 == pytest.approx(min(lengths), abs=4)  # the number of a topic is part of its name
    assert 33 == pytest.approx(statistics.median(lengths), abs=1)
    assert 67 == pytest.approx(max(lengths), abs=1)


def test_subscriptions_follow_the_distribution_counted_in_production(large: Collected) -> None:
    counts = [len(group[0]["topics"]) for group in large.groups.values() if group[0]["topics"]]

    assert 1 == statistics.median(counts)
    assert 1.85 == pytest.approx(statistics.mean(counts), rel=0.1)
    assert 21 == max(counts)


def test_group_sizes_follow_the_invented_distribution(large: Collected) -> None:
    from assignor.spark.synthetic_rows import MEMBERS_PER_GROUP

    sizes = Counter(map(len, large.groups.values()))

    assert 2000 == sizes.total()
    assert set(sizes) <= set(MEMBERS_PER_GROUP)
    for size, thousandths in MEMBERS_PER_GROUP.items():
        assert 2 * thousandths == pytest.approx(sizes[size], abs=60)


def test_shares_are_close_to_the_arguments(large: Collected) -> None:
    groups = large.groups.values()
    patterns = sum(group[0]["pattern"] is not None for group in groups)
    static = sum(row["group_instance_id"] is not None for row in large.members)
    several = [group for group in groups if len(group[0]["topics"] or ()) > 1 and len(group) > 1]
    differing = sum(len({tuple(row["topics"]) for row in group}) > 1 for group in several)

    assert 0.05 == pytest.approx(patterns / len(groups), abs=0.02)
    assert 0.1 == pytest.approx(static / len(large.members), abs=0.02)
    assert 0.1 == pytest.approx(differing / len(several), abs=0.06)
    assert {None} == {row["rack"] for row in large.members} | {row["racks"] for row in large.topics}


def test_counts_are_equal_to_the_arguments(small: Collected) -> None:
    assert 150 == len(small.groups)
    assert {5} == {len(group) for group in small.groups.values()}
    assert {2, 3} == {len(row["topics"]) for row in small.members if row["topics"]}
    assert {3} == {len(group[0]["topics"]) for group in small.groups.values() if group[0]["topics"]} - {2}


def test_a_member_has_topics_or_a_pattern_with_its_dialect(small: Collected) -> None:
    kinds = {(row["topics"] is None, row["pattern"] is None, row["dialect"]) for row in small.members}

    assert {(False, True, None), (True, False, "java"), (True, False, "librdkafka")} == kinds
    for (cluster, _), group in small.groups.items():
        names = {name for row in group for name in row["topics"] or ()}
        assert names <= set(small.partitions[cluster])


def test_member_ids_have_the_format_of_brokers(small: Collected) -> None:
    uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}"

    for row in small.members:
        static, group = row["group_instance_id"], re.escape(row["group_id"])
        client = static or f"(consumer-{group}-1|rdkafka)"
        assert re.fullmatch(f"{client}-{uuid}", row["member_id"])


def test_replicas_are_in_three_racks(small: Collected) -> None:
    racks = {f"rack-{number}" for number in range(4)}

    assert racks == {row["rack"] for row in small.members}
    for row in small.topics:
        assert row["partitions"] == len(row["racks"])
        assert all(3 == len(set(replicas)) and set(replicas) < racks for replicas in row["racks"])


def test_without_stale_groups_members_own_the_answer_of_range(small: Collected) -> None:
    differing = [
        group
        for group, members in small.groups.items()
        if small.assigned_by_range(group, members) != small.owned[group]
    ]

    assert [] == differing
    assert sum(row["count"] for row in small.current) == sum(map(len, small.owned.values())), "spans overlap"


def test_a_stale_group_owns_the_answer_of_range_without_one_member(large: Collected) -> None:
    stale = several = 0
    for group, members in list(large.groups.items())[:300]:
        several += len(members) > 1
        if len(members) < 2 or large.assigned_by_range(group, members) == large.owned[group]:
            continue
        earlier = ([row for row in members if row is not newest] for newest in members)
        assert any(large.assigned_by_range(group, before) == large.owned[group] for before in earlier), group
        stale += 1

    assert 0.2 == pytest.approx(stale / several, abs=0.08)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": 0}, r"synthetic_fleet: groups must be between 1 and 2147483647: 0"),
        ({"members": -1}, r"members must be between 1 and 2147483647: -1"),
        ({"members": 2**31}, r"members must be between 1 and 2147483647: 2147483648"),
        ({"topics": 0}, r"topics must be between 1 and 2147483647: 0"),
        ({"topics_per_group": 0}, r"topics_per_group must be between 1 and 2147483647: 0"),
        ({"clusters": 0}, r"clusters must be between 1 and 2147483647: 0"),
        ({"racks": -1}, r"racks must be between 0 and 2147483647: -1"),
        ({"static_share": 1.5}, r"static_share must be between 0 and 1: 1\.5"),
        ({"pattern_share": -0.1}, r"pattern_share must be between 0 and 1: -0\.1"),
        ({"asymmetric_share": float("nan")}, r"asymmetric_share must be between 0 and 1: nan"),
        ({"stale_share": 2}, r"stale_share must be between 0 and 1: 2"),
        ({"topics": 3, "topics_per_group": 4}, r"topics_per_group must be at most topics, which is 3: 4"),
        ({"seed": 2**63}, r"seed must have at most 64 bits: 9223372036854775808"),
    ],
)
def test_errors_name_the_invalid_value(spark: SparkSession, arguments: Any, message: str) -> None:
    from assignor.spark.synthetic import synthetic_fleet

    with pytest.raises(IllegalArgumentError, match=message) as caught:
        synthetic_fleet(spark, **{"groups": 10, **arguments})
    assert str(caught.value).startswith("synthetic_fleet: ")


@pytest.mark.parametrize("arguments", [{"groups": 2.0}, {"members": True}, {"stale_share": "0.5"}, {"seed": None}])
def test_errors_name_the_value_of_a_wrong_type(spark: SparkSession, arguments: Any) -> None:
    from assignor.spark.synthetic import synthetic_fleet

    (name,) = arguments
    with pytest.raises(WrongTypeError, match=rf"^synthetic_fleet: .*{name}"):
        synthetic_fleet(spark, **{"groups": 10, **arguments})


def test_no_cluster_has_fewer_topics_than_a_group(spark: SparkSession) -> None:
    from assignor.spark.synthetic import synthetic_fleet

    fleet = synthetic_fleet(spark, 2, topics_per_group=9, pattern_share=0, asymmetric_share=0)

    assert 9 == fleet.topics.count()
    assert {9} == {len(row["topics"]) for row in rows(fleet.members)}
