"""Sections of a report, and their tables as aligned text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benches.targets import TargetResult

Report = Callable[[str], None]
"""Function that is called with the name of each measurement before it starts."""

Raw = dict[str, Any]
"""All measurements of a section, as JSON values."""


@dataclass(frozen=True, slots=True)
class Table:
    """Table whose first column is text, aligned to the left; the other columns are figures, aligned to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> Iterable[str]:
        """Yield the lines of the table."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]
        for row in [self.head, ["-" * width for width in widths], *self.rows]:
            cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            yield "  ".join([row[0].ljust(widths[0]), *cells]).rstrip()


@dataclass(frozen=True, slots=True)
class ReportSection:
    """Section of a report.

    Attributes:
        title: The subject, in a few words.
        note: How to read the figures.
        figures: The measured figures.
        target_results: The targets with their measured values.
    """

    title: str
    note: str
    figures: Table | None = None
    target_results: Sequence[TargetResult] = ()

    def text(self) -> Iterable[str]:
        """Yield the lines of the section for a terminal."""
        yield from ("", self.title, "=" * len(self.title), self.note)
        for table in self.tables():
            yield ""
            yield from table.text()

    def tables(self) -> Iterable[Table]:
        """Yield the tables of figures and of targets."""
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
    """Return the minimum and the median in milliseconds, as text."""
    middle = sorted(seconds)
    median = (middle[len(middle) // 2] + middle[(len(middle) - 1) // 2]) / 2
    return f"{shown(middle[0] * 1000)} / {shown(median * 1000)}"


def shown(value: float) -> str:
    """Return a number with three significant digits, or with all digits before the decimal point."""
    if value == 0:
        return "0"
    for limit, digits in ((0.01, 5), (0.1, 4), (1, 3), (10, 2), (100, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"
