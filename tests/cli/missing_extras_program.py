"""Program that runs commands in forked processes; each process lacks an optional package, or cannot import it.

Standard input has a JSON list of [package, error, commands]; the error is `missing` or the class of the error of the
import. The program prints a list of how the commands ended. It imports the packages once, and a forked
process per entry forgets them and the modules that import them.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

CAUSE = "cannot open shared object file"
"""Text of the error of an import that fails."""

ROOMS = ("cli", "cluster", "replay", "report", "page", "spark", "lag", "lag_growth", "waiting", "offsets")
"""Modules and rooms of the package that are imported again without the package."""

PRELOADED = (
    *("pyarrow.dataset", "pyarrow.parquet", "pyarrow.compute", "altair", "rich.console", "rich.table", "rich.progress"),
    *("prometheus_client", "vl_convert", "confluent_kafka.admin"),
)


AT_ONCE = 4
"""Number of processes at a time: many commands wait for a cluster that does not answer."""


class Blocker(importlib.abc.MetaPathFinder):
    """Finder that fails to import a package."""

    def __init__(self, package: str, error: str) -> None:
        self._package = package
        self._error = error

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise the error if the module is of the package."""
        if name.partition(".")[0] != self._package:
            return None
        if self._error == "missing":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        kind: type[Exception] = getattr(builtins, self._error)
        raise kind(CAUSE)


def forget(package: str) -> None:
    """Remove a package and the modules that import it from the loaded modules."""
    for name in list(sys.modules):
        top, _, rest = name.partition(".")
        if top == package or (top == "assignor" and rest.partition(".")[0] in ROOMS and name != "assignor.cli"):
            del sys.modules[name]


def start(package: str, error: str, commands: list[list[str]]) -> tuple[int, int]:
    """Fork a process that runs commands without a package; return it and the end of a pipe with its answer."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    with os.fdopen(writer, "w") as file:
        forget(package)
        sys.meta_path.insert(0, Blocker(package, error))
        json.dump([run(words) for words in commands], file)
    os._exit(0)


def answer(child: int, reader: int) -> Any:
    """Return how the commands of a process ended."""
    with os.fdopen(reader) as file:
        found = file.read()
    os.waitpid(child, 0)
    return json.loads(found)


def main() -> None:
    """Run the commands of all entries, a few entries at a time."""
    for name in PRELOADED:
        importlib.import_module(name)
    entries = json.load(sys.stdin)
    found: list[Any] = []
    for first in range(0, len(entries), AT_ONCE):
        started = [start(*entry) for entry in entries[first : first + AT_ONCE]]
        found += [answer(*each) for each in started]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
