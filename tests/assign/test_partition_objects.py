"""`TopicPartition` objects in answers: they behave like other instances, but the garbage collector skips them."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import assignor._core
from assignor import Group, TopicPartition, Topics, assign, errors, plan
from tests.support.invalid_input import Changing, Interfering

PORTABLE = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) or ".abi3." in Path(assignor._core.__file__).name
"""True if the core builds partitions by public calls (abi3 or free-threaded Python); the collector then tracks them."""

TOPICS: dict[str, Any] = {"t": 3, "u": [2**20 + 5, 7, 2**31 - 1], "é": 1}
MEMBERS = {"a": ["t", "u", "é"], "b": ["u", "t"]}

ANSWERS: dict[str, Callable[[], dict[str, list[TopicPartition]]]] = {
    "assign": lambda: assign(TOPICS, MEMBERS),
    "plan": lambda: dict(plan(TOPICS, MEMBERS)),
    "group": lambda: Group(TOPICS, MEMBERS).assign(),
    "topics": lambda: assign(Topics(TOPICS), MEMBERS),
    "diff": lambda: plan({}, {}).diff(plan(TOPICS, MEMBERS)).added,
    "restored": lambda: dict(pickle.loads(pickle.dumps(plan(TOPICS, MEMBERS)))),
}


@pytest.fixture(params=ANSWERS)
def partitions(request: pytest.FixtureRequest) -> list[TopicPartition]:
    """Return the same seven partitions from each source."""
    return [partition for found in ANSWERS[request.param]().values() for partition in found]


EXPECTED = [("t", 0), ("t", 1), ("u", 7), ("u", 2**20 + 5), ("é", 0), ("t", 2), ("u", 2**31 - 1)]


def test_partitions_equal_instances_that_the_class_creates(partitions: list[TopicPartition]) -> None:
    made = [TopicPartition(*entry) for entry in EXPECTED]

    assert made == partitions == EXPECTED
    assert list(map(hash, made)) == list(map(hash, EXPECTED)) == list(map(hash, partitions))
    assert list(map(repr, made)) == list(map(repr, partitions))
    assert list(map(sys.getsizeof, made)) == list(map(sys.getsizeof, partitions))
    assert {TopicPartition} == set(map(type, partitions))
    assert all(isinstance(partition, tuple) and len(partition) == 2 for partition in partitions)
    assert [(str, int)] * 7 == [tuple(map(type, partition)) for partition in partitions]


def test_partitions_behave_like_named_tuples(partitions: list[TopicPartition]) -> None:
    first = partitions[0]

    assert ("t", 0) == (first.topic, first.partition) == tuple(first) == first[:]
    assert {"topic": "t", "partition": 0} == first._asdict()
    assert TopicPartition("t", 5) == first._replace(partition=5)
    assert first < partitions[1]
    assert ("t", 0, "more") == (*first, "more") == first + ("more",)  # noqa: RUF005 - the operator is tested
    assert {("t", 0): 1}[first] == 1
    match first:
        case TopicPartition(topic="t", partition=id):
            assert 0 == id
        case _:
            pytest.fail("a partition does not match its class")
    with pytest.raises(AttributeError):
        first.topic = "u"  # type: ignore[misc]  # deliberately wrong type


def test_partitions_can_be_pickled_and_copied(partitions: list[TopicPartition]) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(partitions, protocol))
        assert partitions == back
        assert {TopicPartition} == set(map(type, back))
    assert partitions == copy.copy(partitions) == copy.deepcopy(partitions)


def test_the_collector_does_not_track_partitions(partitions: list[TopicPartition]) -> None:
    assert [PORTABLE] * 7 == list(map(gc.is_tracked, partitions))

    for _ in range(3):
        gc.collect()

    assert EXPECTED == partitions
    assert gc.is_tracked(partitions)  # a list may be part of a cycle


def test_cycles_through_partitions_are_collected() -> None:
    gc.collect()
    before = sys.getrefcount(TopicPartition)
    answer: dict[str, Any] = assign(TOPICS, MEMBERS)
    answer["a"].append(answer)

    del answer
    gc.collect()

    assert before == sys.getrefcount(TopicPartition)


# ---- state of the garbage collector


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def collecting(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Enable or disable the collector; restore it afterwards."""
    was = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if was else gc.disable)()


