"""List of the cases in which an assignor deviates from Kafka's class: `deviations.json`.

The runners of vectors read which tags mark such cases, and how many cases of each file deviate. `docs/limits.md` is
generated from the list. A deviation has one example, whose answer has to differ from Kafka's: a group
(`tests/assign/test_kafka_defects.py`), a streams group (the same file) or a vector (`test_range.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("deviations.json")

Json = dict[str, Any]


class Deviation(NamedTuple):
    """Case in which an assignor deviates from Kafka's class.

    Attributes:
        case: What Kafka's class does, and when.
        assignors: The assignors, by their names in the vectors.
        reason: What the assignor does instead, and why.
        page: Page of the documentation, relative to `docs/`.
        tags: Tags of the vectors that show it.
        example: Kind of the example: `group`, `streams` or `vector`.
        data: The example.
    """

    case: str
    assignors: tuple[str, ...]
    reason: str
    page: str
    tags: frozenset[str]
    example: str
    data: Json


class FileCounts(NamedTuple):
    """Numbers of cases in a file of our own folder.

    Attributes:
        cases: Number of all cases.
        tagged: Number of cases with a tag of a deviation of their assignor.
        different: Number of these cases that have another answer than Kafka's.
    """

    cases: int
    tagged: int
    different: int


def parse(entry: Json) -> Deviation:
    """Return one deviation.

    Raises:
        ValueError: A field is unknown or missing, or the deviation has no example or several.
    """
    fields = ("case", "assignors", "reason", "page", "tags")
    examples = [name for name in ("group", "streams", "vector") if name in entry]
    if {*fields, *examples} != set(entry) or len(examples) != 1:
        raise ValueError(f"deviation {entry.get('case')!r}: fields unknown or missing, or not one example")
    case, assignors, reason, page, tags = (entry[field] for field in fields)
    return Deviation(case, tuple(assignors), reason, page, frozenset(tags), examples[0], entry[examples[0]])


_LIST: Json = json.loads(FILE.read_text(encoding="utf-8"))

DEVIATIONS = tuple(map(parse, _LIST["deviations"]))
"""All deviations, in the order of the documentation."""

COUNTS: Mapping[str, FileCounts] = {name: FileCounts(**counts) for name, counts in _LIST["files"].items()}
"""Numbers of cases by the name of the file."""


def tags_of(assignor: str) -> frozenset[str]:
    """Return the tags of vectors in which an assignor may deviate from Kafka's class."""
    return frozenset[str]().union(*(each.tags for each in DEVIATIONS if assignor in each.assignors))


def assert_deviates(deviation: Deviation, theirs: object, ours: object) -> None:
    """Fail if our answer equals Kafka's: then the deviation has to be removed from the list."""
    assert theirs != ours, f"no deviation any more: {deviation.case}"
