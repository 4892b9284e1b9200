"""Groups as columns of Arrow, numpy or Python: they give the same result as mappings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Group, MemberColumns, PartitionInfo, Plan, Subscription, TopicColumns, Topics, assign, errors, plan
from assignor.offsets import decode_batch
from tests.support.arrow_views import needs_views
from tests.support.strategies import RACKS, names, replicas

TOPICS = {
    "u": [PartitionInfo(0, ("r0", "r1")), PartitionInfo(1, ("r1", None))],
    "é": [PartitionInfo(0, ("r0",))],
    "none": [],
}
MEMBERS = {
    "b": Subscription(("u", "é"), rack="r1"),
    "a": Subscription(("u", "absent"), group_instance_id="i", rack="r0"),
    "ü": Subscription((), rack="elsewhere"),
    "c": Subscription(("u", "é")),
}
SETS = [("r0", "r1"), ("r1", None), ("r0",)]


def topic_columns(topic: Any = None, partitions: Any = None, rack_set: Any = (0, 1, 2)) -> TopicColumns:
    """Return `TOPICS` as columns; arguments replace columns."""
    return TopicColumns(
        list(TOPICS) if topic is None else topic, [2, 1, 0] if partitions is None else partitions, rack_set, SETS
    )


def member_columns(**other: Any) -> MemberColumns:
    """Return `MEMBERS` as columns; arguments replace columns."""
    columns = MemberColumns(
        member_id=list(MEMBERS),
        subscription=[0, 1, 2, 0],
        subscriptions=[["u", "é"], ["u", "absent"], []],
        group_instance_id=[None, "i", None, None],
        rack=["r1", "r0", "elsewhere", None],
    )
    return columns._replace(**other)


@pytest.fixture
def expected() -> Plan:
    """Return the answer for the mappings."""
    return plan(TOPICS, MEMBERS)


TEXTS: dict[str, Callable[[Any], Any]] = {
    "a list": list,
    "a tuple": tuple,
    "numpy of fixed width": np.array,
    "numpy of another byte order": lambda values: np.array(values).astype(">U9"),
    "every other entry of numpy": lambda values: np.repeat(np.array(values), 2)[::2],
    "numpy of objects": lambda values: np.array(values, dtype=object),
    "an iterator": iter,
    "Arrow": pa.array,
    "large Arrow": lambda values: pa.array(values, pa.large_string()),
    "a view in Arrow": lambda values: pa.array(values, pa.string_view()),
    "an Arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "Arrow in pieces": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "polars": polars.Series,
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "a list": list,
    "int32": lambda values: np.array(values, np.int32),
    "int64": lambda values: np.array(values, np.int64),
    "uint8": lambda values: np.array(values, np.uint8),
    "every other entry of int32": lambda values: np.repeat(np.array(values, np.int32), 2)[::2],
    "big-endian": lambda values: np.array(values, ">i4"),
    "Arrow": lambda values: pa.array(values, pa.int32()),
    "Arrow of int16": lambda values: pa.array(values, pa.int16()),
    "polars": polars.Series,
}


OPTIONAL = ("a list", "numpy of objects", "Arrow", "an Arrow dictionary", "polars")
"""Forms of text that can have null."""


@pytest.mark.parametrize("form", TEXTS)
def test_texts_may_have_any_column_type(form: str, expected: Plan) -> None:
    needs_views(form)
    text = TEXTS[form]
    optional = text if form in OPTIONAL else list
    members = member_columns(
        member_id=text(list(MEMBERS)),
        group_instance_id=optional([None, "i", None, None]),
        rack=optional(["r1", "r0", "elsewhere", None]),
    )

    found = plan(topic_columns(topic=text(list(TOPICS))), members)

    assert expected == found
    assert list(MEMBERS) == list(found)


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_may_have_any_column_type(form: str, expected: Plan) -> None:
    number = NUMBERS[form]
    topics = topic_columns(partitions=number([2, 1, 0]), rack_set=number([0, 1, 2]))

    assert expected == plan(topics, member_columns(subscription=number([0, 1, 2, 0])))


@pytest.mark.parametrize(
    "subscriptions",
    [
        pa.array([["u", "é"], ["u", "absent"], []]),
        pa.array([["u", "é"], ["u", "absent"], []], pa.large_list(pa.string())),
        polars.Series([["u", "é"], ["u", "absent"], []]),
        [("u", "é"), {"absent", "u"}, ()],
        [iter(["u", "é"]), ["absent", "u", "u"], frozenset()],
    ],
    ids=["Arrow", "large Arrow", "polars", "containers", "iterators"],
)
def test_subscriptions_may_have_any_column_type(subscriptions: Any, expected: Plan) -> None:
    assert expected == plan(topic_columns(), member_columns(subscriptions=subscriptions))


TOPIC_TABLE = pa.table(
    {
        "topic": list(TOPICS),
        "partitions": pa.array([2, 1, 0], pa.int32()),
        "racks": pa.array([[["r0", "r1"], ["r1", None]], [["r0"]], []], pa.list_(pa.list_(pa.string()))),
        "cluster": ["ours", "ours", "ours"],
    }
)
MEMBER_TABLE = pa.table(
    {
        "member_id": list(MEMBERS),
        "topics": [["u", "é"], ["u", "absent"], [], ["u", "é"]],
        "group_instance_id": [None, "i", None, None],
        "rack": ["r1", "r0", "elsewhere", None],
    }
)


TABLES: dict[str, Callable[[pa.Table], Any]] = {
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "polars": polars.from_arrow,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_arrow_tables_give_the_same_group_as_mappings(table: Any, expected: Plan) -> None:
    assert expected == plan(table(TOPIC_TABLE), table(MEMBER_TABLE))


def test_a_chunked_table_with_dictionary_encoded_subscriptions_is_read_completely(expected: Plan) -> None:
    distinct = pa.array([["u", "é"], ["u", "absent"], []])
    topics = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), distinct)
    members = MEMBER_TABLE.set_column(1, "topics", topics)
    in_pieces = pa.concat_tables([TOPIC_TABLE[:1], TOPIC_TABLE[1:]])

    assert expected == plan(in_pieces, members)
    assert expected == plan(in_pieces, pa.concat_tables([MEMBER_TABLE[:2], MEMBER_TABLE[2:]]))


def test_columns_are_accepted_wherever_mappings_are() -> None:
    expected = assign(TOPICS, MEMBERS)

    assert expected == assign(topic_columns(), member_columns())
    assert expected == assign(TOPICS, member_columns())
    assert expected == assign(topic_columns(), MEMBERS)
    assert expected == Group(topic_columns(), member_columns()).assign()
    assert expected == assign(Topics(topic_columns()), MEMBER_TABLE)
    assert ("none", "u", "é") == Topics(TOPIC_TABLE).names


def test_the_reference_takes_only_mappings() -> None:
    with pytest.raises(errors.WrongTypeError, match=r"^partitions_per_topic must be a mapping .*, not TopicColumns"):
        assign(topic_columns(), MEMBERS, engine="reference")
    with pytest.raises(errors.WrongTypeError, match=r"^subscriptions must be a mapping .*, not MemberColumns"):
        assign(TOPICS, member_columns(), engine="reference")


def test_topics_without_racks_need_only_the_columns_of_names_and_counts() -> None:
    topics = TopicColumns(["t", "u"], [3, 1])
    members = MemberColumns(["a", "b"], [0, 0], [["t", "u"]])

    found = plan(topics, members)

    assert [3, 1] == found.counts().tolist()
    assert found == plan(pa.table({"topic": ["t", "u"], "partitions": [3, 1]}), members)


def test_columns_without_rows_are_an_empty_group() -> None:
    empty = MemberColumns([], [], [])

    assert {} == assign(TopicColumns([], []), empty)
    assert {} == assign(pa.table({"topic": pa.array([], pa.string()), "partitions": pa.array([], pa.int32())}), empty)


@given(st.data())
def test_drawn_groups_give_the_same_answer_as_columns_and_as_mappings(data: st.DataObject) -> None:
    counts = data.draw(st.dictionaries(names(), st.integers(0, 5), max_size=4))
    racks = {name: data.draw(st.lists(replicas(), min_size=count, max_size=count)) for name, count in counts.items()}
    wanted = data.draw(st.lists(st.lists(st.sampled_from([*counts, "absent"]), max_size=4), min_size=1, max_size=3))
    members = data.draw(
        st.dictionaries(
            names(),
            st.tuples(st.integers(0, len(wanted) - 1), st.sampled_from([None, "", *RACKS]), st.none() | st.just("i")),
            max_size=5,
        )
    )
    distinct = list(dict.fromkeys(found for of_topic in racks.values() for found in of_topic))
    topics = TopicColumns(
        list(counts),
        list(counts.values()),
        [distinct.index(on) for of_topic in racks.values() for on in of_topic],
        distinct,
    )
    columns = MemberColumns(
        np.array(list(members), dtype="U"),
        np.array([number for number, _, _ in members.values()], dtype=np.int32),
        wanted,
        [instance_id for _, _, instance_id in members.values()],
        [rack for _, rack, _ in members.values()],
    )
    mapped = {name: [PartitionInfo(id, on) for id, on in enumerate(racks[name])] for name in counts}
    subscriptions = {
        member: Subscription(tuple(wanted[number]), group_instance_id=instance_id, rack=rack)
        for member, (number, rack, instance_id) in members.items()
    }

    expected, found = plan(mapped, subscriptions), plan(topics, columns)
    assert expected == found
    assert expected.balance() == found.balance()
    assert expected.group_metadata_size("g") == found.group_metadata_size("g")


WRONG_TOPICS = {
    "partitions needs one entry per topic, 2 in total, but has 1": TopicColumns(["t", "u"], [1]),
    "column topic has 't' twice": TopicColumns(["t", "t"], [1, 1]),
    r"topic\[1\] is null": TopicColumns(["t", None], [1, 1]),  # type: ignore[list-item]  # deliberately wrong type
    r"partitions\[1\] must be from 0 to 2147483647, not -1": TopicColumns(["t", "u"], np.array([1, -1])),
    r"partitions\[0\] cannot be negative: -1": TopicColumns(["t"], [-1]),
    r"partitions\[0\] must be from 0 to 2147483647, not 2147483648": TopicColumns(["t"], pa.array([2**31])),
    r"partitions\[0\] is null": TopicColumns(["t"], pa.array([None], pa.int32())),
    "column partitions must be of integers, not Float64": TopicColumns(["t"], pa.array([1.5])),
    "column topic must be of text, not Struct": TopicColumns(pa.array([{"a": 1}]), [1]),
    "column topic must be of text, not Int64": TopicColumns(pa.array([1]), [1]),
    "column topic must have one dimension, not 2": TopicColumns(np.array([["t", "u"]]), [1, 1]),
    "column partitions must have one dimension, not 0": TopicColumns(["t"], np.array(1)),
    r"partitions\[1\] must be from 0 to 2147483647, not 9223372036854775808$": TopicColumns(
        ["t", "u"], np.array([1, 2**63], np.uint64)
    ),
    r"partitions\[0\] must be from 0 to 2147483647$": TopicColumns(["t"], pa.array([2**63], pa.uint64())),
    "column racks must be of lists of lists of text, not List": pa.table(
        {"topic": ["t"], "partitions": [1], "racks": [["r"]]}
    ),
    "partitions_per_topic: an Arrow table cannot have rows that are null": pa.chunked_array(
        [pa.array([{"topic": "t", "partitions": 3}, None])]
    ),
    "partitions_per_topic must be an Arrow table, not an array of Int64": pa.array([1]),
    "rack_set needs one entry per partition, 2 in total, but has 1": TopicColumns(["t"], [2], [0], [("r",)]),
    r"rack_set\[1\] is 1, and rack_sets has 1 entries": TopicColumns(["t"], [2], [0, 1], [("r",)]),
    "topics as a table need the columns topic and partitions": pa.table({"name": ["t"], "partitions": [1]}),
    "racks of topic 't' needs one entry per partition, 2 in total, but has 1": pa.table(
        {"topic": ["t"], "partitions": [2], "racks": [[["r"]]]}
    ),
}


@pytest.mark.parametrize("message", WRONG_TOPICS)
def test_errors_name_the_invalid_topic(message: str) -> None:
    with pytest.raises(errors.AssignorError, match=f"^{message}"):
        plan(WRONG_TOPICS[message], {})


NOT_TABLES = {
    "(partitions_per_topic|subscriptions) must be an Arrow table, not an array of ": pa.array(["t"]),
    "(partitions_per_topic|subscriptions): an Arrow table cannot have rows that are null": pa.array(
        [{"topic": "t", "partitions": 3, "member_id": "a"}, None]
    ),
    ".* as a table need the columns ": pa.table({"name": ["t"]}),
}


@pytest.mark.parametrize("message", NOT_TABLES)
def test_arrow_objects_that_are_not_tables_of_a_group_are_rejected(message: str) -> None:
    given = NOT_TABLES[message]

    tables: Any
    for tables in ((given, {}), ({}, given)):
        with pytest.raises(errors.IllegalArgumentError, match=f"^{message}"):
            plan(*tables)


WRONG_MEMBERS = {
    "subscription needs one entry per member, 2 in total, but has 1": MemberColumns(["a", "b"], [0], [["t"]]),
    r"subscription\[1\] is 1, and subscriptions has 1 entries": MemberColumns(["a", "b"], [0, 1], [["t"]]),
    "column member_id has 'a' twice": MemberColumns(["a", "a"], [0, 0], [["t"]]),
    "rack needs one entry per member, 2 in total, but has 1": MemberColumns(["a", "b"], [0, 0], [["t"]], rack=["r"]),
    r"member_id\[0\] must be a str, not int: 7": MemberColumns([7], [0], [["t"]]),  # type: ignore[list-item]  # deliberately wrong type
    "subscription 1: a topic must be a str, not int: 7": MemberColumns(["a"], [0], [["t"], [7]]),  # type: ignore[list-item]  # deliberately wrong type
    "subscription 0: topics must be an iterable of topic names, not str: 't'": MemberColumns(["a"], [0], ["t"]),
    "column member_id must be a column of text, not str: 'abc'": MemberColumns("abc", [0], [["t"]]),
    r"topics\[1\] is null": pa.table({"member_id": ["a", "b"], "topics": [["t"], None]}),
    r"topics\[1\] has a null": pa.table({"member_id": ["a", "b"], "topics": [["t"], ["t", None]]}),
    "members as a table need the columns member_id and topics": pa.table({"member_id": ["a"]}),
    "column topics must be of lists of text, not Utf8": pa.table({"member_id": ["a"], "topics": ["t"]}),
    "column topics must be of lists of text, not List": pa.table({"member_id": ["a"], "topics": [[1]]}),
    "column topics has lists that cannot be read": pa.table(
        {"member_id": ["a"], "topics": pa.array([[]], pa.list_(pa.string(), 0))}
    ),
}


NO_UTF_8 = pa.array([b"a\xc3"], pa.binary())


@pytest.mark.parametrize("name", [NO_UTF_8.view(pa.string()), NO_UTF_8.cast(pa.large_binary()).view(pa.large_string())])
@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: pa.chunked_array([rows])])
def test_text_that_is_not_utf_8_is_rejected(name: pa.Array, wrap: Callable[[pa.Array], Any]) -> None:
    """Parquet files can have such text, and pyarrow does not check it."""
    with pytest.raises(errors.IllegalArgumentError, match=r"^the data: text that is not UTF-8: 'a"):
        assign(TopicColumns(wrap(name), [1]), {"m": ["t"]})
    with pytest.raises(errors.IllegalArgumentError, match=r"^member_id: text that is not UTF-8: 'a"):
        plan({"t": 1}, pa.table({"member_id": wrap(name), "topics": [["t"]]}))


def test_bytes_of_null_rows_need_not_be_utf_8() -> None:
    buffers = [pa.py_buffer(b"\1"), pa.array([0, 1, 3], pa.int32()).buffers()[1], pa.py_buffer(b"t\xff\xfd")]
    racks = pa.Array.from_buffers(pa.string(), 2, buffers)
    table = pa.table({"member_id": ["a", "b"], "topics": [["t"], ["t"]], "rack": racks})

    assert {"a": [("t", 0)], "b": [("t", 1)]} == assign({"t": 2}, table)


def test_offsets_that_do_not_ascend_are_rejected() -> None:
    offsets = pa.array([0, 9, 3], pa.int32()).buffers()[1]
    keys = pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(errors.IllegalArgumentError, match=r"^the data: invalid Arrow data: .*offset"):
        decode_batch(keys, pa.array([b"", b""], pa.binary()))


@pytest.mark.parametrize("message", WRONG_MEMBERS)
def test_errors_name_the_invalid_member(message: str) -> None:
    with pytest.raises(errors.AssignorError, match=f"^{message}"):
        plan({"t": 1}, WRONG_MEMBERS[message])


def test_unaligned_and_strided_numbers_are_copied_first() -> None:
    for packed in ([("b", "<i4"), ("a", "i1")], [("b", "<i4"), ("a", "i2")], [("a", "i1"), ("b", "<i4")]):
        rows = np.zeros(3, packed)
        rows["b"] = [5, 6, 7]
        found = assign(TopicColumns(["t", "u", "v"], rows["b"]), {"a": ["t", "u", "v"]})

        assert 18 == len(found["a"])


def test_code_that_runs_while_a_name_is_rejected_cannot_free_the_racks() -> None:
    script = """
import gc
from assignor import PartitionInfo, assign

class Clearing:
    def __init__(self, racks):
        self.racks, self.me = racks, self
    def __del__(self):
        self.racks.clear()

for round in range(50):
    good, bad = ["r0", "r1"], ["".join(["r", "0"]), "\\ud800", "".join(["r", "9"])]
    Clearing(bad)
    gc.set_threshold(1)
    try:
        assign({"t": [PartitionInfo(0, tuple(good)), PartitionInfo(1, bad)]}, {"a": ["t"]})
    except ValueError:
        pass
    gc.set_threshold(700)
"""
    found = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONMALLOC": "debug"}, capture_output=True, text=True
    )

    assert 0 == found.returncode, found.stderr


def test_a_lone_surrogate_in_a_numpy_column_is_rejected() -> None:
    with pytest.raises(errors.IllegalArgumentError, match=r"^topic\[1\] has a lone surrogate"):
        plan(TopicColumns(np.array(["t", "\ud800"]), [1, 1]), {})
