"""Guard against regressions: comparison of the instruction counts of calls with a committed budget (`make guard`).

Unlike times, instruction counts do not depend on other work of the machine. Counts of one build are reproducible;
if the total size of the environment variables changes, the counts change by at most 2 %. The processor does not matter
if it has AVX2, because callgrind emulates the same one for every program. The build of Python changes counts by up to a
tenth, and the Rust compiler may change them. The budget is for CPython 3.11 on x86-64 Linux and a release build; other
builds are rejected.

The exit code is 1 if a call takes more than its limit, has no budget, or is in the budget but not in `CALLS`. It is 2
if instructions cannot be counted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benches.checks import require_release
from benches.guarded_calls import CALLS
from benches.report import Table

HERE = Path(__file__).resolve().parent
BUDGET = HERE / "instructions.json"

SLACK = 1.15
"""Limit of a call, as a multiple of its count when the budget was written."""

FAR_UNDER = 0.8
"""Ratio to the committed count below which the budget should be lowered."""

BUDGET_IS_FOR = ("Linux", "x86_64", "CPython", (3, 11))
"""System, machine and Python version of the budget; counts elsewhere are not comparable."""

HERE_IS = (platform.system(), platform.machine(), platform.python_implementation(), sys.version_info[:2])

ENVIRONMENT = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
"""Variables that fix the order of sets and keep numpy from starting threads."""


class CannotCountError(Exception):
    """Error for instructions that cannot be counted; the message has the reason."""


class CallCount(NamedTuple):
    """Instructions of a call and its budget.

    Attributes:
        call: Name of the call.
        measured: Instruction count; None if the call is in the budget but no longer in CALLS.
        committed: Instruction count when the budget was written; None if the call is not in the budget.
    """

    call: str
    measured: int | None
    committed: int | None

    @property
    def status(self) -> str:
        """One of "ok", "far under", or the reason why the guard fails."""
        if self.measured is None:
            return "UNKNOWN CALL"
        if self.committed is None:
            return "NO BUDGET"
        if self.measured > int(SLACK * self.committed):
            return "OVER"
        return "far under" if self.measured < FAR_UNDER * self.committed else "ok"

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        limit = None if self.committed is None else int(SLACK * self.committed)
        counts = ("-" if value is None else f"{value:,}" for value in (self.measured, self.committed, limit))
        ratio = f"{self.measured / self.committed:.3f}" if self.measured is not None and self.committed else "-"
        return (self.call, *counts, ratio, self.status)


def compare(counts: Mapping[str, int], budget: Mapping[str, int]) -> list[CallCount]:
    """Return the count and the budget of every call that was counted or is in the budget."""
    return [CallCount(call, counts.get(call), budget.get(call)) for call in dict.fromkeys([*counts, *budget])]


def count(calls: Sequence[str]) -> dict[str, int]:
    """Return the instruction count of each call.

    Raises:
        CannotCountError: The budget is for another platform or build, or callgrind failed.
    """
    valgrind = _valgrind()
    with tempfile.TemporaryDirectory() as folder:
        command = [valgrind, "--tool=callgrind", "--quiet", f"--callgrind-out-file={folder}/counts"]
        command += ["--dump-before=getppid", sys.executable, "-m", "benches.guarded_calls", *calls]
        done = subprocess.run(
            command,
            cwd=HERE.parent,
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise CannotCountError(f"callgrind failed: {done.stdout.strip().splitlines()[-1:]}")
        # Two marks per call: the first ends the part before the call, the second ends the call.
        marks = 2 * len(calls)
        parts = [Path(folder, f"counts.{mark}") for mark in range(1, marks + 1)]
        if not all(part.exists() for part in parts) or Path(folder, f"counts.{marks + 1}").exists():
            raise CannotCountError(f"callgrind did not count exactly {marks} calls of getppid")
        return dict(zip(calls, map(_total, parts[1::2]), strict=True))


def _valgrind() -> str:
    """Return the path of valgrind. Raise an error if the budget is for another platform or build."""
    if HERE_IS != BUDGET_IS_FOR:
        raise CannotCountError("the budget is for CPython 3.11 on x86-64 Linux only")
    try:
        require_release()
    except RuntimeError as error:
        raise CannotCountError(str(error)) from None
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CannotCountError("valgrind was not found; on Debian or Ubuntu, run `apt-get install valgrind`")
    return valgrind


def _total(part: Path) -> int:
    lines = part.read_text(encoding="utf-8").splitlines()
    return next(int(line.removeprefix("totals:")) for line in lines if line.startswith("totals:"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of counts. Return 1 if the guard fails because of a call, 2 if nothing can be counted, else 0."""
    parser = argparse.ArgumentParser(description="Compare the instructions of calls with the committed budget.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--update", action="store_true", help="write the counts as the new budget")
    what.add_argument("--only", choices=list(CALLS), action="append", help="count this call; may be repeated")
    options = parser.parse_args(arguments)
    try:
        counts = count(options.only or list(CALLS))
    except CannotCountError as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 2
    with_what = made_with()
    if options.update:
        written = {"made with": with_what, "calls": counts}
        BUDGET.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    committed: dict[str, Any] = json.loads(BUDGET.read_text(encoding="utf-8"))
    budget = {call: entry for call, entry in committed["calls"].items() if not options.only or call in options.only}
    call_counts = compare(counts, budget)
    head = ("call", "measured", "committed", "limit", "ratio", "")
    print("\n".join(Table(head, [call_count.cells() for call_count in call_counts]).text()))
    if committed["made with"] != with_what:
        print(f"\nThe budget was made with {committed['made with']}; this run uses {with_what}.")
    if any(call_count.status == "far under" for call_count in call_counts):
        print("\nCalls far under their budget can grow unnoticed; lower it: `python -m benches.instructions --update`.")
    return int(any(call_count.status not in ("ok", "far under") for call_count in call_counts))


def made_with() -> str:
    """Return the versions of Python, Rust and valgrind."""
    said = [
        subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        for tool in ("rustc", "valgrind")
        if shutil.which(tool)
    ]
    return ", ".join([f"Python {platform.python_version()}", *(" ".join(words[:2]) for words in said)])


if __name__ == "__main__":
    sys.exit(main())
