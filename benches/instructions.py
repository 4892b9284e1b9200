"""Counts the instructions of calls and compares them with the budget that is committed: the guard of the speed.

This is what `make guard` runs. A time depends on what else the machine does; a number of instructions does not. Counts
of one build are the same each time, and within 2 % where the environment has another size, which moves things about in
memory. Nor does the processor matter, as long as it has AVX2: callgrind shows every program the same one, so glibc
takes the same functions. How Python was compiled matters, by up to a tenth, and so may the Rust compiler. The budget is
for CPython 3.11 on x86-64 Linux and a release build, and nothing else is counted.

The exit code is 1 when a call takes more than its limit, and 2 where nothing can be counted.
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
"""The limit is so many times what was measured when the budget was written."""

FAR_UNDER = 0.8
"""With less than this part of what is committed, the limit has come to allow too much."""

BUDGET_IS_FOR = ("Linux", "x86_64", "CPython", (3, 11))
"""System, machine and Python of the budget; counts that were made elsewhere are another matter."""

HERE_IS = (platform.system(), platform.machine(), platform.python_implementation(), sys.version_info[:2])

ENVIRONMENT = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
"""Sets are walked through in the same order each time, and numpy starts no threads."""


class CannotCountError(Exception):
    """Nothing can be counted here, and why."""


@dataclass(frozen=True, slots=True)
class CallCount:
    """Instructions of a call beside its budget.

    Attributes:
        call: Name of the call.
        measured: Its instructions; None for a call that is in the budget and no longer in CALLS.
        committed: Its instructions when the budget was written; None for a call that is not in the budget.
        limit: The instructions that it may take at most.
    """

    call: str
    measured: int | None
    committed: int | None
    limit: int | None

    @property
    def ratio(self) -> float | None:
        """Return the measured count divided by the committed one."""
        return self.measured / self.committed if self.measured is not None and self.committed else None

    @property
    def status(self) -> str:
        """Return "ok", "far under", or the reason why the guard fails."""
        if self.measured is None:
            return "UNKNOWN CALL"
        if self.limit is None or self.ratio is None:
            return "NO BUDGET"
        if self.measured > self.limit:
            return "OVER"
        return "far under" if self.ratio < FAR_UNDER else "ok"

    @property
    def is_failure(self) -> bool:
        """Return whether the guard fails because of this call."""
        return self.status not in ("ok", "far under")


def compare(counts: Mapping[str, int], budget: Mapping[str, Mapping[str, int]]) -> list[CallCount]:
    """Return the count beside the budget of every call that was counted or is in the budget."""
    return [
        CallCount(call, counts.get(call), committed.get("measured"), committed.get("limit"))
        for call in dict.fromkeys([*counts, *budget])
        for committed in [budget.get(call, {})]
    ]


def budget_of(counts: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the budget that these counts make."""
    return {call: {"measured": count, "limit": int(SLACK * count)} for call, count in counts.items()}


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
    """Return the number of instructions that each call takes.

    Raises:
        CannotCountError: This is not where the budget is for, or callgrind does not do what it should.
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
        # Before a call ends one part, the call itself is the next one; what comes after the last has no number.
        marks = 2 * len(calls)
        parts = [Path(folder, f"counts.{mark}") for mark in range(1, marks + 1)]
        if not all(part.exists() for part in parts) or Path(folder, f"counts.{marks + 1}").exists():
            raise CannotCountError(f"callgrind did not notice just {marks} calls of getppid")
        return dict(zip(calls, map(_total, parts[1::2]), strict=True))


def _valgrind() -> str:
    """Where valgrind is, if the budget is for this machine, this Python and this build."""
    if HERE_IS != BUDGET_IS_FOR:
        raise CannotCountError("the budget is for CPython 3.11 on x86-64 Linux, and this is something else")
    try:
        require_release()
    except RuntimeError as error:
        raise CannotCountError(str(error)) from None
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CannotCountError("valgrind was not found; on Debian or Ubuntu it comes by `apt-get install valgrind`")
    return valgrind


def _total(part: Path) -> int:
    lines = part.read_text(encoding="utf-8").splitlines()
    return next(int(line.removeprefix("totals:")) for line in lines if line.startswith("totals:"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print a table, and return 1 if a call is over its limit and 2 if nothing can be counted."""
    options = _parser().parse_args(arguments)
    try:
        counts = count(options.only or list(CALLS))
    except CannotCountError as error:
        print(f"assignor: {error}", file=sys.stderr)
        return 2
    with_what = made_with()
    if options.update:
        written = {"made with": with_what, "calls": budget_of(counts)}
        BUDGET.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    committed: dict[str, Any] = json.loads(BUDGET.read_text(encoding="utf-8"))
    budget = {call: entry for call, entry in committed["calls"].items() if not options.only or call in options.only}
    call_counts = compare(counts, budget)
    print("\n".join(table(call_counts).text()))
    if committed["made with"] != with_what:
        print(f"\nThe budget was made with {committed['made with']}, and this is {with_what}.")
    if any(call_count.status == "far under" for call_count in call_counts):
        print("\nWhat is far under its budget may grow unnoticed: `python -m benches.instructions --update` lowers it.")
    return int(any(call_count.is_failure for call_count in call_counts))


def made_with() -> str:
    """What the counts depend on besides the source."""
    said = [
        subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        for tool in ("rustc", "valgrind")
        if shutil.which(tool)
    ]
    return ", ".join([f"Python {platform.python_version()}", *(" ".join(words[:2]) for words in said)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compare the instructions that calls take with the committed budget.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--update", action="store_true", help="write what is counted as the new budget")
    what.add_argument("--only", choices=list(CALLS), action="append", help="a call to count; may be repeated")
    return parser


if __name__ == "__main__":
    sys.exit(main())
