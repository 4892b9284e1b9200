"""Tests of members that subscribe by pattern, on both engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from assignor import Group, Subscription, Topics, assign, check, errors, plan
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
        ({"topics": [["t"]], "pattern": ["t"]}, "topics or a pattern, not both"),
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


def test_pattern_together_with_topics_raises() -> None:
    with pytest.raises(errors.IllegalArgumentError, match=r"topics or a pattern, not both: \('t',\) and 'orders\.\*'"):
        Subscription(("t",), pattern="orders.*")
    with pytest.raises(errors.IllegalArgumentError, match=r"Subscription: dialect must be one of .*, not 'perl'"):
        Subscription(pattern="a", dialect="perl")
    with pytest.raises(errors.WrongTypeError, match="Subscription: pattern must be a str, not int: 7"):
        Subscription(pattern=7)  # type: ignore[arg-type]  # deliberately wrong type


def test_pattern_cannot_be_encoded_as_consumer_protocol(engine: Engine) -> None:
    with pytest.raises(errors.IllegalArgumentError, match=r"cannot carry the pattern 'orders\.\*'; resolve"):
        encode_subscription(Subscription(pattern="orders.*"), engine=engine)
