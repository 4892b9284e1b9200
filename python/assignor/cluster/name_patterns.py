"""Choice of groups or topics by name or pattern, the same for all commands and engines."""

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

_EXCLUDING = "!"


class NamePatterns:
    """Names that match one of several patterns.

    In a pattern, `*` stands for any characters and `?` for one; all other characters stand for themselves. A pattern
    after `!` leaves names out. If all patterns do, all other names are chosen.

    Args:
        patterns: The patterns, at least one.
        what: What has the names, for errors.

    Attributes:
        patterns: The patterns without repeats, in the given order.

    Example:
        >>> chosen = NamePatterns(["billing-*", "audit", "!*-test"])
        >>> chosen.matches("billing-eu"), chosen.matches("billing-test"), chosen.matches("orders")
        (True, False, False)
        >>> NamePatterns(["!*-test"]).matches("orders")
        True
    """

    def __init__(self, patterns: Iterable[str], what: str = "groups") -> None:
        entries = read_entries(patterns, what, f"an iterable of names or patterns of {what}")
        self.patterns = tuple(dict.fromkeys(check_name(each, f"{what}: a pattern") for each in entries))
        self._what = what
        chosen = [each for each in self.patterns if not each.startswith(_EXCLUDING)]
        self._chosen = {each: re.compile(_body(each), re.DOTALL) for each in chosen}
        self._excluded = [each.removeprefix(_EXCLUDING) for each in self.patterns if each not in self._chosen]
        self._matching = re.compile(self._expression(r"\Z"), re.DOTALL)

    def _expression(self, end: str) -> str:
        """Return the regular expression of the chosen names; `end` stands for the end of the text."""
        excluded = "".join(f"(?!{_body(each)}{end})" for each in self._excluded)
        rest = ".*" if self._excluded else "(?!)"
        return f"{excluded}(?:{'|'.join(map(_body, self._chosen)) if self._chosen else rest})"

    @property
    def java_regex(self) -> str:
        """Regular expression of Java that finds a match in the chosen names only."""
        end = r"\z"
        return rf"(?s)\A{self._expression(end)}{end}"

    @property
    def are_names(self) -> bool:
        """True if each pattern is one name."""
        return not self._excluded and not any(character in each for each in self.patterns for character in "*?")

    def matches(self, name: str | None) -> bool:
        """Return True if a name is chosen; None is the group of a record without one, which is not."""
        return name is not None and self._matching.fullmatch(name) is not None

    def mask(self, names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return for each name of a column whether it is chosen; False for null."""
        chosen = [name for name in pc.unique(names).to_pylist() if self.matches(name)]
        return pc.is_in(names, pa.array(chosen, pa.string()))

    def check_matched(self, names: Iterable[str], place: object) -> None:
        """Check that each pattern matches one of the names, which come from `place`, and that one name is chosen.

        Raises:
            IllegalArgumentError: A pattern matches none of the names, or the patterns leave all of them out.
        """
        given = list(names)
        for pattern in self.unmatched(given):
            raise IllegalArgumentError(f"no {self._what.removesuffix('s')} in {place} matches {shown(pattern)}")
        if given and not any(map(self.matches, given)):
            every = ", ".join(map(shown, self.patterns))
            raise IllegalArgumentError(f"{every} together leave out all {self._what} in {place}; choose others")

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """Return the patterns that match none of the names; one that leaves names out may match none."""
        given = list(names)
        return [pattern for pattern, compiled in self._chosen.items() if not any(map(compiled.fullmatch, given))]


def _body(pattern: str) -> str:
    """Return the regular expression of a pattern, which Python and Java read alike."""
    return "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)
