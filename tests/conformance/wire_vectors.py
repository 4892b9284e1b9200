"""Reads the vectors of the kind `wire`: what Apache Kafka's own ConsumerProtocol wrote and read, ready to ask ours.

The folder is `tests/vectors`, or any other that `ASSIGNOR_VECTORS` names; the files are `wire_*.jsonl.gz`, a case per
line. Nothing is skipped: an operation, a kind or a field that is not known here is an error.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.vector_fields import check_fields, label
from tests.support.vector_files import of_kind

KIND = "wire"

_SAID = {
    "subscription": {"topics", "user_data", "owned", "generation", "rack"},
    "assignment": {"partitions", "user_data"},
}


@dataclass(frozen=True)
class Case:
    """One question and Kafka's answer.

    Attributes:
        name: What to call it when it fails.
        kind: "subscription" or "assignment".
        data: The bytes that were read, or that came out of writing; None where writing failed.
        decoded: What they say; None where reading failed.
        left_over: How many bytes were not read.
        writes: Whether `said` was written first.
        said: What was to be written.
        version: At which version; None for the one that is written when none is asked for.
    """

    name: str
    kind: str
    data: bytes | None
    decoded: dict[str, Any] | None
    left_over: int
    writes: bool = False
    said: dict[str, Any] | None = None
    version: int | None = None


def files(place: Path) -> list[Path]:
    """The files of the kind `wire`; none at all is an error."""
    return of_kind(KIND, place, ".jsonl.gz")


@cache
def read(path: Path) -> tuple[Case, ...]:
    """The cases of a file; none at all is an error."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        cases = tuple(_case(json.loads(line), f"{path.name}, case {number}") for number, line in enumerate(lines))
    if not cases:
        raise ValueError(f"{path.name} is empty")
    return cases


def _case(line: dict[str, Any], place: str) -> Case:
    name = label(line, place)
    do, kind = line.get("do"), line.get("kind")
    if do not in {"decode", "encode"} or kind not in _SAID:
        raise ValueError(f"{name}: unknown operation: {do!r} of {kind!r}")
    writes = do == "encode"
    known = {"do", "kind"} | ({"object", "version"} if writes else set())
    if not writes or "fails" not in line:
        known |= {"hex"}
    known |= {"fails"} if "fails" in line else {"decoded", "left_over"}
    check_fields(KIND, name, line, known)
    if writes:
        check_fields(KIND, name, line["object"], _SAID[kind])
    if "fails" in line:
        check_fields(KIND, name, line["fails"], {"exception", "message"})
    else:
        check_fields(KIND, name, line["decoded"], _SAID[kind])
    return Case(
        name=name,
        kind=kind,
        data=bytes.fromhex(line["hex"]) if "hex" in line else None,
        decoded={field: line["decoded"][field] for field in _SAID[kind]} if "decoded" in line else None,
        left_over=line.get("left_over", 0),
        writes=writes,
        said=line.get("object"),
        version=line.get("version"),
    )
