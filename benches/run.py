"""Benchmarks of `assignor` and its peers, which `make bench` runs. They print tables of times, ratios and targets.

Each implementation is timed only after its answer is checked. A wrong answer ends the run with exit code 1; a missed
target is marked but does not fail the run. `docs/performance.md` explains how fairness is ensured.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import assignor._core
from assignor.errors import AssignorError
from benches import (
    bench_assign,  # noqa: F401 - the modules register their sections
    bench_clients,  # noqa: F401
    bench_coordinator,  # noqa: F401
    bench_matching,  # noqa: F401
    bench_replay,  # noqa: F401
    bench_scaling,  # noqa: F401
    bench_segments,  # noqa: F401
    bench_spark,  # noqa: F401
    bench_subscription_state,  # noqa: F401
    growth,  # noqa: F401
    memory,  # noqa: F401
)
from benches.checks import WrongAnswerError, require_release
from benches.report import SECTIONS, Measured, Run

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures.json"
PACKAGES = ("assignor", "kafka-python", "aiokafka", "numpy", "pyspark", "pyarrow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks. Return 1 if an answer is wrong, else 0."""
    options = _parser().parse_args(arguments)
    on_spark = [name for name in SECTIONS if name.startswith("spark-")]
    names = options.only or (on_spark if options.spark else [name for name in SECTIONS if name not in on_spark])
    machine, start, found = dict(_machine()), time.monotonic(), []
    print("\n".join(f"{name:9} {text}" for name, text in machine.items()))
    if options.size == "quick":
        print("\nA smoke test: groups are small and runs are short, so the figures mean nothing.")
    try:
        require_release()
        for name in names:
            found.append(SECTIONS[name].measure(Run(options.size, report=_report)))
            _report("")
            print("\n".join(found[-1].text()), flush=True)
            if options.figures:
                store(found[-1], options.figures, machine, _command(options, name))
    except (RuntimeError, WrongAnswerError, AssignorError) as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 1
    targets = [target for section in found for target in section.targets]
    met = sum(target.is_met for target in targets)
    print(f"\n{met} of {len(targets)} targets are met. The run took {time.monotonic() - start:,.0f} s.")
    if options.json:
        measured = {section.section.name: {row.name: row.times for row in section.rows} for section in found}
        figures = {"machine": machine, "measured": measured, "targets": [target.cells() for target in targets]}
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


def store(section: Measured, path: Path, machine: Mapping[str, str], command: str) -> None:
    """Write the tables of a section to the file of figures, in the order of the report."""
    figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    figures[section.section.name] = {
        "title": section.section.title,
        "note": section.note,
        "command": command,
        **_commit(),
        "machine": machine,
        "tables": [{"head": list(table.head), "rows": list(map(list, table.rows))} for table in section.tables()],
    }
    ordered = {name: figures[name] for name in (*SECTIONS, *figures) if name in figures}
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Time assignor and its peers.")
    size = parser.add_mutually_exclusive_group()
    for name, text in {"quick": "run a smoke test", "all": "time JMH's whole grid; takes an hour or more"}.items():
        size.add_argument(f"--{name}", dest="size", action="store_const", const=name, help=text)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--only", choices=list(SECTIONS), action="append", help="run this section; may be repeated")
    which.add_argument("--spark", action="store_true", help="run the sections about Spark instead of the others")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measured times to FILE, in seconds")
    parser.add_argument(
        "--figures",
        type=Path,
        nargs="?",
        const=FIGURES,
        metavar="FILE",
        help="write the sections to FILE (default: docs/figures.json), the source of docs/figures.md",
    )
    parser.set_defaults(size="default")
    return parser


def _command(options: argparse.Namespace, name: str) -> str:
    words = ["python -m benches.run", *([] if options.size == "default" else [f"--{options.size}"])]
    return " ".join([*words, "--only", name])


def _machine() -> Iterable[tuple[str, str]]:
    """Yield the machine, the versions and the build."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    yield "Machine", f"{platform.platform()}, {os.cpu_count()} cores{load}"
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    yield "CPU", models[0] if models else platform.processor() or platform.machine()
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    installed = {
        distribution.metadata["Name"]: distribution.version for distribution in importlib.metadata.distributions()
    }
    yield "Versions", ", ".join(f"{name} {installed[name]}" for name in PACKAGES if name in installed)
    yield "Core", f"built for {assignor._core.__build__}"


def _commit() -> dict[str, Any]:
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


def _report(what: str) -> None:
    """Show the progress if standard error is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what[:110]}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
