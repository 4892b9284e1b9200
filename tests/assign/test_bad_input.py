"""Invalid input: both engines raise the same error class and message, which names the offending value."""

from __future__ import annotations

import copy
from collections import UserDict
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from assignor import PartitionInfo, Subscription, assign, errors
from assignor.validation import shown
from tests.support.engines import Engine
from tests.support.invalid_input import (
    ARGUMENT,
    LONE,
    NULL,
    TYPE,
    Changing,
    Interfering,
    Unreadable,
    error_of,
    error_of_input,
)

Info: Any = PartitionInfo  # untyped, because the tests pass values of wrong types

MAPPING = (
    "member 'a': a subscription must be a Subscription, such as Subscription(topics=['orders']), or an iterable of "
    "topic names,"
)

PARTITIONS = [
    ("3", TYPE, "topic 't': partitions must be a count or an iterable of ids, not str: '3'"),
    (b"12", TYPE, "topic 't': partitions must be a count or an iterable of ids, not bytes: b'12'"),
    (
        bytearray(b"1"),
        TYPE,
        "topic 't': partitions must be a count or an iterable of ids, not bytearray: bytearray(b'1')",
    ),
    (True, TYPE, "topic 't': partitions must be a count or an iterable of ids, not bool: True"),
    (
        np.True_,
        TYPE,
        f"topic 't': partitions must be a count or an iterable of ids, not {np.bool_.__name__}: {np.True_!r}",
    ),
    (2.0, TYPE, "topic 't': partitions must be a count or an iterable of ids, not float: 2.0"),
    (int, TYPE, "topic 't': partitions must be a count or an iterable of ids, not type: <class 'int'>"),
    (None, NULL, "topic 't': partitions must be a count or an iterable of ids, not None"),
    (-1, ARGUMENT, "topic 't': a partition count cannot be negative: -1"),
    (np.int8(-3), ARGUMENT, f"topic 't': a partition count cannot be negative: {np.int8(-3)!r}"),
    (-(2**70), ARGUMENT, "topic 't': a partition count cannot be negative: -1180591620717411303424"),
    (2**31, ARGUMENT, "topic 't': a partition count cannot be over 2147483647: 2147483648"),
    (2**70, ARGUMENT, "topic 't': a partition count cannot be over 2147483647: 1180591620717411303424"),
    ([0, -1], ARGUMENT, "topic 't': a partition id cannot be negative: -1"),
    ([Info(-1)], ARGUMENT, "topic 't': a partition id cannot be negative: -1"),
    ([0, 2**31], ARGUMENT, "topic 't': a partition id cannot be over 2147483647: 2147483648"),
    ([0, False], TYPE, "topic 't': a partition id must be an int, not bool: False"),
    ([0, 1.0], TYPE, "topic 't': a partition id must be an int, not float: 1.0"),
    ([np.float32(1)], TYPE, f"topic 't': a partition id must be an int, not float32: {np.float32(1)!r}"),
    (["0"], TYPE, "topic 't': a partition id must be an int, not str: '0'"),
    ([None], NULL, "topic 't': a partition id must be an int, not None"),
    ([(0, ("r",))], TYPE, "topic 't': a partition id must be an int, not tuple: (0, ('r',))"),
    (np.array([[0, 1]]), TYPE, "topic 't': a partition id must be an int, not ndarray: array([0, 1])"),
    ([Info(True)], TYPE, "topic 't': a partition id must be an int, not bool: True"),
    ([Info("0")], TYPE, "topic 't': a partition id must be an int, not str: '0'"),
    ([3, 1, 3], ARGUMENT, "topic 't': partition 3 is given twice"),
    ([5, Info(5, ("r",)), 2, 2], ARGUMENT, "topic 't': partition 2 is given twice"),
    ([Info(4, "r1")], TYPE, "topic 't', partition 4: racks must be an iterable of str or None, not str: 'r1'"),
    (
        [Info(4, b"r")],
        TYPE,
        "topic 't', partition 4: racks must be an iterable of str or None, not bytes: b'r'",
    ),
    ([Info(4, None)], NULL, "topic 't', partition 4: racks must be an iterable of str or None, not None"),
    ([Info(4, 7)], TYPE, "topic 't', partition 4: racks must be an iterable of str or None, not int: 7"),
    ([Info(4, (7,))], TYPE, "topic 't', partition 4: a rack must be a str, not int: 7"),
    (
        [Info(4, (None, LONE))],
        ARGUMENT,
        "topic 't', partition 4: a rack has a lone surrogate, which UTF-8 cannot encode: '\\ud800'",
    ),
    ([Unreadable()], TYPE, "topic 't': a partition id must be an int, not Unreadable: <Unreadable>"),
    (["x" * 90], TYPE, "topic 't': a partition id must be an int, not str: '" + "x" * 78 + "…"),
]


