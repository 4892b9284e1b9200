"""Tests that signals interrupt the assignment of large groups, and the construction of its lists."""

from __future__ import annotations

import sys
import threading

import pytest

from assignor import Group, assign
from tests.support.signals import interrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests send POSIX signals")

# Without an interruption each call would take many seconds.
SETUP = """
import random
from assignor import Group, assign
rng = random.Random(1)
topics = {f"t{topic:03}": 500_000 for topic in range(100)}
large = Group(topics, {f"m{member:04}": rng.sample(sorted(topics), 5) for member in range(100)})
one = {"t": 50_000_000}, {"a": ["t"], "b": ["t"]}
"""

CALLS = {
    "plan, sticky": "large.plan(assignor='sticky')",
    "plan, cooperative-sticky": "large.plan(assignor='cooperative-sticky')",
    "plan, uniform": "large.plan(assignor='uniform', group_protocol='consumer')",
    "assign of a group": "large.assign()",
    "assign of a group, uniform": "large.assign(assignor='uniform', group_protocol='consumer')",
    "assign, one topic": "assign(*one)",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_exception_of_a_handler_ends_the_assignment(call: str) -> None:
    found = interrupted(SETUP, call)

    assert ("Raised", True) == (found["raised"], found["seconds"] < 2), found


def test_an_exception_of_a_handler_ends_the_assignment_of_a_streams_group() -> None:
    setup = """
from assignor.server import StreamsMember, StreamsStickyAssignor
members = {f"m{number}": StreamsMember(f"p{number}") for number in range(1000)}
"""
    found = interrupted(setup, "StreamsStickyAssignor().assign({'0': (9000, True)}, members, standby_replicas=999)")

    assert ("Raised", True) == (found["raised"], found["seconds"] < 2), found


READING = """
import numpy as np, pyarrow as pa
from assignor import Group, MemberColumns, Subscription
def ids(count):
    return pa.array(np.arange(count) * 7919 % count).cast(pa.string())
"""

# Without an interruption each call takes more than a second.
READS = {
    "subscriptions": (
        "given = dict.fromkeys(ids(3_000_000).to_pylist(), Subscription(('t',), rack='r', group_instance_id=''))",
        "Group({'t': 1}, given)",
    ),
    "columns": (
        "given = MemberColumns(ids(6_000_000), np.zeros(6_000_000, np.int32), [['t']], ids(6_000_000))",
        "Group({'t': 1}, given)",
    ),
    "topics": ("given = dict.fromkeys(ids(2_000_000).to_pylist(), (0,))", "Group(given, {})"),
}


@pytest.mark.plain_build
@pytest.mark.parametrize(("given", "call"), READS.values(), ids=READS)
def test_an_exception_of_a_handler_ends_the_reading_of_a_group(given: str, call: str) -> None:
    found = interrupted(READING + given, call)

    assert ("Raised", True) == (found["raised"], found["seconds"] < 1), found


def test_a_handler_may_assign_the_same_group() -> None:
    setup = (
        SETUP
        + """
small = {"t": 9}, {"a": ["t"], "b": ["t"]}
seen = []
def handler(signum, frame):
    seen.append(assign(*small))
    seen.append(Group({"t": 100_000}, {"a": ["t"], "b": ["t"]}).plan(assignor="roundrobin"))
"""
    )
    call = "found = assign({'t': 9_000_000}, {'a': ['t'], 'b': ['t']})"
    after = "assert seen[0] == assign(*small); assert [4_500_000] * 2 == [len({*each}) for each in found.values()]"

    found = interrupted(setup, call, after=after)

    assert "nothing" == found["raised"]


def test_other_threads_assign_large_groups() -> None:
    group = Group({"t": 100_000}, {"a": ["t"], "b": ["t"]})
    expected = group.plan(assignor="sticky").counts().tolist()
    found: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: found.append(group.plan(assignor="sticky").counts().tolist())) for _ in "1234"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [expected] * 4 == found
    assert expected == [len(partitions) for partitions in assign({"t": 100_000}, {"a": ["t"], "b": ["t"]}).values()]
