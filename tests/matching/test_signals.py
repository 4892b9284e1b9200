"""Tests that signals interrupt matching, even while one name is matched."""

from __future__ import annotations

import contextlib
import gc
import itertools
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from assignor import match_topics
from assignor.names import Dialect
from assignor.validation import DIALECTS
from tests.support.engines import Engine
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
    "add_pattern": "matcher.add_topics(names); matcher.add_pattern('k', slow)",
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

    assert ("Raised", True) == (found["raised"], found["seconds"] < 1), found


def test_ctrl_c_from_another_thread_ends_matching() -> None:
    found = interrupted(SETUP, "match_topics(slow, names)", "SIGINT")

    assert ("Raised", True) == (found["raised"], found["seconds"] < 1), found


def test_an_interrupted_matcher_is_as_before() -> None:
    setup = SETUP + "matcher.add_pattern('k', slow); matcher.add_topics(['x' * 9])\n"
    after = "assert ['x' * 9] == matcher.matches('k'); assert {} == matcher.remove_topics(names)"

    assert "Raised" == interrupted(setup, "matcher.add_topics(names)", after=after)["raised"]


BACKREFERENCES = "^" + "(a*)" * 5 + r"\1\2\3\4c"
"""Pattern that takes a tenth of a second for each name that begins with 24 times `a`."""


class HandlerError(Exception):
    """Exception of the signal handler."""


@contextlib.contextmanager
def interrupting_signal() -> Iterator[None]:
    """Send a signal after 50 ms of processor time, on which other programs have no effect; its handler raises."""

    def handle(*_: object) -> None:
        raise HandlerError

    before = signal.signal(signal.SIGVTALRM, handle)
    gc.disable()  # an exception that is raised in a callback of the collector, such as Hypothesis's, is only logged
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
        signal.signal(signal.SIGVTALRM, before)


def endless_search(dialect: Dialect, engine: Engine, length: int) -> tuple[str, list[str]]:
    """Return a pattern, and names of a length, that keep an engine busy for minutes."""
    if dialect == "re2j":  # without backreferences; a large automaton whose states differ for different names
        letters = map("".join, itertools.product("ab", repeat=17))
        return "(.*[ab].{0,100}){100}c", [(each * 15)[:length] for each in letters] * 4
    names = [("a" * 24).ljust(length, "d")] * 2_000
    return ("(a|a)*b" if (dialect, engine) == ("python", "reference") else BACKREFERENCES), names


@pytest.mark.parametrize("length", [24, 249])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_signal_ends_an_endless_search(dialect: Dialect, engine: Engine, length: int) -> None:
    pattern, names = endless_search(dialect, engine, length)
    start = time.process_time()
    with pytest.raises(HandlerError), interrupting_signal():
        match_topics(pattern, names, dialect=dialect, engine=engine)

    assert time.process_time() - start < 1
