"""Times `Fleet` on Spark beside what Spark itself takes and beside a call of Python for each group.

This is what `make bench-spark` runs. Nobody's answer is timed before it is known to be right, and a wrong one ends the
run with exit code 1; a goal that is missed is marked and no failure.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import assignor._core
from assignor.errors import AssignorError
from benches.sides import WrongAnswerError, require_release
from benches.spark_sections import SECTIONS, SELECTIONS
from benches.spark_session import CORES, HEAP, session
from benches.tables import Raw, Section


def main(arguments: Sequence[str] | None = None) -> int:
    """Times, prints, and says by its exit code whether every answer was right."""
    options = _parser().parse_args(arguments)
    selection = SELECTIONS["quick" if options.quick else "default"]
    machine = list(_machine())
    print("\n".join(f"{name:9} {text}" for name, text in machine))
    if options.quick:
        print("\nA smoke test: the fleets are too small for the figures to mean anything.")
    raw: dict[str, Raw] = {}
    sections: list[Section] = []
    start = time.monotonic()
    try:
        require_release()
        with tempfile.TemporaryDirectory(prefix="bench-spark-") as folder, session() as spark:
            for name in options.only or SECTIONS:
                made = SECTIONS[name](spark, Path(folder), selection, _report, raw.setdefault(name, {}))
                sections.append(made)
                print("\n".join(made.text()), flush=True)
    except (RuntimeError, WrongAnswerError, AssignorError) as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 1
    outcomes = [outcome for section in sections for outcome in section.outcomes]
    met = sum(outcome.met for outcome in outcomes)
    print(f"\n{met} of {len(outcomes)} goals met in {time.monotonic() - start:,.0f} s.")
    if options.json:
        goals = [{"what": o.what, "measured": o.measured, "wanted": f"{o.sense} {o.wanted}{o.unit}"} for o in outcomes]
        options.json.write_text(
            json.dumps({"machine": dict(machine), "measured": raw, "goals": goals}, indent=1), encoding="utf-8"
        )
    if options.markdown:
        lines = [f"* {name}: {text}" for name, text in machine]
        lines += [line for section in sections for line in section.markdown()]
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time Fleet on Spark.")
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    parser.add_argument("--only", choices=list(SECTIONS), action="append", help="a section to run; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every time that was measured, in seconds")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables for docs/performance.md")
    return parser


def _machine() -> Iterable[tuple[str, str]]:
    """Where this runs, and what."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    yield "Machine", f"{platform.platform()}, {os.cpu_count()} cores{load}"
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("pyspark", "pyarrow", "pandas"))
    yield "Versions", f"assignor {assignor.__version__}, {versions}"
    yield "Spark", f"local[{CORES}], a heap of {HEAP}"
    yield "Core", f"built for {assignor._core.__build__}"


def _report(what: str) -> None:
    """Says how far it is."""
    print(f"assignor: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
