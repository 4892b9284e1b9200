"""Twins of the core: the same source, compiled in the same way, but for a `--cfg` that leaves something out.

`assignor_unchecked` leaves out the checks of the input, `assignor_uninterned` the recognition of members who subscribe
to the same topics. Cargo builds a twin on demand, each in a folder of its own in target/.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

import assignor._core

ROOT = Path(__file__).resolve().parent.parent


class TwinMissingError(Exception):
    """There is no twin to be had here, and why."""


def build(name: str) -> Path:
    """The library of the twin that is compiled with `--cfg assignor_{name}`.

    Raises:
        TwinMissingError: There is no cargo, or building failed.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        raise TwinMissingError("cargo was not found")
    target = ROOT / "target" / name
    compiled = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "release")
    if compiled.exists() and not target.exists():
        # The crates it depends on are the core's, and take longest.
        shutil.copytree(compiled, target / "release", ignore=shutil.ignore_patterns("incremental", "examples"))
    command = [cargo, "rustc", "--release", "--locked", "--quiet", "--lib", "--crate-type", "cdylib"]
    command += ["--features", "python", "--target-dir", str(target), "--", "--cfg", f"assignor_{name}"]
    built = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **_as_maturin()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    library = target / "release" / "libassignor.so"
    if built.returncode or not library.exists():
        raise TwinMissingError(f"cargo could not build {library.name}: {built.stdout.strip().splitlines()[-1:]}")
    return library


def _as_maturin() -> dict[str, str]:
    """What maturin tells pyo3: told otherwise, it is compiled anew."""
    version = platform.python_version_tuple()
    return {
        "PYO3_PYTHON": sys.executable,
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        "PYO3_ENVIRONMENT_SIGNATURE": f"cpython-{version[0]}.{version[1]}-{sys.maxsize.bit_length() + 1}bit",
    }


def load(library: Path) -> ModuleType:
    """The twin as a module of this process, beside the core."""
    loader = ExtensionFileLoader("assignor._core", str(library))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def install(library: Path, folder: Path) -> None:
    """Makes a package in the folder that is this one but for its core; who has the folder on the path first gets it."""
    core, package = Path(assignor._core.__file__), folder / "assignor"
    package.mkdir()
    for file in core.parent.iterdir():
        (package / file.name).symlink_to(library if file == core else file)
