"""Benchmarks of `Fleet` on Spark, which `make bench-spark` runs.

Each implementation is timed only after its answer is checked. A wrong answer ends the run with exit code 1; a missed
target is marked but does not fail the run.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import assignor._core
from assignor.errors import AssignorError
from benches.implementations import WrongAnswerError, require_release
from benches.report_output import Output, add_options
from benches.spark_report_sections import SECTIONS, SELECTIONS
from benches.spark_session import CORES, HEAP, OPTIONS, session
from benches.tables import Raw


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks. Return 1 if an answer is wrong, else 0."""
    options = _parser().parse_args(arguments)
    selection = SELECTIONS["quick" if options.quick else "default"]
    flags = [*(["--quick"] if options.quick else []), *(["--java", options.java] if options.java != "default" else [])]
    output = Output(options, "benches.spark", SECTIONS, dict(_machine(options.java)), flags)
    if options.quick:
        print("\nA smoke test: fleets are small, so the figures mean nothing.")
    try:
        require_release()
        with tempfile.TemporaryDirectory(prefix="bench-spark-") as folder, session(options=options.java) as spark:
            for name in options.only or SECTIONS:
                raw: Raw = {}
                output.add(name, SECTIONS[name](spark, Path(folder), selection, _report, raw), raw)
    except (RuntimeError, WrongAnswerError, AssignorError) as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 1
    output.finish()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time Fleet on Spark.")
    parser.add_argument("--quick", action="store_true", help="run a smoke test")
    parser.add_argument(
        "--java",
        choices=list(OPTIONS),
        default="default",
        help="Java options of the session: Java's defaults, or those of assignor.spark.session, for short programs",
    )
    add_options(parser, SECTIONS)
    return parser


def _machine(java: str) -> Iterable[tuple[str, str]]:
    """Yield the machine, the versions and the build."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    yield "Machine", f"{platform.platform()}, {os.cpu_count()} cores{load}"
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("pyspark", "pyarrow", "pandas"))
    yield "Versions", f"assignor {assignor.__version__}, {versions}"
    yield "Spark", f"local[{CORES}], a heap of {HEAP}, {OPTIONS[java]}"
    yield "Core", f"built for {assignor._core.__build__}"


def _report(what: str) -> None:
    """Print the progress on standard error."""
    print(f"assignor: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
