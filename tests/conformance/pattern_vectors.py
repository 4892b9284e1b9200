"""Reads the vectors of the kind `patterns`: which names matched a pattern for each dialect's own engine.

The folder is `tests/vectors`, or any other that `ASSIGNOR_VECTORS` names; the files are `patterns_*.json.gz`. Nothing
is skipped: a field that is not known here is an error.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.vector_fields import check_fields
from tests.support.vector_files import of_kind

DIALECT_OF = {"java": "java", "re2j": "re2j", "python_match": "python", "librdkafka": "librdkafka"}
"""The dialect that each field has the answer of."""

KIND = "patterns"


@dataclass(frozen=True)
class Case:
    """A pattern, and what its dialect made of it.

    Attributes:
        name: What to call it when it fails.
        pattern: The pattern.
        dialect: The dialect.
        topics: The names that it was tried on.
        matches: Those that it matched, in their order; None where the dialect refused the pattern.
    """

    name: str
    pattern: str
    dialect: str
    topics: tuple[str, ...]
    matches: tuple[str, ...] | None


def files(place: Path) -> list[Path]:
    """The files of the kind `patterns`; none at all is an error."""
    return of_kind(KIND, place, ".json.gz")


@cache
def read(path: Path) -> tuple[Case, ...]:
    """The cases of a file, one for each pattern and dialect; none at all is an error."""
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
        raise ValueError(f"{name}: no answer of any dialect")
    cases = []
    for field in sorted(fields):
        answer = entry[field]
        refused = "error" in answer
        if refused:
            check_fields(KIND, f"{name}, {field}", answer, {"error"}, {"exception"})
        else:
            check_fields(KIND, f"{name}, {field}", answer, {"matches"})
        matches = None if refused else frozenset(answer["matches"])
        unknown = (matches or frozenset()).difference(topics)
        if unknown:
            raise ValueError(f"{name}, {field}: matches what is no topic: {sorted(unknown)}")
        found = None if matches is None else tuple(topic for topic in topics if topic in matches)
        cases.append(Case(f"{name}, {field}", entry["pattern"], DIALECT_OF[field], topics, found))
    return cases
