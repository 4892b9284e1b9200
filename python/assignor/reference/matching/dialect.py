"""The dialects in use, and the parser of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.matching import java, librdkafka, python, re2j

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.reference.matching.syntax import Node

PARSERS: dict[str, Callable[[str], Node]] = {
    "java": java.parse,
    "re2j": re2j.parse,
    "librdkafka": librdkafka.parse,
    "python": python.parse,
}
"""What a pattern means, over whole names; a parser raises `text.PatternFault`."""
