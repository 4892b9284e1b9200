"""`Clusters.resolve` and `Clusters.assign`: subscriptions, assignments, and the accepted columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from assignor import _core, errors
from tests.fleet.columns import (
    CLUSTERS,
    GROUPS,
    Row,
    answer,
    ask,
    cluster,
    clusters,
    group,
    groups,
    member,
    outcome_of,
)

TOPICS = cluster({"t": 5, "u": 2, "tu": 1, "__consumer_offsets": 3, "é": 1})


def test_a_group_without_a_list_of_members_is_empty() -> None:
    asked = {"cluster": "c", "group_id": "g", "members": None}

    assert [[]] == ask("assign", [TOPICS], [asked]) == ask("resolve", [TOPICS], [asked])


# ---- accepted columns

ASKED = groups(
    group(member("a", "t"), member("b", "u"), id="g0", current=[("a", "t", 0, 9)]),
    None,
    group(member("a", "gone"), id="g2"),
    group(member("a", pattern="t.*"), member("b", "t", group_instance_id="x"), id="g3"),
)
SCENARIOS = [("more", None, [("add_members", 2)])]
VERBS: dict[str, tuple[Any, ...]] = {
    "resolve": (),
    "assign": (),
    "balance": (),
    "moves": (),
    "what_if": (SCENARIOS,),
    "assign_after": (SCENARIOS,),
}


def large(kind: pa.DataType) -> pa.DataType:
    """Return the type with large lists and large strings."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, large(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.large_list(large(kind.value_type))
    return pa.large_string() if pa.types.is_string(kind) else kind


@pytest.mark.parametrize("verb", VERBS)
def test_large_types_are_accepted(verb: str) -> None:
    known, asked = (pa.array(column.to_pylist(), large(column.type)) for column in (clusters(TOPICS), ASKED))

    found = answer(verb, known, asked, *VERBS[verb])

    assert answer(verb, clusters(TOPICS), ASKED, *VERBS[verb]).equals(found)


@pytest.mark.parametrize("verb", VERBS)
def test_a_slice_is_read_as_its_own_rows(verb: str) -> None:
    known = pa.array([[cluster({"t": 1})], [TOPICS], [cluster({"u": 1})]], CLUSTERS).slice(1, 1)

    found = answer(verb, known, ASKED.slice(2, 2), *VERBS[verb])

    assert answer(verb, clusters(TOPICS), ASKED, *VERBS[verb]).slice(2).equals(found)


@pytest.mark.parametrize("verb", VERBS)
def test_small_columns_concatenate_to_the_whole_answer(verb: str) -> None:
    known = _core.Clusters(clusters(TOPICS))

    columns = [pa.array(column) for column in getattr(known, verb)(ASKED, *VERBS[verb], column_bytes=1)]

    assert 4 == sum(map(len, columns))
    assert len(columns) >= 2
    assert answer(verb, clusters(TOPICS), ASKED, *VERBS[verb]).equals(pa.concat_arrays(columns))


def test_without_groups_there_is_no_column() -> None:
    assert [] == _core.Clusters(clusters(TOPICS)).assign(groups())


def test_missing_optional_columns_count_as_null() -> None:
    least = pa.array([{"cluster": "c", "group_id": "g", "members": [{"member_id": "a", "topics": ["u"]}]}])
    kind = pa.list_(pa.struct([("cluster", pa.string()), ("topics", pa.list_(TOPIC))]))
    known = pa.array([[{"cluster": "c", "topics": [{"topic": "u", "partitions": 1}]}]], kind)

    assert [[{"member_id": "a", "topic": "u", "start": 0, "count": 1}]] == answer("assign", known, least).to_pylist()


TOPIC = pa.struct([("topic", pa.string()), ("partitions", pa.int32())])


def test_values_under_a_null_are_not_read() -> None:
    fields = [pa.array(["c", "c"]), pa.array(["g", "h"]), ASKED.field("members").slice(0, 1).take([0, 0])]
    hidden = pa.StructArray.from_arrays(fields, ["cluster", "group_id", "members"], mask=pa.array([True, False]))

    found = answer("assign", clusters(TOPICS), hidden)

    assert [0, 2] == [len(spans) for spans in found.to_pylist()]


