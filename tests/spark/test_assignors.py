"""`Fleet` computes each group with its own assignor: drawn fleets, and the bundled recorded one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.errors import IllegalArgumentError
from assignor.spark import Scenario
from tests.spark import fleet_rows
from tests.spark.fleet_rows import ASSIGNMENTS, MEMBERS, TOPICS, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from assignor.spark import Fleet

pytestmark = pytest.mark.spark

RECORDED = Path(__file__).parents[2] / "data" / "fleet_webshop"
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


def choice(group_id: str) -> tuple[str, str]:
    """Return the protocol and the assignor of a drawn group."""
    return CHOICES[int(group_id.removeprefix("group-")) % len(CHOICES)]


class Drawn:
    """A fleet of groups with all assignors. Members own an assignment by range without every fifth run."""

    def __init__(self, groups: int, seed: int) -> None:
        self.topics, members = fleet_rows.draw(groups, seed)
        self.members: list[Row] = []
        for row in members:
            protocol, name = choice(row["group_id"])
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
def drawn() -> Drawn:
    return Drawn(700, seed=18)


@pytest.fixture(scope="module")
def recorded(spark: SparkSession) -> Fleet:
    from assignor.spark import Fleet

    found = Fleet.from_recording(RECORDED, spark=spark)
    assert found.current is not None
    return Fleet(found.topics.persist(), found.members.persist(), found.current.persist())


def by_group(frame: DataFrame, *names: str) -> dict[str, tuple[Any, ...]]:
    return {row["group_id"]: tuple(row[name] for name in names) for row in rows(frame)}


def test_each_drawn_group_gets_what_its_assignor_gives(spark: SparkSession, drawn: Drawn) -> None:
    expected = drawn.assigned()

    spans = rows(drawn.fleet(spark).assign())

    assert expected == fleet_rows.owned(spans)
    assert {name for name in CHOICES if name[1] != "stream"} == {choice(group_id) for _, group_id in expected}


def test_all_assignors_are_computed_in_one_job(spark: SparkSession, drawn: Drawn) -> None:
    asked = drawn.fleet(spark)

    queries = [asked.assign(), asked.balance(), asked.balance(of="current"), asked.moves(), asked.what_if(SCENARIOS)]

    plans = [query._jdf.queryExecution().executedPlan().toString() for query in queries]
    assert [1] * len(queries) == [plan.count("ArrowEvalPython") for plan in plans]


def test_the_reference_answers_the_same(spark: SparkSession) -> None:
    few = Drawn(70, seed=19)
    rust, reference = (few.fleet(spark, engine=engine) for engine in ("rust", "reference"))

    for found, expected in (
        (rust.assign(), reference.assign()),
        (rust.resolve(), reference.resolve()),
        (rust.balance(), reference.balance()),
        (rust.balance(of="current"), reference.balance(of="current")),
        (rust.moves(), reference.moves()),
        (rust.problems(), reference.problems()),
        (rust.what_if(SCENARIOS), reference.what_if(SCENARIOS)),
    ):
        assert in_order(expected) == in_order(found)


def test_what_resolve_gives_has_the_same_assignors(spark: SparkSession) -> None:
    from assignor.spark import Fleet

    asked = Drawn(70, seed=20).fleet(spark)

    assert in_order(asked.assign()) == in_order(Fleet(asked.topics, asked.resolve(), asked.current).assign())


def test_a_null_row_and_a_missing_column_are_range(spark: SparkSession, drawn: Drawn) -> None:
    from assignor.spark import Fleet

    asked = drawn.fleet(spark)
    none = asked.members.drop("assignor", "group_protocol", "generation")
    null = none.selectExpr("*", "cast(null as string) assignor", "cast(null as string) group_protocol")

    found = [in_order(Fleet(asked.topics, members, asked.current).assign()) for members in (none, null)]

    assert found[0] == found[1]
    assert {"range"} == {row["computed_as"] for row in rows(Fleet(asked.topics, none).balance())}


def test_the_balance_of_current_needs_the_table_current(spark: SparkSession, drawn: Drawn) -> None:
    from assignor.spark import Fleet

    asked = drawn.fleet(spark)

    with pytest.raises(IllegalArgumentError, match=r"^balance\(of='current'\) needs the owned partitions: Fleet\("):
        Fleet(asked.topics, asked.members).balance(of="current")
    with pytest.raises(IllegalArgumentError, match=r"^of must be 'assign' or 'current', not 'now'$"):
        asked.balance(of="now")  # type: ignore[arg-type]  # what is wrong is the point


# ---- the recorded fleet


def test_the_balance_of_current_is_the_recorded_load(recorded: Fleet) -> None:
    loads = by_group(recorded.balance(of="current"), "members", "partitions", "unowned", "least_loaded", "most_loaded")

    assert (3, 47, 0, 15, 16) == loads["payments-audit"]
    assert (3, 86, 14, 26, 34) == loads["inventory-sync"]
    assert (2, 24, 0, 12, 12) == loads["orders-enricher"]
    assert 14 == len(loads)


def test_recorded_groups_are_computed_by_their_own_assignors(recorded: Fleet) -> None:
    found = by_group(recorded.balance(), "group_protocol", "computed_as")
    given = by_group(recorded.members, "group_protocol", "assignor")

    assert (None, None) == found.pop("orders-enricher")
    assert ("classic", "stream") == given.pop("orders-enricher")
    assert given == found
    reason = "assignor 'stream' of group_protocol 'classic' is not supported; supported: "
    [problem] = rows(recorded.problems())
    assert ("group", "orders-enricher", 1) == tuple(problem[name] for name in ("table", "name", "rows"))
    assert problem["problem"].startswith(reason)


def test_recorded_groups_of_uniform_have_the_load_that_uniform_gives(recorded: Fleet) -> None:
    loads = by_group(recorded.balance(), "partitions", "unowned", "least_loaded", "most_loaded")

    assert (47, 0, 15, 16) == loads["payments-audit"]


def test_recorded_groups_that_are_settled_stay_as_they_are(recorded: Fleet) -> None:
    moved = {row["group_id"] for row in rows(recorded.moves())}

    # inventory-sync is in a storm of rebalances, and the last assignment of orders-next is that of another assignor.
    assert {"inventory-sync", "orders-next"} == moved


def test_the_last_assignment_of_orders_next_is_that_of_the_brokers_range(recorded: Fleet) -> None:
    from assignor.spark import Fleet

    members = recorded.members.where("group_id = 'orders-next'").selectExpr("*", "'range' as asked")
    members = members.drop("assignor").withColumnRenamed("asked", "assignor")
    assert recorded.current is not None

    current = recorded.current.where("group_id = 'orders-next'")

    assert [] == rows(Fleet(recorded.topics, members, current).moves())
