"""Programs in `tests/go`, which the Go compiler builds with the modules of their `go.sum`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = "/usr/local/go/bin"
"""Folder in which Go installs itself, which may not be on the PATH."""


class GoMissingError(Exception):
    """Error for a program that cannot be built here; the message has the reason."""


def build(name: str) -> Path:
    """Compile a program, unless it is newer than its sources, and return it.

    Raises:
        GoMissingError: Go is missing, or cannot fetch the modules.
    """
    folder, built = ROOT / "tests" / "go" / name, ROOT / "target" / "go" / name
    if built.exists() and built.stat().st_mtime > max(source.stat().st_mtime for source in folder.iterdir()):
        return built
    go = shutil.which("go", path=os.pathsep.join([os.environ.get("PATH", ""), INSTALLED]))
    if go is None:
        raise GoMissingError(f"go is neither on the PATH nor in {INSTALLED}")
    built.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [go, "build", "-o", str(built), "."],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise GoMissingError(f"go could not build tests/go/{name}: {done.stdout.strip()[-1000:]}")
    return built
