"""Topic patterns: which names one matches."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assignor.errors import InvalidPatternError
from assignor.model import check_name, shown

__all__ = ["TopicPattern"]


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """A pattern that a client matches against topic names itself; the whole name has to match.

    Attributes:
        pattern: The regular expression.
        dialect: What it is written in.

    Raises:
        InvalidPatternError: The dialect refuses the pattern.

    Example:
        >>> TopicPattern("orders?").matches("orders"), TopicPattern("orders?").matches("orders-eu")
        (True, False)
    """

    pattern: str
    dialect: str = "java"

    def __post_init__(self) -> None:
        """Refuse what is no pattern."""
        check_name(self.pattern, "TopicPattern: pattern")
        check_name(self.dialect, "TopicPattern: dialect")
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise InvalidPatternError(f"{shown(self.pattern)} is no pattern: {error}") from None

    def matches(self, topic: str) -> bool:
        """Whether the whole name matches."""
        return re.fullmatch(self.pattern, topic) is not None
