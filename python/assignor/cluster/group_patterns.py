"""Choice of groups by name or pattern, the same for all commands and engines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.validation import check_name, read_entries, shown

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable


class GroupPatterns:
    """Groups whose ids match one of several patterns.

    In a pattern, `*` stands for any characters and `?` for one; all other characters stand for themselves.

    Args:
        patterns: The patterns, at least one.

    Attributes:
        patterns: The patterns without repeats, in the given order.

    Example:
        >>> chosen = GroupPatterns(["billing-*", "audit"])
        >>> chosen.matches("billing-eu"), chosen.matches("audit-2")
        (True, False)
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        entries = read_entries(patterns, "groups", "an iterable of group names or patterns")
        self.patterns = tuple(dict.fromkeys(check_name(each, "groups: a pattern") for each in entries))
        self._compiled = [re.compile(_body(each), re.DOTALL) for each in self.patterns]

    @property
    def java_regex(self) -> str:
        """Regular expression of Java that finds a match in the chosen groups only."""
        return rf"(?s)\A(?:{'|'.join(map(_body, self.patterns))})\z"

    @property
    def are_names(self) -> bool:
        """True if each pattern is the name of one group."""
        return not any(character in pattern for pattern in self.patterns for character in "*?")

    def matches(self, group: str | None) -> bool:
        """Return True if a group is chosen; None is the group of a record without one, which is not."""
        return group is not None and any(each.fullmatch(group) for each in self._compiled)

    def mask(self, groups: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return for each group id of a column whether it is chosen; False for null."""
        chosen = [group for group in pc.unique(groups).to_pylist() if self.matches(group)]
        return pc.is_in(groups, pa.array(chosen, pa.string()))

    def check_matched(self, groups: Iterable[str], place: object) -> None:
        """Check that each pattern matches one of the groups, which come from `place`.

        Raises:
            IllegalArgumentError: A pattern matches none of the groups.
        """
        for pattern in self.unmatched(groups):
            raise IllegalArgumentError(f"no group in {place} matches {shown(pattern)}")

    def unmatched(self, groups: Iterable[str]) -> list[str]:
        """Return the patterns that match none of the groups."""
        names = list(groups)
        pairs = zip(self.patterns, self._compiled, strict=True)
        return [pattern for pattern, compiled in pairs if not any(map(compiled.fullmatch, names))]


def _body(pattern: str) -> str:
    """Return the regular expression of a pattern, which Python and Java read alike."""
    return "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)
