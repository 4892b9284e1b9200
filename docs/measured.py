"""Measured figures in docs/figures/*.json: their page, the README's table of ratios, the check of figures in prose.

`python -m benches.run --figures` and `python -m benches.spark --figures` write the files, one for each section.

A figure in prose is followed by a comment that names its cell: `1.5 ms <!-- figure: SECTION :: ROW :: COLUMN -->`.
SECTION is the name of a file, ROW the first cell of a row. A cell such as `1.2 / 1.5 (30x)` needs a fourth part: `min`,
`median` or `ratio`. Numbers in prose are rounded, so a figure may differ from its cell by `TOLERANCE`.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "figures"

TOLERANCE = 0.1
"""The largest relative difference between a figure in prose and the measured one."""

MARKED = re.compile(r"(?P<number>\d[\d,.]*)\s*(?:[a-zA-Zµ%]+\s*)?<!-- figure: (?P<cell>.*?) -->")
CELL = re.compile(r"(?P<min>[\d.,]+) / (?P<median>[\d.,]+)(?: \((?P<ratio>[\d.,]+)x\))?")

JAVA_SECTIONS = {
    "java": "[`range`](docs/assignors/range.md)",
    "java-roundrobin": "[`roundrobin`](docs/assignors/roundrobin.md)",
    "java-sticky": "[`sticky`](docs/assignors/sticky.md)",
    "java-cooperative-sticky": "[`cooperative-sticky`](docs/assignors/cooperative-sticky.md)",
    "java-uniform": "[`uniform`](docs/assignors/uniform.md) of the broker",
    "java-server-range": "[`range`](docs/assignors/server-range.md) of the broker",
}
"""The assignors in the README's table of ratios, by section."""


def sections(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Return all sections by name, in the order of the page."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    return dict(sorted(found.items(), key=lambda item: (item[1]["program"], item[1]["position"])))


def figure(cell: str, folder: Path = FOLDER) -> float:
    """Return the figure of a cell, which is named as in a comment of a page.

    Raises:
        KeyError: There is no such cell.
    """
    name, row, column, *part = (each.strip() for each in cell.split("::"))
    path = folder / f"{name}.json"
    tables = json.loads(path.read_text(encoding="utf-8"))["tables"] if path.exists() else []
    for table in tables:
        cells = {line[0]: line for line in table["rows"]}
        if column in table["head"] and row in cells:
            text = cells[row][table["head"].index(column)]
            found = CELL.fullmatch(text)
            return number(found[part[0]] if found and part else text)
    raise KeyError(cell)


def number(text: str) -> float:
    """Return the number of a text such as `1,234x`."""
    return float(text.rstrip(".,x% ").replace(",", ""))


def wrong_figures(page: str, folder: Path = FOLDER) -> Iterator[str]:
    """Yield a message for each marked figure of a page that is not the measured one."""
    if page.count("<!-- figure:") != len(MARKED.findall(page)):
        yield "a comment `<!-- figure: ... -->` does not follow a number"
    for found in MARKED.finditer(page):
        try:
            measured = figure(found["cell"], folder)
        except KeyError:
            yield f"{found['cell']}: no such cell in docs/figures"
            continue
        if abs(number(found["number"]) - measured) > TOLERANCE * measured:
            yield f"{found['cell']}: {found['number']} on the page, {measured:g} measured"


def figures_page() -> str:
    """Return the tables of all sections as Markdown, each with its command, commit and machine."""
    lines = []
    for section in sections().values():
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


def ratio_table() -> str:
    """Return the README's table: how many times as long Java's class of each assignor takes as `plan`."""
    lines = [["assignor", "groups", "geometric mean", "slowest"], ["---", "---:", "---:", "---:"]]
    for name, assignor in JAVA_SECTIONS.items():
        section = sections().get(name)
        if section and section["tables"]:
            table = section["tables"][0]
            cells = [CELL.fullmatch(row[table["head"].index("plan")]) for row in table["rows"]]
            ratios = [number(cell["ratio"]) for cell in cells if cell]
            lines.append(
                [
                    assignor,
                    str(len(ratios)),
                    *(
                        f"{each:.2g}" if each < 10 else f"{each:.0f}"
                        for each in (statistics.geometric_mean(ratios), min(ratios))
                    ),
                ]
            )
    return "\n".join(map(_row, lines))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
