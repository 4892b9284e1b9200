"""The reference is the specification: plain Python that never touches the core it specifies."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import assignor
from assignor import reference

PACKAGE = Path(assignor.__file__).parent
ROOM = Path(*reference.__path__)
MODULES = sorted(ROOM.rglob("*.py"))

WITHOUT_CORE = """
import importlib, sys
sys.modules["assignor._core"] = None
for module in sys.argv[1:]:
    importlib.import_module("assignor.reference." + module)
from assignor import Subscription
from assignor.reference.assign import assign
from assignor.reference.check import check
members = {"C0": ["t0", "t1"], "C1": Subscription(("t0", "t1"), rack="r1")}
answer = assign({"t0": 3, "t1": 3}, members)
assert not any(check(answer, {"t0": 3, "t1": 3}, members))
assert "numpy" not in sys.modules
print({member: [f"{topic}p{id}" for topic, id in found] for member, found in answer.items()})
"""


INTERNED = "The engine interns names and sets, and the reference uses strings and frozensets; `group` has the rest."
COMPACT = "The engine keeps an assignment small; the reference keeps a list of partitions per member."
PLAN_VIEW = "A view that `Plan` computes from spans; the tests compute what they expect from lists of partitions."
FAST_SEARCH = "It makes a search among many topics fast; the reference tries each pattern on each topic."
PYTHON_DIALECT = "The dialect of Python's `re`, which is its own reference."
UNIT_TESTS = "Unit tests of a module, too long to stand in it."

ONLY_IN_ENGINE = {
    "assign.table_order.trees": "`assignor.tree_bins`, which the rest of the package needs, too.",
    "lib": "The list of modules.",
    "python": "The border to Python.",
    "error": "Errors of the reference are those of `assignor.errors`.",
    "assign.runs": COMPACT,
    "assign.sticky.lowest": "A fast way to the member with the fewest partitions; the reference asks all members.",
    "assign.sticky.rack_first": "A fast way to a near member; the reference, in `constrained`, asks all members.",
    "assign.sticky.tests": UNIT_TESTS,
    "bytes.writer": "The reference concatenates `bytes`.",
    "group.builder": "`group.read_joined_members`: equal subscriptions need not be parsed once.",
    "group.consumer_sets": INTERNED,
    "group.member_data": "Fields of `group.Member`.",
    "group.names": INTERNED,
    "group.sets": INTERNED,
    "group.topic_lists": "`given` of `group.Member`.",
    "group.topics": INTERNED,
    "matching.automaton": FAST_SEARCH,
    "matching.catalog": FAST_SEARCH,
    "matching.literal_index": FAST_SEARCH,
    "matching.literals": FAST_SEARCH,
    "matching.matcher": FAST_SEARCH,
    "matching.program": FAST_SEARCH,
    "matching.simplify": FAST_SEARCH,
    "matching.python.escapes": PYTHON_DIALECT,
    "matching.python.flags": PYTHON_DIALECT,
    "matching.python.groups": PYTHON_DIALECT,
    "matching.python.names": PYTHON_DIALECT,
    "matching.python.repeats": PYTHON_DIALECT,
    "matching.python.sets": PYTHON_DIALECT,
    "matching.python.state": PYTHON_DIALECT,
    "matching.python.tokens": PYTHON_DIALECT,
    "matching.librdkafka.tests": UNIT_TESTS,
    "matching.re2j.tests": UNIT_TESTS,
    "replay.tests": UNIT_TESTS,
    "offsets.json": "JSON text of decoded records, which the reference hands over as Python objects.",
    "offsets.value": "Decoded values, which are Python's own objects in the reference.",
    "plan.balance": PLAN_VIEW,
    "plan.columnar": COMPACT,
    "plan.diff": PLAN_VIEW,
    "plan.owners": COMPACT,
    "plan.size": PLAN_VIEW,
    "plan.wire": PLAN_VIEW,
}

ONLY_IN_REFERENCE = {
    "assign.options": "`Options` of `src/assign/mod.rs`, in a file that the assignors can import.",
    "columns": "Arrow columns to mappings, which the engine leaves to its border, `src/python`.",
    "fleet.clusters": "The interface of the core's `Clusters`, which the engine leaves to its border.",
    "fleet.columns": "Arrow columns in and out, which the engine leaves to its border.",
    "fleet.reading": "Rows to clusters and groups, which the engine leaves to its border.",
    "offsets.parse": "Python objects to records, which the engine leaves to its border.",
}


def dotted(path: Path) -> str:
    """The name of a file of the reference as a module in it."""
    return ".".join(path.relative_to(ROOM).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    """The modules that a file imports anywhere in it, by absolute name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
            assert node.module is not None
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def reached(path: Path) -> set[Path]:
    """The files of the package that a file imports, those that they import, and so on; not the package's own door."""
    files, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current in files:
            continue
        files.add(current)
        for module in imported(current):
            if module.startswith("assignor."):
                place = PACKAGE.joinpath(*module.split(".")[1:])
                todo += [found for found in (place.with_suffix(".py"), place / "__init__.py") if found.exists()]
    return files


def test_the_reference_computes_where_there_is_no_core() -> None:
    names = [dotted(path) for path in MODULES if path != ROOM / "__init__.py"]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}

    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_CORE, *names],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )

    expected = "{'C0': ['t0p0', 't0p1', 't1p0', 't1p1'], 'C1': ['t0p2', 't1p2']}\n"
    assert ("", expected) == (answer.stderr, answer.stdout)


def modules(folder: Path, suffix: str, package: str) -> set[str]:
    """The modules of a folder by dotted name; a file named `package` stands for its folder."""
    found = (".".join(path.relative_to(folder).with_suffix("").parts) for path in folder.rglob(f"*{suffix}"))
    return {name.removesuffix(f".{package}") for name in found} - {package}


def test_the_reference_has_the_modules_of_the_engine() -> None:
    engine = {name for name in modules(PACKAGE.parents[1] / "src", ".rs", "mod") if not name.startswith("python.")}

    assert set(ONLY_IN_ENGINE) == engine - modules(ROOM, ".py", "__init__")
    assert set(ONLY_IN_REFERENCE) == modules(ROOM, ".py", "__init__") - engine


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_file_of_the_reference_imports_the_core(path: Path) -> None:
    for file in reached(path):
        core = {module for module in imported(file) if "_core" in module.split(".")}

        assert set() == core, f"{path.name}, by way of {file.name}"


def test_a_file_that_imports_the_core_would_be_noticed() -> None:
    assert "assignor._core" in imported(PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_file_of_the_reference_caches_or_computes_in_arrays(path: Path) -> None:
    # These make rows of columns and columns of rows, and nothing else.
    border = {"pyarrow"} if dotted(path) in ("columns", "fleet.columns") else set()

    assert border == imported(path) & {"functools", "numpy", "pyarrow", "pandas"}
