"""Program that runs commands and Python statements in forked processes that lack optional packages.

Standard input has a JSON list of objects with the keys `modules`, `kind` and `lines`. Each object has a process of its
own, which runs the lines: the words of a command, or a statement. In this process the modules are not found (kind
`missing`), fail to load (`broken`), or have an old version (`old`). The program prints a list of how the lines ended.

It imports the optional packages once, but no module of `assignor` that imports them.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.metadata
import json
import os
import pkgutil
import sys
import traceback
import warnings
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

import assignor
from assignor.dependencies import REQUIREMENTS
from assignor.errors import MissingDependencyError
from tests.cli.running import Ended, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

CAUSE = "cannot open shared object file"
"""Text of the error of a broken package."""

OLD = "0.0.1"
"""Version of an old package."""

PRELOADED = (
    *("pyarrow.dataset", "pyarrow.parquet", "pyarrow.compute", "altair", "rich.console", "rich.table", "rich.progress"),
    *("prometheus_client", "vl_convert", "confluent_kafka.admin", "pandas", "pyspark.sql"),
)

AT_ONCE = 4
"""Number of processes at a time: some commands wait for a cluster that does not answer."""

EVERY_MODULE = "import every module"
"""Line that imports each module of the package. It fails if one neither loads nor says what it lacks."""


class Blocker(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder of packages that are missing or broken."""

    def __init__(self, modules: list[str], kind: str) -> None:
        self._modules = modules
        self._kind = kind

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise an error if the module is missing; return a specification that `exec_module` uses if it is broken."""
        if not any(f"{name}.".startswith(f"{module}.") for module in self._modules):
            return None
        if self._kind == "missing":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Fail as a module does whose library cannot be loaded."""
        exec(f"raise OSError({CAUSE!r})", module.__dict__)


def block(modules: list[str], kind: str) -> None:
    """Let imports of modules fail in this process."""
    if kind == "old":
        of_packages, packages = importlib.metadata.version, {REQUIREMENTS[each][0].split(">=")[0] for each in modules}
        importlib.metadata.version = lambda distribution_name: (
            OLD if distribution_name in packages else of_packages(distribution_name)
        )
        return
    for name in list(sys.modules):
        if any(f"{name}.".startswith(f"{module}.") for module in modules):
            del sys.modules[name]
    sys.meta_path.insert(0, Blocker(modules, kind))


def execute(statement: str) -> Ended:
    """Run a statement; a missing dependency ends it as it ends a command."""
    try:
        if statement == EVERY_MODULE:
            import_every_module()
        else:
            exec(statement, {})
    except MissingDependencyError as error:
        return Ended(2, "", f"assignor: {error}\n")
    except Exception:
        return Ended(None, "", traceback.format_exc())
    return Ended(0, "", "")


def import_every_module() -> None:
    """Import each module of the package; a missing dependency is no error here."""
    loaded = 0
    for module in pkgutil.walk_packages(assignor.__path__, "assignor.", onerror=lambda _: None):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
                loaded += 1
            except MissingDependencyError:
                continue
    assert loaded > 100


def start(modules: list[str], kind: str, lines: list[list[str] | str]) -> tuple[int, int]:
    """Fork a process that runs lines without modules; return it and the end of a pipe with its answer."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # From CPython 3.12 on, fork warns about the threads of the packages, which the forked process does not use.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    with os.fdopen(writer, "w") as file:
        block(modules, kind)
        json.dump([execute(line) if isinstance(line, str) else run(line) for line in lines], file)
    os._exit(0)


def answer(child: int, reader: int) -> Any:
    """Return how the lines of a process ended."""
    with os.fdopen(reader) as file:
        found = file.read()
    os.waitpid(child, 0)
    return json.loads(found)


def main() -> None:
    """Run the lines of all objects, a few processes at a time."""
    for name in PRELOADED:
        importlib.import_module(name)
    entries = json.load(sys.stdin)
    found: list[Any] = []
    for first in range(0, len(entries), AT_ONCE):
        started = [start(**entry) for entry in entries[first : first + AT_ONCE]]
        found += [answer(*each) for each in started]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
