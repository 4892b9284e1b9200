"""Messages about optional packages, and the rule that each import of one can give such a message."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import sys
import types
from typing import TYPE_CHECKING

import pytest

from assignor import dependencies
from assignor.dependencies import REQUIREMENTS, dependency, require
from assignor.errors import MissingDependencyError
from tests.project.python_imports import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

REINSTALL = "; reinstall it: pip install --force-reinstall 'rich>=13.5'"

PARTS = {"py4j": "pyspark"}
"""Packages without an entry, and the module whose package installs them."""

ALWAYS_INSTALLED = {*sys.stdlib_module_names, "assignor", "numpy"}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ModuleNotFoundError("No module named 'pygments'", name="pygments"), "No module named 'pygments'"),
        (ModuleNotFoundError("No module named 'rich.new'", name="rich.new"), "No module named 'rich.new'"),
        (ImportError("cannot import name 'Text'", name="rich.text"), "cannot import name 'Text'"),
        (ImportError(), "ImportError"),
        (OSError("libc.so:\n no such file"), "OSError: libc.so: no such file"),
        (AttributeError("_ARRAY_API"), "AttributeError: _ARRAY_API"),
    ],
)
def test_the_message_has_the_cause_if_an_installed_package_cannot_be_imported(error: Exception, cause: str) -> None:
    with pytest.raises(MissingDependencyError) as caught, dependency("rich"):
        raise error

    assert f"rich is installed, but cannot be imported: {cause}{REINSTALL}" == str(caught.value)


def test_the_package_that_fails_is_named_if_another_one_imports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fails = types.ModuleType("pyarrow.lib")
    message = "pyarrow requires NumPy 2.0 or newer, found 1.26.4"
    monkeypatch.setitem(sys.modules, "pyarrow.lib", fails)

    with pytest.raises(MissingDependencyError) as caught, dependency("pyspark", "pandas"):
        exec(f"raise ImportError({message!r})", fails.__dict__)

    repair = "reinstall it: pip install --force-reinstall 'pyarrow>=18' 'numpy>=2'"
    assert f"pyarrow is installed, but cannot be imported: {message}; {repair}" == str(caught.value)


def test_a_missing_package_is_named_if_another_one_imports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(MissingDependencyError) as caught, dependency("pyspark"):
        importlib.import_module("pandas")

    assert "pandas is not installed: pip install 'pandas>=2.2.2,<3'" == str(caught.value)


def test_all_missing_packages_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyspark", "pandas", "google.protobuf"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingDependencyError) as caught:
        require("rich", "pyspark", "pandas", "google.protobuf")

    packages = "'pyspark>=4.1' 'pandas>=2.2.2,<3' protobuf"
    assert f"pyspark, pandas and protobuf are not installed: pip install {packages}" == str(caught.value)


@pytest.mark.parametrize(
    ("installed", "is_old"),
    [("2.9.9", True), ("3.0rc1", False), ("3", False), ("3.0.0", False), ("10.0", False), ("unknown", False)],
)
def test_a_package_must_have_the_lowest_version(monkeypatch: pytest.MonkeyPatch, installed: str, is_old: bool) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: installed)
    dependencies._check_version.cache_clear()

    def load() -> None:
        with dependency("vl_convert", at_least="3.0"):
            pass

    if not is_old:
        load()
        return
    with pytest.raises(MissingDependencyError) as caught:
        load()
    needed = "3.0 or newer is needed: pip install 'vl-convert-python>=3.0'"
    assert f"vl-convert-python {installed} is installed, and {needed}" == str(caught.value)


def test_requiring_installed_packages_imports_them() -> None:
    require("pyarrow", "rich")

    assert {"pyarrow", "rich"} <= sys.modules.keys()


def unguarded(tree: ast.AST, guarded: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the imports of optional packages that are not within a `dependency` that names them."""
    for node in ast.iter_child_nodes(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for name in names:
            top = name.partition(".")[0]
            if top not in ALWAYS_INSTALLED and PARTS.get(top, top) not in guarded:
                yield ast.unparse(node)
        yield from unguarded(node, guarded | _guarded_by(node))


def _guarded_by(node: ast.AST) -> frozenset[str]:
    calls = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
    return frozenset(
        argument.value.partition(".")[0]
        for call in calls
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "dependency"
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )


def test_each_import_of_an_optional_package_is_within_dependency() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    sources = {file: file.read_text(encoding="utf-8") for file in files}

    assert [] == [
        f"{file.relative_to(PACKAGE)}: {found}"
        for file, source in sources.items()
        for found in unguarded(ast.parse(source))
    ]
    assert sum("with dependency(" in source for source in sources.values()) > 60
    assert [] == [name for name in REQUIREMENTS if not any(f'"{name}"' in source for source in sources.values())]


def test_an_unguarded_import_is_found() -> None:
    source = """
import os, numpy
if TYPE_CHECKING:
    import rich
with dependency("pyarrow"):
    import pyarrow.compute
    import rich
def run():
    from pyspark.sql import Row
with dependency("pyspark"):
    import py4j
"""

    assert ["import rich", "from pyspark.sql import Row"] == list(unguarded(ast.parse(source)))