@pytest.mark.parametrize(("partitions", "error", "message"), PARTITIONS, ids=lambda value: shown(value)[:30])
def test_invalid_partitions_are_rejected(partitions: Any, error: type[Exception], message: str, engine: Engine) -> None:
    assert (error, message) == error_of_input({"ok": 1, "t": partitions}, {"a": ("t",)}, engine)


SUBSCRIBED: list[tuple[Any, type[Exception], str]] = [
    ("t", TYPE, "member 'a': topics must be an iterable of topic names, not str: 't'"),
    (b"t", TYPE, "member 'a': topics must be an iterable of topic names, not bytes: b't'"),
    (bytearray(b"t"), TYPE, "member 'a': topics must be an iterable of topic names, not bytearray: bytearray(b't')"),
    (None, NULL, "member 'a': topics must be an iterable of topic names, not None"),
    (7, TYPE, "member 'a': topics must be an iterable of topic names, not int: 7"),
    ({"topics": ["t"]}, TYPE, f"{MAPPING} not dict: {{'topics': ['t']}}"),
    (MappingProxyType({}), TYPE, f"{MAPPING} not mappingproxy: mappingproxy({{}})"),
    (["t", 7], TYPE, "member 'a': a topic must be a str, not int: 7"),
    (["t", b"u"], TYPE, "member 'a': a topic must be a str, not bytes: b'u'"),
    (["t", None], NULL, "member 'a': a topic must be a str, not None"),
    (memoryview(b"t"), TYPE, "member 'a': a topic must be a str, not int: 116"),
    (
        ["t", "x" + LONE],
        ARGUMENT,
        "member 'a': a topic has a lone surrogate, which UTF-8 cannot encode: 'x\\ud800'",
    ),
]


@pytest.mark.parametrize(
    ("topics", "error", "message"), SUBSCRIBED, ids=lambda value: repr(value).partition(" at 0x")[0][:30]
)
def test_invalid_topics_of_a_member_are_rejected(
    topics: Any, error: type[Exception], message: str, engine: Engine
) -> None:
    assert (error, message) == error_of_input({"t": 1}, {"ok": ["t"], "a": topics}, engine)


NAMES = [
    (7, TYPE, "must be a str, not int: 7"),
    (b"x", TYPE, "must be a str, not bytes: b'x'"),
    (None, NULL, "must be a str, not None"),
    (("t", 0), TYPE, "must be a str, not tuple: ('t', 0)"),
    (LONE, ARGUMENT, "has a lone surrogate, which UTF-8 cannot encode: '\\ud800'"),
]


@pytest.mark.parametrize(("name", "error", "reason"), NAMES)
def test_invalid_names_of_topics_and_members_are_rejected(
    name: Any, error: type[Exception], reason: str, engine: Engine
) -> None:
    assert (error, f"a topic name {reason}") == error_of_input({name: 1}, {}, engine)
    assert (error, f"a member id {reason}") == error_of_input({}, {name: ["t"]}, engine)
    assert (error, f"a member id {reason}") == error_of_input({}, {name: Subscription(("t",))}, engine)


@pytest.mark.parametrize(
    ("value", "error", "reason"),
    [(None, NULL, "not None"), (["t"], TYPE, "not list: ['t']"), ("t", TYPE, "not str: 't'"), (3, TYPE, "not int: 3")],
)
def test_arguments_that_are_not_mappings_are_rejected(
    value: Any, error: type[Exception], reason: str, engine: Engine
) -> None:
    topics = f"partitions_per_topic must be a mapping of topics to partitions, {reason}"
    members = f"subscriptions must be a mapping of member ids to subscriptions, {reason}"

    assert (error, topics) == error_of_input(value, {}, engine)
    assert (error, members) == error_of_input({}, value, engine)


def test_topics_are_read_before_members(engine: Engine) -> None:
    assert "topic 't': a partition count cannot be negative: -1" == error_of_input({"t": -1}, {"a": None}, engine)[1]


