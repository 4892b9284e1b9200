"""Type check of the code on the pages and in `examples`, with mypy --strict and pyright: `python -m docs.typecheck`.

Each page becomes a module with the same number of lines, so the place of an error is that on the page. Examples that
show an exception are left out: their error may be one of types. Each run also checks a page with errors, and fails if a
program does not find them.
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)

SESSION = "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate()"

GIVEN = dict.fromkeys(
    ("docs/daily-job.md", "docs/should-this-group-move-to-kip-848.md", "docs/start-from-what-you-have.md"), SESSION
)
"""Code that a page leaves to its reader."""

UNTYPED = ("kafka", "pandas", "pandas.core.frame", "airflow.sdk", "airflow.providers.standard.operators.bash")
"""Modules without types, or that only an example needs. Pyright has types of an older kafka-python, and infers wrong
ones for pandas."""

WRONG = """# A page with three errors

```python
>>> from assignor import Subscription, plan
>>> plan({"orders": 6}, {"a": ["orders"]}, assignor="rnage")
>>> Subscription(7)
>>> Subscription(["orders"], dialect="jawa")
```
"""
"""Page whose last three lines of code each have an error."""


def checked_files() -> list[str]:
    """Return the pages with code and the programs in `examples`, relative to the root."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    names = {path.relative_to(ROOT).as_posix() for path in pages if BLOCK.search(path.read_text(encoding="utf-8"))}
    programs = (path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").rglob("*.py"))
    return sorted({*names, *programs})


def module_of(page: str, given: str = "") -> str:
    """Return the code of a page as a module: all other lines are empty, except the title and the line after it."""
    lines = ["# mypy: allow-redefinition", given] + [""] * page.count("\n")
    for block in BLOCK.finditer(page):
        first = page.count("\n", 0, block.start(1))
        for number, line in _code(block[1]):
            lines[first + number] = line
    return "\n".join(lines) + "\n"


def _code(block: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of code in a block with their numbers: those of doctest's examples, if it has any."""
    examples = doctest.DocTestParser().get_examples(block)
    if not examples:
        yield from enumerate(block.splitlines())
    for example in examples:
        if example.exc_msg is None:
            yield from enumerate(example.source.splitlines(), example.lineno)


def errors_of_types(modules: dict[str, str]) -> list[str]:
    """Check modules with both programs.

    Args:
        modules: Name of a file to its code.

    Returns:
        One line for each error, which begins with the file and its line.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for number, (name, code) in enumerate(modules.items()):
            path = Path(folder) / f"page_{number}.py"
            path.write_text(code, encoding="utf-8")
            names[path.name] = name
        return [*_mypy(folder, names), *_pyright(folder, names)]


def _mypy(folder: str, names: dict[str, str]) -> Iterator[str]:
    # The configuration has the programs, except one that uses pandas.
    paths = [str(Path(folder) / file) for file, name in names.items() if not name.endswith(".py")]
    options = ["--strict", "--output=json", f"--config-file={ROOT / 'pyproject.toml'}"]
    for line in _output([sys.executable, "-m", "mypy", *options, *paths], ROOT).splitlines():
        if not line.startswith("{"):
            raise RuntimeError(f"mypy: {line}")
        found = json.loads(line)
        name = names.get(Path(found["file"]).name, found["file"])
        yield f"{name}:{found['line']}: {found['message']} (mypy: {found['code']})"


def _pyright(folder: str, names: dict[str, str]) -> Iterator[str]:
    for module in UNTYPED:
        stub = Path(folder, "typings", *module.split("."), "__init__.pyi")
        stub.parent.mkdir(parents=True)
        stub.write_text("from typing import Any\ndef __getattr__(name: str) -> Any: ...\n", encoding="utf-8")
    settings = {
        "extraPaths": [str(ROOT / "python"), str(ROOT)],
        "pythonVersion": "3.11",
        "reportMissingModuleSource": False,
        "reportUnusedExpression": False,  # doctest shows their values
    }
    (Path(folder) / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "--project", folder]
    for found in json.loads(_output(command, ROOT))["generalDiagnostics"]:
        line = found["range"]["start"]["line"] + 1
        name = names.get(Path(found["file"]).name, found["file"])
        message = " ".join(found["message"].split())
        yield f"{name}:{line}: {message} (pyright: {found.get('rule', found['severity'])})"


def _output(command: Sequence[str], folder: Path) -> str:
    """Run a program and return what it printed; raise RuntimeError if it did not check the files."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command[:3])}: exit code {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def main() -> int:
    """Check all files, print the errors, and return the exit code."""
    modules = {"wrong page": module_of(WRONG)}
    for name in checked_files():
        text = (ROOT / name).read_text(encoding="utf-8")
        modules[name] = module_of(text, GIVEN.get(name, "")) if name.endswith(".md") else text
    found = errors_of_types(modules)
    missing = {f"wrong page:{line}: no error ({program})" for line in (5, 6, 7) for program in ("mypy", "pyright")}
    errors = []
    for error in found:
        place, _, rest = error.partition(": ")
        if place.startswith("wrong page:"):
            missing.discard(f"{place}: no error ({rest.rpartition(' (')[2].partition(':')[0]})")
        else:
            errors.append(error)
    sys.stdout.writelines(f"{error}\n" for error in (*errors, *sorted(missing)))
    return 1 if errors or missing else 0


if __name__ == "__main__":
    sys.exit(main())
