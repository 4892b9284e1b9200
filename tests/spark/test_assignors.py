"""`Fleet` with the assignor of each group: random fleets, and the bundled recording."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.errors import IllegalArgumentError
from assignor.spark import Scenario
from assignor.spark.scenario import as_data
from tests.fleet import group_balance, single_group
from tests.fleet.simulated_group import outcome
from tests.spark import fleet_rows
from tests.spark.fleet_rows import ASSIGNMENTS, MEMBERS, TOPICS, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

    from assignor.spark import Fleet
    from tests.fleet.single_group import Group
    from tests.spark.conftest import RecordedTables
    from tests.spark.connect_program import Answers

pytestmark = pytest.mark.spark

NAMED = pa.schema([*MEMBERS, ("assignor", pa.string()), ("group_protocol", pa.string()), ("generation", pa.int32())])
CHOICES = [
    ("classic", "range"),
    ("classic", "roundrobin"),
    ("classic", "sticky"),
    ("classic", "cooperative-sticky"),
    ("consumer", "uniform"),
    ("consumer", "range"),
    ("classic", "stream"),
]
SCENARIOS = [
    Scenario("as it is"),
    Scenario("two more").add_members(2),
    Scenario("larger").multiply_partitions(2),
    Scenario("restart").rolling_restart(),
]


def rows(frame: DataFrame) -> list[Row]:
    found: list[Row] = frame.toArrow().to_pylist()
    return found


def in_order(frame: DataFrame) -> list[str]:
    return sorted(map(repr, rows(frame)))


def assignor_of(group_id: str) -> tuple[str, str]:
    """Return the protocol and the assignor of a random group."""
    return CHOICES[int(group_id.removeprefix("group-")) % len(CHOICES)]


class RandomFleet:
    """Random fleet with all assignors. Members own a part of the answer of range."""

    def __init__(self, groups: int, seed: int) -> None:
        self.topics, members = fleet_rows.draw(groups, seed)
        self.members: list[Row] = []
        for row in members:
            protocol, name = assignor_of(row["group_id"])
            self.members.append({**row, "group_protocol": protocol, "assignor": name, "generation": 3})
        self.current: list[Row] = []
        for number, ((cluster, group_id), owned) in enumerate(fleet_rows.assigned(self.topics, members).items()):
            for member, ids in owned.items():
                for topic, id in ids[number % 5 :]:
                    keys = {"cluster": cluster, "group_id": group_id, "member_id": member}
                    self.current.append({**keys, "topic": topic, "start": id, "count": 1})

    def fleet(self, spark: SparkSession, **options: Any) -> Fleet:
        from assignor.spark import Fleet

        tables = ((self.topics, TOPICS), (self.members, NAMED), (self.current, ASSIGNMENTS))
        frames = [spark.createDataFrame(pa.Table.from_pylist(given, schema=schema)) for given, schema in tables]
        return Fleet(*frames, **options)

    def assigned(self) -> fleet_rows.Owned:
        """Return the answers of `assign`, called for each group with its assignor."""
        return fleet_rows.assigned(self.topics, self.members, self.current)


@pytest.fixture(scope="module")
def random_fleet() -> RandomFleet:
    return RandomFleet(210, seed=18)


@pytest.fixture(scope="module")
def few() -> RandomFleet:
    """Return a fleet with some groups of each assignor, for slow tests."""
    return RandomFleet(70 if os.environ.get("ASSIGNOR_PROFILE") == "long" else 28, seed=19)


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, recorded_tables: RecordedTables) -> Fleet:
    from assignor.spark import Fleet

    return Fleet(*map(spark.createDataFrame, recorded_tables))


def by_group(rows: Iterable[Row], *names: str) -> dict[str, tuple[Any, ...]]:
    return {row["group_id"]: tuple(row[name] for name in names) for row in rows}


def test_random_groups_get_the_answer_of_their_assignor(spark: SparkSession, random_fleet: RandomFleet) -> None:
    expected = random_fleet.assigned()

    spans = rows(random_fleet.fleet(spark).assign())

    assert expected == fleet_rows.owned(spans)
    assert {name for name in CHOICES if name[1] != "stream"} == {assignor_of(group_id) for _, group_id in expected}


def test_all_assignors_are_computed_in_one_job(spark: SparkSession, random_fleet: RandomFleet) -> None:
    fleet = random_fleet.fleet(spark)

    queries = [fleet.assign(), fleet.balance(), fleet.balance(of="current"), fleet.moves(), fleet.what_if(SCENARIOS)]

    plans = [query._jdf.queryExecution().executedPlan().toString() for query in queries]
    assert [1] * len(queries) == [
        plan.count("MapInArrow batches(bucket") for plan in plans
    ]  # the core reads packed rows


def keyed(groups: Iterable[Group], answer: Callable[[Group], Iterable[Row]]) -> list[str]:
    """Return the rows of an answer for each group alone, with the keys of the groups."""
    keys = ("cluster", "group_id")
    found = [{key: group.row[key] for key in keys} | row for group in groups for row in answer(group)]
    return sorted(repr(sorted(row.items(), key=str)) for row in found)


def test_each_method_has_the_answers_for_each_group_alone(spark: SparkSession, few: RandomFleet) -> None:
    fleet, groups = few.fleet(spark), fleet_rows.groups(few.topics, few.members, few.current)
    answers: dict[str, tuple[DataFrame, Callable[[Group], Iterable[Row]]]] = {
        "assign": (fleet.assign(), single_group.assignment),
        "resolve": (fleet.resolve(), single_group.resolved),
        "moves": (fleet.moves(), single_group.moves),
        "balance": (fleet.balance(), lambda group: [group_balance.balance(group)]),
        "current": (fleet.balance(of="current"), lambda group: [group_balance.current_balance(group)]),
        "what_if": (
            fleet.what_if(SCENARIOS),
            lambda group: [outcome(group, name, steps) for name, _, steps in as_data(SCENARIOS)],
        ),
    }
    for name, (frame, answer) in answers.items():
        found = rows(frame.drop("skew", "record_fits"))

        assert keyed(groups, answer) == sorted(repr(sorted(row.items(), key=str)) for row in found), name
    problems = {row["name"] for row in rows(fleet.problems())}
    assert {group.row["group_id"] for group in groups if group.assignor is None} == problems


def test_resolved_members_keep_their_assignors(spark: SparkSession, few: RandomFleet) -> None:
    from assignor.spark import Fleet

    fleet = few.fleet(spark)

    assert in_order(fleet.assign()) == in_order(Fleet(fleet.topics, fleet.resolve(), fleet.current).assign())


def test_null_and_missing_assignor_columns_mean_range(spark: SparkSession, few: RandomFleet) -> None:
    from assignor.spark import Fleet

    fleet = few.fleet(spark)
    none = fleet.members.drop("assignor", "group_protocol", "generation")
    null = none.selectExpr("*", "cast(null as string) assignor", "cast(null as string) group_protocol")

    found = [in_order(Fleet(fleet.topics, members, fleet.current).assign()) for members in (none, null)]

    assert found[0] == found[1]
    assert {"range"} == {row["computed_as"] for row in rows(Fleet(fleet.topics, none).balance())}


def test_the_balance_of_current_needs_owned_partitions(spark: SparkSession, random_fleet: RandomFleet) -> None:
    from assignor.spark import Fleet

    fleet = random_fleet.fleet(spark)

    with pytest.raises(IllegalArgumentError, match=r"^balance\(of='current'\) needs the owned partitions: Fleet\("):
        Fleet(fleet.topics, fleet.members).balance(of="current")
    with pytest.raises(IllegalArgumentError, match=r"^of must be 'assign' or 'current', not 'now'$"):
        fleet.balance(of="now")  # type: ignore[arg-type]  # an invalid argument is the test


# ---- the recorded fleet


def test_the_balance_of_current_is_the_recorded_load(recorded: Fleet) -> None:
    balance = rows(recorded.balance(of="current"))

    loads = by_group(balance, "members", "partitions", "unowned", "least_loaded", "most_loaded")

    assert (3, 47, 0, 15, 16) == loads["payments-audit"]
    assert (3, 86, 14, 26, 34) == loads["inventory-sync"]
    assert (2, 24, 0, 12, 12) == loads["orders-enricher"]
    assert 14 == len(loads)


def test_recorded_groups_are_computed_by_their_own_assignors(
    recorded_tables: RecordedTables, recorded_answers: Answers
) -> None:
    found = by_group(recorded_answers["balance"], "group_protocol", "computed_as")
    given = by_group(recorded_tables.members.to_pylist(), "group_protocol", "assignor")

    assert (None, None) == found.pop("orders-enricher")
    assert ("classic", "stream") == given.pop("orders-enricher")
    assert given == found
    reason = "assignor 'stream' of group_protocol 'classic' is not supported; supported: "
    [problem] = recorded_answers["problems"]
    assert ("group", "orders-enricher", 1) == tuple(problem[name] for name in ("table", "name", "rows"))
    assert problem["problem"].startswith(reason)


def test_recorded_groups_of_uniform_have_the_load_of_uniform(recorded_answers: Answers) -> None:
    loads = by_group(recorded_answers["balance"], "partitions", "unowned", "least_loaded", "most_loaded")

    assert (47, 0, 15, 16) == loads["payments-audit"]


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
