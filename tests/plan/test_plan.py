"""`Plan`: a read-only mapping that holds spans and builds lists when they are read."""

from __future__ import annotations

import gc
import math
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import numpy as np
import pytest

from assignor import Plan, TopicPartition, errors, plan
from tests.support.engines import Engine

TOPICS: dict[str, Any] = {"u": [0, 1, 2, 5, 6, 9], "t": 3, "none": 0}
MEMBERS = {"b": ("t", "u"), "a": ("u", "t"), "idle": ("gone",)}


@pytest.fixture
def found(engine: Engine) -> Plan:
    """Return a plan: b has t2 u5 u6 u9, a has t0 t1 u0 u1 u2, and idle has no partitions."""
    return plan(TOPICS, MEMBERS, engine=engine)


def test_a_plan_is_a_mapping(found: Plan) -> None:
    assert isinstance(found, Mapping)
    assert 3 == len(found)
    assert ["b", "a", "idle"] == list(found)
    assert ["idle", "a", "b"] == list(reversed(list(found)))
    assert "a" in found
    assert "unknown" not in found
    match found:
        case {"a": [first, *_]}:
            assert TopicPartition("t", 0) == first
        case _:
            pytest.fail("pattern matching does not recognise a plan as a mapping")


def test_keys_items_and_values_are_views(found: Plan) -> None:
    keys, items, values = found.keys(), found.items(), found.values()

    assert isinstance(keys, KeysView)
    assert isinstance(items, ItemsView)
    assert isinstance(values, ValuesView)
    assert ["b", "a", "idle"] == list(keys)
    assert {"a", "b"} == keys & {"a", "b", "c"}
    assert [("idle", [])] == list(items)[2:]
    assert [4, 5, 0] == [len(partitions) for partitions in values]


def test_members_are_in_the_given_order_and_topics_in_java_order(engine: Engine) -> None:
    found = plan({"～": 1, "😀": 1, "b": 0, "B": 2}, {"z": ("B",), "a": ()}, engine=engine)

    assert ("z", "a") == found.members
    assert ("B", "b", "😀", "～") == found.topics


def test_owner_accepts_a_numpy_integer(found: Plan) -> None:
    assert "b" == found.owner("u", 9) == found.owner("u", np.int64(9))  # type: ignore[arg-type]  # deliberately wrong type


@pytest.mark.parametrize(
    ("topic", "partition"),
    [("u", 3), ("u", 10), ("t", 3), ("t", -1), ("none", 0), ("gone", 0), ("\ud800", 0), ("t", 2**31), ("t", 2**80)],
)
def test_partitions_that_do_not_exist_have_no_owner(topic: str, partition: int, found: Plan) -> None:
    assert found.owner(topic, partition) is None


@pytest.mark.parametrize("member", ["unknown", "", "\ud800", 3, None, ("a",)])
def test_an_unknown_member_raises_a_key_error_that_names_it(member: str, found: Plan) -> None:
    with pytest.raises(KeyError) as by_key:
        found[member]
    with pytest.raises(KeyError) as by_name:
        found.partitions(member)

    assert (member,) == by_key.value.args
    assert (member,) == by_name.value.args
    assert member not in found


def test_get_returns_a_default_for_unknown_members(found: Plan) -> None:
    assert [("t", 2), ("u", 5), ("u", 6), ("u", 9)] == found.get("b")
    assert [] == found.get("idle", None)
    assert found.get("unknown") is None
    assert math.pi == found.get("unknown", math.pi)


def test_a_plan_cannot_be_changed_or_hashed(found: Plan) -> None:
    with pytest.raises(TypeError):
        found["a"] = []  # type: ignore[index]  # deliberately wrong type
    with pytest.raises(TypeError):
        del found["a"]  # type: ignore[attr-defined]  # deliberately wrong type
    with pytest.raises(AttributeError):
        found.members = ()  # type: ignore[misc]  # deliberately wrong type
    with pytest.raises(TypeError, match="unhashable"):
        hash(found)


def test_the_representation_has_counts_instead_of_lists(found: Plan) -> None:
    assert "<Plan: 3 members, 3 topics, 9 partitions in 5 spans>" == repr(found)


def test_an_empty_plan_is_empty(engine: Engine) -> None:
    empty = plan({}, {}, engine=engine)

    assert not empty
    assert ((), ()) == (empty.members, empty.topics)
    assert [0, 0, 0, 0] == [len(column) for column in empty.spans()]
    assert [] == empty.counts().tolist()


@pytest.mark.parametrize(("topic", "partition"), [(1, 1), (None, 1), ("t", "x"), ("t", 1.0), ("t", True), ("t", None)])
def test_owner_rejects_arguments_of_wrong_types(topic: Any, partition: Any) -> None:
    with pytest.raises(errors.WrongTypeError, match="must be a"):
        plan({"t": 3}, {"a": ["t"]}).owner(topic, partition)


def test_plans_are_equal_if_all_members_have_the_same_partitions(engine: Engine) -> None:
    members = {"a": ["t"], "b": ["t", "u"]}
    left = plan({"t": 3, "u": [4, 7]}, members, engine=engine)

    assert left == plan({"v": 9, "u": [7, 4], "t": 3}, dict(reversed(members.items())))
    assert left != plan({"t": 3, "u": [4, 8]}, members)
    assert left != plan({"t": 3, "u": [4, 7]}, {**members, "c": []})
    assert left != plan({"t": 3, "u": [4, 7]}, {"a": ["t"], "c": ["t", "u"]})
    assert left != {}
    assert left != list(left.items())  # type: ignore[comparison-overlap]  # deliberately wrong type
    assert not left == 3  # type: ignore[comparison-overlap]  # noqa: SIM201 - the operator is tested


def test_the_collector_is_enabled_while_another_mapping_is_compared(engine: Engine) -> None:
    seen = []

    class Other(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            seen.append(gc.isenabled())
            return [("t", 0)]

        def __iter__(self) -> Iterator[str]:
            return iter(["a"])

        def __len__(self) -> int:
            return 1

    assert plan({"t": 1}, {"a": ["t"]}, engine=engine) == Other()
    assert seen
    assert all(seen)
