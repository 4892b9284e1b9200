"""Lines that the tests execute, by room: docs/coverage.json and its table in CONTRIBUTING.md.

`make coverage` runs all tests, and then this program: `python -m docs.covered_lines COMMIT REPORT...`. The reports, in
the format lcov, are those of coverage.py and llvm-cov.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

COVERAGE = Path(__file__).resolve().parent / "coverage.json"

LANGUAGES = {"python": "Python", "rust": "Rust"}
"""Keys of the languages in the file, and their names."""

SOURCE = re.compile(r"(?:^|.*/)(?:python/assignor/(?P<python>.+\.py)|src/(?P<rust>.+\.rs))")
"""Path of a file of the package. The compiler replaces the folder of the sources by another name in the core."""

OF_TESTS = re.compile(r"(?:^|.*/)tests\.rs|tests/.*")
"""Path of a file in src that has tests only."""

Lines = dict[tuple[str, str], dict[int, bool]]
"""Language and path of each file to its lines, and if a test executes each of them."""


def lines_of(reports: Iterable[str]) -> Lines:
    """Return the lines of all files of the package; a test executes a line if one of the reports says so.

    Raises:
        ValueError: A line of a report has another form.
    """
    found: Lines = defaultdict(dict)
    for report in reports:
        lines: dict[int, bool] | None = None
        for text in report.splitlines():
            kind, _, rest = text.partition(":")
            if kind == "SF":
                file = SOURCE.fullmatch(rest)
                lines = None
                if file and not (file["rust"] and OF_TESTS.fullmatch(file["rust"])):
                    lines = found[("python", file["python"]) if file["python"] else ("rust", file["rust"])]
            elif kind == "DA" and lines is not None:
                number, count = rest.split(",")[:2]
                lines[int(number)] = lines.get(int(number), False) or int(count) > 0
    return found


def rooms_of(lines: Lines) -> dict[str, dict[str, list[int]]]:
    """Return the executed lines and all lines of each room, by language.

    A file that is in no folder belongs to the room of its name, if there is one, and otherwise to the package.
    """
    folders = {path.split("/")[0] for _, path in lines if "/" in path}
    rooms: dict[str, dict[str, list[int]]] = {language: {} for language in LANGUAGES}
    for (language, path), executed in lines.items():
        first = re.sub(r"\.(py|rs)$", "", path.split("/")[0])
        counts = rooms[language].setdefault(first if first in folders else "package", [0, 0])
        counts[0] += sum(executed.values())
        counts[1] += len(executed)
    return {language: dict(sorted(counts.items())) for language, counts in rooms.items()}


def rows(rooms: Mapping[str, Mapping[str, list[int]]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: each room, then the sum of all."""
    names = sorted({name for counts in rooms.values() for name in counts} - {"package"})
    for name in (*names, "package"):
        yield (f"`{name}`" if name != "package" else "files of the package", *cells(rooms, [name]))
    yield ("all", *cells(rooms, [*names, "package"]))


def cells(rooms: Mapping[str, Mapping[str, list[int]]], names: Iterable[str]) -> Iterator[str]:
    """Yield the number of lines and the executed part of some rooms, for each language."""
    for language in LANGUAGES:
        counts = [rooms[language][name] for name in names if name in rooms[language]]
        executed, lines = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
        # Rounding down, because 100 % must mean all lines.
        yield from (f"{lines:,}", f"{executed * 1000 // lines / 10:.1f} %") if lines else ("", "")


def header() -> tuple[str, ...]:
    """Return the header of the table."""
    return ("room", *(text for name in LANGUAGES.values() for text in (f"lines of {name}", "executed")))


def measured(path: Path = COVERAGE) -> dict[str, Any]:
    """Return the last measurement: `commit`, and the counts of each room by language in `rooms`."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main(arguments: list[str]) -> int:
    """Write the file from the reports, and print the sums."""
    commit, *reports = arguments
    rooms = rooms_of(lines_of(Path(report).read_text(encoding="utf-8") for report in reports))
    missing = [name for language, name in LANGUAGES.items() if not rooms[language]]
    if missing:
        sys.stderr.write(f"assignor: the reports have no lines of {' and '.join(missing)}\n")
        return 1
    COVERAGE.write_text(json.dumps({"commit": commit, "rooms": rooms}, indent=1) + "\n", encoding="utf-8")
    *_, (_, python_lines, python, rust_lines, rust) = rows(rooms)
    sys.stdout.write(f"the tests execute {python} of {python_lines} lines of Python, {rust} of {rust_lines} of Rust\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
