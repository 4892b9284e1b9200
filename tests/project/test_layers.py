"""Tests of the imports between files: none runs in a circle, and in the package each room imports only lower rooms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.project.python_imports import PACKAGE, ROOT, imported_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ROOMS = (
    *("reference", "subscription_state", "member", "coordinator", "matching"),
    *("cluster", "sources", "replay", "report", "clients", "page", "spark", "cli"),
)
"""Rooms of the package from the lowest to the highest; the files outside of rooms are lower than `cluster`."""

_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?use ((?:super|crate)::[^;]+);", re.MULTILINE)
_PATH = re.compile(r"\b((?:super|crate)(?:::\w+)+)")


def rust_imports(file: Path) -> Iterator[Path]:
    """Yield the files whose items a Rust file names by `super` or `crate`, without its unit tests."""
    source = file.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests {")[0]
    paths = [path for found in _USE.findall(source) for path in _expanded("".join(found.split()))]
    for path in (*paths, *_PATH.findall(_USE.sub("", source))):
        first, *names = path.split("::")
        folder = file.parent if file.name == "mod.rs" else file.with_suffix("")
        base = ROOT / "src" if first == "crate" else folder.parent if file.name == "mod.rs" else file.parent
        while names and names[0] == "super":
            base, names = base.parent, names[1:]
        for name in names:
            if (base / f"{name}.rs").is_file():
                yield base / f"{name}.rs"
                break
            if not (base / name).is_dir():
                break
            base /= name
        else:
            continue
        if (base / "mod.rs").is_file() and not (base / f"{name}.rs").is_file():
            yield base / "mod.rs"


def _expanded(path: str) -> Iterator[str]:
    """Yield the paths of a `use` with braces."""
    head, brace, rest = path.partition("{")
    if not brace:
        yield path
        return
    depth, start = 0, 0
    inner = rest[: rest.rindex("}")] + ","
    for place, character in enumerate(inner):
        depth += (character == "{") - (character == "}")
        if character == "," and not depth:
            if inner[start:place]:
                yield from _expanded(head + inner[start:place])
            start = place + 1


def graph(files: list[Path]) -> dict[str, set[str]]:
    """Return the imports of each file. What the face of a folder imports from the folder itself is left out."""
    found: dict[str, set[str]] = {}
    for file in files:
        read = rust_imports if file.suffix == ".rs" else imported_files
        is_face = file.name in {"mod.rs", "__init__.py"}
        targets = {target for target in read(file) if not (is_face and target.is_relative_to(file.parent))}
        found[str(file.relative_to(ROOT))] = {str(target.relative_to(ROOT)) for target in targets - {file}}
    return found


def circles(imports: Mapping[str, set[str]]) -> list[str]:
    """Return the imports that are part of a circle, as `file -> file`."""

    def reached(start: str) -> set[str]:
        seen, left = set[str](), [start]
        while left:
            new = imports.get(left.pop(), set()) - seen
            seen |= new
            left += new
        return seen

    behind = {file: reached(file) for file in imports}
    return sorted(
        f"{file} -> {target}"
        for file, targets in imports.items()
        for target in targets
        if file in behind.get(target, ())
    )


@pytest.mark.parametrize("room", ["src", "python/assignor"])
def test_no_import_runs_in_a_circle(room: str) -> None:
    files = [path for path in (ROOT / room).rglob("*.*") if path.suffix in {".rs", ".py"} and path.stem != "tests"]
    imports = graph(files)

    assert sum(map(len, imports.values())) > 400
    assert [] == circles(imports)


def test_rooms_of_the_package_import_only_lower_rooms() -> None:
    def level(path: str) -> int:
        room = (ROOT / path).relative_to(PACKAGE).parts[0]
        return ROOMS.index(room) if room in ROOMS else ROOMS.index("cluster") - 1

    imports = graph(sorted(PACKAGE.rglob("*.py")))
    lowest = ROOMS.index("cluster")

    assert [] == sorted(
        f"{file} -> {target}"
        for file, targets in imports.items()
        for target in targets
        if level(file) >= lowest and level(target) > level(file)
    )


def test_a_circle_is_found() -> None:
    assert ["a -> b", "b -> c", "c -> a"] == circles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()})
    assert [] == circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_the_imports_of_a_rust_file_are_read() -> None:
    found = {str(path.relative_to(ROOT / "src")) for path in rust_imports(ROOT / "src" / "replay" / "machine.rs")}

    assert {"replay/apply.rs", "replay/state.rs", "offsets/commit.rs", "offsets/mod.rs", "error.rs"} <= found
