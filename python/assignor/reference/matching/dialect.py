"""The dialects: the parser of each, and which of them hide internal topics."""

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
"""The parsers, which raise `PatternFault`; patterns of the dialect python are compiled by `re` (see `python`)."""


def hides_internal(dialect: str, pattern: str) -> bool:
    """Return whether a pattern matches no internal topic unless `include_internal` is set.

    Clients exclude internal topics, the broker does not. A plain name is not a pattern.
    """
    return dialect in ("java", "python") or (dialect == "librdkafka" and pattern.startswith("^"))
