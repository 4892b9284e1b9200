"""The ten states and the tables of previous states in two Kafka releases, compared with answers of Kafka's classes."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from assignor.errors import IllegalArgumentError, NullArgumentError
from assignor.member import MemberState
from tests.support.vector_files import OWN_FOLDER


def recorded(version: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((OWN_FOLDER / f"member_state_{version}.json").read_text(encoding="utf-8"))
    assert version == found["kafka_clients"]
    return found


def names(states: frozenset[MemberState]) -> set[str]:
    return {state.name for state in states}


def test_the_states_are_kafkas_in_the_order_of_its_documentation() -> None:
    assert list(recorded("4.4.0")["states"]) == [state.name for state in MemberState]
    assert list(recorded("3.7.0")["states"]) == [state.name for state in MemberState]


def table_4x(state: MemberState) -> frozenset[MemberState]:
    return state.previous_valid_states


def table_3_7(state: MemberState) -> frozenset[MemberState]:
    return state.previous_valid_states_3_7


@pytest.mark.parametrize("state", MemberState)
@pytest.mark.parametrize(("version", "before"), [("4.4.0", table_4x), ("3.7.0", table_3_7)])
def test_the_tables_equal_those_of_kafkas_class(
    version: str, before: Callable[[MemberState], frozenset[MemberState]], state: MemberState
) -> None:
    table = recorded(version)
    followers = {other.name for other in MemberState if state in before(other)}

    assert set(table["states"][state.name]["previousValidStates"]) == names(before(state))
    assert set(table["nextStates"][state.name]) == followers
    assert table["states"][state.name]["canHandleNewAssignment"] is state.can_handle_new_assignment()


def test_the_two_tables_differ_in_three_rows() -> None:
    different = [state for state in MemberState if state.previous_valid_states != state.previous_valid_states_3_7]

    assert [MemberState.UNSUBSCRIBED, MemberState.PREPARE_LEAVING, MemberState.STALE] == different


@pytest.mark.parametrize("state", MemberState)
def test_a_state_is_found_by_its_exact_name(state: MemberState) -> None:
    assert state is MemberState(state.name)
    assert state is MemberState[state.name]
    assert state is pickle.loads(pickle.dumps(state))
    assert state is copy.deepcopy(state)


@pytest.mark.parametrize("name", ["stable", " STABLE", "STABLE ", "", "STALED", "UNJOINED", "mro", 1, b"STABLE"])
def test_an_unknown_name_is_rejected(name: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=r"unknown state") as by_value:
        MemberState(name)
    with pytest.raises(IllegalArgumentError, match=r"unknown state"):
        MemberState[name]

    assert repr(name) in str(by_value.value)


def test_none_is_rejected_as_null_in_java() -> None:
    with pytest.raises(NullArgumentError, match=r"the name of a state must be a str, not None") as caught:
        MemberState(None)

    assert isinstance(caught.value, TypeError)


def test_offsets_may_be_committed_outside_a_group_and_while_partitions_are_owned() -> None:
    allowed = {state.name for state in MemberState if state.can_commit()}

    assert {"UNSUBSCRIBED", "RECONCILING", "ACKNOWLEDGING", "STABLE", "PREPARE_LEAVING"} == allowed