@pytest.mark.parametrize("kind", [dict, Changing])
@pytest.mark.parametrize("change", ["grow", "shrink"])
@pytest.mark.parametrize("argument", ["partitions_per_topic", "subscriptions"])
def test_a_mapping_that_changes_size_while_it_is_read_is_rejected(
    kind: Callable[[dict[str, Any]], Any], change: str, argument: str, engine: Engine
) -> None:
    value = 1 if argument == "partitions_per_topic" else ["t"]
    changing = kind({"t": value, "u": value})
    entries = changing.entries if isinstance(changing, Changing) else changing
    interfere = (lambda: entries.update(v=value)) if change == "grow" else (lambda: entries.pop("u", None))
    entries["t"] = Interfering([0] if value == 1 else ["t"], interfere)
    arguments: dict[str, Any] = {"partitions_per_topic": {"t": 1}, "subscriptions": {"a": ["t"]}, argument: changing}

    found = error_of(lambda: assign(**arguments, engine=engine))

    sizes = "2 entries, then 3" if change == "grow" else "2 entries, then 1"
    assert (ARGUMENT, f"{argument} changed size while it was read: {sizes}") == found


@pytest.mark.parametrize("name", ["java", "", "RUST", LONE, None, 3, b"rust"])
def test_an_unknown_engine_is_rejected(name: Any) -> None:
    message = f"engine must be 'rust' or 'reference', not {name!r}"

    assert (ARGUMENT, message) == error_of_input({}, {}, name)


class Repeating(Changing):
    """Mapping that yields its first entry twice."""

    def items(self) -> Any:
        """Return all entries, and the first one again."""
        entries = list(self.entries.items())
        return [*entries, entries[0]]


class Name(str):
    """A `str` that is equal only to itself, so that a dict can have another key with the same text."""

    __slots__ = ()

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def test_a_name_given_twice_is_rejected(engine: Engine) -> None:
    topics, members = {"t": 3, "u": 1}, {"a": ["t"], "b": ["t"]}

    assert (ARGUMENT, "partitions_per_topic has 't' twice") == error_of_input(Repeating(topics), members, engine)
    assert (ARGUMENT, "subscriptions has 'a' twice") == error_of_input(topics, Repeating(members), engine)
    assert (ARGUMENT, "subscriptions has 'a' twice") == error_of_input(topics, {Name("a"): ["t"], "a": ["t"]}, engine)


@pytest.mark.parametrize("flag", [1, 0, None, "yes"])
def test_prefer_rack_aware_must_be_a_bool(engine: Engine, flag: Any) -> None:
    with pytest.raises(TYPE, match="prefer_rack_aware must be a bool, not "):
        assign({}, {}, prefer_rack_aware=flag, engine=engine)


def test_a_wrong_length_of_an_iterable_allocates_no_memory(engine: Engine) -> None:
    class Endless(list[str]):
        def __len__(self) -> int:
            return 2**62

    assert {"a": [("t", 0)]} == assign({"t": 1}, {"a": Endless(["t"])}, engine=engine)
    assert (TYPE, "member 'a': a topic must be a str, not int: 0") == error_of_input(
        {"t": 1}, {"a": range(2**62)}, engine
    )


@pytest.mark.parametrize("length", [2**62, 2**40])
def test_the_core_limits_the_memory_that_it_reserves_for_a_mapping_with_a_wrong_length(length: int) -> None:
    class Wrong(UserDict[Any, Any]):
        def __len__(self) -> int:
            return length

    topics, members = {"t": 1}, {"a": ["t"]}
    for given in ((Wrong(topics), members), (topics, Wrong(members)), (Wrong(topics), Wrong(members))):
        assert {"a": [("t", 0)]} == assign(*given)


def test_a_shared_list_is_read_again_after_it_has_changed(engine: Engine) -> None:
    shared = ["t"]
    members: dict[str, Any] = {"a": shared, "b": Interfering(["t"], lambda: shared.append("u")), "c": shared}

    assert {"a": [("t", 0)], "b": [], "c": [("u", 0)]} == assign({"t": 1, "u": 1}, members, engine=engine)


def test_the_value_of_an_int_subclass_is_used_instead_of_its_index_method(engine: Engine) -> None:
    class Odd(int):
        def __index__(self) -> int:
            return 5

        def __iter__(self) -> Iterator[int]:
            return iter(())

    assert {"a": [("t", 0), ("t", 1)]} == assign({"t": Odd(2)}, {"a": ["t"]}, engine=engine)


