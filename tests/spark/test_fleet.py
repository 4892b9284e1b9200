"""`Fleet` in a real Spark session, compared with the answers for each group alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.spark import Scenario
from assignor.spark.scenario import as_data
from tests.fleet import group_balance, single_group
from tests.fleet.simulated_group import outcome
from tests.spark import fleet_rows
from tests.spark.fleet_rows import Row, fleet, rows, small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

    from assignor.spark import Fleet
    from tests.fleet.single_group import Group
    from tests.spark.conftest import RecordedTables
    from tests.spark.connect_program import Answers

pytestmark = pytest.mark.spark

SCENARIOS = [
    Scenario("as it is"),
    Scenario("two more").add_members(2),
    Scenario("larger").multiply_partitions(2).grow_partitions({"t": 60}),
    Scenario("a topic more", frozenset({"moves 1", "racks 2"})).add_topic("new", 9),
    Scenario("restart").rolling_restart(),
]


def in_order(frame: DataFrame) -> list[str]:
    return sorted(map(repr, rows(frame)))


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> Fleet:
    return fleet(spark, *fleet_rows.rare_features())


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, recorded_tables: RecordedTables) -> Fleet:
    from assignor.spark import Fleet

    return Fleet(*map(spark.createDataFrame, recorded_tables))


def keyed(groups: Iterable[Group], answer: Callable[[Group], Iterable[Row]]) -> list[str]:
    """Return the rows of an answer for each group alone, with the keys of the groups."""
    keys = ("cluster", "group_id")
    found = [{key: group.row[key] for key in keys} | row for group in groups for row in answer(group)]
    return sorted(repr(sorted(row.items(), key=str)) for row in found)


@pytest.mark.parametrize("name", ["rare features", "recorded"])
def test_each_method_has_the_answers_for_each_group_alone(
    given: Fleet, recorded: Fleet, recorded_tables: RecordedTables, name: str
) -> None:
    asked = recorded if name == "recorded" else given
    tables = [each.to_pylist() for each in recorded_tables] if asked is recorded else fleet_rows.rare_features()
    groups = fleet_rows.groups(*tables)
    answers: dict[str, tuple[DataFrame, Callable[[Group], Iterable[Row]]]] = {
        "assign": (asked.assign(), single_group.assignment),
        "resolve": (asked.resolve(), single_group.resolved),
        "moves": (asked.moves(), single_group.moves),
        "balance": (asked.balance(), lambda group: [group_balance.balance(group)]),
        "current": (asked.balance(of="current"), lambda group: [group_balance.current_balance(group)]),
        "what_if": (
            asked.what_if(SCENARIOS).where("cluster is not null"),
            lambda group: [
                outcome(group, name, steps)
                for name, ids, steps in as_data(SCENARIOS)
                if ids is None or group.row["group_id"] in ids
            ],
        ),
    }
    for method, (frame, answer) in answers.items():
        found = rows(frame.drop("skew", "record_fits"))

        assert keyed(groups, answer) == sorted(repr(sorted(row.items(), key=str)) for row in found), method
    problems = {row["name"] for row in rows(asked.problems()) if row["table"] == "group"}
    assert {group.row["group_id"] for group in groups if single_group.has_problem(group)} == problems


def test_topics_with_weights_give_columns_of_weights(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from assignor.spark import Fleet
    from assignor.spark.schemas import WEIGHTED

    topics, members = small({"member_id": "a"}, {"member_id": "b"})
    plain = fleet(spark, topics, members)
    weights = F.when(F.col("topic") == "t", F.array(F.lit(5.0), F.lit(1.0), F.lit(2.0)))
    weighted = Fleet(plain.topics.withColumn("weights", weights), plain.members)

    assert {*WEIGHTED.fieldNames()} == {*weighted.balance().columns} - {*plain.balance().columns}
    (row,) = rows(weighted.balance())
    assert (0, 2.0, 6.0, "a", 5.0) == tuple(
        row[name] for name in ("unweighted", "least_weight", "most_weight", "most_weight_member", "weight_bound")
    )
    assert [8.0, 6.0] == [row["most_weight"] for row in sorted(rows(weighted.scale()), key=lambda row: row["members"])]


def test_queries_are_lazy_and_call_the_engine_once(spark: SparkSession, given: Fleet) -> None:
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("lazy", "writing queries")
    try:
        queries = [given.assign(), given.balance(), given.moves(), given.resolve(), given.what_if(SCENARIOS)]
        assert [] == list(tracker.getJobIdsForGroup("lazy"))
    finally:
        spark.sparkContext.cancelJobGroup("lazy")
    plans = [query.where("cluster = 'c'")._jdf.queryExecution().executedPlan().toString() for query in queries]
    # Members are packed once, and so are owned partitions.
    assert [3, 3, 3, 2, 3] == [plan.count("MapInArrow ") for plan in plans]
    assert [1] * len(queries) == [plan.count("MapInArrow batches(bucket") for plan in plans]
    assert [1] * len(queries) == [plan.count("Sort [bucket") for plan in plans]


def test_a_filter_on_the_result_is_not_pushed_below_the_engine(given: Fleet) -> None:
    spans = rows(given.assign())
    last = spans[-1]["group_id"]

    filtered = rows(given.assign().where(f"group_id = '{last}'"))

    assert sorted(repr(row) for row in spans if row["group_id"] == last) == sorted(map(repr, filtered))
    assert 3 == given.assign().limit(3).count()


def test_what_if_says_which_topics_a_switch_of_the_protocol_changes(spark: SparkSession) -> None:
    from assignor.spark import Fleet

    topics = spark.createDataFrame([("c", "t-1", 2), ("c", "t-2", 2)], "cluster string, topic string, partitions int")
    given = [
        ("c", "g", "a", ["^t"], "librdkafka"),
        ("c", "g", "b", ["^t.*"], "librdkafka"),
        ("c", "h", "a", ["t-1"], None),
    ]
    members = spark.createDataFrame(
        given, "cluster string, group_id string, member_id string, topics array<string>, dialect string"
    )

    found = rows(Fleet(topics, members).what_if(Scenario("move").use(group_protocol="consumer")))

    change = {"patterns": ["^t"], "sent": "^t", "gained": [], "lost": ["t-1", "t-2"], "problem": None}
    by_group = {row["group_id"]: (row["pattern_changes"], row["idle_members"]) for row in found}
    assert [{"members": ["a"], **change}] == by_group["g"][0]
    assert (1, ([], 0)) == (by_group["g"][1], by_group["h"])


def test_resolved_members_are_valid_members(given: Fleet) -> None:
    from assignor.spark import Fleet

    assert in_order(given.assign()) == in_order(Fleet(given.topics, given.resolve(), given.current).assign())


def test_rows_without_keys_are_counted(spark: SparkSession) -> None:
    topics, members = small(
        {"member_id": "a", "topics": ["t", "gone", "also gone"]},
        {"member_id": "b", "topics": None},
        {"member_id": None},
        {"member_id": None, "group_id": "empty"},
        {"member_id": None, "topics": [None] * 20},
        {"member_id": "c", "group_id": None},
        {"member_id": "d", "cluster": None},
        {"member_id": "e", "cluster": "elsewhere"},
    )
    topics += [{"cluster": None, "topic": "t", "partitions": 1}, {"cluster": "c", "topic": None, "partitions": 1}]
    current: list[Row] = [
        {"cluster": "c", "group_id": "left", "member_id": "z", "topic": "t", "start": 0, "count": 1},
        {"cluster": "c", "group_id": "g", "member_id": None, "topic": "t", "start": 0, "count": 1},
    ]
    given = fleet(spark, topics, members, current)

    counted = ("members", "unnamed_members", "unsubscribed_members", "topics", "unknown_topics", "partitions")
    found = {(row["cluster"], row["group_id"]): tuple(row[name] for name in counted) for row in rows(given.balance())}

    assert {
        ("c", "g"): (2, 2, 1, 1, 2, 3),
        ("c", "empty"): (0, 1, 0, 0, 0, 0),
        ("c", "left"): (0, 0, 0, 0, 0, 0),
        ("c", None): (0, 1, 0, 0, 0, 0),
        (None, "g"): (0, 1, 0, 0, 0, 0),
        ("elsewhere", "g"): (1, 0, 0, 0, 1, 0),
    } == found
    assert len(members) == sum(row[0] + row[1] for row in found.values())
    assert {
        ("topics", None, "t", "no cluster", 1),
        ("topics", "c", None, "no topic", 1),
        ("members", "c", "g", "no member_id", 2),
        ("members", "c", "empty", "no member_id", 1),
        ("members", "c", None, "no group_id", 1),
        ("members", None, "g", "no cluster", 1),
        ("current", "c", "g", "no member_id", 1),
    } == {tuple(row.values()) for row in rows(given.problems())}
    assert ("left", "t", 0, 1, "z", None) in {tuple(row.values())[1:] for row in rows(given.moves())}


def test_scenarios_can_be_in_a_set() -> None:
    scenarios = {Scenario("x").set_racks(["r0", "r1"]).add_topic("t", 1).grow_partitions({"t": 2}) for _ in range(2)}

    assert 1 == len(scenarios)


def test_a_record_fits_up_to_the_brokers_limit(spark: SparkSession) -> None:
    given = fleet(spark, *small({"member_id": "a"}))
    (found,) = rows(given.balance())
    limits = [found["record_bytes"] + 80, found["record_bytes"] + 79]

    fits = [row["record_fits"] for limit in limits for row in rows(given.balance(max_message_bytes=limit))]

    assert [True, False] == fits
    assert (True, 1.0) == (found["record_fits"], found["skew"])


def test_keys_with_equal_hashes_are_different_groups(spark: SparkSession) -> None:
    # Spark's hash of a null and a text equals that of the text and a null.
    topics, members = small(
        *({"cluster": "x", "group_id": None, "member_id": f"{number}"} for number in range(3)),
        *({"cluster": None, "group_id": "x", "member_id": f"{number}"} for number in range(4)),
        {"cluster": "", "group_id": "x", "member_id": "a"},
    )

    found = rows(fleet(spark, topics, members).balance())

    assert {("x", None): 3, (None, "x"): 4, ("", "x"): 0} == {
        (row["cluster"], row["group_id"]): row["unnamed_members"] for row in found
    }


# ---- the recorded fleet


def by_group(rows: Iterable[Row], *names: str) -> dict[str, tuple[Any, ...]]:
    return {row["group_id"]: tuple(row[name] for name in names) for row in rows}


def test_recorded_groups_are_computed_by_their_own_assignors(
    recorded_tables: RecordedTables, recorded_answers: Answers
) -> None:
    found = by_group(recorded_answers["balance"], "group_protocol", "computed_as")
    given = by_group(recorded_tables.members.to_pylist(), "group_protocol", "assignor")

    assert (None, None) == found.pop("orders-enricher")
    assert ("classic", "stream") == given.pop("orders-enricher")
    assert given == found
    reason = "assignor 'stream' of group_protocol 'classic' is not supported because its answer depends on the memory "
    [problem] = recorded_answers["problems"]
    assert ("group", "orders-enricher", 1) == tuple(problem[name] for name in ("table", "name", "rows"))
    assert problem["problem"].startswith(reason)


def test_only_unstable_recorded_groups_move_partitions(recorded_answers: Answers) -> None:
    moved = {row["group_id"] for row in recorded_answers["moves"]}

    # inventory-sync is in a rebalance storm, and the last assignment of orders-next is that of another assignor.
    assert {"inventory-sync", "orders-next"} == moved


def test_the_last_assignment_of_orders_next_is_that_of_the_brokers_range(recorded: Fleet) -> None:
    from assignor.spark import Fleet

    members = recorded.members.where("group_id = 'orders-next'").selectExpr("*", "'range' as replaced")
    members = members.drop("assignor").withColumnRenamed("replaced", "assignor")
    assert recorded.current is not None

    current = recorded.current.where("group_id = 'orders-next'")

    assert [] == rows(Fleet(recorded.topics, members, current).moves())
