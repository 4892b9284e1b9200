"""Options and output files that `make bench` and `make bench-spark` share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benches.tables import Raw, ReportSection


def add_options(parser: argparse.ArgumentParser, sections: Iterable[str]) -> None:
    """Add the options that choose sections and name the files to write."""
    parser.add_argument("--only", choices=list(sections), action="append", help="a section to run; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every time that was measured, in seconds")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables for docs/performance.md")


def finish(
    options: argparse.Namespace,
    machine: Mapping[str, str],
    sections: Sequence[ReportSection],
    raw: Mapping[str, Raw],
    seconds: float,
) -> None:
    """Print how many targets are met, and write the files that the options name."""
    results = [result for section in sections for result in section.target_results]
    met = sum(result.met for result in results)
    print(f"\n{met} of {len(results)} targets met in {seconds:,.0f} s.")
    if options.json:
        targets = [
            {"what": result.what, "measured": result.measured, "wanted": f"{result.sense} {result.wanted}{result.unit}"}
            for result in results
        ]
        figures = {"machine": dict(machine), "measured": raw, "targets": targets}
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if options.markdown:
        lines = [f"* {name}: {text}" for name, text in machine.items()]
        lines += [line for section in sections for line in section.markdown()]
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
