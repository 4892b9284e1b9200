"""Tests of the test suite: one folder per room, absolute imports, no assertion about wall-clock time.

`ARCHITECTURE.md` lists the rooms.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import conftest
from tests.project.python_imports import imported

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
ROOMS = {
    *("assign", "plan", "cli", "matching", "offsets", "wire", "replay", "fleet", "member", "coordinator", "sources"),
    *("hostile", "lag", "live", "page", "subscription_state", "clients", "spark", "broker", "conformance", "project"),
}
SOURCES = sorted(path for folder in ("tests", "benches") for path in (ROOT / folder).rglob("*.py"))
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}


def test_each_test_is_in_the_folder_of_a_room() -> None:
    assert {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")} == ROOMS
    assert {"conftest.py", "__init__.py"} == {path.name for path in TESTS.glob("*.py")}


def test_folders_of_tests_have_docstrings() -> None:
    folders = {path.parent for path in SOURCES}

    assert [] == [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()]
    assert [] == [
        path
        for path in SOURCES
        if path.name == "__init__.py" and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_modules_of_tests_are_imported_by_full_name() -> None:
    own = {path.stem for path in SOURCES} | {path.name for path in TESTS.iterdir() if path.is_dir()}
    own -= {"tests", "benches", "__init__", "conftest", *sys.stdlib_module_names}
    installed = {"duckdb", "polars", "re2"}

    for path in SOURCES:
        for name in {module.partition(".")[0] for module in imported(path)}:
            assert name in installed or name not in own, f"{path.relative_to(ROOT)} imports {name}"


def test_scheduled_paths_exist() -> None:
    for path in (*conftest.SHARED, *conftest.ALONE):
        assert (ROOT / path).exists(), path


def test_nothing_is_asserted_about_wall_clock_time() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        if path.is_relative_to(TESTS) or path.is_relative_to(ROOT / "benches" / "tests")
        for line in clock_assertions(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert [] == found


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("assert time.monotonic() - start < 3", [1]),
        ("x = 1\nassert 3 > perf_counter()", [2]),
        ("took = time.time() - start\nassert took < 3", [2]),
        ("while busy():\n    assert time.monotonic() < end", []),  # bounds waiting
        ("now = time.time()\nassert done", []),
    ],
)
def test_an_assertion_about_wall_clock_time_is_detected(code: str, lines: list[int]) -> None:
    assert lines == list(clock_assertions(ast.parse(code)))


def clock_assertions(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of assertions that read a clock or a name assigned from one; while loops are left out."""
    waiting = {each for loop in ast.walk(tree) if isinstance(loop, ast.While) for each in ast.walk(loop)}
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.Module | ast.FunctionDef):
            continue
        measured: set[str] = set()
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and _reads_clock(node.value, set()):
                measured |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        for node in _own(scope):
            if isinstance(node, ast.Assert) and node not in waiting and _reads_clock(node.test, measured):
                yield node.lineno


def _own(scope: ast.Module | ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, except those of nested functions."""
    left: list[ast.AST] = list(scope.body)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            left += ast.iter_child_nodes(node)


def _reads_clock(tree: ast.AST, measured: set[str]) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in CLOCKS and ast.unparse(called.value) == "time":
                return True
            if isinstance(called, ast.Name) and called.id in CLOCKS - {"time"}:
                return True
        elif isinstance(node, ast.Name) and node.id in measured:
            return True
    return False