def test_errors_are_subclasses_of_an_error_of_the_package_and_a_builtin_error() -> None:
    assert issubclass(ARGUMENT, errors.AssignorError)
    assert issubclass(ARGUMENT, ValueError)
    assert issubclass(TYPE, errors.AssignorError)
    assert issubclass(TYPE, TypeError)
    assert issubclass(NULL, TYPE)
    assert issubclass(errors.UnsupportedPatternError, ValueError)


@pytest.mark.parametrize("error", [KeyError("mine"), TypeError("mine"), ValueError("mine"), StopAsyncIteration("mine")])
def test_errors_raised_by_an_iterator_propagate_unchanged(error: Exception, engine: Engine) -> None:
    def fail() -> None:
        raise error

    def later() -> Iterator[Any]:
        yield from ()
        raise error

    iterables = Interfering([], fail), later()
    for broken in iterables:
        with pytest.raises(type(error)) as raised:
            assign({"t": broken}, {}, engine=engine)
        assert error is raised.value
    for broken in Interfering([], fail), later():
        with pytest.raises(type(error)) as raised:
            assign({}, {"a": broken}, engine=engine)
        assert error is raised.value
    for broken in Interfering([], fail), later():
        with pytest.raises(type(error)) as raised:
            assign({"t": [Info(0, broken)]}, {}, engine=engine)
        assert error is raised.value


def test_the_first_invalid_entry_is_reported(engine: Engine) -> None:
    def then_broken(wrong: Any) -> Iterator[Any]:
        yield wrong
        raise KeyError("never reached")

    topics = error_of(lambda: assign({"t": then_broken(-1)}, {}, engine=engine))
    members = error_of(lambda: assign({}, {"a": then_broken(7)}, engine=engine))
    racks = error_of(lambda: assign({"t": [Info(0, then_broken(7))]}, {}, engine=engine))

    assert (ARGUMENT, "topic 't': a partition id cannot be negative: -1") == topics
    assert (TYPE, "member 'a': a topic must be a str, not int: 7") == members
    assert (TYPE, "topic 't', partition 0: a rack must be a str, not int: 7") == racks


class Sequence:
    """Sequence that is iterable by index only."""

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def __getitem__(self, place: int) -> Any:
        found = self.entries[place]
        if isinstance(found, Exception):
            raise found
        return found


def test_sequences_that_only_support_indexing_are_accepted(engine: Engine) -> None:
    topics: Any = {"t": Sequence(3, Info(1, Sequence("r", None)))}

    assert {"a": [("t", 1), ("t", 3)]} == assign(topics, {"a": Sequence("t")}, engine=engine)  # type: ignore[dict-item]  # deliberately wrong type
    for broken in ({"t": Sequence(TypeError("mine"))}, {"t": [Info(0, Sequence(TypeError("mine")))]}):
        with pytest.raises(TypeError, match=r"^mine$"):
            assign(broken, {}, engine=engine)  # type: ignore[arg-type]  # deliberately wrong type


def test_an_error_leaves_the_input_unchanged(engine: Engine) -> None:
    topics = {"u": [2, PartitionInfo(0, ("r", None))], "t": [1, 1]}
    members = {"b": ["t", "u"], "a": Subscription(("t",), rack="r"), "c": {"t": 1}}
    before = copy.deepcopy((topics, members))

    found = error_of_input(topics, members, engine)

    assert (ARGUMENT, "topic 't': partition 1 is given twice") == found
    assert before == (topics, members)
    assert [list(mapping) for mapping in before] == [list(topics), list(members)]


def test_none_in_racks_means_a_broker_without_a_rack(engine: Engine) -> None:
    assert {"a": [("t", 0)]} == assign({"t": [PartitionInfo(0, (None, "r"))]}, {"a": ("t",)}, engine=engine)


def test_a_name_created_while_user_data_is_read_is_not_confused_with_a_freed_name(engine: Engine) -> None:
    first, later = ["".join(["t", "0"])], list[str]()

    class Meddling(Subscription):
        def __getattribute__(self, name: str) -> Any:
            if name == "user_data" and first:
                first.clear()
                later.append("".join(["t", "1"]))
            return super().__getattribute__(name)

    members: dict[str, Any] = {"a": first, "b": Meddling((), user_data=b"x"), "c": later}
    found = assign({"t0": 6, "t1": 6}, members, engine=engine)

    assert {"t1"} == {partition.topic for partition in found["c"]}
