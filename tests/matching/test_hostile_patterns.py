"""Tests that no pattern takes much time, memory or stack: it is matched, or an error names the limit."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from assignor import errors, match_topics
from assignor.names import Dialect
from assignor.validation import DIALECTS
from tests.matching import hostile
from tests.matching.unsupported import TOO_MANY_STEPS, is_reviewed
from tests.support.engines import Engine

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
DRAWN = 40_000 if LONG else 400
SECONDS = 2
BYTES = 512 << 20

# The processor's time is compared, because other processes may be busy. The thread has a stack as small as on macOS.
WORKER = """
import json, resource, sys, threading, time
from assignor import errors, explain_pattern, match_topics

names, seconds, size = json.loads(sys.stdin.readline())
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + size, used + size))

def run():
    for line in sys.stdin:
        dialect, pattern, explained = json.loads(line)
        start = time.thread_time()
        try:
            if explained:
                answer = len(str(explain_pattern(pattern, dialect)))
            else:
                answer = match_topics(pattern, names, dialect=dialect)
        except (errors.InvalidPatternError, errors.UnsupportedPatternError) as error:
            answer = [type(error).__name__, error.reason]
        print(json.dumps([answer, time.thread_time() - start]), flush=True)

threading.stack_size(512 * 1024)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def answers(asked: Sequence[tuple[str, str, bool]], names: list[str]) -> list[Any]:
    """Return the answer to each call, with its time in seconds, in a process with limited memory and a small stack."""
    lines = [json.dumps([names, SECONDS, BYTES]), *map(json.dumps, asked)]
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=6000 if LONG else 300,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    failing = [] if len(found) == len(asked) else asked[len(found)]
    assert ("", 0, []) == (done.stderr, done.returncode, failing)
    return found


@pytest.mark.plain_build
@pytest.mark.skipif(sys.platform != "linux", reason="the test limits memory by the size of the address space")
@pytest.mark.timeout(7200 if LONG else 400)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_hostile_patterns_take_little_time_and_memory(dialect: Dialect) -> None:
    rng = random.Random(dialect)
    asked = [(dialect, hostile.pattern(rng, dialect), number % 8 == 0) for number in range(DRAWN)]

    found = answers(asked, hostile.NAMES)

    slow = [(call, seconds) for call, (_, seconds) in zip(asked, found, strict=True) if seconds > SECONDS]
    assert not slow
    explanations = [answer for (*_, is_explained), (answer, _) in zip(asked, found, strict=True) if is_explained]
    assert all(length < 64 * 1024 for length in explanations if isinstance(length, int))
    matched = [answer for answer, _ in found if not (isinstance(answer, list) and len(answer) == 2)]
    assert len(matched) > DRAWN / 10


CAPTURES = "(a*)(a*)(?:x|{})\\{}"
KNOWN = [
    ("java", CAPTURES.format("(b)" * 2_000, 2_002)),
    ("java", CAPTURES.format("(b)" * 5_000, 5_002)),
    ("java", "(a*)(a*)(a*)" + "(b)?" * 97 + "".join(rf"\{group}" for group in range(1, 101))),
    ("python", CAPTURES.format("(b)" * 97, 99)),
    ("java", "()" * 30_000 + "(?>(a))" + "|a" * 30_000 + r"\1"),
    ("java", "^" * 19_999 + "a"),
    ("java", "(a*)(?:(?<!" + "b" * 15_000 + r"|c)a)*\1b"),
    ("java", "".join(f"(?=[ab]*a[ab]{{9}}{letter}?)" for letter in "ab" * 500) + ".*"),
    ("librdkafka", "^a|" + "(" * 90 + r"\b" + "^)" * 90),
    ("librdkafka", "^" + r"(\b|a){3000}b" * 10_000),
    ("re2j", "(?:^|a){1000}b" * 10_000),
    ("re2j", ".*" + "(?:a?){9}" * 2_000 + "b"),
]


@pytest.mark.skipif(sys.platform != "linux", reason="the test limits memory by the size of the address space")
@pytest.mark.parametrize(("dialect", "pattern"), KNOWN, ids=range(len(KNOWN)))
def test_known_hostile_patterns_take_little_time_and_memory(dialect: Dialect, pattern: str) -> None:
    for _, seconds in answers([(dialect, pattern, False), (dialect, pattern, True)], hostile.NAMES):
        assert seconds < SECONDS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_length_of_a_pattern_is_limited(dialect: Dialect, engine: Engine) -> None:
    comment = {"java": "(?x)a#", "python": "(?x)a#", "re2j": "[a", "librdkafka": "^[a"}[dialect]
    end = "]" if comment.endswith("[a") else ""

    def of_length(length: int) -> str:
        return comment + "a" * (length - len(comment) - len(end)) + end

    assert ["a"] == match_topics(of_length(250_000), ["a", "b"], dialect=dialect, engine=engine)
    with pytest.raises(errors.UnsupportedPatternError) as raised:
        match_topics(of_length(250_001), ["a"], dialect=dialect, engine=engine)
    assert ("a pattern of 250001 characters; the limit is 250000", 0) == (raised.value.construct, raised.value.position)


@pytest.mark.parametrize(("dialect", "reference"), [("java", r"\{}"), ("python", "(?({})a|b)")])
def test_the_number_of_referenced_groups_is_limited(dialect: Dialect, reference: str, engine: Engine) -> None:
    def referring(groups: int) -> str:
        return "(a)" * 120 + "".join(reference.format(group) for group in range(1, groups + 1))

    assert ["a" * 220] == match_topics(referring(100), ["a" * 220, "a" * 219], dialect=dialect, engine=engine)
    if (dialect, engine) == ("python", "reference"):  # `re` has no such limit
        return
    with pytest.raises(errors.UnsupportedPatternError, match="backreferences to more than 100 groups") as raised:
        match_topics(referring(101), ["a"], dialect=dialect, engine=engine)
    assert len(referring(100)) == raised.value.position


def test_groups_that_no_backreference_refers_to_cost_nothing(engine: Engine) -> None:
    pattern = CAPTURES.format("(b)" * 1_000, 2)
    names = ["a" * 99 + "x" + "a" * 60, "a" * 99 + "x", "b" * 9]

    assert names[:2] == match_topics(pattern, names, engine=engine)


@pytest.mark.parametrize("dialect", ["re2j", "librdkafka"])
def test_the_size_of_all_copies_is_limited(dialect: Dialect, engine: Engine) -> None:
    part = {"re2j": r"(\b|a){800}", "librdkafka": r"((^|a)?\2){800}"}[dialect]

    if dialect == "re2j":
        assert ["a"] == match_topics(part, ["a", "."], dialect=dialect, engine=engine)
    with pytest.raises(errors.UnsupportedPatternError) as raised:
        match_topics("^" + f"{part}b" * 30, ["a"], dialect=dialect, engine=engine)
    assert is_reviewed(raised.value)


def test_a_state_with_many_captures_costs_several_steps(engine: Engine) -> None:
    references = "".join(rf"\{group}" for group in range(1, 99))
    few, many = (f"c{'(b)' * 98}" + rf"|(a*)(a*)a?a?\99\100x|y{more}" for more in ("", references))

    assert ["y"] == match_topics(few, ["y", "a" * 249], engine=engine)
    assert ["x"] == match_topics(many, ["x"], engine=engine)
    with pytest.raises(errors.UnsupportedPatternError, match=TOO_MANY_STEPS):
        match_topics(many, ["a" * 249], engine=engine)