def test_the_collector_is_restored_after_each_answer(collecting: bool) -> None:
    for answer in ANSWERS.values():
        answer()
        assert collecting == gc.isenabled()
    found = plan(TOPICS, MEMBERS)
    uses: list[Callable[[], object]] = [
        found.encode,
        found.balance,
        found.spans,
        found.to_json,
        found.to_arrow,
        lambda: found == dict(found),
    ]
    for use in uses:
        use()
        assert collecting == gc.isenabled()


def test_the_collector_is_restored_after_an_error_while_reading(collecting: bool) -> None:
    seen = []

    def fail() -> None:
        seen.append(gc.isenabled())
        raise KeyError("mine")

    broken = Interfering([], fail)
    inputs: list[tuple[dict[str, Any], dict[str, Any]]] = [({"t": broken}, {}), ({"t": 1}, {"a": ["t"], "b": broken})]
    calls: list[Callable[..., object]] = [assign, plan, Group]
    for topics, members in inputs:
        for call in calls:
            with pytest.raises(KeyError):
                call(topics, members)
            assert collecting == gc.isenabled()
    for wrong in ({"t": -1}, {"t": [1, 1]}, {"\ud800": 1}):
        with pytest.raises(errors.IllegalArgumentError):
            assign(wrong, {"a": ["t"]})
        assert collecting == gc.isenabled()
    assert [collecting] * 6 == seen  # user code may need the collector


def test_the_collector_is_restored_after_an_error_while_comparing(collecting: bool) -> None:
    class Broken(Changing):
        def __getitem__(self, key: str) -> Any:
            raise KeyError("mine")

    class Odd:
        def __eq__(self, other: object) -> bool:
            raise KeyError("mine")

        __hash__ = None  # type: ignore[assignment]  # as in all classes that define `__eq__`

    found = plan(TOPICS, MEMBERS)
    others: list[Any] = [Broken(dict(found)), {**found, "a": Odd()}]
    for other in others:
        with pytest.raises(KeyError):
            found == other  # noqa: B015 - the comparison is tested
        assert collecting == gc.isenabled()


NO_MEMORY = """
import gc
import sys

import _testcapi
from assignor import Topics, assign

topics, members = {"t": [2**20 + 5, 2**21], "u": 40}, {"a": ["t", "u"], "b": ["t"]}
expected, failed = assign(topics, members), 0
for given in (topics, Topics(topics)):
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        for place in range(300):
            answer = None
            _testcapi.set_nomemory(place, place + 1)
            try:
                answer = assign(given, members)
            except BaseException as error:
                assert isinstance(error, MemoryError) or "PyObject pointer is null" in str(error), error
                failed += 1
            finally:
                _testcapi.remove_mem_hooks()
            assert gc.isenabled() == enabled
            assert answer in (None, expected)
assert failed > 100, failed
"""
"""Program that makes one memory allocation of Python fail per `assign`; PyO3 panics if it cannot create a dict."""


def test_the_collector_is_restored_after_a_memory_error_while_building() -> None:
    pytest.importorskip("_testcapi", reason="needs CPython's module _testcapi, which makes allocations fail")

    found = subprocess.run([sys.executable, "-c", NO_MEMORY], capture_output=True, text=True, check=False)

    assert 0 == found.returncode, found.stderr


# ---- memory


