"""The dialects of patterns and their parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.matching import java, librdkafka, re2j

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.reference.matching.syntax import Node

PARSERS: dict[str, Callable[[str], Node]] = {
    "java": java.parse,
    "re2j": re2j.parse,
    "librdkafka": librdkafka.parse,
}
"""Parsers by dialect; they raise `PatternError`. `re` compiles patterns of the dialect python (see module `python`)."""


def excludes_internal(dialect: str, pattern: str) -> bool:
    """Return True if a pattern excludes internal topics by default.

    Clients exclude internal topics; the broker does not. In the dialect `librdkafka`, text without a leading `^` is a
    plain name, not a pattern.
    """
    return dialect in ("java", "python") or (dialect == "librdkafka" and pattern.startswith("^"))
