"""The dialect java: `java.util.regex` of Java 17, over the whole name.

Java parses a pattern in one pass, which has undocumented effects on the places of comments, the combination of nested
classes and the maximum length of look-behinds. This parser has the same structure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.matching.java.parser import Parser

if TYPE_CHECKING:
    from assignor.reference.matching.syntax import Node


def parse(pattern: str) -> Node:
    """Parse a pattern into a tree that matches whole names."""
    return Parser(pattern).pattern()
