"""Releases of kafka-python and aiokafka with which the assignors are tested, each installed in a folder of `target`.

Only one release of a client can be imported in a process, so a test starts a process for each release.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import assignor

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "target"


OPTIONS = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--only-binary", ":all:")


class ClientRelease(NamedTuple):
    """A release of a client.

    Attributes:
        client: Name of the client.
        version: Its version.
        last_python: Newest Python that can import the release, or for which it has a wheel; None for any.
    """

    client: str
    version: str
    last_python: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.client}=={self.version}"

    @property
    def runs(self) -> bool:
        """True if this Python can import the release."""
        return self.last_python is None or sys.version_info[:2] <= self.last_python


RELEASES = (
    ClientRelease("kafka-python", "2.0.2", last_python=(3, 11)),
    ClientRelease("kafka-python", "2.0.6"),
    ClientRelease("kafka-python", "2.1.6"),
    ClientRelease("kafka-python", "2.2.0"),
    ClientRelease("kafka-python", "2.2.21"),
    ClientRelease("kafka-python", "2.3.0"),
    ClientRelease("kafka-python", "2.3.3"),
    ClientRelease("kafka-python", "3.0.0"),
    ClientRelease("kafka-python", "3.0.12"),
    ClientRelease("aiokafka", "0.10.0", last_python=(3, 12)),
    ClientRelease("aiokafka", "0.11.0", last_python=(3, 12)),
    ClientRelease("aiokafka", "0.12.0", last_python=(3, 13)),
    ClientRelease("aiokafka", "0.13.0", last_python=(3, 14)),
    ClientRelease("aiokafka", "0.14.0"),
)
"""The releases; the first of each client is the lowest that the extras of `pyproject.toml` allow."""


class ReleaseMissingError(Exception):
    """Error for a release that pip cannot install; the message is the last line that pip printed."""


def oldest(client: str) -> ClientRelease:
    """Return the oldest release of a client that this Python can import."""
    return next(release for release in RELEASES if release.client == client and release.runs)


def install(release: ClientRelease) -> Path:
    """Install a release without its dependencies, unless it is there, and return the folder.

    Raises:
        ReleaseMissingError: pip failed, such as without a network.
    """
    folder = TARGET / "clients" / f"{release.client}-{release.version}-py{sys.version_info[0]}{sys.version_info[1]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / ".complete").exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", *OPTIONS, "--target", str(folder), str(release)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            raise ReleaseMissingError(lines[-1] if lines else f"pip ended with {done.returncode} and printed nothing")
        (folder / ".complete").touch()
    return folder


def environment(release: ClientRelease) -> dict[str, str]:
    """Return the environment of a process that imports this release, and this package as the tests import it."""
    paths = [install(release), ROOT, Path(assignor.__file__).parents[1]]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
