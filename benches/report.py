"""Sections of the report of `make bench`, their rows and targets, and their text.

A section is a function that yields rows, targets and sentences. Each room has its sections in its `bench_*.py`, where
`section` registers them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from benches.timing import Pace, Times, ratio

Size = Literal["quick", "default", "all"]
"""Size of a run: a smoke test, the workloads of the targets, or these with the whole grid of Kafka's JMH benchmark."""

Factor = Literal["first / this", "this / first", "this / previous"]
"""Ratio of two times in a row, which the cell of the time `this` shows."""

Chosen = TypeVar("Chosen")


@dataclass(frozen=True, slots=True)
class Run:
    """How much a section measures.

    Attributes:
        size: Size of the run.
        is_once: True if each call is timed once, as in tests.
        report: Function that is called with the name of each measurement before it starts.
    """

    size: Size = "default"
    is_once: bool = False
    report: Callable[[str], None] = lambda _: None

    def of(self, default: Chosen, quick: Chosen) -> Chosen:
        """Return the value for the size of the run."""
        return quick if self.size == "quick" else default

    def pace(self, seconds: float, fewest: int = 3) -> Pace:
        """Return the rounds of a comparison that should take a number of seconds."""
        if self.is_once:
            return Pace(seconds=0, fewest=1, most=1)
        return self.of(Pace(seconds, fewest, 30), Pace(0.05, 3, 30))


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a section.

    Attributes:
        name: First cell.
        times: Seconds in each round, by column.
        cells: Text of further columns.
    """

    name: str
    times: Times = field(default_factory=dict)
    cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """Target with its measured value.

    Attributes:
        what: Name of the measured value.
        measured: Measured value.
        wanted: Limit of the value.
        unit: Unit of both: `x` (times), `%`, ` bytes` or ` s`.
        sense: `>=` if the limit is a minimum, `<=` if it is a maximum.
    """

    what: str
    measured: float
    wanted: float
    unit: Literal["x", "%", " bytes", " s"] = "x"
    sense: Literal[">=", "<="] = ">="

    @property
    def is_met(self) -> bool:
        """True if the target is met."""
        return self.measured >= self.wanted if self.sense == ">=" else self.measured <= self.wanted

    def cells(self) -> tuple[str, str, str, str]:
        """Return the row of the table of targets."""
        wanted = f"{self.sense} {self.wanted:,g}{self.unit}"
        return self.what, f"{shown(self.measured)}{self.unit}", wanted, "met" if self.is_met else "MISSED"


def faster(times: Times, peer: str, ours: str, wanted: float, where: str) -> Target:
    """Return the target for the time of a peer divided by ours."""
    return Target(f"{peer} / {ours}, {where}", ratio(times, peer, ours), wanted)


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


Part = Row | Target | str
"""What a section yields; a sentence continues its note."""


@dataclass(frozen=True, slots=True)
class Section:
    """Section of the report.

    Attributes:
        name: Name that `--only` takes.
        title: Subject, in a few words.
        note: How to read the figures.
        parts: Function that measures and yields the parts.
        factor: Ratio that the cells of times show.
        scale: Unit of times, as the number of units in a second.
    """

    name: str
    title: str
    note: str
    parts: Callable[[Run], Iterator[Part]]
    factor: Factor | None = None
    scale: float = 1e3

    def measure(self, run: Run) -> Measured:
        """Return the section with its figures."""
        return Measured(self, list(self.parts(run)))


SECTIONS: dict[str, Section] = {}
"""All sections by name, in the order of the report."""

Parts = Callable[[Run], Iterator[Part]]


def section(
    name: str, title: str, note: str, factor: Factor | None = None, scale: float = 1e3
) -> Callable[[Parts], Section]:
    """Register the decorated function as a section."""

    def register(parts: Parts) -> Section:
        SECTIONS[name] = Section(name, title, note, parts, factor, scale)
        return SECTIONS[name]

    return register


@dataclass(frozen=True, slots=True)
class Measured:
    """Section with its parts."""

    section: Section
    parts: Sequence[Part]

    @property
    def rows(self) -> list[Row]:
        """Rows of the section."""
        return [part for part in self.parts if isinstance(part, Row)]

    @property
    def targets(self) -> list[Target]:
        """Targets with their measured values."""
        return [part for part in self.parts if isinstance(part, Target)]

    @property
    def note(self) -> str:
        """The note with the sentences of the parts."""
        return " ".join([self.section.note, *(part for part in self.parts if isinstance(part, str))])

    def tables(self) -> Iterable[Table]:
        """Yield the tables of figures and of targets."""
        rows = self.rows
        if rows:
            times = list(dict.fromkeys(column for row in rows for column in row.times))
            others = list(dict.fromkeys(column for row in rows for column in row.cells))
            yield Table(
                ["", *times, *others],
                [
                    [row.name, *(self._cell(row, column) for column in times), *(row.cells.get(o, "-") for o in others)]
                    for row in rows
                ],
            )
        if self.targets:
            yield Table(("target", "measured", "wanted", ""), [target.cells() for target in self.targets])

    def text(self) -> Iterable[str]:
        """Yield the lines of the section for a terminal."""
        yield from ("", self.section.title, "=" * len(self.section.title), self.note)
        for table in self.tables():
            yield ""
            yield from table.text()

    def _cell(self, row: Row, column: str) -> str:
        if column not in row.times:
            return "-"
        least, median = (function(row.times[column]) * self.section.scale for function in (min, statistics.median))
        columns = list(row.times)
        other = columns[max(columns.index(column) - 1, 0) if self.section.factor == "this / previous" else 0]
        text = f"{shown(least)} / {shown(median)}"
        if self.section.factor is None or other == column:
            return text
        pair = (other, column) if self.section.factor == "first / this" else (column, other)
        return f"{text} ({shown(ratio(row.times, *pair))}x)"


def shown(value: float) -> str:
    """Return a number with three significant digits, or with all digits before the decimal point."""
    if value == 0:
        return "0"
    for limit, digits in ((0.01, 5), (0.1, 4), (1, 3), (10, 2), (100, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def rate(count: int, seconds: Sequence[float]) -> str:
    """Return a number of requests divided by the median time, as text."""
    return f"{count / statistics.median(seconds):,.0f}"


def missing(packages: Iterable[str]) -> Iterator[Any]:
    """Yield a sentence about packages that are not installed, if there are any."""
    if names := ", ".join(packages):
        yield f"Not timed because not installed: {names}."
