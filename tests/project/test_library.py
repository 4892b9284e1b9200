"""Tests of the compiled library: what a wheel must not carry."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assignor import _core
from release.build_paths import build_paths

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def library() -> bytes:
    """Return the bytes of the library."""
    if _core.__build__ != "release":
        pytest.skip("the library was not built as for a wheel: run make build")
    assert _core.__file__
    return Path(_core.__file__).read_bytes()


def test_the_library_has_no_path_of_the_machine_that_built_it(library: bytes) -> None:
    assert [] == build_paths(library, [str(ROOT), str(Path.home())])


@pytest.mark.plain_build
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep symbols in other files")
def test_the_library_has_no_symbols_for_debuggers(library: bytes) -> None:
    assert b".symtab" not in library


@pytest.mark.parametrize(
    "path",
    [
        "/root/.cargo/registry/src/index-1/bytes-1.12.1/src/lib.rs",
        "/home/ada/work/src/lib.rs",
        "/Users/ada/work/src/lib.rs",
        r"C:\Users\ada\work\src\lib.rs",
        "/opt/rust/.cargo/registry/src/lib.rs",
        "/srv/clone/target/release/build/lib.rs",
    ],
)
def test_a_path_of_the_machine_is_found(path: str) -> None:
    (found,) = build_paths(b"\0text\0" + path.encode() + b"\0text", ["/srv/clone"])

    assert path.endswith(found)


def test_other_paths_are_not_found() -> None:
    assert [] == build_paths(
        b"\0crates/index-1/bytes-1.12.1/src/lib.rs\0/rustc/1/library/core/src/cell.rs\0src/lib.rs\0"
    )