def resident() -> int:
    """Return the memory of this process in bytes; 0 if there is no /proc."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text(encoding="ascii").split()[1]) * 4096 if pages.exists() else 0


def test_dropped_answers_do_not_leak_memory() -> None:
    ids = [id + 2**20 * (id % 2) for id in range(400)]
    topics: dict[str, Any] = {"".join(["topic", str(number)]): ids for number in range(4)}
    members = {"".join(["member", str(number)]): list(topics) for number in range(5)}
    names: list[Any] = [*topics, *members, TopicPartition, *members.values(), ids, topics, members]
    other = plan({"t": 1}, {"a": ["t"]})

    def answer() -> None:
        found, shared = plan(topics, members), Topics(topics)
        group = Group(shared, members)
        assert found == assign(topics, members) == group.assign() == assign(shared, members)
        assert found == pickle.loads(pickle.dumps(found)) == plan(shared, members)
        assert found["member1"] == dict(found.items())["member1"] == found.diff(other).revoked["member1"]
        assert "member0" == found.owner("topic3", 0) == group.plan().owner("topic3", 0)
        assert len(found.spans().start) == len(found.to_arrow()) == len(group.plan().spans().start)
        assert found.encode().keys() == members.keys()
        assert found.balance().spread.keys() == topics.keys()
        assert found.group_metadata_size("g", clients=dict.fromkeys(members, ("app", "host"))) > 0
        with pytest.raises(errors.IllegalArgumentError):
            assign(topics | {"topic3": -1}, members)
        with pytest.raises(errors.WrongTypeError):
            assign(topics, members | {"member3": [*topics, 7]})  # type: ignore[arg-type]  # deliberately wrong type

    def counted() -> list[int]:
        gc.collect()
        return [sys.getrefcount(name) for name in names]

    for _ in range(20):
        answer()
    references, memory = counted(), resident()
    for _ in range(200):
        answer()

    assert references == counted()
    assert resident() - memory < 8 * 2**20  # one leaked answer per round: 25 MiB


def test_calls_share_the_partitions_of_small_groups() -> None:
    first, second = (assign({"t": 3}, {"a": ["t"]})["a"] for _ in range(2))

    assert first is not second
    assert all(left is right for left, right in zip(first, second, strict=True))


def test_each_call_gets_its_own_ids_although_calls_share_partitions() -> None:
    for partitions in (1, 5, [7, 2], 3, 9):
        ids = range(partitions) if isinstance(partitions, int) else sorted(partitions)

        assert {"a": [TopicPartition("t", id) for id in ids]} == assign({"t": partitions}, {"a": ["t"]})


def test_calls_share_the_first_topics_of_large_groups() -> None:
    topics = {"large": 2**16 - 1, "second": 1, "third": 1}
    first, second = (assign(topics, {"a": [*topics]})["a"] for _ in range(2))

    assert first == second == [TopicPartition(topic, id) for topic, count in topics.items() for id in range(count)]
    assert {"large", "second"} == {left.topic for left, right in zip(first, second, strict=True) if left is right}


def test_calls_do_not_share_a_first_topic_that_is_too_large() -> None:
    first, second = (assign({"t": 2**16 + 1, "u": 1}, {"a": ["t", "u"]})["a"] for _ in range(2))

    assert first == second
    assert not any(left is right for left, right in zip(first, second, strict=True))


def test_partitions_of_large_groups_do_not_replace_those_of_small_ones() -> None:
    before = assign({"small": 1}, {"a": ["small"]})["a"]
    for number in range(5):
        topics = {f"first-{number}": 2**14, "second": 1}
        assert 2**14 + 1 == len(assign(topics, {"a": [*topics]})["a"])

    assert before[0] is assign({"small": 1}, {"a": ["small"]})["a"][0]


def test_shared_partitions_of_other_topics_are_dropped_before_there_are_too_many() -> None:
    id = assign({"t": 301}, {"a": ["t"]})["a"][300].partition
    before = sys.getrefcount(id)
    for number in range(200):
        topic = f"topic-{number}"
        assert [TopicPartition(topic, id) for id in range(301)] == assign({topic: 301}, {"a": [topic]})["a"]

    assert sys.getrefcount(id) - before <= 2**14 // 301
