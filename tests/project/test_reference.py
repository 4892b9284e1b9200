"""Tests of the reference: plain Python, the same modules as the engine, and no import of the core."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import assignor
from tests.project.python_imports import PACKAGE, ROOT, imported, imported_files

ROOM = PACKAGE / "reference"
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


INTERNED = "The engine interns names and sets; `group` of the reference uses strings and frozensets."
COMPACT = "The engine keeps an assignment small; the reference keeps a list of partitions per member."
PLAN_VIEW = "`Plan` computes it from spans; the tests compute expected values from lists of partitions."
FAST_SEARCH = "It speeds up matching many topics; the reference tries each pattern on each topic."
PYTHON_DIALECT = "The dialect of Python's `re`, which is its own reference."
OWN_BEHAVIOUR = (
    "Behaviour of this package, which Kafka does not define; the tests compare it with logs and with `assign`."
)
UNIT_TESTS = "Unit tests of a module, in a file of their own."

ONLY_IN_ENGINE = {
    "assign.table_order.trees": "`assignor.tree_bins`, which other modules of the package use, too.",
    "fleet": OWN_BEHAVIOUR,
    "lib": "The list of modules.",
    "offsets": "Records of `__consumer_offsets`, which the tests compare with Kafka's serializers and JSON.",
    "python": "The Python binding.",
    "replay": OWN_BEHAVIOUR,
    "wire.client": OWN_BEHAVIOUR,
    "segments": "Formats of log segments, which the tests compare with Kafka's own reader and writer.",
    "cancellation": "Cancellation of long calls from another thread; Python interrupts the reference.",
    "error": "Errors of the reference are those of `assignor.errors`.",
    "assign.sticky.balancing": "A part of `general`.",
    "memory": "The reference is not made for large groups.",
    "assign.sticky.even_assignment": "A part of `constrained`.",
    "assign.sticky.lowest": "Fast search for the member with the fewest partitions; the reference checks all members.",
    "assign.sticky.returns": "A part of `general`.",
    "assign.sticky.rack_first": "Fast search for a member in the same rack; `constrained` checks all members.",
    "bytes.writer": "The reference concatenates `bytes`.",
    "assign.server.topic_order": "`topics_by_id` of `assign.table_order`.",
    "group.builder": "`group.read_joined_members`; the reference parses equal subscriptions repeatedly.",
    "group.consumer_sets": INTERNED,
    "group.extended": "The reference finds topics by name.",
    "group.member_data": "Fields of `group.Member`.",
    "group.names": INTERNED,
    "group.sets": INTERNED,
    "group.tests": UNIT_TESTS,
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
    "matching.python.repeats": PYTHON_DIALECT,
    "matching.python.sets": PYTHON_DIALECT,
    "matching.python.state": PYTHON_DIALECT,
    "matching.python.tokens": PYTHON_DIALECT,
    "matching.librdkafka.tests": UNIT_TESTS,
    "plan.balance": PLAN_VIEW,
    "plan.weights": PLAN_VIEW,
    "plan.columnar": COMPACT,
    "plan.diff": PLAN_VIEW,
    "plan.owners": COMPACT,
    "plan.ranges": COMPACT,
    "plan.shared": COMPACT,
    "plan.size": PLAN_VIEW,
    "plan.wire": PLAN_VIEW,
}

ONLY_IN_REFERENCE = {
    "assign.options": "`Options` of `src/assign/mod.rs`, in a file that the assignors can import.",
}


def dotted(path: Path) -> str:
    """Return the dotted name of a module of the reference."""
    return ".".join(path.relative_to(ROOM).with_suffix("").parts).removesuffix(".__init__")


def reached(path: Path) -> set[Path]:
    """Return the files of the package that a file imports directly or indirectly, except `assignor/__init__.py`."""
    files, left = set[Path](), [path]
    while left:
        new = set(imported_files(left.pop())) - files
        files |= new
        left += new
    return files | {path}


def test_the_reference_works_without_the_core() -> None:
    names = [dotted(path) for path in MODULES if path != ROOM / "__init__.py"]
    environment = os.environ | {"PYTHONPATH": str(Path(assignor.__file__).parents[1])}

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
    """Return the dotted names of the modules of a folder; a file named `package` has the name of its folder."""
    found = (".".join(path.relative_to(folder).with_suffix("").parts) for path in folder.rglob(f"*{suffix}"))
    return {name.removesuffix(f".{package}") for name in found} - {package}


def test_the_reference_has_the_modules_of_the_engine() -> None:
    engine = modules(ROOT / "src", ".rs", "mod")
    whole = {name for name in engine if name in ONLY_IN_ENGINE}
    parts = {name for name in engine if any(name.startswith(f"{folder}.") for folder in whole)}

    assert set(ONLY_IN_ENGINE) == engine - parts - modules(ROOM, ".py", "__init__")
    assert set(ONLY_IN_REFERENCE) == modules(ROOM, ".py", "__init__") - engine


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_file_of_the_reference_imports_the_core(path: Path) -> None:
    for file in reached(path):
        core = {module for module in imported(file) if "_core" in module.split(".")}

        assert set() == core, f"{path.name}, by way of {file.name}"


def test_an_import_of_the_core_is_detected() -> None:
    assert "assignor._core" in imported(PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_file_of_the_reference_caches_or_computes_in_arrays(path: Path) -> None:
    assert set() == imported(path) & {"functools", "numpy", "pyarrow", "pandas"}
