"""Jars that Maven copies to a folder of `target`, once for each version of a pom."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

TARGET = Path(__file__).parents[2] / "target"


class JarsMissingError(Exception):
    """Error for missing jars; its message says that Maven is not installed, or is the last line that Maven printed."""


def install(pom: Path, folder: Path) -> None:
    """Copy the dependencies of a pom to a folder with Maven, unless they are there.

    Only one process at a time runs Maven: its repository is shared.

    Raises:
        JarsMissingError: Maven is missing or failed.
    """
    complete = folder / ".complete"
    TARGET.mkdir(exist_ok=True)
    with (TARGET / ".maven.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if complete.exists() and complete.stat().st_mtime > pom.stat().st_mtime:
            return
        maven = shutil.which("mvn")
        if maven is None:
            raise JarsMissingError("Maven (mvn) is not on the PATH")
        shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.run(
            [maven, "-q", "-B", "-Dstyle.color=never", "-f", str(pom), "dependency:copy-dependencies"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            raise JarsMissingError(lines[-1] if lines else f"Maven ended with {done.returncode} and printed nothing")
        complete.touch()
