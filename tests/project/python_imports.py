"""Imports of Python files, also those within functions."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "assignor"


@functools.cache
def imported(file: Path) -> frozenset[str]:
    """Return the names of all modules that a file imports; what it imports from a module may be a module, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: a relative import"
            assert node.module is not None
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def imported_files(file: Path) -> Iterator[Path]:
    """Yield the files of the package that a file imports, except `assignor/__init__.py`."""
    for module in imported(file):
        first, *parts = module.split(".")
        while first == "assignor" and parts:
            path = PACKAGE.joinpath(*parts)
            places = [place for place in (path.with_suffix(".py"), path / "__init__.py") if place.is_file()]
            if places:
                yield places[0]
                break
            parts.pop()
