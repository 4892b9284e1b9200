"""Output of `make bench` and `make bench-spark`: text, a file of all times, and sections for docs/figures.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benches.tables import Raw, ReportSection

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures.json"


def add_options(parser: argparse.ArgumentParser, sections: Iterable[str]) -> None:
    """Add the options that choose sections and name the files to write."""
    parser.add_argument("--only", choices=list(sections), action="append", help="run this section; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measured times to FILE, in seconds")
    parser.add_argument(
        "--figures",
        type=Path,
        nargs="?",
        const=FIGURES,
        metavar="FILE",
        help="write the sections to FILE (default: docs/figures.json), the source of docs/figures.md",
    )


class Output:
    """Output of one run of a benchmark program.

    Attributes:
        program: The module that runs, such as `benches.run`.
        order: The names of all its sections, in the order of the page.
        machine: The machine and the versions, by label.
        flags: The options that choose what the sections measure, such as `--quick`.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        program: str,
        order: Iterable[str],
        machine: Mapping[str, str],
        flags: Iterable[str] = (),
    ) -> None:
        self.program = program
        self.order = list(order)
        self.machine = dict(machine)
        self.flags = list(flags)
        self._options = options
        self._commit = commit() if options.figures else {}
        self._sections: list[ReportSection] = []
        self._raw: dict[str, Raw] = {}
        self._start = time.monotonic()
        print("\n".join(f"{name:9} {text}" for name, text in self.machine.items()))

    def add(self, name: str, section: ReportSection, raw: Raw) -> None:
        """Print a section, and store its figures if they are wanted."""
        self._sections.append(section)
        self._raw[name] = raw
        print("\n".join(section.text()), flush=True)
        if self._options.figures:
            path = self._options.figures
            found = json.loads(path.read_text("utf-8")) if path.exists() else {}
            found[name] = self._figures(name, section)
            order = [*self.order, *found]
            found = {each: found[each] for each in sorted(found, key=order.index)}
            path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")

    def finish(self) -> None:
        """Print how many targets are met, and write all times if they are wanted."""
        results = [result for section in self._sections for result in section.target_results]
        met = sum(result.met for result in results)
        print(f"\n{met} of {len(results)} targets are met. The run took {time.monotonic() - self._start:,.0f} s.")
        if self._options.json:
            targets = [
                {
                    "what": result.what,
                    "measured": result.measured,
                    "wanted": f"{result.sense} {result.wanted}{result.unit}",
                }
                for result in results
            ]
            figures = {"machine": self.machine, "measured": self._raw, "targets": targets}
            self._options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")

    def _figures(self, name: str, section: ReportSection) -> dict[str, Any]:
        return {
            "title": section.title,
            "note": section.note,
            "command": " ".join(["python -m", self.program, *self.flags, "--only", name]),
            **self._commit,
            "machine": self.machine,
            "tables": [{"head": list(table.head), "rows": list(map(list, table.rows))} for table in section.tables()],
        }


def commit() -> dict[str, Any]:
    """Return the commit of the working tree, and whether the tree has changes other than figures."""
    try:
        head = _git("rev-parse", "HEAD")
        changes = _git("status", "--porcelain", "--", ".", ":!docs/figures.*")
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "uncommitted_changes": False}
    return {"commit": head, "uncommitted_changes": bool(changes)}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()
