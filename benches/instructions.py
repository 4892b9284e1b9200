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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.guarded_calls import CALLS
from benches.implementations import require_release
from benches.tables import Table

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


@dataclass(frozen=True, slots=True)
class CallCount:
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
    def limit(self) -> int | None:
        """Largest allowed count."""
        return None if self.committed is None else int(SLACK * self.committed)

    @property
    def ratio(self) -> float | None:
        """Measured count divided by the committed count."""
        return self.measured / self.committed if self.measured is not None and self.committed else None

    @property
    def status(self) -> str:
        """One of "ok", "far under", or the reason why the guard fails."""
        if self.measured is None:
            return "UNKNOWN CALL"
        if self.limit is None or self.ratio is None:
            return "NO BUDGET"
        if self.measured > self.limit:
            return "OVER"
        return "far under" if self.ratio < FAR_UNDER else "ok"

    @property
    def is_failure(self) -> bool:
        """True if the guard fails because of this call."""
        return self.status not in ("ok", "far under")


def compare(counts: Mapping[str, int], budget: Mapping[str, int]) -> list[CallCount]:
    """Return the count and the budget of every call that was counted or is in the budget."""
    return [CallCount(call, counts.get(call), budget.get(call)) for call in dict.fromkeys([*counts, *budget])]


def table(call_counts: Iterable[CallCount]) -> Table:
    """Return the counts as a table."""
    rows = [
        (
            call_count.call,
            *(
                "-" if value is None else f"{value:,}"
                for value in (call_count.measured, call_count.committed, call_count.limit)
            ),
            "-" if call_count.ratio is None else f"{call_count.ratio:.3f}",
            call_count.status,
        )
        for call_count in call_counts
    ]
    return Table(("call", "measured", "committed", "limit", "ratio", ""), rows)


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
    options = _parser().parse_args(arguments)
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
    print("\n".join(table(call_counts).text()))
    if committed["made with"] != with_what:
        print(f"\nThe budget was made with {committed['made with']}; this run uses {with_what}.")
    if any(call_count.status == "far under" for call_count in call_counts):
        print("\nCalls far under their budget can grow unnoticed; lower it: `python -m benches.instructions --update`.")
    return int(any(call_count.is_failure for call_count in call_counts))


def made_with() -> str:
    """Return the versions of Python, Rust and valgrind."""
    said = [
        subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        for tool in ("rustc", "valgrind")
        if shutil.which(tool)
    ]
    return ", ".join([f"Python {platform.python_version()}", *(" ".join(words[:2]) for words in said)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compare the instructions of calls with the committed budget.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--update", action="store_true", help="write the counts as the new budget")
    what.add_argument("--only", choices=list(CALLS), action="append", help="count this call; may be repeated")
    return parser


if __name__ == "__main__":
    sys.exit(main())
