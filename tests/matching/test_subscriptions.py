"""Tests of members that subscribe by pattern, on both engines."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from assignor import Group, Subscription, Topics, assign, check, errors, plan, resolve
from assignor.names import Dialect
from assignor.wire import encode_subscription
from tests.support.engines import Engine, outcomes

TOPICS = {"orders": 3, "orders-eu": 2, "mail": 4, "__consumer_offsets": 50}
BY_PATTERN: dict[str, Subscription | list[str]] = {
    "a": Subscription(pattern="orders.*"),
    "b": ["orders", "mail"],
    "c": Subscription(pattern="orders", dialect="python", rack="r1", group_instance_id="i"),
    "d": Subscription(pattern=".*"),
    "e": Subscription(pattern="nothing"),
}
BY_NAME: dict[str, Subscription | list[str]] = {
    "a": ["orders", "orders-eu"],
    "b": ["orders", "mail"],
    "c": Subscription(("orders", "orders-eu"), rack="r1", group_instance_id="i"),
    "d": ["orders", "orders-eu", "mail"],
    "e": [],
}


def shown(answer: Mapping[str, Any]) -> dict[str, list[tuple[str, int]]]:
    return {member: list(partitions) for member, partitions in answer.items()}


def test_pattern_is_assigned_like_its_matching_topics(engine: Engine) -> None:
    by_name = assign(TOPICS, BY_NAME, engine=engine)

    assert by_name == assign(TOPICS, BY_PATTERN, engine=engine)
    assert by_name == shown(plan(TOPICS, BY_PATTERN, engine=engine))
    assert not check(by_name, TOPICS, BY_PATTERN)


def test_group_and_topics_objects_resolve_patterns() -> None:
    by_name = assign(TOPICS, BY_NAME)
    topics = Topics(TOPICS)

    for given in (TOPICS, topics, topics):
        assert by_name == Group(given, BY_PATTERN).assign()
        assert plan(TOPICS, BY_NAME) == Group(given, BY_PATTERN).plan()
    assert plan(topics, BY_PATTERN).group_metadata_size("g") == plan(topics, BY_NAME).group_metadata_size("g")


def test_new_topics_match_and_internal_topics_do_not(engine: Engine) -> None:
    group = {"a": Subscription(pattern="(__)?[a-z_]+")}

    assert {"a": [("t", 0)]} == assign({"t": 1, "__consumer_offsets": 1}, group, engine=engine)
    assert {"a": [("t", 0), ("u", 0)]} == assign({"u": 1, "t": 1, "__consumer_offsets": 1}, group, engine=engine)
    broker = {"a": Subscription(pattern="(__)?[a-z_]+", dialect="re2j")}
    assert {"a": [("__consumer_offsets", 0), ("t", 0)]} == assign(
        {"t": 1, "__consumer_offsets": 1}, broker, engine=engine
    )


def test_member_table_may_have_patterns() -> None:
    columns = {
        "member_id": ["a", "b", "c", "d", "e"],
        "topics": [None, ["orders", "mail"], [], None, None],
        "pattern": ["orders.*", None, "orders", ".*", "nothing"],
        "dialect": [None, None, "python", "java", None],
        "rack": [None, None, "r1", None, None],
        "group_instance_id": [None, None, "i", None, None],
    }
    table = pa.table(columns)

    assert assign(TOPICS, BY_NAME) == assign(TOPICS, table)
    wanted = pa.array(columns["topics"], pa.list_(pa.string()))
    keys = pa.array([None, 0, 1, None, None], pa.int8())
    encoded = pa.DictionaryArray.from_arrays(keys, wanted.slice(1, 2))
    assert assign(TOPICS, BY_NAME) == assign(TOPICS, table.set_column(1, "topics", encoded))
    alone = pa.table({"member_id": ["a", "b"], "pattern": ["mail", "orders"]})
    assert assign(TOPICS, {"a": ["mail"], "b": ["orders"]}) == assign(TOPICS, alone)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"topics": [["t"]], "pattern": [["(", "t"]]}, r"member 'a': java pattern '\('"),
        ({"topics": [["t"]], "pattern": [["t", None]]}, "member 'a': a pattern is null"),
        ({"topics": [["t", None]], "pattern": ["t"]}, r"topics\[0\] has a null"),
        ({"topics": [["t"]], "pattern": [7]}, "column pattern must be of text or lists of text, not Int64"),
        ({"topics": [["t"]], "pattern": [[7]]}, "column pattern must be of lists of text, not List"),
        ({"topics": [["^("]], "dialect": ["librdkafka"]}, r"member 'a': librdkafka pattern '\^\('"),
        ({"topics": pa.array([None], pa.list_(pa.string())), "dialect": ["librdkafka"]}, r"topics\[0\] is null"),
        ({"topics": [None], "pattern": ["("]}, r"member 'a': java pattern '\('"),
        (
            {"topics": [None], "pattern": ["t"], "dialect": ["perl"]},
            "member 'a': dialect must be one of .*, not 'perl'",
        ),
        ({"topics": [None], "pattern": ["t"], "dialect": [""]}, "member 'a': dialect must be one of .*, not ''"),
    ],
)
def test_invalid_patterns_in_a_table_raise(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(errors.AssignorError, match=message):
        assign({"t": 1}, pa.table({"member_id": ["a"], **columns}))


def test_table_without_topics_and_patterns_raises() -> None:
    with pytest.raises(errors.IllegalArgumentError, match="the columns member_id and topics or pattern"):
        assign({"t": 1}, pa.table({"member_id": ["a"]}))


def test_row_without_topics_and_pattern_has_no_topics() -> None:
    alone = pa.table({"member_id": ["a"], "pattern": pa.array([None], pa.string()), "dialect": ["perl"]})

    assert {"a": []} == assign({"t": 1}, alone)


@pytest.mark.parametrize(
    ("topics", "subscription"),
    [
        ({"t": 1}, Subscription(pattern="(")),
        ({"t": 1}, Subscription(pattern="[z-a]", dialect="re2j")),
        ({"t": 1}, Subscription(pattern="^[", dialect="librdkafka")),
        ({"größe": 1}, Subscription(pattern=".*")),
        ({"x" * 250: 1}, Subscription(pattern=".*")),
    ],
)
def test_engines_raise_equal_errors_for_unresolvable_patterns(
    topics: dict[str, int], subscription: Subscription
) -> None:
    rust, reference = outcomes(topics, {"m": subscription})

    assert rust.error is not None
    assert rust == reference


def test_unmatchable_topic_names_are_allowed_without_patterns(engine: Engine) -> None:
    assert {"m": [("größe", 0)]} == assign({"größe": 1}, {"m": ["größe"]}, engine=engine)


def test_invalid_patterns_of_a_subscription_raise() -> None:
    with pytest.raises(errors.IllegalArgumentError, match=r"Subscription: dialect must be one of .*, not 'perl'"):
        Subscription(pattern="a", dialect="perl")  # type: ignore[arg-type]  # deliberately unknown
    with pytest.raises(errors.WrongTypeError, match="pattern must be a str or an iterable of str, not int: 7"):
        Subscription(pattern=7)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(errors.WrongTypeError, match="Subscription: pattern: a pattern must be a str, not int: 7"):
        Subscription(pattern=("a", 7))  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(errors.NullArgumentError, match="Subscription: pattern: a pattern must be a str, not None"):
        Subscription(pattern=(None,))  # type: ignore[arg-type]  # deliberately wrong type


LISTED = ("mail", "gone", "^orders$", "^orders-.*", "^orders$")


def test_a_list_of_librdkafka_has_names_and_patterns(engine: Engine) -> None:
    listed = Subscription(LISTED, dialect="librdkafka")

    assert (("mail", "gone"), ("^orders$", "^orders-.*")) == (listed.topics, listed.pattern)
    assert listed == Subscription(("mail", "gone"), pattern=("^orders$", "^orders-.*"), dialect="librdkafka")
    assert listed == pickle.loads(pickle.dumps(listed)) == replace(listed) == eval(repr(listed))
    assert assign(TOPICS, {"a": ["mail", "orders", "orders-eu"]}, engine=engine) == assign(
        TOPICS, {"a": listed}, engine=engine
    )
    assert {"a": ["mail", "orders", "orders-eu"]} == resolve({"a": listed}, TOPICS, engine=engine)


@pytest.mark.parametrize("dialect", ["java", "re2j", "python"])
def test_a_name_with_a_caret_stays_a_name_in_other_dialects(dialect: Dialect, engine: Engine) -> None:
    named = Subscription(("^orders",), dialect=dialect)

    assert (("^orders",), None) == (named.topics, named.pattern)
    assert {"a": []} == assign(TOPICS, {"a": named}, engine=engine)
    assert {"a": []} == resolve({"a": named}, TOPICS, engine=engine)


@pytest.mark.parametrize(
    ("given", "pattern"),
    [
        (None, None),
        ((), None),
        ("a", "a"),
        ("", ""),
        (["a"], "a"),
        (("a", "a"), "a"),
        (["b", "a", "b"], ("b", "a")),
        (iter("ab"), ("a", "b")),
    ],
)
def test_the_attribute_has_one_pattern_or_several(given: Any, pattern: str | tuple[str, ...] | None) -> None:
    found = Subscription(("t",), pattern=given)

    assert (("t",), pattern) == (found.topics, found.pattern)
    assert (() if pattern is None else (pattern,) if isinstance(pattern, str) else pattern) == found.patterns


def test_a_member_gets_the_union_of_its_names_and_patterns(engine: Engine) -> None:
    several = {
        "a": Subscription(("mail", "mail", "gone"), pattern=("orders", "orders.*", "mail")),
        "b": Subscription(("orders",), pattern="nothing", rack="r1"),
        "c": Subscription(("orders-eu",), pattern=".*", dialect="python", group_instance_id="i"),
    }
    names: dict[str, Subscription] = {
        "a": Subscription(("mail", "gone", "orders", "orders-eu")),
        "b": Subscription(("orders",), rack="r1"),
        "c": Subscription(("orders-eu", "mail", "orders"), group_instance_id="i"),
    }

    by_name = assign(TOPICS, names, engine=engine)
    assert by_name == assign(TOPICS, several, engine=engine)
    assert by_name == shown(plan(TOPICS, several, engine=engine))
    assert by_name == Group(Topics(TOPICS), several).assign()
    assert not check(by_name, TOPICS, several)
    assert plan(TOPICS, names).to_json() == plan(TOPICS, several).to_json()
    found = {"a": ["mail", "orders", "orders-eu"], "b": ["orders"], "c": ["orders-eu", "orders", "mail"]}
    assert found == resolve(several, TOPICS, engine=engine)


def test_check_accepts_topics_of_a_name_and_of_each_pattern() -> None:
    member = Subscription(("mail",), pattern=("orders", "__consumer.*"))
    owned = {"a": [("mail", 0), ("orders", 1), ("orders-eu", 0), ("__consumer_offsets", 1)]}

    found = check(owned, TOPICS, {"a": member}).not_subscribed

    assert (("a", ("__consumer_offsets", 1)), ("a", ("orders-eu", 0))) == found


def test_a_member_table_may_have_names_and_several_patterns() -> None:
    several = {
        "a": Subscription(("mail", "gone"), pattern=("orders", "orders-.*")),
        "b": Subscription(("mail", "^orders"), dialect="librdkafka"),
        "c": Subscription(("^orders", "mail"), dialect="java"),
        "d": Subscription(pattern=("orders", "mail"), dialect="python"),
        "e": Subscription(("mail",)),
    }
    table = pa.table(
        {
            "member_id": list(several),
            "topics": [["mail", "gone"], ["mail", "^orders"], ["^orders", "mail"], None, ["mail"]],
            "pattern": [["orders", "orders-.*"], None, [], ["orders", "mail"], None],
            "dialect": [None, "librdkafka", "java", "python", None],
        }
    )

    assert plan(TOPICS, several) == plan(TOPICS, table)
    lists = table.column("topics").combine_chunks()
    shared = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None, 2], pa.int8()), lists.take(pa.array([0, 1, 4])))
    several["c"] = Subscription(("mail", "^orders"))
    assert plan(TOPICS, several) == plan(TOPICS, table.set_column(1, "topics", shared))


def test_pattern_cannot_be_encoded_as_consumer_protocol(engine: Engine) -> None:
    with pytest.raises(errors.IllegalArgumentError, match=r"cannot carry the pattern 'orders\.\*'; resolve"):
        encode_subscription(Subscription(pattern="orders.*"), engine=engine)
    with pytest.raises(errors.IllegalArgumentError, match=r"cannot carry the pattern 'o\.\*', 'p'; resolve"):
        encode_subscription(Subscription(("t",), pattern=("o.*", "p")), engine=engine)
