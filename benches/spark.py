"""Times `Fleet` on Spark beside what Spark itself takes and beside a call of Python for each group.

This is what `make bench-spark` runs. Each answer is checked before it is timed, and a wrong one ends the
run with exit code 1; a target that is missed is marked and no failure.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import assignor._core
from assignor.errors import AssignorError
from benches.implementations import WrongAnswerError, require_release
from benches.report_output import add_options, finish
from benches.spark_report_sections import SECTIONS, SELECTIONS
from benches.spark_session import CORES, HEAP, session
from benches.tables import Raw, ReportSection


def main(arguments: Sequence[str] | None = None) -> int:
    """Time, print tables, and return 1 if an answer is wrong."""
    options = _parser().parse_args(arguments)
    selection = SELECTIONS["quick" if options.quick else "default"]
    machine = dict(_machine())
    print("\n".join(f"{name:9} {text}" for name, text in machine.items()))
    if options.quick:
        print("\nA smoke test: the fleets are too small for the figures to mean anything.")
    raw: dict[str, Raw] = {}
    sections: list[ReportSection] = []
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
    finish(options, machine, sections, raw, time.monotonic() - start)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time Fleet on Spark.")
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    add_options(parser, SECTIONS)
    return parser


def _machine() -> Iterable[tuple[str, str]]:
    """Yield the machine, the versions and the build."""
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
