"""The dialect re2j."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.matching.text import Text, unsupported

if TYPE_CHECKING:
    from assignor.reference.matching.syntax import Node


def parse(pattern: str) -> Node:
    """What the pattern means, over whole names."""
    text = Text(pattern)
    raise unsupported(text.at, "everything")
