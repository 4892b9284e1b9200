"""Benchmarks of pattern matching, one implementation at a time, to compare two versions with pytest-benchmark."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benches import matching, patterns
from benches.selections import SELECTIONS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each size and installed implementation."""
    sizes = SELECTIONS[metafunc.config.getoption("--selection")].matched
    tests = [
        pytest.param(topics, texts, name, id=f"{topics}x{texts}-{name}")
        for topics, texts in sizes
        for name in matching.available()
    ]
    metafunc.parametrize(("topic_count", "pattern_count", "name"), tests)


def test_matching(benchmark: BenchmarkFixture, topic_count: int, pattern_count: int, name: str) -> None:
    topics = patterns.names(topic_count)
    texts = patterns.patterns(pattern_count, topics)
    call = matching.available()[name](texts, topics)
    assert matching.with_re(texts, topics)() == call()
    benchmark.group = f"{topic_count} x {pattern_count}"
    benchmark(call)
