"""Tests that signals interrupt the results of a fleet, also while a pattern is matched."""

from __future__ import annotations

import sys

import pytest

from tests.support.signals import interrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests send POSIX signals")

# One name takes a tenth of a second, and each call would take many seconds.
SETUP = r"""
from assignor._core import Clusters
from tests.fleet.columns import cluster, clusters, group, groups, member
slow = r"(.{0,9})(.{0,9})(.{0,9})\2x?"
names = [f"{'ab' * 100}{number:05}" for number in range(4000)]
by_pattern = Clusters(clusters(cluster(dict.fromkeys(names, 1))))
asked = groups(group(member("a", pattern=slow, dialect="java")))
topics = {f"t{topic:03}": 5_000 for topic in range(100)}
by_name = Clusters(clusters(cluster(topics)))
large = groups(group(*(member(f"m{number:03}", *topics, assignor="sticky") for number in range(200))))
restart = [("s", None, [("rolling_restart", False)])]
"""

CALLS = {
    "resolve": "by_pattern.resolve(asked)",
    "assign by a pattern": "by_pattern.assign(asked)",
    "balance by a pattern": "by_pattern.balance(asked)",
    "scenario": "by_name.what_if(large, restart)",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_exception_of_a_handler_ends_the_call(call: str) -> None:
    found = interrupted(SETUP, call)

    assert ("Raised", True) == (found["raised"], found["seconds"] < 1), found


def test_an_interrupted_fleet_answers_as_before() -> None:
    setup = SETUP + "other = groups(group(member('a', pattern='.*1', dialect='java')))\n"
    setup += "expected = [column.to_pylist() for column in map(pa.array, by_pattern.resolve(other))]\n"
    after = "assert expected == [column.to_pylist() for column in map(pa.array, by_pattern.resolve(other))]"

    assert "Raised" == interrupted("import pyarrow as pa\n" + setup, "by_pattern.resolve(asked)", after=after)["raised"]
