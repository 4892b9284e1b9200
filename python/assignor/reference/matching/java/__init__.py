"""The dialect java: `java.util.regex` of Java 17, over the whole name.

Java reads a pattern in one pass, with effects that its documentation does not tell: where comments may stand, what a
nested class takes of the one around it, which look-behinds have a maximum length. The parser goes the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.matching.java.parser import Parser

if TYPE_CHECKING:
    from assignor.reference.matching.syntax import Node


def parse(pattern: str) -> Node:
    """What the pattern means, over whole names."""
    return Parser(pattern).pattern()