# ---- invalid input


def without(name: str) -> pa.DataType:
    return pa.struct([field for field in GROUPS if field.name != name])


def with_member(name: str, kind: pa.DataType) -> pa.DataType:
    return pa.struct(
        [
            ("cluster", pa.string()),
            ("group_id", pa.string()),
            ("members", pa.list_(pa.struct([("member_id", pa.string()), (name, kind)][name == "member_id" :]))),
        ]
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (pa.int64(), "groups must be structs"),
        (without("cluster"), "groups must have a field cluster"),
        (without("group_id"), "groups must have a field group_id"),
        (without("members"), "groups must have a field members"),
        (pa.struct([("members", pa.string())]), "members must be lists"),
        (pa.struct([("members", TOPIC)]), "members must be lists"),
        (pa.struct([("members", pa.list_(pa.string()))]), "members must be structs"),
        (with_member("member_id", pa.int64()), "member_id must be text"),
        (with_member("rack", pa.binary()), "rack must be text"),
        (with_member("topics", pa.string()), "topics must be lists"),
        (with_member("topics", pa.list_(pa.int32())), "topics must be text"),
        (with_member("topics", pa.list_view(pa.string())), "topics must be lists"),
        (with_member("pattern", pa.string_view()), "pattern must be text"),
        (with_member("dialect", pa.dictionary(pa.int32(), pa.string())), "dialect must be text"),
        (with_member("topics", pa.dictionary(pa.int32(), pa.string())), "topics must be lists"),
        (with_member("topics", pa.dictionary(pa.int32(), pa.list_(pa.int32()))), "topics must be text"),
        (pa.struct([*without("current"), ("current", pa.list_(TOPIC))]), "current must have a field member_id"),
    ],
)
def test_a_column_of_another_type_is_named(kind: pa.DataType, message: str) -> None:
    error, text = outcome_of("assign", clusters(TOPICS), pa.nulls(1, kind))

    assert ("WrongTypeError", message) == (error, text.partition(", not ")[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pa.nulls(1, pa.string()), "clusters must be lists"),
        (pa.array([["c"]]), "clusters must be structs"),
        (pa.array([[{"topics": []}]]), "clusters must have a field cluster"),
        (pa.array([[{"cluster": "c"}]]), "clusters must have a field topics"),
        (pa.array([[{"cluster": 1, "topics": []}]]), "cluster must be text"),
        (pa.array([[{"cluster": "c", "topics": 1}]]), "topics must be lists"),
        (pa.array([[{"cluster": "c", "topics": [1]}]]), "topics must be structs"),
        (pa.array([[{"cluster": "c", "topics": [{"partitions": 1}]}]]), "topics must have a field topic"),
        (pa.array([[{"cluster": "c", "topics": [{"topic": "t"}]}]]), "topics must have a field partitions"),
        (pa.array([[{"cluster": "c", "topics": [{"topic": "t", "partitions": 1}]}]]), "partitions must be int"),
    ],
)
def test_clusters_of_another_type_are_named(given: pa.Array, message: str) -> None:
    error, text = outcome_of("assign", given, ASKED)

    assert ("WrongTypeError", message) == (error, text.partition(", not ")[0])


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ([("t", -1, None)], "cluster 'c', topic 't': partitions must be 0 or more, not -1"),
        ([("t", None, None)], "cluster 'c', topic 't': partitions must be 0 or more, not null"),
        ([("t", 2, [["x"]])], "cluster 'c', topic 't': racks are given for 1 partitions, but the topic has 2"),
        ([("t", 2, None), ("t", 2, None)], "cluster 'c', topic 't': the topic is given twice"),
        ([(None, 2, None)], "cluster 'c': a topic has no name"),
        ([None], "cluster 'c': a topic has no name"),
    ],
)
def test_an_invalid_topic_is_named(topics: list[Any], message: str) -> None:
    rows = [dict(zip(("topic", "partitions", "racks"), row, strict=True)) if row else None for row in topics]

    found = outcome_of("assign", clusters({"cluster": "c", "topics": rows}), ASKED)

    assert ("IllegalArgumentError", message) == found


