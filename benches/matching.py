"""Benchmark of matching topics by patterns, compared with the pattern engines of Python and Java."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Callable

from assignor import Subscription, TopicMatcher, resolve
from benches import patterns
from benches.implementations import WrongAnswerError
from benches.java_process import JavaMissingError, JavaPatterns
from benches.selections import Selection
from benches.tables import Raw, Report, ReportSection, Table, milliseconds
from benches.targets import ALL_AT_ONCE, NEW_PATTERN, TargetResult
from benches.timing import Sampler, Times, interleave, ratio, sampler

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


def matching(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about many patterns in one call, one more pattern, and one more topic."""
    rows, target_results = [], []
    implementations = available()
    java: JavaPatterns | None
    try:
        java = JavaPatterns()
        notes = [java.version]
    except JavaMissingError as why:
        java = None
        notes = [f"Java not timed: {why}"]
    if "google-re2" in implementations:
        notes.insert(0, f"google-re2 {importlib.metadata.version('google-re2')}")
    engines = [] if java is None else list(java.engines)
    for topic_count, pattern_count in selection.matched:
        topics = patterns.names(topic_count)
        texts = patterns.patterns(pattern_count, topics)
        case = f"{topic_count:,} x {pattern_count:,}"
        report(f"matching {case}")
        times = raw[f"all, {case}"] = _all_at_once(texts, topics, implementations, java, selection)
        columns = [*implementations, *engines]
        rows.append([case, *(milliseconds(times[name]) for name in columns)])
        if pattern_count == max(count for _, count in selection.matched):
            target_results += [
                TargetResult(f"{peer} / resolve, {case}", ratio(times, peer, "resolve"), wanted)
                for peer, wanted in ALL_AT_ONCE.items()
                if peer in times
            ]
    topics = patterns.names(selection.matched[-1][0])
    texts = patterns.patterns(selection.matched[-1][1], topics)
    for what, one_more in (("a new pattern", _new_pattern), ("a new topic", _new_topic)):
        report(f"matching {what}")
        calls = {name: _each(sampler(call)) for name, call in one_more(texts, topics).items()}
        times = raw[what] = interleave(calls, selection.own_pace)
        cells = [milliseconds(times[name]) if name in times else "-" for name in [*implementations, *engines]]
        rows.append([what, *cells])
        if what == "a new pattern":
            target_results.append(
                TargetResult(f"re / TopicMatcher, {what}", ratio(times, "re", "TopicMatcher"), NEW_PATTERN)
            )
    if java is not None:
        java.close()
    note = (
        "Milliseconds, min / median, to compile all patterns and list the topics that fully match each of them. Rows "
        "are topics x patterns; all lists are equal. The last two rows start from the topics and the compiled patterns "
        "of the row above, and add one pattern, or one topic. Each sample is the mean of "
        f"{ROUNDS} such additions. {'; '.join(notes)}."
    )
    return ReportSection(
        "Matching topics by patterns", note, Table(["", *implementations, *engines], rows), target_results
    )


def _all_at_once(
    texts: list[str],
    topics: list[str],
    implementations: dict[str, Prepare],
    java: JavaPatterns | None,
    selection: Selection,
) -> Times:
    calls = {name: implementation(texts, topics) for name, implementation in implementations.items()}
    right = with_re(texts, topics)()
    for name, call in calls.items():
        if call() != right:
            raise WrongAnswerError(f"{name} does not match what re matches")
    samplers = {name: sampler(call) for name, call in calls.items()}
    if java is not None:
        hits = sum(map(len, right))
        for engine in java.engines:
            if java.prepare(engine, texts, topics) != hits:
                raise WrongAnswerError(f"{engine} does not match what re matches")
            samplers[engine] = java.sampler(engine)
    return interleave(samplers, selection.pace)


ROUNDS = 50
"""The number of new patterns or topics in a call."""


def _each(sample: Sampler) -> Sampler:
    """Return a sampler of the seconds per pattern or topic."""
    return lambda calls: sample(calls) / ROUNDS


def _new_pattern(texts: list[str], topics: list[str]) -> dict[str, Callable[[], object]]:
    """Return calls that compile and match one new pattern after another for all topics."""
    new = [text for text in patterns.patterns(len(texts) + ROUNDS, topics, seed=13) if text not in set(texts)][:ROUNDS]
    matcher = TopicMatcher()
    matcher.add_topics(topics)
    for number, text in enumerate(texts):
        matcher.add_pattern(number, text)

    def ours() -> Found:
        found = [matcher.add_pattern(text, text).get(text, []) for text in new]
        for text in new:
            matcher.remove_pattern(text)
        return found

    theirs = with_re(new, topics)
    if ours() != theirs():
        raise WrongAnswerError("TopicMatcher does not match what re matches")
    return {"TopicMatcher": ours, "re": theirs}


def _new_topic(texts: list[str], topics: list[str]) -> dict[str, Callable[[], object]]:
    """Return calls that match one new topic after another with all patterns, which are compiled."""
    known = set(topics)
    new = [name for name in patterns.names(len(topics) + 2 * ROUNDS, seed=17) if name not in known][:ROUNDS]
    matcher = TopicMatcher()
    matcher.add_topics(topics)
    for number, text in enumerate(texts):
        matcher.add_pattern(number, text)
    compiled = [re.compile(text) for text in texts]

    def ours() -> list[list[int]]:
        found = [sorted(matcher.add_topics([name])) for name in new]  # type: ignore[type-var]  # keys are numbers here
        matcher.remove_topics(new)
        return found  # type: ignore[return-value]  # keys are numbers here

    def theirs() -> list[list[int]]:
        return [[number for number, pattern in enumerate(compiled) if pattern.fullmatch(name)] for name in new]

    if ours() != theirs():
        raise WrongAnswerError("TopicMatcher does not match what re matches")
    return {"TopicMatcher": ours, "re": theirs}
