"""Benchmarks of matching topics by patterns, compared with the pattern engines of Python and Java."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import re
from collections.abc import Callable, Iterator

from assignor import Subscription, TopicMatcher, resolve
from benches import patterns
from benches.checks import require
from benches.java_process import JavaMissingError, JavaPatterns
from benches.report import Part, Row, Run, faster, section
from benches.timing import Case, Sampler, interleave, sampler

ALL_AT_ONCE = {"re": 10, "google-re2": 10, "google-re2 Set": 4}
"""Smallest ratio of the time of each peer to ours, to compile and match all patterns."""

NEW_PATTERN = 20
"""Smallest ratio of the time of Python's re to ours, for one more pattern."""

Found = list[list[str]]
"""For each pattern, the topics that match it."""


def with_resolve(texts: list[str], topics: list[str]) -> Callable[[], Found]:
    """Return a call of `resolve` for a group with one member per pattern."""
    group = {str(number): Subscription(pattern=text) for number, text in enumerate(texts)}
    return lambda: list(resolve(group, topics).values())


def with_matcher(texts: list[str], topics: list[str]) -> Callable[[], Found]:
    """Return a call that adds topics and patterns to a `TopicMatcher`."""

    def call() -> Found:
        matcher = TopicMatcher()
        matcher.add_topics(topics)
        return [matcher.add_pattern(number, text).get(number, []) for number, text in enumerate(texts)]

    return call


def with_re(texts: list[str], topics: list[str]) -> Callable[[], Found]:
    """Return a call of Python's `re` that first purges the cache of compiled patterns."""

    def call() -> Found:
        re.purge()
        return [list(filter(re.compile(text).fullmatch, topics)) for text in texts]

    return call


def with_re2(texts: list[str], topics: list[str]) -> Callable[[], Found]:
    """Return a call of google-re2 that matches one pattern after another."""
    import re2

    def call() -> Found:
        re2.purge()
        return [list(filter(re2.compile(text).fullmatch, topics)) for text in texts]

    return call


def with_re2_set(texts: list[str], topics: list[str]) -> Callable[[], Found]:
    """Return a call of google-re2's `Set`, which finds all patterns that a name matches."""
    import re2

    def call() -> Found:
        together = re2.Set.FullMatchSet()
        for text in texts:
            together.Add(text)
        together.Compile()
        found: Found = [[] for _ in texts]
        for topic in topics:
            for number in together.Match(topic) or ():
                found[number].append(topic)
        return found

    return call


Prepare = Callable[[list[str], list[str]], Callable[[], Found]]
"""Function from patterns and topics to the call to time."""

OURS: dict[str, Prepare] = {"resolve": with_resolve, "TopicMatcher": with_matcher}
THEIRS: dict[str, Prepare] = {"re": with_re, "google-re2": with_re2, "google-re2 Set": with_re2_set}


def available() -> dict[str, Prepare]:
    """Return the implementations that are installed."""
    has_re2 = importlib.util.find_spec("re2") is not None
    return OURS | {name: implementation for name, implementation in THEIRS.items() if has_re2 or name == "re"}


def sizes(run: Run) -> list[tuple[int, int]]:
    """Return the numbers of topics and patterns; the last are the largest."""
    return run.of([(10_000, 1), (10_000, 10), (10_000, 200), (10_000, 2000)], [(200, 1), (200, 20)])


def prepared(name: str, topic_count: int, pattern_count: int) -> Callable[[], Found]:
    """Return a call of an implementation, after its answer is checked."""
    topics = patterns.names(topic_count)
    texts = patterns.patterns(pattern_count, topics)
    call = available()[name](texts, topics)
    require(call() == with_re(texts, topics)(), f"{name} does not match what re matches")
    return call


def cases(run: Run) -> Iterator[Case]:
    """Yield each implementation of this package for each size."""
    for topics, texts in sizes(run):
        for name in OURS:
            yield Case(f"{topics:,} x {texts:,}", name, functools.partial(prepared, name, topics, texts))


