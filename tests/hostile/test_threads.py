"""Threads that share plans, groups and topics get the answers that one thread gets."""

from __future__ import annotations

import gc
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from assignor import Group, Plan, Subscription, Topics, assign, check, explain_pattern, match_topics, plan, resolve
from assignor.matching import TopicPattern
from assignor.offsets import decode_record
from assignor.wire import decode_subscription, encode_subscription
from tests.hostile import calls, library_calls, machine_calls
from tests.hostile.calls import Call

TOPICS = {f"t{number}": number + 3 for number in range(20)}
MEMBERS: dict[str, Any] = {f"m{number}": list(TOPICS)[: 5 + number % 15] for number in range(40)}
THREADS = 6


@pytest.fixture(autouse=True)
def switch_threads_often() -> Iterator[None]:
    """Let the interpreter switch threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def shared_calls(shared: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Return calls on shared objects, whose results can be compared."""
    topics, group = shared["topics"], shared["group"]
    calls: dict[str, Callable[[], object]] = {
        "Topics": lambda: [dict(topics), topics.names, repr(topics), topics.get("t3")],
        "Group": lambda: [group.members, group.topics, repr(group), len(group)],
        "Group.assign": group.assign,
        "assign": lambda: assign(topics, MEMBERS, assignor="sticky"),
        "check": lambda: check(shared["sticky"], topics, MEMBERS),
        "match_topics": lambda: match_topics("t1.*", TOPICS),
        "resolve": lambda: resolve({"a": Subscription(pattern="t1.*")}, TOPICS),
        "explain_pattern": lambda: str(explain_pattern("t*", topics=TOPICS)),
        "TopicPattern": lambda: [shared["pattern"].matches(topic) for topic in TOPICS],
        "wire": lambda: decode_subscription(encode_subscription(Subscription(tuple(TOPICS)))),
        "decode_record": lambda: decode_record(b"\0\2\0\1g", None),
    }
    for name in ("range", "sticky", "roundrobin"):
        calls |= _plan_calls(name, shared[name], shared["range"])
    return calls


def _plan_calls(name: str, found: Plan, other: Plan) -> dict[str, Callable[[], object]]:
    return {
        f"{name}.spans": lambda: [column.tolist() for column in found.spans()],
        f"{name}.lists": lambda: dict(found),
        f"{name}.counts": lambda: found.counts().tolist(),
        f"{name}.owner": lambda: [found.owner(topic, 1) for topic in TOPICS],
        f"{name}.diff": lambda: found.diff(other),
        f"{name}.balance": lambda: found.balance(),
        f"{name}.encode": lambda: found.encode(),
        f"{name}.to_json": lambda: found.to_json(),
        f"{name}.arrow": lambda: pa.table(found).to_pylist(),
        f"{name}.size": lambda: found.group_metadata_size("g"),
        f"{name} ==": lambda: [found == other, repr(found)],
    }


def new_objects() -> dict[str, Any]:
    """Return new objects, whose cached parts do not exist yet."""
    topics = Topics(TOPICS)
    group = Group(topics, MEMBERS)
    plans = {name: group.plan(assignor=name) for name in ("range", "sticky", "roundrobin")}
    return {"topics": topics, "group": group, "pattern": TopicPattern("t.*1"), **plans}


def run_in_threads(work: Callable[[int], object]) -> list[object]:
    """Run a function in several threads that start at the same time; return its results."""
    barrier = threading.Barrier(THREADS)
    results: list[object] = [None] * THREADS

    def run(number: int) -> None:
        barrier.wait()
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_get_the_answers_of_one_thread() -> None:
    expected = {name: call() for name, call in shared_calls(new_objects()).items()}
    names = list(expected)
    for _ in range(3):
        calls = shared_calls(new_objects())

        def work(number: int, calls: dict[str, Callable[[], object]] = calls) -> list[str]:
            order = names[number * 5 % len(names) :] + names[: number * 5 % len(names)]
            return [name for name in order if calls[name]() != expected[name]]

        assert [[]] * THREADS == run_in_threads(work)


@pytest.mark.parametrize("name", ["spans", "owner", "repr", "lists"])
def test_the_first_read_of_a_plan_may_be_in_several_threads(name: str) -> None:
    reads: dict[str, Callable[[Plan], object]] = {
        "spans": lambda found: [column.tolist() for column in found.spans()],
        "owner": lambda found: found.owner("t", 7),
        "repr": repr,
        "lists": dict,
    }
    expected = reads[name](plan({"t": 500}, {"a": ["t"], "b": ["t"]}, assignor="roundrobin"))
    for _ in range(50):
        found = plan({"t": 500}, {"a": ["t"], "b": ["t"]}, assignor="roundrobin")

        def read(_: int, found: Plan = found) -> object:
            return reads[name](found)

        assert [expected] * THREADS == run_in_threads(read)


PUBLIC_CALLS = [
    call
    for call in (*calls.CALLS, *machine_calls.CALLS, *library_calls.CALLS)
    if not call.name.startswith("assignor.page.")  # making the charts of the first page takes seconds
]
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def shown(call: Call) -> str:
    """Return the result of a call, or its exception, as text without addresses."""
    try:
        return ADDRESS.sub("", repr(call.run({})))
    except BaseException as error:  # a panic of Rust is not an Exception
        return f"{type(error).__name__}: {error}"


def test_all_public_calls_answer_in_threads_as_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some calls write files
    sys.setswitchinterval(1e-4)  # a call takes longer than in the other tests
    expected = [shown(call) for call in PUBLIC_CALLS]
    assert not [text for text in expected if text.startswith("PanicException")]

    def work(number: int) -> list[str]:
        start = number * len(PUBLIC_CALLS) // THREADS
        order = [*range(start, len(PUBLIC_CALLS)), *range(start)]
        found = [(PUBLIC_CALLS[place].name, expected[place], shown(PUBLIC_CALLS[place])) for place in order]
        return [f"{name}: {after}" for name, before, after in found if after != before]

    assert [[]] * THREADS == run_in_threads(work)


def test_spans_are_read_only_views() -> None:
    columns = plan(TOPICS, MEMBERS).spans()
    assert [False] * 4 == [column.flags.writeable for column in columns]
    assert [None] * 4 != [column.base for column in columns]


@pytest.mark.parametrize("name", ["topics", "group", "range", "pattern"])
def test_objects_have_weak_references(name: str) -> None:
    found = new_objects()[name]
    reference = weakref.ref(found)
    assert reference() is found
    del found
    gc.collect()
    assert reference() is None
