"""Comparison of both engines for `check`, on drawn assignments with all kinds of findings, and on invalid input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignor import Findings, TopicPartition, Topics, assign, check, errors, plan
from assignor.findings import Findings as FindingsClass
from tests.support.engines import ENGINES, Engine
from tests.support.invalid_input import LONE, Changing
from tests.support.strategies import Group, groups

Check = Callable[..., Findings]

LARGE = [2**31 - 1, 2**31, 2**62, 2**63 - 1, 2**63, 2**100]


def outcome(engine: Engine, *arguments: Any, call: Check = check) -> tuple[Findings | None, Any]:
    """Return the findings, or class and message of the error."""
    try:
        return call(*arguments, engine=engine), None
    except errors.AssignorError as error:
        return None, (type(error), str(error))


def assert_engines_agree(
    assignment: Callable[[], Any], topics: Any, members: Any, call: Check = check
) -> Findings | None:
    """Fail unless both engines report the same findings; return them. `assignment` is called once per engine."""
    rust, reference = (outcome(engine, assignment(), topics, members, call=call) for engine in ENGINES)
    assert rust == reference
    return rust[0]


@st.composite
def mistakes(draw: st.DrawFn) -> tuple[Group, dict[str, Any]]:
    """Draw a group, and a valid assignment in which partitions are then removed, given again or added."""
    group = draw(groups())
    found = {member: list(partitions) for member, partitions in assign(group.topics, group.members).items()}
    names = [*found, "ghost"]
    topics = [*group.topics, "gone", "～", "😀"]
    for _ in range(draw(st.integers(0, 6))):
        member = draw(st.sampled_from(names))
        owned = found.setdefault(member, [])
        id = draw(st.one_of(st.integers(0, 9), st.sampled_from(LARGE), st.integers(0, 9).map(np.int64)))
        partition: Any = (draw(st.sampled_from(topics)), id)
        match draw(st.integers(0, 3)):
            case 0 if owned:
                del owned[draw(st.integers(0, len(owned) - 1))]
            case 1 if owned:
                owned.append(draw(st.sampled_from(owned)))
            case 2 if owned:
                found.setdefault(draw(st.sampled_from(names)), []).append(draw(st.sampled_from(owned)))
            case _:
                owned.insert(draw(st.integers(0, len(owned))), partition)
    containers = [list, tuple, iter, lambda owned: [tuple(entry) for entry in owned], lambda owned: [*reversed(owned)]]
    members = draw(st.permutations(list(found)))
    kinds = {member: draw(st.sampled_from(containers)) for member in members}
    return group, {member: (kinds[member], found[member]) for member in members}


def built(assignment: Mapping[str, Any]) -> dict[str, Any]:
    """Build the containers of a drawn assignment."""
    return {member: kind(owned) for member, (kind, owned) in assignment.items()}


@given(drawn=mistakes())
def test_the_engines_report_the_same_findings_for_a_mapping_and_for_topics(drawn: tuple[Group, dict[str, Any]]) -> None:
    group, assignment = drawn

    found = assert_engines_agree(lambda: built(assignment), group.topics, group.members)
    assert found is not None
    assert found == assert_engines_agree(lambda: built(assignment), Topics(group.topics), group.members)


@given(group=groups(equal_instance_ids=True))
def test_a_plan_and_its_lists_have_no_findings(group: Group) -> None:
    found = plan(group.topics, group.members)

    assert Findings() == assert_engines_agree(lambda: found, group.topics, group.members)
    assert Findings() == assert_engines_agree(lambda: dict(found), group.topics, group.members)


@given(planned=groups(), group=groups())
def test_a_plan_of_another_group_has_the_same_findings_as_its_lists(planned: Group, group: Group) -> None:
    found = plan(planned.topics, planned.members)

    assert assert_engines_agree(lambda: found, group.topics, group.members) == check(
        dict(found), group.topics, group.members
    )


def test_drawn_assignments_have_all_kinds_of_findings() -> None:
    seen: Counter[str] = Counter()

    @settings(derandomize=True, max_examples=200)
    @given(drawn=mistakes())
    def draw(drawn: tuple[Group, dict[str, Any]]) -> None:
        group, assignment = drawn
        findings = check(built(assignment), group.topics, group.members, engine="reference")
        seen.update(kind for kind in FindingsClass.__slots__ if getattr(findings, kind))
        seen["none"] += not findings

    draw()

    assert {*FindingsClass.__slots__, "none"} == {kind for kind, times in seen.items() if times}


def test_a_missing_finding_is_detected() -> None:
    def overlooking(*arguments: Any, engine: Engine) -> Findings:
        findings = check(*arguments, engine=engine)
        return Findings(findings.unowned[1:]) if engine == "rust" else findings

    with pytest.raises(AssertionError):
        assert_engines_agree(dict, {"t": 2}, {"a": ["t"]}, call=overlooking)


class Name(str):
    """Subclass of `str`."""

    __slots__ = ()


class Pair(tuple[Any, ...]):
    """Subclass of `tuple`."""

    __slots__ = ()


class OnlyIndexed:
    """Sequence that only supports indexing, which is not an `Iterable` of `collections.abc`."""

    def __getitem__(self, place: int) -> tuple[str, int]:
        return [("t", 0)][place]

    def __repr__(self) -> str:
        return "OnlyIndexed()"


READABLE: list[Callable[[], Any]] = [
    lambda: Changing({"a": [("t", 0)]}),
    lambda: {Name("a"): [(Name("t"), 0), Pair(("t", 1)), TopicPartition("t", 1)]},
    lambda: {"a": {("t", 1), ("t", 0)}, "ghost": frozenset([("gone", 3)])},
    lambda: {"a": [("t", np.int32(0)), ("t", np.uint64(2**64 - 1)), ("t", 2**64 - 1), ("t", 2**70)]},
    lambda: {"a": {("t", 0): "a dict is an iterable of its keys"}},
    lambda: {"a": [("t", 1), ("t", 0), ("t", 1), ("t", 1), ("t", 5)], "b": [("t", 5)]},
    lambda: {"é": [("t", 0)], "": [("", 0)]},
]


@pytest.mark.parametrize("assignment", READABLE)
def test_the_engines_accept_the_same_types(assignment: Callable[[], Any]) -> None:
    assert assert_engines_agree(assignment, {"t": 2, "u": [3, 7]}, {"a": ["t", "gone"], "b": ["u"]}) is not None


REJECTED: list[Callable[[], Any]] = [
    lambda: [("a", [])],
    lambda: {LONE: []},
    lambda: {"a": 3},
    lambda: {"a": b"t0"},
    lambda: {"a": bytearray(b"t0")},
    lambda: {"a": OnlyIndexed()},
    lambda: {"a": [["t", 0]]},
    lambda: {"a": [()]},
    lambda: {"a": [(LONE, 0)]},
    lambda: {"a": [("t", 0.0)]},
    lambda: {"a": [("t", None)]},
    lambda: {"a": [("t", np.array([0]))]},
    lambda: {"a": iter([("t", -(2**70))])},
    lambda: {"a": [TopicPartition("t", -1)], "b": None},
    lambda: {"a": [("t", 0)], "b": None, 7: []},
]


@pytest.mark.parametrize("assignment", REJECTED)
def test_the_engines_raise_the_same_errors(assignment: Callable[[], Any]) -> None:
    assert assert_engines_agree(assignment, {"t": 2}, {"a": ["t"]}) is None


def test_errors_of_user_code_propagate(engine: Engine) -> None:
    def failing() -> Any:
        yield ("t", 0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        check({"a": failing()}, {"t": 1}, {"a": ["t"]}, engine=engine)


def test_an_unknown_engine_is_rejected() -> None:
    with pytest.raises(errors.IllegalArgumentError, match="engine must be 'rust' or 'reference', not 'java'"):
        check({}, {}, {}, engine="java")  # type: ignore[arg-type]  # deliberately wrong type