@section(
    "matching",
    "Matching topics by patterns",
    "Milliseconds, min / median, to compile all patterns and list the topics that fully match each of them, and the "
    "time divided by that of `resolve`. Rows are topics x patterns; all lists are equal. The last two rows start "
    "from the topics and the compiled patterns of the row above, and add one pattern, or one topic.",
    "this / first",
)
def matching(run: Run) -> Iterator[Part]:
    with contextlib.ExitStack() as stack:
        java: dict[str, JavaPatterns] = {}
        try:
            for name, engine in {"java.util.regex": "java", "RE2/J": "re2j"}.items():
                java[name] = stack.enter_context(JavaPatterns(engine))
            yield f"{java[name].version}."
        except JavaMissingError as why:
            yield f"Java not timed: {why}."
        if "google-re2" in available():
            yield f"google-re2 {importlib.metadata.version('google-re2')}."
        for topic_count, pattern_count in sizes(run):
            case = f"{topic_count:,} x {pattern_count:,}"
            run.report(f"matching {case}")
            samplers = {name: sampler(prepared(name, topic_count, pattern_count)) for name in available()}
            topics = patterns.names(topic_count)
            texts = patterns.patterns(pattern_count, topics)
            matches = sum(map(len, with_re(texts, topics)()))
            for name, process in java.items():
                require(process.prepare(texts, topics) == matches, f"{name} does not match what re matches")
                samplers[name] = process.sampler()
            times = interleave(samplers, run.pace(3))
            yield Row(case, times)
    yield from (faster(times, peer, "resolve", least, case) for peer, least in ALL_AT_ONCE.items() if peer in times)
    for what, one_more in (("a new pattern", _new_pattern), ("a new topic", _new_topic)):
        run.report(f"matching {what}")
        calls = {name: _each(sampler(call)) for name, call in one_more(texts, topics).items()}
        times = interleave(calls, run.pace(1.5, 7))
        yield Row(what, times)
        if what == "a new pattern":
            yield faster(times, "re", "TopicMatcher", NEW_PATTERN, what)
    yield f"Each sample of these rows is the mean of {ROUNDS} such additions; their ratio is to `TopicMatcher`."


ROUNDS = 50
"""The number of new patterns or topics in a call."""


def _each(sample: Sampler) -> Sampler:
    """Return a sampler of the seconds per pattern or topic."""
    return lambda calls: sample(calls) / ROUNDS


def _filled(texts: list[str], topics: list[str]) -> TopicMatcher:
    matcher = TopicMatcher()
    matcher.add_topics(topics)
    for number, text in enumerate(texts):
        matcher.add_pattern(number, text)
    return matcher


def _new_pattern(texts: list[str], topics: list[str]) -> dict[str, Callable[[], object]]:
    """Return calls that compile and match one new pattern after another for all topics."""
    new = [text for text in patterns.patterns(len(texts) + ROUNDS, topics, seed=13) if text not in set(texts)][:ROUNDS]
    matcher = _filled(texts, topics)

    def ours() -> Found:
        found = [matcher.add_pattern(text, text).get(text, []) for text in new]
        for text in new:
            matcher.remove_pattern(text)
        return found

    theirs = with_re(new, topics)
    require(ours() == theirs(), "TopicMatcher does not match what re matches")
    return {"TopicMatcher": ours, "re": theirs}


def _new_topic(texts: list[str], topics: list[str]) -> dict[str, Callable[[], object]]:
    """Return calls that match one new topic after another with all patterns, which are compiled."""
    known = set(topics)
    new = [name for name in patterns.names(len(topics) + 2 * ROUNDS, seed=17) if name not in known][:ROUNDS]
    matcher = _filled(texts, topics)
    compiled = [re.compile(text) for text in texts]

    def ours() -> list[list[int]]:
        found = [sorted(matcher.add_topics([name])) for name in new]  # type: ignore[type-var]  # keys are numbers here
        matcher.remove_topics(new)
        return found  # type: ignore[return-value]  # keys are numbers here

    def theirs() -> list[list[int]]:
        return [[number for number, pattern in enumerate(compiled) if pattern.fullmatch(name)] for name in new]

    require(ours() == theirs(), "TopicMatcher does not match what re matches")
    return {"TopicMatcher": ours, "re": theirs}
