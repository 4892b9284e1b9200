"""Columns of a plan: read-only views of its memory, which keep it alive."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from assignor import PartitionInfo, Plan, Spans, Subscription, assign, plan
from tests.support.engines import ENGINES, Engine
from tests.support.strategies import Group, groups

COLUMNS = ("member", "topic", "start", "count")


@pytest.fixture
def found(engine: Engine) -> Plan:
    """Return a plan: b has t2 u5 u9, a has t0 t1 u0 u1 u2."""
    return plan({"u": [0, 1, 2, 5, 9], "t": 3}, {"b": ["t", "u"], "a": ["u", "t"]}, engine=engine)


def rows(spans: Spans) -> list[tuple[int, ...]]:
    """Return the rows of columns."""
    return list(zip(*(getattr(spans, column).tolist() for column in COLUMNS), strict=True))


def test_spans_are_not_copied(found: Plan) -> None:
    first, second = found.spans(), found.spans()

    for left, right in zip(first, second, strict=True):
        assert np.shares_memory(left, right)
        assert left.ctypes.data == right.ctypes.data
        assert left.flags.c_contiguous
        assert left.flags.aligned
        assert not left.flags.owndata


@pytest.mark.parametrize("column", COLUMNS)
def test_spans_are_read_only(found: Plan, column: str) -> None:
    view = getattr(found.spans(), column)

    with pytest.raises(ValueError, match="read-only"):
        view[:] = 7
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.setflags(write=True)
    with pytest.raises(ValueError, match="WRITEABLE"):
        view[1:].flags.writeable = True
    with pytest.raises(TypeError, match="read-only"):
        memoryview(view)[0] = 7
    assert [(0, 0, 2, 1), (0, 1, 5, 1), (0, 1, 9, 1), (1, 0, 0, 2), (1, 1, 0, 3)] == rows(found.spans())


def test_a_copy_of_spans_is_writable_and_independent(found: Plan) -> None:
    copied = found.spans().start.copy()

    copied[:] = 7

    assert [2, 5, 9, 0, 0] == found.spans().start.tolist()


def test_spans_keep_their_plan_alive(engine: Engine) -> None:
    gc.collect()
    before = sys.getrefcount(Plan)
    spans = plan({"t": [0, 2, 4]}, {"a": ["t"]}, engine=engine).spans()

    for _ in range(50):
        plan({"t": [7, 9]}, {"b": ["t"]}, engine=engine).spans()
    gc.collect()

    assert [0, 2, 4] == spans.start.tolist()
    assert all(isinstance(column.base, Plan) for column in spans)
    assert before < sys.getrefcount(Plan)  # each instance of a heap type holds a reference to its class
    del spans
    assert before == sys.getrefcount(Plan)


def test_columns_of_a_plan_without_spans_are_empty_and_read_only(engine: Engine) -> None:
    for empty in (plan({}, {}, engine=engine), plan({"t": 0}, {"a": ["t"]}, engine=engine)):
        for column in empty.spans():
            assert (0,) == column.shape
            assert np.dtype(np.int32) == column.dtype
            assert not column.flags.writeable


def test_counts_and_lists_are_new_and_writable(found: Plan) -> None:
    assert not np.shares_memory(found.counts(), found.counts())
    assert found.counts().flags.writeable
    assert found["a"] is not found["a"]


def test_reading_spans_does_not_change_other_answers(engine: Engine) -> None:
    topics: dict[str, Any] = {"t": [PartitionInfo(id, (f"r{id % 2}",)) for id in range(5)], "u": [1, 3], "v": 4}
    members: dict[str, Any] = {
        "b": Subscription(("t", "u"), rack="r0"),
        "a": Subscription(("u", "t", "v"), rack="r1"),
        "c": ["v"],
    }
    before, after = (plan(topics, members, engine=engine) for _ in range(2))

    after.spans()

    assert before.encode() == after.encode()
    assert before.group_metadata_size("g") == after.group_metadata_size("g")
    assert before.balance() == after.balance()
    assert before.counts().tolist() == after.counts().tolist()
    assert [before[member] for member in members] == [after[member] for member in members]
    assert before.to_json() == after.to_json()


def runs(partitions: list[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Return maximal runs of consecutive ids."""
    found: list[tuple[str, int, int]] = []
    for topic, id in partitions:
        if found and found[-1][0] == topic and sum(found[-1][1:]) == id:
            found[-1] = (topic, found[-1][1], found[-1][2] + 1)
        else:
            found.append((topic, id, 1))
    return found


@given(group=groups(equal_instance_ids=True))
def test_spans_counts_and_owners_equal_those_of_the_lists(group: Group) -> None:
    answer = assign(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine="reference")
    names = sorted(group.topics, key=lambda topic: topic.encode("utf-16-be"))
    expected = [
        (number, names.index(topic), start, count)
        for number, partitions in enumerate(answer.values())
        for topic, start, count in runs(list(partitions))
    ]
    owners = {partition: member for member, partitions in answer.items() for partition in partitions}
    for engine in ENGINES:
        found = plan(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine=engine)

        assert [len(partitions) for partitions in answer.values()] == found.counts().tolist()
        assert expected == rows(found.spans())
        for topic in [*names, "absent"]:
            for id in range(-1, 32):
                assert owners.get((topic, id)) == found.owner(topic, id)  # type: ignore[call-overload]  # a tuple is equal
