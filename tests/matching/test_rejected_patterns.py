"""Tests that docs/matching.md lists all rejected constructs, each with its error and an example that raises it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assignor import match_topics
from assignor.errors import UnsupportedPatternError
from assignor.names import Dialect
from tests.matching.unsupported import REVIEWED, TOO_LARGE
from tests.support.engines import ENGINES

PAGE = (Path(__file__).parents[2] / "docs" / "matching.md").read_text(encoding="utf-8")
REJECTED = PAGE.split("\n## Rejected patterns\n")[1].split("\n## ")[0]


def documented(dialect: Dialect) -> list[tuple[str, str]]:
    """Return the quoted constructs of a dialect on the page, each with its example."""
    section = REJECTED.split(f"\n**`{dialect}`**\n\n")[1].split("\n\n")[0]
    found: list[tuple[str, str]] = []
    for entry in re.split(r"^\* ", section, flags=re.MULTILINE)[1:]:
        constructs = re.findall(r'"([^"]+)"', entry)
        examples = re.findall(r"`([^`]+)`", entry)[: len(constructs)]
        found += zip(constructs, examples, strict=True)
    return found


DOCUMENTED = [(dialect, *found) for dialect in REVIEWED for found in documented(dialect)]


@pytest.mark.parametrize("dialect", REVIEWED)
def test_the_page_lists_the_constructs_that_each_dialect_rejects(dialect: Dialect) -> None:
    constructs = [construct for construct, _ in documented(dialect)]

    assert constructs == [construct for construct in REVIEWED[dialect] if construct not in TOO_LARGE]
    assert all(words in REJECTED for words in TOO_LARGE)
    assert len(constructs) <= 4


@pytest.mark.parametrize(("dialect", "construct", "example"), DOCUMENTED)
def test_each_example_raises_the_error_that_the_page_quotes(dialect: Dialect, construct: str, example: str) -> None:
    for engine in ENGINES:
        if (dialect, engine) == ("python", "reference"):  # this engine is `re`, which matches these patterns
            continue
        with pytest.raises(UnsupportedPatternError) as raised:
            match_topics(example, ["orders"], dialect=dialect, engine=engine)
        assert construct == raised.value.construct
