"""Times `assignor` beside its peers and prints tables of milliseconds and ratios, each goal beside what was measured.

This is what `make bench` runs. Nobody's answer is timed before it is known to be right, and a wrong one ends the run
with exit code 1; a goal that is missed is marked and no failure. `docs/performance.md` says how fair it all is.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import assignor._core
from benches.goals import SELECTIONS
from benches.sections import SECTIONS
from benches.sides import SIDES, WrongAnswerError, require_release
from benches.tables import Raw, Section


def main(arguments: Sequence[str] | None = None) -> int:
    """Times, prints, and says by its exit code whether every answer was right."""
    options = _parser().parse_args(arguments)
    machine = list(_machine())
    print("\n".join(f"{name:9} {text}" for name, text in machine))
    if options.selection == "quick":
        print(
            "\nA smoke test: everything is run, but on small groups and too briefly for the figures to mean anything."
        )
    raw: dict[str, Raw] = {}
    sections: list[Section] = []
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
    outcomes = [outcome for section in sections for outcome in section.outcomes]
    met = sum(outcome.met for outcome in outcomes)
    print(f"\n{met} of {len(outcomes)} goals met in {time.monotonic() - start:,.0f} s.")
    if options.json:
        goals = [{"what": o.what, "measured": o.measured, "wanted": f"{o.sense} {o.wanted}{o.unit}"} for o in outcomes]
        figures = {"machine": dict(machine), "seconds": raw, "goals": goals}
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text("\n".join(_page(machine, sections)) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time assignor beside its peers.")
    which = parser.add_mutually_exclusive_group()
    for selection, text in {"quick": "a smoke test of seconds", "all": "JMH's whole grid; an hour or more"}.items():
        which.add_argument(f"--{selection}", dest="selection", action="store_const", const=selection, help=text)
    parser.set_defaults(selection="default")
    parser.add_argument("--only", choices=list(SECTIONS), action="append", help="a section to run; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every time that was measured, in seconds")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables for docs/performance.md")
    return parser


def _machine() -> Iterable[tuple[str, str]]:
    """Where this runs, and what."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    yield "Machine", f"{platform.platform()}, {os.cpu_count()} cores{load}"
    yield "CPU", _cpu()
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    packages = {side.package: side.version for side in SIDES.values() if side.version}
    packages["numpy"] = importlib.metadata.version("numpy")
    yield "Versions", ", ".join(f"{name} {version}" for name, version in packages.items())
    yield "Core", f"built for {assignor._core.__build__}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _page(machine: list[tuple[str, str]], sections: list[Section]) -> Iterable[str]:
    for name, text in machine:
        yield f"* {name}: {text}"
    for section in sections:
        yield from section.markdown()


def _report(what: str) -> None:
    """Shows on a terminal how far it is; elsewhere nothing."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what[:110]}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
