"""Python of executors without this package, an archive that brings it to them, and a standalone cluster."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sysconfig
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

import assignor
from tests.spark import programs
from tests.spark.java_options import archive_options

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(assignor.__file__).parent

_SECONDS = 60


def make_python(folder: Path) -> Path:
    """Create an environment with the packages that executors need except the one under test, and return its program."""
    venv.create(folder, symlinks=True, with_pip=False)
    purelib, platlib = (Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
    (there,) = folder.glob("lib/python*/site-packages")
    for entry in {*purelib.iterdir(), *platlib.iterdir()}:
        link = there / entry.name
        if not entry.name.startswith(("assignor", "pandas")) and entry.suffix != ".pth" and not link.exists():
            link.symlink_to(entry)
    return folder / "bin" / "python"


def make_archive(folder: Path) -> Path:
    """Return a zip file of the files of the package."""
    return Path(shutil.make_archive(str(folder / "package"), "zip", PACKAGE))


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Yield the address of a master with one worker of two cores, on the loopback interface.

    Args:
        folder: New folder for logs and the files of applications.
    """
    folder.mkdir()
    home = Path(pyspark.__file__).parent
    variables = {
        **programs.environment(folder),
        "PYTHONPATH": "",
        "SPARK_DAEMON_JAVA_OPTS": " ".join([*archive_options(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]),
        "SPARK_DAEMON_MEMORY": "256m",
    }

    with contextlib.ExitStack() as stack:

        def start(name: str, *arguments: str) -> Path:
            log = folder / f"{name}.log"
            process = subprocess.Popen(
                [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name.lower()}.{name}", *arguments],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=stack.enter_context(log.open("wb")),
                stderr=subprocess.STDOUT,
            )
            stack.callback(_end, process)
            return log

        place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = _wait_for(r"Starting Spark master at (spark://\S+)", start("Master", *place))
        resources = ("--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"))
        _wait_for(r"Successfully registered with master (\S+)", start("Worker", *place, *resources, master))
        yield master


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_SECONDS)
    finally:
        process.kill()
        process.wait()


def _wait_for(pattern: str, log: Path) -> str:
    """Return the group of a pattern when a log has it."""
    until = time.monotonic() + _SECONDS
    while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
        assert time.monotonic() < until, log.read_text(errors="replace")
        time.sleep(0.1)
    return found[1]
