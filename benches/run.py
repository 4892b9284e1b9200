"""Times range assignment, ours and the peers', and prints tables of milliseconds and ratios: what `make bench` runs.

How fair is it? pytest-benchmark times `bench_range.py`: each side is paired with ours in the same process, call by call
in turn, and a ratio is the median over the rounds of (its time / our time in that round). The garbage collector is on,
as users have it, and runs before every call, not within ours only; every call is timed alone and so with cold caches,
as a leader makes it, and freeing the result is not timed. All members have lists of their own, of `str` objects that
all share. `assign` starts from two mappings and returns TopicPartition objects, and so does the reference; `plan`
returns spans that build objects when asked. The peers start from members that are already decoded, skip all checks of
their input and return int lists per topic, not TopicPartition. Nobody's answer is timed before it is asserted.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import assignor._core
from sides import ENGINES, OURS, PAIRS, require_release
from workloads import GROWTH, SELECTIONS, Workload

ROOT = Path(__file__).resolve().parent.parent

Figures = dict[tuple[str, str], dict[str, Any]]
"""pytest-benchmark's entries by workload and engine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Times, prints, and says by its exit code whether every answer was right."""
    parser = argparse.ArgumentParser(description="Time range assignment, ours and the peers'.")
    which = parser.add_mutually_exclusive_group()
    for selection, text in {"quick": "a smoke test of seconds", "all": "JMH's whole grid; an hour or more"}.items():
        which.add_argument(f"--{selection}", dest="selection", action="store_const", const=selection, help=text)
    parser.set_defaults(selection="default")
    parser.add_argument(
        "--json",
        type=Path,
        default=ROOT / ".benchmarks" / "range.json",
        metavar="FILE",
        help="where pytest-benchmark's figures go (.benchmarks/range.json)",
    )
    options = parser.parse_args(arguments)
    try:
        require_release()
    except RuntimeError as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    if not _time(options.selection, options.json):
        return 1
    entries = json.loads(options.json.read_text(encoding="utf-8"))
    figures = {
        (entry["extra_info"]["workload"], entry["extra_info"]["engine"]): entry for entry in entries["benchmarks"]
    }
    print("\n".join(_report(entries["machine_info"], load, SELECTIONS[options.selection], figures)))
    print(f"\nFigures: {options.json}")
    return 0


def _time(selection: str, figures: Path) -> bool:
    """Runs pytest; on a terminal one sees how far it is, elsewhere only what went wrong."""
    figures = figures.absolute()
    figures.parent.mkdir(parents=True, exist_ok=True)
    seen = sys.stderr.isatty()
    command = [sys.executable, "-m", "pytest", str(ROOT / "benches" / "bench_range.py"), "--rootdir", str(ROOT)]
    command += ["--benchmark-only", "--benchmark-quiet", f"--benchmark-json={figures}", "--selection", selection, "-q"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=sys.stderr if seen else subprocess.PIPE, stderr=None if seen else subprocess.STDOUT
    )
    if done.returncode and not seen:
        sys.stderr.write(done.stdout.decode(errors="replace"))
    return done.returncode == 0


def _report(machine: dict[str, Any], load: float, workloads: list[Workload], figures: Figures) -> Iterable[str]:
    """The lines to print."""
    missing = [engine.name for engine in ENGINES.values() if engine.version is None]
    sides = [name for name in ENGINES if name not in missing]
    peers = {engine.package: engine.version for engine in ENGINES.values() if engine.version}
    yield f"Machine   {platform.platform()}, {os.cpu_count()} cores, load {load:.1f} at the start"
    yield f"CPU       {machine.get('cpu', {}).get('brand_raw') or platform.processor() or platform.machine()}"
    yield f"Python    {platform.python_implementation()} {platform.python_version()}"
    yield "Versions  " + ", ".join(f"{name} {version}" for name, version in peers.items())
    yield f"          numpy {importlib.metadata.version('numpy')}, core built for {assignor._core.__build__}"
    if missing:
        yield f"Missing   {', '.join(missing)}: not installed, not timed"
    growing = {workload for series in GROWTH.values() for workload in series}
    points = [workload for workload in workloads if workload not in growing]
    yield "\nMilliseconds, min / median (workloads are named members x topics x partitions-to-members ratio)\n"
    yield from _table(
        ["workload", "partitions", "pairs", *sides],
        [
            [workload.name, f"{workload.total_partitions:,}", f"{workload.pairs:,}"]
            + [_milliseconds(figures, workload, side) for side in sides]
            for workload in points
        ],
    )
    others = [side for side in sides if side not in OURS]
    yield "\nRatios: how many times as long the other side takes (above 1, ours is faster)\n"
    yield from _table(
        ["workload", *(f"{other} / {ours}" for ours in OURS for other in others)],
        [
            [workload.name, *(_ratio(figures, workload, other, ours) for ours in OURS for other in others)]
            for workload in points
        ],
    )
    if set(workloads) & growing:
        yield "\nGrowth: median milliseconds as one size doubles, and how many times the line above that is\n"
        yield from _table(
            ["doubles", "members", "topics", "partitions of each", "pairs", *sides], list(_growth(figures, sides))
        )
    yield f"\n-: not timed; over {PAIRS:,} (member, topic) pairs only ours in Rust is,"
    yield "and the reference not where it would walk through racks for minutes."


def _growth(figures: Figures, sides: list[str]) -> Iterable[list[str]]:
    for axis, series in GROWTH.items():
        before: dict[str, float] = {}
        for workload in series:
            row = [axis, *(f"{size:,}" for size in (workload.members, workload.topics, workload.partitions))]
            row.append(f"{workload.pairs:,}")
            for side in sides:
                entry = figures.get((workload.name, side))
                median = entry["stats"]["median"] if entry else None
                factor = f" x{median / before[side]:.1f}" if median and side in before else "     "
                row.append(f"{_shown(median * 1000)}{factor}" if median else "-")
                if median:
                    before[side] = median
            yield row


def _milliseconds(figures: Figures, workload: Workload, side: str) -> str:
    entry = figures.get((workload.name, side))
    return f"{_shown(entry['stats']['min'] * 1000)} / {_shown(entry['stats']['median'] * 1000)}" if entry else "-"


def _ratio(figures: Figures, workload: Workload, other: str, ours: str) -> str:
    entry = figures.get((workload.name, other))
    if entry is None:
        return "-"
    rounds = zip(entry["stats"]["data"], entry["extra_info"]["paired"][ours], strict=True)
    return _shown(statistics.median(theirs / our for theirs, our in rounds))


def _shown(value: float) -> str:
    """Three digits that matter, or all before the point."""
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}" if value >= 0.1 else f"{value:.3f}"


def _table(head: list[str], rows: list[list[str]]) -> Iterable[str]:
    """Rows as aligned text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells])


if __name__ == "__main__":
    sys.exit(main())
