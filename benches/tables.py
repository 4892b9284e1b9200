"""Tables of figures, as aligned text for a terminal and as Markdown for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benches.targets import TargetResult

Report = Callable[[str], None]
"""Is told what is about to be timed."""

Raw = dict[str, Any]
"""Everything that was measured, by section, for a file."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; the first column is words, the others are figures."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> Iterable[str]:
        """The first column to the left, the others to the right."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        for row in [self.head, ["-" * width for width in widths], *self.rows]:
            cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            yield "  ".join([row[0].ljust(widths[0]), *cells]).rstrip()

    def markdown(self) -> Iterable[str]:
        """The same as a table of a Markdown page."""
        for row in [self.head, ["---", *["---:"] * (len(self.head) - 1)], *self.rows]:
            yield "| " + " | ".join(row) + " |"


@dataclass(frozen=True, slots=True)
class ReportSection:
    """What is said about one question.

    Attributes:
        title: The question, in a few words.
        note: How to read the figures.
        figures: Everything that was timed.
        target_results: The targets, and what they came to.
    """

    title: str
    note: str
    figures: Table | None = None
    target_results: Sequence[TargetResult] = ()

    def text(self) -> Iterable[str]:
        """The section for a terminal."""
        yield from ("", self.title, "=" * len(self.title), self.note)
        for table in self._tables():
            yield ""
            yield from table.text()

    def markdown(self) -> Iterable[str]:
        """The section for a page."""
        yield from ("", f"### {self.title}", "", self.note)
        for table in self._tables():
            yield ""
            yield from table.markdown()

    def _tables(self) -> Iterable[Table]:
        if self.figures is not None:
            yield self.figures
        if self.target_results:
            yield Table(
                ("target", "measured", "wanted", ""),
                [_target_row(target_result) for target_result in self.target_results],
            )


def _target_row(target_result: TargetResult) -> tuple[str, str, str, str]:
    measured = f"{shown(target_result.measured)}{target_result.unit}"
    wanted = f"{target_result.sense} {target_result.wanted:,g}{target_result.unit}"
    return target_result.what, measured, wanted, "met" if target_result.met else "MISSED"


def milliseconds(seconds: Sequence[float]) -> str:
    """The least and the median, in milliseconds."""
    middle = sorted(seconds)
    median = (middle[len(middle) // 2] + middle[(len(middle) - 1) // 2]) / 2
    return f"{shown(middle[0] * 1000)} / {shown(median * 1000)}"


def shown(value: float) -> str:
    """Three digits that matter, or all before the point."""
    if value == 0:
        return "0"
    for limit, digits in ((0.01, 5), (0.1, 4), (1, 3), (10, 2), (100, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"
