"""Measured figures in docs/figures.json: their page, the table of ratios, the check of figures in prose.

`python -m benches.run --figures` writes the file, which has the sections in the order of the page.

A figure in prose is followed by a comment that names its cell: `1.5 ms <!-- figure: SECTION :: ROW :: COLUMN -->`.
ROW is the first cell of a row. A cell such as `1.2 / 1.5 (30x)` needs a fourth part: `min`, `median` or `ratio`.
Figures in prose are rounded, so they may differ from their cells by `TOLERANCE`. `make docs` replaces figures that
differ more.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parent / "figures.json"

TOLERANCE = 0.1
"""The largest relative difference between a figure in prose and the measured one."""

MARKED = re.compile(r"(?P<number>\d[\d,.]*)\s*(?:[a-zA-Zµ%]+\s*)?<!-- figure: (?P<cell>.*?) -->")
CELL = re.compile(r"(?P<min>[\d.,]+) / (?P<median>[\d.,]+)(?: \((?P<ratio>[\d.,]+)x\))?")

RATIOS = {
    "[`range`](assignors/range.md)": {"java": "", "peers": "kafka-python"},
    "[`roundrobin`](assignors/roundrobin.md)": {"java-roundrobin": ""},
    "[`sticky`](assignors/sticky.md)": {"java-sticky": ""},
    "[`cooperative-sticky`](assignors/cooperative-sticky.md)": {"java-cooperative-sticky": ""},
    "[`uniform`](assignors/uniform.md) of the broker": {"java-uniform": ""},
    "[`range`](assignors/server-range.md) of the broker": {"java-server-range": ""},
}
"""Rows of the table of ratios: the sections of each assignor, each with its Python client, if any."""

CALLS = ("assign", "plan")
"""Calls that the table compares."""


def sections(path: Path = FIGURES) -> dict[str, dict[str, Any]]:
    """Return all sections by name, in the order of the page."""
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def figure(cell: str, path: Path = FIGURES) -> float:
    """Return the figure of a cell, which is named as in a comment of a page.

    Raises:
        KeyError: There is no such cell.
    """
    name, row, column, *part = (each.strip() for each in cell.split("::"))
    for table in sections(path).get(name, {}).get("tables", ()):
        cells = {line[0]: line for line in table["rows"]}
        if column in table["head"] and row in cells:
            text = cells[row][table["head"].index(column)]
            found = CELL.fullmatch(text)
            return number(found[part[0]] if found and part else text)
    raise KeyError(cell)


def number(text: str) -> float:
    """Return the number of a text such as `1,234x`."""
    return float(text.rstrip(".,x% ").replace(",", ""))


def with_figures(page: str, path: Path = FIGURES) -> str:
    """Return a page whose marked figures are replaced if they differ from their cells by more than the tolerance.

    Raises:
        KeyError: A marked figure has no cell.
    """

    def updated(found: re.Match[str]) -> str:
        measured = figure(found["cell"], path)
        if is_close(number(found["number"]), measured):
            return found[0]
        return found[0].replace(found["number"], rounded(measured), 1)

    return MARKED.sub(updated, page)


def is_close(written: float, measured: float) -> bool:
    """Return True if a figure in prose is within the tolerance of the measured one."""
    return abs(written - measured) <= TOLERANCE * measured


def rounded(value: float) -> str:
    """Return a number with two significant digits, as text."""
    digits = float(f"{value:.2g}")
    return f"{digits:#.2g}" if digits < 10 else f"{digits:,.0f}"


def wrong_figures(page: str, path: Path = FIGURES) -> Iterator[str]:
    """Yield a message for each marked figure of a page that is not the measured one."""
    if page.count("<!-- figure:") != len(MARKED.findall(page)):
        yield "a comment `<!-- figure: ... -->` does not follow a number"
    for found in MARKED.finditer(page):
        try:
            measured = figure(found["cell"], path)
        except KeyError:
            yield f"{found['cell']}: no such cell in figures.json"
            continue
        if not is_close(number(found["number"]), measured):
            yield f"{found['cell']}: {found['number']} on the page, {measured:g} measured"


def figures_page(path: Path = FIGURES) -> str:
    """Return the tables of all sections as Markdown, each with its command, commit and machine."""
    lines = []
    for section in sections(path).values():
        commit = f"commit `{section['commit'][:12]}`" if section["commit"] else "unknown commit"
        if section["uncommitted_changes"]:
            commit += " with uncommitted changes"
        machine = "; ".join(f"{label}: {text}" for label, text in section["machine"].items())
        lines += [
            "",
            f"## {section['title']}",
            "",
            section["note"],
            "",
            f"`{section['command']}`, {commit}. {machine}.",
        ]
        for table in section["tables"]:
            head = table["head"]
            lines += ["", *map(_row, [head, ["---", *["---:"] * (len(head) - 1)], *table["rows"]])]
    return "\n".join(lines).strip()


def missed_targets(path: Path = FIGURES) -> str:
    """Return the targets that are missed, of all sections."""
    rows = [["section", "target", "measured", "wanted"], ["---", "---", "---:", "---:"]]
    for name, section in sections(path).items():
        missed = [row for table in section["tables"] for row in table["rows"] if row[-1] == "MISSED"]
        rows += [[f"`{name}`", *row[:-1]] for row in missed]
    return "\n".join(map(_row, rows))


def ratio_table(path: Path = FIGURES) -> str:
    """Return the table of ratios: the time of Kafka's class or a Python client divided by that of each call.

    The two cells of a call have the geometric mean of all groups, and the smallest ratio.
    """
    rows = [
        [
            "assignor",
            "compared with",
            "groups",
            *(f"`{call}`: {cell}" for call in CALLS for cell in ("mean", "smallest")),
        ],
        ["---", "---", *["---:"] * (1 + 2 * len(CALLS))],
    ]
    measured = sections(path)
    for assignor, compared in RATIOS.items():
        for name, client in compared.items():
            found = [ratios(measured[name], call, client) if name in measured else [] for call in CALLS]
            if all(found):
                figures = (value for each in found for value in (statistics.geometric_mean(each), min(each)))
                cells = (f"{rounded(value)}x" for value in figures)
                rows.append([assignor, client or "Kafka's class in Java", str(len(found[0])), *cells])
    return "\n".join(map(_row, rows))


def ratios(section: Mapping[str, Any], call: str, client: str = "") -> list[float]:
    """Return, for each group of a section, the time of Java or of a Python client divided by that of the call."""
    (table, *_) = section["tables"]
    found = []
    for row in table["rows"]:
        cells = {head: CELL.fullmatch(cell) for head, cell in zip(table["head"], row, strict=True)}
        ours, peer = cells.get(call), cells.get(client)
        if client and ours and peer:
            found.append(number(peer["median"]) / number(ours["median"]))
        elif not client and ours and ours["ratio"]:
            found.append(number(ours["ratio"]))
    return found


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