def distorted(column: str) -> tuple[pa.Array, pa.Array]:
    """Return a cluster and a group with a member; one column has a byte that is not UTF-8, as Spark's strings may."""

    def texts(name: str) -> pa.Array:
        return pa.array([b"\xff" if name == column else b"t", None]).view(pa.string()).slice(0, 1)

    def lists(items: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)

    topic = {"topic": texts("topic"), "partitions": pa.array([1], pa.int32()), "racks": lists(lists(texts("racks")))}
    known = {"cluster": texts("cluster"), "topics": lists(structs(topic))}
    by_name = {"member_id": texts("member_id"), "rack": texts("rack"), "topics": lists(texts("topics"))}
    members = {**by_name, "topics": pa.nulls(1, pa.list_(pa.string())), "pattern": texts("pattern")}
    members = members if column == "pattern" else by_name
    asked = {"cluster": pa.array(["t"]), "group_id": texts("group_id"), "members": lists(structs(members))}
    return lists(structs(known)), structs(asked)


def structs(columns: dict[str, pa.Array]) -> pa.Array:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


@pytest.mark.parametrize("verb", ["resolve", "assign"])
@pytest.mark.parametrize(
    "column", ["cluster", "topic", "racks", "group_id", "member_id", "rack", "topics", "pattern", None]
)
def test_text_that_is_not_utf_8_is_rejected(verb: str, column: str | None) -> None:
    found = outcome_of(verb, *distorted(column or "none"))

    expected = "IllegalArgumentError" if column else str(found.type)
    assert (expected, bool(column)) == (found.type, "text that is not UTF-8: '\ufffd'" in str(found.answer))


def test_unused_text_may_be_invalid() -> None:
    known, asked = distorted("none")
    members = pa.array([b"\xff", b"t"]).view(pa.string())
    hidden = pa.Array.from_buffers(pa.string(), 2, [pa.array([False, True]).buffers()[1], *members.buffers()[1:]])
    columns = {"member_id": hidden, "topics": pa.array([["t"], ["t"]])}
    lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), structs(columns))
    asked = structs({"cluster": asked.field("cluster"), "group_id": asked.field("group_id"), "members": lists})

    assert [[{"member_id": "t", "topic": "t", "start": 0, "count": 1}]] == answer("assign", known, asked).to_pylist()


def test_a_cluster_must_have_a_distinct_name() -> None:
    twice = outcome_of("assign", clusters(TOPICS, TOPICS), ASKED)
    unnamed = outcome_of("assign", clusters({"cluster": None, "topics": []}), ASKED)

    assert ("IllegalArgumentError", "cluster 'c' is given twice") == twice
    assert ("IllegalArgumentError", "clusters: a cluster has no name") == unnamed


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (group(member("a", "t"), member("a", "u")), "member 'a' is given twice"),
        (group({"member_id": "a", "topics": ["t", None], "pattern": "t"}), "a subscribed topic is null"),
        (group({"member_id": "a", "topics": ["t", None]}), "a subscribed topic is null"),
        (group({"member_id": "b", "topics": [""]}, {"member_id": "a", "topics": [None]}), "is null"),
        (group(member("a", pattern="t", dialect="perl")), "dialect must be one of 'java', 're2j', 'librdkafka',"),
    ],
)
@pytest.mark.parametrize("verb", VERBS)
def test_an_invalid_group_is_named(verb: str, asked: Row, message: str) -> None:
    kind, found = outcome_of(verb, clusters(TOPICS), groups(asked), *VERBS[verb])

    assert "IllegalArgumentError" == kind
    assert found.startswith("group 'g' of cluster 'c': ")
    assert message in found
    assert not asked["members"] or "member 'a': " in found or "member 'a' is" in found


def test_errors_of_patterns_name_the_member() -> None:
    known = _core.Clusters(clusters(TOPICS))

    with pytest.raises(errors.InvalidPatternError) as caught:
        known.assign(groups(group(member("b", "t"), member("a", pattern="("))))

    assert ("group 'g' of cluster 'c': member 'a'", "(", "java") == (
        caught.value.owner,
        caught.value.pattern,
        caught.value.dialect,
    )
