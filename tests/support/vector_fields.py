"""Fields of conformance vectors: which ones are metadata that no runner compares, and the check of all others.

A field is metadata if its name is in the list, at any level of a vector. The exception is a field that the format
defines as data, such as the `name` of a topic in an OffsetCommit request.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any

METADATA = frozenset(
    {
        "name",
        "id",
        "why",
        "seed",
        "tags",
        "category",
        "profile",
        "about",
        "in_3.7.0",
        "python_fullmatch",
        "rack_mode",
        "closest_timer_ms",
        "sent_ms",
        "answered_at_ms",
        "answered_after_step",
    }
)
"""Names of metadata fields in vectors of every kind."""

METADATA_OF_KIND = {
    "subscription_state": frozenset({"api"}),
    "assignors": frozenset({"path", "subscription_type"}),
}
"""Names of metadata fields in vectors of one kind."""


@functools.cache
def metadata(kind: str) -> frozenset[str]:
    """Return the names of the metadata fields in vectors of a kind."""
    return METADATA | METADATA_OF_KIND.get(kind, frozenset())


def check_fields(
    kind: str, where: str, found: Collection[str], needs: Collection[str], takes: Collection[str] = ()
) -> None:
    """Raise an error if a field that is not metadata is unknown, or a needed field is missing.

    Args:
        kind: The kind of the vectors.
        where: The place of the fields, for the message.
        found: The names of the fields.
        needs: The names of the fields that must be there.
        takes: The names of other fields that may be there.

    Raises:
        ValueError: A field is unknown or missing.
    """
    names = set(found)
    wrong = (names - set(needs) - set(takes) - metadata(kind)) | (set(needs) - names)
    if wrong:
        raise ValueError(f"{where}: fields unknown or missing: {sorted(wrong)}")


def without_metadata(kind: str, expected: Any, answer: Any) -> Any:
    """Return an expected value without the metadata fields that the answer lacks, at any level."""
    if expected == answer:
        return expected
    if isinstance(expected, Mapping) and isinstance(answer, Mapping):
        ignored = metadata(kind) - answer.keys()
        return {
            name: without_metadata(kind, value, answer.get(name))
            for name, value in expected.items()
            if name not in ignored
        }
    if isinstance(expected, list) and isinstance(answer, list) and len(expected) == len(answer):
        return [without_metadata(kind, value, found) for value, found in zip(expected, answer, strict=True)]
    return expected


def label(entry: Mapping[str, Any], place: str) -> str:
    """Return the name of a case or trace, or its place if it has none."""
    return str(entry.get("name", place))
