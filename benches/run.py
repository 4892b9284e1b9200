"""Benchmarks of `assignor` and its peers, which `make bench` runs. They print tables of times, ratios and targets.

Each implementation is timed only after its answer is checked. A wrong answer ends the run with exit code 1; a missed
target is marked but does not fail the run. `docs/performance.md` explains how fairness is ensured.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import assignor._core
from benches.implementations import IMPLEMENTATIONS, WrongAnswerError, require_release
from benches.report_output import Output, add_options
from benches.report_sections import SECTIONS
from benches.selections import SELECTIONS
from benches.tables import Raw


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks. Return 1 if an answer is wrong, else 0."""
    options = _parser().parse_args(arguments)
    flags = [] if options.selection == "default" else [f"--{options.selection}"]
    output = Output(options, "benches.run", SECTIONS, dict(_machine()), flags)
    if options.selection == "quick":
        print("\nA smoke test: groups are small and runs are short, so the figures mean nothing.")
    try:
        require_release()
        for name in options.only or SECTIONS:
            raw: Raw = {}
            section = SECTIONS[name](SELECTIONS[options.selection], _report, raw)
            _report("")
            output.add(name, section, raw)
    except (RuntimeError, WrongAnswerError) as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 1
    output.finish()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time assignor and its peers.")
    which = parser.add_mutually_exclusive_group()
    for selection, text in {
        "quick": "run a smoke test of a few seconds",
        "all": "time JMH's whole grid; takes an hour or more",
    }.items():
        which.add_argument(f"--{selection}", dest="selection", action="store_const", const=selection, help=text)
    parser.set_defaults(selection="default")
    add_options(parser, SECTIONS)
    return parser


def _machine() -> Iterable[tuple[str, str]]:
    """Yield the machine, the versions and the build."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    yield "Machine", f"{platform.platform()}, {os.cpu_count()} cores{load}"
    yield "CPU", _cpu()
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    packages = {
        implementation.package: implementation.version
        for implementation in IMPLEMENTATIONS.values()
        if implementation.version
    }
    packages["numpy"] = importlib.metadata.version("numpy")
    yield "Versions", ", ".join(f"{name} {version}" for name, version in packages.items())
    yield "Core", f"built for {assignor._core.__build__}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _report(what: str) -> None:
    """Show the progress if standard error is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what[:110]}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
