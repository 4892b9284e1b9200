"""Input of the assignor of streams groups: what is refused, with which error."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from assignor import server
from assignor.errors import AssignorError, IllegalArgumentError, NullArgumentError, OutOfMemoryError, WrongTypeError
from assignor.server import MemberTasks, StreamsMember, StreamsStickyAssignor
from tests.support.engines import ENGINES, Engine

MEMBER = StreamsMember("p")
PAIR = "a pair of subtopology id and number"

BAD_MEMBERS: dict[str, tuple[Callable[[Any], StreamsMember], Any, type[AssignorError], str]] = {
    "no process id": (StreamsMember, None, NullArgumentError, "StreamsMember: process_id must be a str, not None"),
    "bytes as process id": (StreamsMember, b"p", WrongTypeError, "StreamsMember: process_id must be a str, not bytes"),
    "no iterable": (
        lambda it: StreamsMember("p", it),
        7,
        WrongTypeError,
        "must be an iterable of tasks, not int",
    ),
    "a text": (
        lambda it: StreamsMember("p", it),
        "0_1",
        WrongTypeError,
        "must be an iterable of tasks, not str",
    ),
    "no pair": (lambda it: StreamsMember("p", standby=it), ["0_1"], WrongTypeError, f"standby: a task must be {PAIR}"),
    "a triple": (lambda it: StreamsMember("p", warmup=it), [("0", 1, 2)], WrongTypeError, f"a task must be {PAIR}"),
    "a number as id": (
        *(lambda it: StreamsMember("p", it), [(0, 1)], WrongTypeError),
        "active: task (0, 1): the subtopology id must be a str, not int: 0",
    ),
    "a text as number": (
        *(lambda it: StreamsMember("p", it), [("0", "1")], WrongTypeError),
        "active: task ('0', '1'): the number must be an int, not str: '1'",
    ),
    "a negative number": (
        *(lambda it: StreamsMember("p", it), [("0", -1)], IllegalArgumentError),
        "StreamsMember of process 'p': active: task ('0', -1): the number cannot be negative: -1",
    ),
    "a number over int32": (
        *(lambda it: StreamsMember("p", standby=it), [("0", 2**31)], IllegalArgumentError),
        "standby: task ('0', 2147483648): the number cannot be over 2147483647: 2147483648",
    ),
    "a bool": (lambda it: StreamsMember("p", it), [("0", True)], WrongTypeError, "must be an int, not bool: True"),
    "a duplicate": (
        *(lambda it: StreamsMember("p", it), [("0", 1), ["0", np.int64(1)]], IllegalArgumentError),
        "StreamsMember of process 'p': active: task ('0', 1) is given twice",
    ),
    "a surrogate": (lambda it: StreamsMember(it), "\ud800", IllegalArgumentError, "has a lone surrogate"),
    "an instance id": (
        *(lambda it: StreamsMember("p", instance_id=it), 3, WrongTypeError),
        "StreamsMember of process 'p': instance_id must be a str, not int: 3",
    ),
    "tags": (
        *(lambda it: StreamsMember("p", client_tags=it), {"zone": None}, NullArgumentError),
        "StreamsMember of process 'p': client_tags['zone'] must be a str, not None",
    ),
    "no tags": (lambda it: StreamsMember("p", client_tags=it), ["zone"], WrongTypeError, "a mapping of str to str"),
}


@pytest.mark.parametrize("name", BAD_MEMBERS)
def test_bad_members_are_refused_with_process_task_and_value(name: str) -> None:
    make, value, kind, message = BAD_MEMBERS[name]

    with pytest.raises(AssignorError) as raised:
        make(value)
    assert kind is raised.type
    assert message in str(raised.value)


BAD_GROUPS: dict[str, tuple[dict[str, Any], type[AssignorError], str]] = {
    "no topology": ({"topology": None}, NullArgumentError, "topology must be a mapping"),
    "a list as topology": ({"topology": [("0", 1)]}, WrongTypeError, "topology must be a mapping"),
    "only a count": ({"topology": {"0": 3}}, WrongTypeError, "topology['0'] must be a pair"),
    "a number as subtopology": (
        {"topology": {0: (1, True)}},
        WrongTypeError,
        "a subtopology id must be a str",
    ),
    "a negative count": (
        {"topology": {"0": (-1, True)}},
        IllegalArgumentError,
        "topology['0']: the number of tasks cannot be negative: -1",
    ),
    "a count over int32": (
        {"topology": {"0": (2**31, True)}},
        IllegalArgumentError,
        "topology['0']: the number of tasks cannot be over 2147483647: 2147483648",
    ),
    "no bool": (
        {"topology": {"0": (1, 1)}},
        WrongTypeError,
        "topology['0']: whether the tasks have state must be a bool, not int: 1",
    ),
    "no members": ({"members": None}, NullArgumentError, "members must be a mapping of member id to StreamsMember"),
    "a process as member": ({"members": {"a": "p"}}, WrongTypeError, "members['a'] must be a StreamsMember, not str"),
    "a number as member id": (
        {"members": {7: MEMBER}},
        WrongTypeError,
        "a member id must be a str, not int: 7",
    ),
    "negative replicas": (
        {"standby_replicas": -1},
        IllegalArgumentError,
        "standby_replicas cannot be negative: -1",
    ),
    "no replicas": ({"standby_replicas": None}, NullArgumentError, "standby_replicas must be an int, not None"),
    "a group without members": (
        {"members": {}},
        IllegalArgumentError,
        "the group has 4 tasks and no members: no member can get a task",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", BAD_GROUPS)
def test_bad_groups_are_refused_with_place_and_value(name: str, engine: Engine) -> None:
    replaced, kind, message = BAD_GROUPS[name]
    given: dict[str, Any] = {"topology": {"0": (4, True)}, "members": {"a": MEMBER}, **replaced}

    with pytest.raises(AssignorError) as raised:
        StreamsStickyAssignor(engine=engine).assign(**given)
    assert kind is raised.type
    assert message in str(raised.value)


def test_large_groups_are_refused_before_memory_is_reserved() -> None:
    too_many = {"0": (2**27, True), "1": (2**27 + 1, False)}
    with pytest.raises(IllegalArgumentError, match="the topology has 268435457 tasks; the limit is 268435456"):
        StreamsStickyAssignor().assign(too_many, {"a": MEMBER})
    members = {f"m{number}": StreamsMember(f"p{number}") for number in range(1000)}
    with pytest.raises(OutOfMemoryError, match="an assignment of 268435456000 tasks would need"):
        StreamsStickyAssignor().assign({"0": (2**28, True)}, members, standby_replicas=2**31 - 1)


def test_the_engine_must_exist() -> None:
    with pytest.raises(IllegalArgumentError, match="engine must be 'rust' or 'reference', not 'java'"):
        StreamsStickyAssignor(engine="java")  # type: ignore[arg-type]  # it has to be refused


@pytest.mark.parametrize("engine", ENGINES)
def test_any_pair_is_a_task_and_any_mapping_is_read(engine: Engine) -> None:
    member = StreamsMember("p", active=iter([["0", np.int32(1)]]), client_tags=MappingProxyType({"zone": "b"}))  # type: ignore[arg-type]  # any iterable of pairs
    answer = StreamsStickyAssignor(engine=engine).assign(
        MappingProxyType({"0": [2, False]}),  # type: ignore[dict-item]  # a pair, as JSON has it
        MappingProxyType({"a": member, "b": MEMBER}),
        standby_replicas=np.int64(0),  # type: ignore[arg-type]  # an integer of numpy
    )

    assert {"a": [("0", 1)], "b": [("0", 0)]} == {id: found.active for id, found in answer.items()}
    assert {(str, int)} == {tuple(map(type, task)) for found in answer.values() for task in found.active}


def test_members_are_values() -> None:
    member = StreamsMember("p", [("0", 1)], client_tags={"zone": "b"})

    assert member == pickle.loads(pickle.dumps(member))
    assert hash(member) == hash(StreamsMember("p", [("0", 1)], client_tags={"zone": "b"}))
    assert member != StreamsMember("p", [("0", 1)], client_tags={"zone": "c"})
    assert server.MemberTasks is MemberTasks
