"""Causes of the rebalances of a row of a page, with their evidence: of the first few, and counts of the others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.lines import escape, format_time
from assignor.replay.event_text import generation_number, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_REBALANCES = 4
"""Largest number of rebalances of a row whose evidence a page shows."""

MOST_CAUSES = 6
"""Largest number of causes of the other rebalances of a row that a page shows."""

LONGEST = 400
"""Largest number of characters of the evidence of a rebalance."""


class _Detail(NamedTuple):
    at: int
    generation: int | None
    text: str


class Details:
    """Causes and evidence of the first rebalances of a row, and the number of rebalances of all with each cause."""

    __slots__ = ("_causes", "_first")

    def __init__(self) -> None:
        self._first: list[_Detail] = []
        self._causes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._first)

    def add(self, event: Mapping[str, Any], at: int) -> bool:
        """Add a rebalance, which is the last one so far; return True if its evidence is kept."""
        for cause in event["causes"] or ("unknown",):
            self._causes[cause] = self._causes.get(cause, 0) + 1
        if len(self._first) >= MOST_REBALANCES:
            return False
        self._first.append(_Detail(at, event["generation"] or 0, _text(event, at)))
        return True

    def merge(self, other: Details) -> None:
        """Add the rebalances of another row."""
        self._first = sorted([*self._first, *other._first])[:MOST_REBALANCES]
        for cause, count in other._causes.items():
            self._causes[cause] = self._causes.get(cause, 0) + count

    def drop(self) -> None:
        """Drop the evidence; the counts stay."""
        self._first = []

    def text(self, rebalances: int) -> str:
        """Return a line per rebalance with its causes, the most likely first, and its evidence.

        If not all rebalances have a line, a last line counts the causes of all.

        Args:
            rebalances: Number of rebalances of the row.
        """
        lines = [each.text for each in self._first]
        if rebalances > len(lines):
            lines.append(self.counts())
        return "\n".join(lines)

    def counts(self) -> str:
        """Return each cause with its number of rebalances, the most frequent first."""
        counts = Counter(self._causes).most_common()
        causes = ", ".join(f"{escape(cause)} {count:,}" for cause, count in counts[:MOST_CAUSES])
        more = f" and {len(counts) - MOST_CAUSES} more" if len(counts) > MOST_CAUSES else ""
        return f"All causes: {causes}{more}."


def cut(text: str, longest: int = LONGEST) -> str:
    """Return evidence for a page: a few sentences of each form, and at most this many characters."""
    found = shortened(text)
    return found if len(found) <= longest else f"{found[: longest - 1]}…"


def _text(event: Mapping[str, Any], at: int) -> str:
    causes = escape(", ".join(event["causes"] or ("unknown",)))
    evidence = cut(escape(event["evidence"] or ""))
    found = f"{generation_number(event)} at {format_time(at)}: {causes}"
    return f"{found}. {evidence}" if evidence else found
