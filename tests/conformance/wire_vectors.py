"""Reader of the vectors of the kind `wire`: messages that Kafka's ConsumerProtocol class encoded or decoded.

The files are `wire_*.jsonl.gz` in `tests/vectors` or in the folder `ASSIGNOR_VECTORS`, with a case per line. Nothing is
skipped: an unknown operation, kind or field is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import vector_files
from tests.support.vector_fields import check_fields, label

KIND = "wire"

_FIELDS = {
    "subscription": {"topics", "user_data", "owned", "generation", "rack"},
    "assignment": {"partitions", "user_data"},
}


@dataclass(frozen=True)
class Case:
    """Input and Kafka's answer.

    Attributes:
        name: Name that a failure is reported with.
        kind: "subscription" or "assignment".
        data: The decoded bytes, or the result of encoding; None if encoding failed.
        decoded: The decoded message; None if decoding failed.
        left_over: Number of bytes that decoding did not read.
        writes: True if `message` was encoded first.
        message: The message to encode.
        version: The version to encode; None for the default version.
    """

    name: str
    kind: str
    data: bytes | None
    decoded: dict[str, Any] | None
    left_over: int
    writes: bool = False
    message: dict[str, Any] | None = None
    version: int | None = None


def files(place: Path) -> list[Path]:
    """Return the files of the kind `wire`; raise FileNotFoundError if there are none."""
    return vector_files.of_kind(KIND, place, ".jsonl.gz")


@cache
def read(path: Path) -> tuple[Case, ...]:
    """Return the cases of a file; raise ValueError if there are none."""
    return tuple(_case(line, f"{path.name}, case {number}") for number, line in enumerate(vector_files.read(path)))


def _case(line: dict[str, Any], place: str) -> Case:
    name = label(line, place)
    do, kind = line.get("do"), line.get("kind")
    if do not in {"decode", "encode"} or kind not in _FIELDS:
        raise ValueError(f"{name}: unknown operation: {do!r} of {kind!r}")
    writes = do == "encode"
    known = {"do", "kind"} | ({"object", "version"} if writes else set())
    if not writes or "fails" not in line:
        known |= {"hex"}
    known |= {"fails"} if "fails" in line else {"decoded", "left_over"}
    check_fields(KIND, name, line, known)
    if writes:
        check_fields(KIND, name, line["object"], _FIELDS[kind])
    if "fails" in line:
        check_fields(KIND, name, line["fails"], {"exception", "message"})
    else:
        check_fields(KIND, name, line["decoded"], _FIELDS[kind])
    return Case(
        name=name,
        kind=kind,
        data=bytes.fromhex(line["hex"]) if "hex" in line else None,
        decoded={field: line["decoded"][field] for field in _FIELDS[kind]} if "decoded" in line else None,
        left_over=line.get("left_over", 0),
        writes=writes,
        message=line.get("object"),
        version=line.get("version"),
    )
