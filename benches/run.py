"""Times `assignor` beside its peers and prints tables of milliseconds and ratios, each target beside what was measured.

This is what `make bench` runs. Each answer is checked before it is timed, and a wrong one ends the run
with exit code 1; a target that is missed is marked and no failure. `docs/performance.md` says how fair it all is.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import assignor._core
from benches.implementations import IMPLEMENTATIONS, WrongAnswerError, require_release
from benches.report_output import add_options, finish
from benches.report_sections import SECTIONS
from benches.selections import SELECTIONS
from benches.tables import Raw, ReportSection


def main(arguments: Sequence[str] | None = None) -> int:
    """Time, print tables, and return 1 if an answer is wrong."""
    options = _parser().parse_args(arguments)
    machine = dict(_machine())
    print("\n".join(f"{name:9} {text}" for name, text in machine.items()))
    if options.selection == "quick":
        print(
            "\nA smoke test: everything is run, but on small groups and too briefly for the figures to mean anything."
        )
    raw: dict[str, Raw] = {}
    sections: list[ReportSection] = []
    start = time.monotonic()
    try:
        require_release()
        for name in options.only or SECTIONS:
            sections.append(SECTIONS[name](SELECTIONS[options.selection], _report, raw.setdefault(name, {})))
            _report("")
            print("\n".join(sections[-1].text()), flush=True)
    except (RuntimeError, WrongAnswerError) as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 1
    finish(options, machine, sections, raw, time.monotonic() - start)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time assignor beside its peers.")
    which = parser.add_mutually_exclusive_group()
    for selection, text in {"quick": "a smoke test of seconds", "all": "JMH's whole grid; an hour or more"}.items():
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
    """Shows on a terminal how far it is; elsewhere nothing."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what[:110]}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
