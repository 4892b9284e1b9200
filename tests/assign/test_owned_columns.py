"""Columns of owned partitions, generations and user data: they give the same result as a `Subscription`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pytest

from assignor import Group, MemberColumns, StickyAssignor, Subscription, TopicPartition, assign, errors, plan
from tests.support.arrow_views import needs_views

TOPICS = {"t": 4, "u": 3}

OWNED = {
    "a": [("t", 3), ("u", 0), ("t", 0)],
    "b": [],
    "c": [("gone", 1), ("u", 0), ("t", 2**31)],
    "d": [],
}
GENERATIONS = [4, None, 5, -1]


def user_data(partitions: list[tuple[str, int]], generation: int) -> bytes | None:
    """Return the user data of a sticky member."""
    member = StickyAssignor()
    member.on_assignment([TopicPartition(*partition) for partition in partitions], generation)
    return member.subscription_user_data(["t"])


DATA = [None, user_data([("u", 2)], 3), None, b""]

MEMBERS = {
    member: Subscription(
        ("t", "u"),
        owned_partitions=tuple(TopicPartition(*partition) for partition in owned),
        generation=generation,
        user_data=data,
    )
    for (member, owned), generation, data in zip(OWNED.items(), GENERATIONS, DATA, strict=True)
}
STRUCTS = pa.list_(pa.struct({"topic": pa.string(), "partition": pa.int64()}))
LARGE_STRUCTS = pa.large_list(
    pa.struct({"more": pa.int8(), "partition": pa.uint32(), "topic": pa.dictionary(pa.int8(), pa.string())})
)


def structs(kind: pa.DataType) -> pa.Array:
    """Return owned partitions as an Arrow column; a member without partitions has an empty list or null."""
    rows = [[{"topic": topic, "partition": id} for topic, id in owned] for owned in OWNED.values()]
    return pa.array([*rows[:3], None], kind)


OWNED_FORMS: dict[str, Callable[[], Any]] = {
    "lists": lambda: list(OWNED.values()),
    "tuples, views and None": lambda: (tuple(OWNED["a"]), None, dict.fromkeys(OWNED["c"]).keys(), []),
    "named tuples": lambda: [list(subscription.owned_partitions) for subscription in MEMBERS.values()],
    "Arrow": lambda: structs(STRUCTS),
    "large Arrow": lambda: structs(LARGE_STRUCTS),
    "a slice of Arrow": lambda: pa.concat_arrays([structs(STRUCTS)] * 2)[4:],
    "Arrow in pieces": lambda: pa.chunked_array([structs(STRUCTS)[:2], structs(STRUCTS)[2:]]),
    "polars": lambda: polars.from_arrow(structs(STRUCTS)),
}
GENERATION_FORMS: dict[str, Callable[[], Any]] = {
    "a list": lambda: GENERATIONS,
    "int64": lambda: np.array([4, -1, 5, -7]),
    "every other entry of uint64": lambda: np.array([4, 0, 2**63, 0, 5, 0, 2**31, 0], np.uint64)[::2],
    "numpy of objects": lambda: np.array([np.int8(4), None, 5, 2**70], dtype=object),
    "Arrow": lambda: pa.array(GENERATIONS, pa.int32()),
    "Arrow of uint64": lambda: pa.array([4, 2**64 - 1, 5, None], pa.uint64()),
    "polars": lambda: polars.Series(GENERATIONS),
}
DATA_FORMS: dict[str, Callable[[], Any]] = {
    "a list": lambda: DATA,
    "Arrow": lambda: pa.array(DATA, pa.binary()),
    "large Arrow": lambda: pa.array(DATA, pa.large_binary()),
    "a view in Arrow": lambda: pa.array(DATA, pa.binary_view()),
    "polars": lambda: polars.Series(DATA, dtype=polars.Binary),
}


def columns(**optional: Any) -> MemberColumns:
    """Return `MEMBERS` as columns, some of them in another form."""
    known: dict[str, Any] = {"owned_partitions": list(OWNED.values()), "generation": GENERATIONS, "user_data": DATA}
    return MemberColumns(list(MEMBERS), [0] * len(MEMBERS), [["t", "u"]], **(known | optional))


def assert_equals_members(members: Any) -> None:
    """Check that columns give the same answer as `MEMBERS`."""
    for assignor in ("sticky", "cooperative-sticky"):
        assert assign(TOPICS, MEMBERS, assignor=assignor) == assign(TOPICS, members, assignor=assignor)
    expected = [plan(TOPICS, MEMBERS).group_metadata_size("g", versions=version) for version in range(4)]
    found = plan(TOPICS, members)
    assert expected == [found.group_metadata_size("g", versions=version) for version in range(4)]


@pytest.mark.parametrize("form", OWNED_FORMS)
def test_owned_partitions_may_have_any_column_type(form: str) -> None:
    assert_equals_members(columns(owned_partitions=OWNED_FORMS[form]()))


@pytest.mark.parametrize("form", GENERATION_FORMS)
def test_generations_may_have_any_column_type(form: str) -> None:
    assert_equals_members(columns(generation=GENERATION_FORMS[form]()))


@pytest.mark.parametrize("form", DATA_FORMS)
def test_user_data_may_have_any_column_type(form: str) -> None:
    needs_views(form)
    assert_equals_members(columns(user_data=DATA_FORMS[form]()))


def test_a_table_has_the_same_columns() -> None:
    table = pa.table(
        {
            "member_id": list(MEMBERS),
            "topics": [["t", "u"]] * len(MEMBERS),
            "owned_partitions": structs(STRUCTS),
            "generation": pa.array(GENERATIONS, pa.int32()),
            "user_data": pa.array(DATA, pa.binary()),
        }
    )

    assert_equals_members(table)
    assert_equals_members(polars.from_arrow(table))


@pytest.mark.parametrize("kind", [pa.null(), pa.list_(pa.null())])
def test_columns_without_values_have_no_effect(kind: pa.DataType) -> None:
    nothing = pa.nulls(len(MEMBERS))
    members = columns(owned_partitions=pa.nulls(len(MEMBERS), kind), generation=nothing, user_data=nothing)
    expected = assign(TOPICS, {member: ["t", "u"] for member in MEMBERS}, assignor="sticky")

    assert expected == assign(TOPICS, members, assignor="sticky")


INVALID: dict[str, tuple[Any, type[Exception]]] = {
    "generation needs one entry per member, 4 in total, but has 1": ({"generation": [1]}, errors.IllegalArgumentError),
    "owned_partitions needs one entry per member, 4 in total, but has 0": (
        {"owned_partitions": []},
        errors.IllegalArgumentError,
    ),
    "user_data needs one entry per member, 4 in total, but has 5": (
        {"user_data": [None] * 5},
        errors.IllegalArgumentError,
    ),
    r"generation\[1\] must be an int or None, not str: '4'": ({"generation": [1, "4"]}, errors.WrongTypeError),
    "column generation must be a column of integers, not str: '4'": ({"generation": "4"}, errors.WrongTypeError),
    "column generation must be of integers, not Float64": (
        {"generation": pa.array([1.0])},
        errors.IllegalArgumentError,
    ),
    "column generation must have one dimension, not 2": (
        {"generation": np.array([[1]])},
        errors.IllegalArgumentError,
    ),
    r"user_data\[0\] must be bytes or None, not str: 'x'": ({"user_data": ["x"]}, errors.WrongTypeError),
    "column user_data must be a column of bytes, not bytes: b'x'": ({"user_data": b"x"}, errors.WrongTypeError),
    "column user_data must be of binary, not Utf8": ({"user_data": pa.array(["x"])}, errors.IllegalArgumentError),
    r"owned_partitions\[1\]: a partition must be a \(topic, partition\) tuple, not str: 't'": (
        {"owned_partitions": [[], ["t"]]},
        errors.WrongTypeError,
    ),
    r"owned_partitions\[0\]: a partition id cannot be negative: -1": (
        {"owned_partitions": [[("t", -1)]]},
        errors.IllegalArgumentError,
    ),
    r"owned_partitions\[3\]: a partition id cannot be negative: -2": (
        {"owned_partitions": pa.array([[], [], [], [{"topic": "t", "partition": -2}]], STRUCTS)},
        errors.IllegalArgumentError,
    ),
    r"owned_partitions\[2\] has a null": (
        {"owned_partitions": pa.array([[], [], [{"topic": None, "partition": 2}], []], STRUCTS)},
        errors.IllegalArgumentError,
    ),
    r"owned_partitions\[1\] has a null": (
        {"owned_partitions": pa.array([[], [None], [], []], STRUCTS)},
        errors.IllegalArgumentError,
    ),
    "column owned_partitions must be of lists of structs of topic and partition, not List": (
        {"owned_partitions": pa.array([["t"]])},
        errors.IllegalArgumentError,
    ),
}


@pytest.mark.parametrize("message", INVALID)
def test_invalid_columns_are_rejected(message: str) -> None:
    optional, error = INVALID[message]

    with pytest.raises(error, match=f"^{message}"):
        Group(TOPICS, columns(**optional))
