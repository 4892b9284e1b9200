"""Input of `Fleet` in a real Spark session: columns that may be missing, lists of names and patterns, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor.errors import IllegalArgumentError, NullArgumentError, WrongTypeError
from assignor.ordering import java_order
from assignor.spark import Scenario
from tests.spark.fleet_rows import Row, fleet, rows, small

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

pytestmark = pytest.mark.spark

BAD = {
    "another type": (
        "cluster string, group_id string, member_id string, topics string",
        r"^members: column topics must be of type array<string>, not string$",
    ),
    "missing": (
        "cluster string, member_id string, topics array<string>",
        r"^members has no column group_id of type string; its columns are cluster, member_id, topics$",
    ),
    "neither": (
        "cluster string, group_id string, member_id string",
        r"^members has no column topics of type array<string> and no pattern; its columns are cluster, group_id, ",
    ),
}


@pytest.mark.parametrize(("schema", "message"), BAD.values(), ids=BAD)
def test_wrong_columns_are_an_error_before_any_job(spark: SparkSession, schema: str, message: str) -> None:
    from assignor.spark import Fleet

    topics = spark.createDataFrame([], "cluster string, topic string, partitions int")

    with pytest.raises(WrongTypeError, match=message):
        Fleet(topics, spark.createDataFrame([], schema))
    with pytest.raises(WrongTypeError, match=r"^topics: column partitions must be of type int, not double$"):
        Fleet(topics.selectExpr("cluster", "topic", "double(partitions) partitions"), topics)
    with pytest.raises(NullArgumentError, match=r"^topics must be a Spark DataFrame, not None$"):
        Fleet(None, topics)  # type: ignore[arg-type]  # an invalid argument is the test
    with pytest.raises(WrongTypeError, match=r"^topics has several columns topic; its columns are cluster, "):
        Fleet(topics.select("*", "topic"), topics)
    with pytest.raises(WrongTypeError, match=r"^topics has several columns topic; .*, partitions, TOPIC$"):
        Fleet(topics.selectExpr("*", "1 TOPIC"), topics)
    with pytest.raises(WrongTypeError, match=r"^topics has no column racks of type array<array<string>>; .*, Racks$"):
        Fleet(topics.selectExpr("*", "null Racks"), topics)
    members = spark.readStream.format("rate").load()
    members = members.selectExpr("'c' cluster", "'g' group_id", "'a' member_id", "'.' pattern")
    with pytest.raises(WrongTypeError, match=r"^members must not be a streaming DataFrame; in foreachBatch, pass "):
        Fleet(topics, members)


def test_optional_columns_may_be_missing(spark: SparkSession) -> None:
    from assignor.spark import Fleet

    topics = spark.createDataFrame([("c", "t", 3)], "cluster string, topic string, partitions int")
    named = spark.createDataFrame(
        [("c", "g", "a", ["t"], 1)],
        "cluster string, group_id string, member_id string, topics array<string>, other int",
    )
    by_pattern = spark.createDataFrame(
        [("c", "g", "a", "t.*")], "cluster string, group_id string, member_id string, pattern string"
    )

    expected = [{"cluster": "c", "group_id": "g", "member_id": "a", "topic": "t", "start": 0, "count": 3}]
    assert expected == rows(Fleet(topics, named).assign())
    assert expected == rows(Fleet(topics, by_pattern).assign())


def test_a_member_may_have_names_and_several_patterns(spark: SparkSession) -> None:
    from assignor.spark import Fleet

    topics = spark.createDataFrame(
        [("c", name, 1) for name in ("t", "u", "v1", "v2", "w")], "cluster string, topic string, partitions int"
    )
    several = [
        ("names and patterns", ["t", "gone"], ["v.", "u"], None),
        ("a list of librdkafka", ["t", "^v", "^u$"], None, "librdkafka"),
        ("names only", ["w", "^v"], [], "java"),
        ("a pattern", None, ["^[tu]"], "python"),
        ("neither", None, None, None),
    ]
    keys = "cluster string, group_id string, member_id string, topics array<string>"
    lists = spark.createDataFrame(
        [("c", "g", *row) for row in several], f"{keys}, pattern array<string>, dialect string"
    )
    found = {row["member_id"]: row["topics"] for row in rows(Fleet(topics, lists).resolve())}

    assert {
        "names and patterns": ["t", "u", "v1", "v2"],
        "a list of librdkafka": ["t", "u", "v1", "v2"],
        "names only": ["w"],
        "a pattern": ["t", "u"],
        "neither": [],
    } == found
    wrong = lists.selectExpr("cluster", "group_id", "member_id", "1 pattern")
    with pytest.raises(WrongTypeError, match=r"^members: column pattern must be of type string or array<string>, not"):
        Fleet(topics, wrong)


def test_columns_may_differ_by_case_if_spark_distinguishes_case(spark: SparkSession) -> None:
    from assignor.spark import Fleet

    topics = spark.createDataFrame([("c", "t", 3)], "cluster string, topic string, partitions int")
    schema = "cluster string, CLUSTER int, group_id string, member_id string, topics array<string>, Assignor string"
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        given = Fleet(topics, spark.createDataFrame([("c", 1, "g", "a", ["t"], "unknown")], schema))
        found = rows(given.assign())
    finally:
        spark.conf.unset("spark.sql.caseSensitive")

    assert [{"cluster": "c", "group_id": "g", "member_id": "a", "topic": "t", "start": 0, "count": 3}] == found


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([{"member_id": "a"}, {"member_id": "a"}], "group 'g' of cluster 'c': member 'a' is given twice"),
        (
            [{"member_id": "a", "pattern": "(", "topics": [f"t{number}" for number in range(20)]}],
            "group 'g' of cluster 'c': member 'a': java pattern '(', position 0: ",
        ),
        ([{"member_id": "a", "topics": [None]}], "group 'g' of cluster 'c': member 'a': a subscribed topic is null"),
        ([{"member_id": "a", "cluster": "twice"}], "cluster 'twice', topic 't': the topic is given twice"),
    ],
    ids=["a member twice", "an invalid pattern", "a null topic", "a topic twice"],
)
def test_an_error_of_a_worker_names_the_place_and_the_cause(
    spark: SparkSession, members: list[Row], message: str
) -> None:
    from pyspark.errors import PythonException

    topics, members = small(*members)
    topics += [
        {"cluster": row["cluster"], "topic": "t", "partitions": 2} for row in 2 * members if row["cluster"] != "c"
    ]
    with pytest.raises(PythonException) as raised:
        fleet(spark, topics, members).assign().collect()
    assert message in str(raised.value)


def test_the_other_groups_are_answered_without_invalid_ones(spark: SparkSession) -> None:
    good = [{"group_id": f"good {number}", "member_id": "a", "topics": ["t"]} for number in range(20)]
    bad: list[Row] = [
        *2 * [{"group_id": "twice", "member_id": "a", "topics": ["t"]}],
        {"group_id": "pattern", "member_id": "b", "pattern": "("},
        {"group_id": "topic", "member_id": "c", "topics": ["t", "bad"]},
    ]
    topics, members = small(*good)
    owned = [{"cluster": "c", "group_id": "good 3", "member_id": "a", "topic": "t", "start": 0, "count": 2}]
    wrong = [{"cluster": "c", "group_id": "span", "member_id": "a", "topic": "t", "start": 2, "count": 0}]
    alone = fleet(spark, topics, members, owned)
    bad_topics = 2 * [{"cluster": "c", "topic": "bad", "partitions": 1}]
    mixed = fleet(spark, topics + bad_topics, small(*good, *bad)[1], owned)
    valid = mixed.leave_out_invalid()
    scenario = Scenario("more").add_members(2)

    for name, arguments in {"assign": (), "resolve": (), "balance": (), "moves": (), "what_if": (scenario,)}.items():
        found = rows(getattr(valid, name)(*arguments))
        assert rows(getattr(alone, name)(*arguments)) == found, name
        assert found
    with pytest.raises(Exception, match=r"cluster 'c', topic 'bad': the topic is given twice"):
        mixed.assign().collect()
    expected = {
        ("topics", "bad"): "the topic is given twice",
        ("group", "twice"): "group 'twice' of cluster 'c': member 'a' is given twice",
        ("group", "pattern"): "group 'pattern' of cluster 'c': member 'b': java pattern '(', position 0: ",
        ("group", "topic"): "group 'topic' of cluster 'c': topic 'bad': the topic is given twice",
        ("group", "span"): "group 'span' of cluster 'c': member 'a': start 2 and count 0 of topic 't' are not a range ",
    }
    problems = rows(fleet(spark, topics + bad_topics, small(*good, *bad)[1], owned + wrong).problems())
    assert sorted(expected) == sorted((row["table"], row["name"]) for row in problems)
    for row in problems:
        assert row["problem"].startswith(expected[row["table"], row["name"]])
        assert ("c", 1) == (row["cluster"], row["rows"])


def test_bytes_that_are_not_utf_8_spoil_only_their_groups(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from assignor.spark import Fleet

    # Each # becomes a byte that no UTF-8 has.
    given = [
        ("good", "a", ["t"], "r"),
        ("topic", "b", ["t", "u#"], "r"),
        ("rack", "c", ["t"], "r#"),
        ("g#", "d", ["t"], "r"),
        ("member", "e#", ["t"], "r"),
        ("member", "f", ["u"], "r"),
        ("pattern", "h", None, "r"),
        ("bad", "i", ["v#"], "r"),
        ("without#", None, ["t"], "r"),
    ]
    schema = "group_id string, member_id string, topics array<string>, rack string"

    def raw(text: Column) -> Column:
        return F.call_function("string", F.unhex(F.replace(F.hex(text), F.lit("23"), F.lit("FF"))))

    members = spark.createDataFrame(given, schema).select(
        F.lit("c").alias("cluster"),
        *(raw(F.col(name)).alias(name) for name in ("group_id", "member_id", "rack")),
        F.transform("topics", raw).alias("topics"),
        F.when(F.col("topics").isNull(), raw(F.lit("t#"))).alias("pattern"),
    )
    rows_of_topics = [("t", 3, [["r"]] * 3), ("u", 2, None), ("v#", 1, None), ("w", 1, [["r#"]])]
    topics = spark.createDataFrame(rows_of_topics, "topic string, partitions int, racks array<array<string>>").select(
        F.lit("c").alias("cluster"),
        raw(F.col("topic")).alias("topic"),
        "partitions",
        F.transform("racks", lambda racks: F.transform(racks, raw)).alias("racks"),
    )
    mixed = Fleet(topics, members)

    problems = rows(mixed.problems())
    found = {(row["table"], row["name"]): row["problem"] for row in problems}
    assert len(found) == len(problems)

    wrong = "text that is not UTF-8:"
    assert {
        ("topics", r"v\xff"): rf"topic: {wrong} 'v\xff'",
        ("topics", "w"): rf"racks: {wrong} 'r\xff'",
        ("group", "topic"): rf"group 'topic' of cluster 'c': member 'b': topics: {wrong} 'u\xff'",
        ("group", "rack"): rf"group 'rack' of cluster 'c': member 'c': rack: {wrong} 'r\xff'",
        ("group", r"g\xff"): rf"group 'g\xff' of cluster 'c': member 'd': group_id: {wrong} 'g\xff'",
        ("group", "member"): rf"group 'member' of cluster 'c': member 'e\xff': member_id: {wrong} 'e\xff'",
        ("group", "pattern"): rf"group 'pattern' of cluster 'c': member 'h': pattern: {wrong} 't\xff'",
        ("members", "without\N{REPLACEMENT CHARACTER}"): "no member_id",
        ("group", "bad"): rf"group 'bad' of cluster 'c': member 'i': topics: {wrong} 'v\xff'",
    } == found
    expected = {"cluster": "c", "group_id": "good", "member_id": "a", "topic": "t", "start": 0, "count": 3}
    assert [expected] == rows(mixed.leave_out_invalid().assign())
    with pytest.raises(Exception, match=rf"cluster 'c', topic '(v\\xff|w)': .*{wrong}"):
        mixed.assign().collect()
    with pytest.raises(Exception, match=rf"group '.*' of cluster 'c': member '.*': .*{wrong}"):
        Fleet(topics.where("topic in ('t', 'u')"), members).assign().collect()


def test_groups_that_a_scenario_names_and_the_fleet_lacks_have_a_row(spark: SparkSession) -> None:
    owned = [{"cluster": "c", "group_id": "empty", "member_id": "a", "topic": "t", "start": 0, "count": 2}]
    given = fleet(spark, *small({"group_id": "g", "member_id": "a", "topics": ["t"], "assignor": "sticky"}), owned)
    scenarios = [
        Scenario("one", {"g", "x", "it's", "empty"}).add_members(1),
        Scenario("all").grow_partitions({"nowhere": 3}),
        Scenario("none", {"x"}),
    ]

    found = {(row["scenario"], row["cluster"], row["group_id"]): row for row in rows(given.what_if(scenarios))}

    assert {
        ("one", "c", "g"): [],
        ("one", "c", "empty"): [],
        ("one", None, "x"): ["the fleet has no members of group 'x'"],
        ("one", None, "it's"): ["the fleet has no members of group 'it's'"],
        ("all", "c", "empty"): [],
        ("all", "c", "g"): ["topic 'nowhere' does not exist, so it does not grow"],
        ("none", None, "x"): ["the fleet has no members of group 'x'"],
    } == {key: row["problems"] for key, row in found.items()}
    missing = found["none", None, "x"]
    assert {"scenario", "group_id", "problems"} == {name for name, value in missing.items() if value is not None}


def test_invalid_arguments_are_errors_before_any_job(spark: SparkSession) -> None:
    given = fleet(spark, *small({"member_id": "a"}))

    with pytest.raises(IllegalArgumentError, match=r"^moves\(\) needs the owned partitions: Fleet\(topics, "):
        given.moves()
    with pytest.raises(IllegalArgumentError, match=r"^scenarios must contain at least one Scenario$"):
        given.what_if([])
    with pytest.raises(IllegalArgumentError, match=r"^two scenarios have the name 'x'; names must be unique$"):
        given.what_if([Scenario("x"), Scenario("x")])
    with pytest.raises(WrongTypeError, match=r"^a scenario must be a Scenario, not str: 'x'$"):
        given.what_if(["x"])  # type: ignore[list-item]  # an invalid argument is the test
    with pytest.raises(WrongTypeError, match=r"^max_message_bytes must be an int, not float: 1.5$"):
        given.balance(max_message_bytes=1.5)  # type: ignore[arg-type]  # an invalid argument is the test
    with pytest.raises(IllegalArgumentError, match=r"^balance\(of='current'\) needs the owned partitions: Fleet\("):
        given.balance(of="current")
    with pytest.raises(IllegalArgumentError, match=r"^of must be 'assign' or 'current', not 'now'$"):
        given.balance(of="now")  # type: ignore[arg-type]  # an invalid argument is the test
    for limit in (-1, 2**63):
        with pytest.raises(IllegalArgumentError, match=rf"^max_message_bytes must be from 0 to \d+, not {limit}$"):
            given.what_if(Scenario("x"), max_message_bytes=limit)


def test_lists_of_topics_arrive_unchanged(spark: SparkSession) -> None:
    names = ["", "t", "\0", "\uffff", "\U0001f600", " ", ",", "a,b", "\N{LATIN SMALL LETTER Y WITH DIAERESIS}"]
    lists: list[list[str] | None] = [None, [], *([name] for name in names), names, ["", ""], [*names] * 100]
    topics = [{"cluster": "c", "topic": name, "partitions": 1} for name in names]
    _, members = small(*({"member_id": f"{number:03}", "topics": each} for number, each in enumerate(lists)))
    given = fleet(spark, topics, members)

    found = {row["member_id"]: row["topics"] for row in rows(given.resolve())}
    [balance] = rows(given.balance())

    assert [sorted(set(each or ()), key=java_order) for each in lists] == [found[key] for key in sorted(found)]
    assert (len(lists), 1) == (balance["members"], balance["unsubscribed_members"])
