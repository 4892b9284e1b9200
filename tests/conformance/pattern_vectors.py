"""Reader of the vectors of the kind `patterns`: the names that match a pattern in the real engine of each dialect.

The files are `patterns_*.json.gz` in `tests/vectors` or in the folder `ASSIGNOR_VECTORS`. Nothing is skipped: an
unknown field is an error.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assignor.names import Dialect
from tests.support.vector_fields import check_fields
from tests.support.vector_files import of_kind

DIALECT_OF: dict[str, Dialect] = {"java": "java", "re2j": "re2j", "python_match": "python", "librdkafka": "librdkafka"}
"""Dialect by the field that has its answer."""

KIND = "patterns"


@dataclass(frozen=True)
class Case:
    """Pattern, and the answer of its dialect.

    Attributes:
        name: Name that a failure is reported with.
        pattern: The pattern.
        dialect: The dialect.
        topics: Names to match.
        matches: The names that match, in the order of `topics`; None if the dialect rejects the pattern.
    """

    name: str
    pattern: str
    dialect: Dialect
    topics: tuple[str, ...]
    matches: tuple[str, ...] | None


def files(place: Path) -> list[Path]:
    """Return the files of the kind `patterns`; raise FileNotFoundError if there are none."""
    return of_kind(KIND, place, ".json.gz")


@cache
def read(path: Path) -> tuple[Case, ...]:
    """Return the cases of a file, one for each pattern and dialect; raise ValueError if there are none."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        whole = json.load(file)
    check_fields(KIND, path.name, whole, {"topics", "patterns"})
    topics = tuple(whole["topics"])
    cases = tuple(case for entry in whole["patterns"] for case in _cases(entry, topics))
    if not cases:
        raise ValueError(f"{path.name} is empty")
    return cases


def _cases(entry: dict[str, Any], topics: tuple[str, ...]) -> list[Case]:
    name = f"{entry.get('id', 'pattern')} {entry.get('pattern')!r}"
    fields = DIALECT_OF.keys() & entry.keys()
    check_fields(KIND, name, entry, {"pattern", *fields})
    if not fields:
        raise ValueError(f"{name}: no dialect has an answer")
    cases = []
    for field in sorted(fields):
        answer = entry[field]
        is_rejected = "error" in answer
        if is_rejected:
            check_fields(KIND, f"{name}, {field}", answer, {"error"}, {"exception"})
        else:
            check_fields(KIND, f"{name}, {field}", answer, {"matches"})
        matches = None if is_rejected else frozenset(answer["matches"])
        unknown = (matches or frozenset()).difference(topics)
        if unknown:
            raise ValueError(f"{name}, {field}: matches that are not topics: {sorted(unknown)}")
        found = None if matches is None else tuple(topic for topic in topics if topic in matches)
        cases.append(Case(f"{name}, {field}", entry["pattern"], DIALECT_OF[field], topics, found))
    return cases
