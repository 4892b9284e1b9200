"""Tests that signals interrupt matching, even while one name is matched."""

from __future__ import annotations

import sys

import pytest

from tests.support.signals import interrupted

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests send POSIX signals")

# One name takes a tenth of a second, and Ctrl-C arrives within each. Thousands of such names would take minutes.
SETUP = r"""
from assignor import Subscription, TopicMatcher, assign, errors, match_topics, resolve
from assignor.matching import TopicPattern
slow = r"(.{0,9})(.{0,9})(.{0,9})\2x?"
names = [f"{'ab' * 100}{number:05}" for number in range(4000)]
matcher = TopicMatcher()
"""

CALLS = {
    "match_topics": "match_topics(slow, names)",
    "match_each": "resolve({'a': Subscription(pattern=[slow, 'b', 'c', 'd', 'e'])}, names)",
    "assign": "assign(dict.fromkeys(names, 1), {'a': Subscription(pattern=slow)})",
    "add_topics": "matcher.add_pattern('k', slow); matcher.add_topics(names)",
    "few topics, many patterns": (
        "[matcher.add_pattern(number, slow + 'y?' * number) for number in range(400)]; matcher.add_topics(names[:20])"
    ),
    "many compilations": (
        "resolve({'a': Subscription(pattern=['(a|b.*c){9}' * 90 + str(n) for n in range(9000)])}, ['a'])"
    ),
    "single names": "[TopicPattern(slow).matches(name) for name in names]",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_exception_of_a_handler_ends_matching(call: str) -> None:
    found = interrupted(SETUP, call)

    assert ("Raised", True) == (found["raised"], found["seconds"] < 2), found


def test_ctrl_c_from_another_thread_ends_matching() -> None:
    found = interrupted(SETUP, "match_topics(slow, names)", "SIGINT")

    assert ("Raised", True) == (found["raised"], found["seconds"] < 2), found


def test_an_interrupted_matcher_is_as_before() -> None:
    setup = SETUP + "matcher.add_pattern('k', slow); matcher.add_topics(['x' * 9])\n"
    after = "assert ['x' * 9] == matcher.matches('k'); assert {} == matcher.remove_topics(names)"

    assert "Raised" == interrupted(setup, "matcher.add_topics(names)", after=after)["raised"]
