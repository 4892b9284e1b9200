"""Optional dependencies: an error that names the extra if one is missing, and the cause if one cannot be imported."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import TYPE_CHECKING

from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRAS = {
    "aiokafka": ("aiokafka", "aiokafka"),
    "altair": ("altair", "report"),
    "confluent_kafka": ("confluent-kafka", "kafka"),
    "google": ("protobuf", "spark"),
    "kafka": ("kafka-python", "kafka-python"),
    "pandas": ("pandas", "spark"),
    "prometheus_client": ("prometheus_client", "cli"),
    "pyarrow": ("pyarrow", "cli"),
    "pyspark": ("pyspark", "spark"),
    "rich": ("rich", "cli"),
    "vl_convert": ("vl-convert-python", "report"),
}
"""Name of the package of each top-level module, and the extra that installs it."""


@contextlib.contextmanager
def dependency(module: str, *, extra: str | None = None, version: str = "") -> Iterator[None]:
    """Import a dependency in the block, which has only its `import` statements.

    Args:
        module: Top-level module, a key of `EXTRAS`.
        extra: Extra that the message names; by default that of `EXTRAS`.
        version: Versions that have the imported names, such as `3.0 or newer`; others count as not installed.

    Raises:
        MissingDependencyError: The module is not installed, or its import fails.
    """
    try:
        yield
    except Exception as error:  # an extension can fail with any error, such as OSError for a library of the system
        raise import_failed(module, error, extra=extra, version=version) from error


def require(*modules: str, extra: str | None = None) -> None:
    """Import dependencies, before any work is done that needs them.

    Args:
        modules: Top-level modules, keys of `EXTRAS`.
        extra: Extra that the message names; by default that of `EXTRAS`.

    Raises:
        MissingDependencyError: A module is not installed, or its import fails.
    """
    for module in modules:
        with dependency(module, extra=extra):
            import_module(module)


def import_failed(
    module: str, error: Exception, *, extra: str | None = None, version: str = ""
) -> MissingDependencyError:
    """Return the error for an import that failed, because the module is missing or because it cannot be imported.

    Args:
        module: Top-level module that was imported.
        error: The error of the import.
        extra: Extra that the message names; by default that of `EXTRAS`.
        version: Versions that have the imported names; others count as not installed.
    """
    package, own_extra = EXTRAS[module]
    is_of_module = (getattr(error, "name", None) or "").partition(".")[0] == module
    if is_of_module and isinstance(error, ImportError if version else ModuleNotFoundError):
        needed = " ".join(filter(None, [package, version]))
        return MissingDependencyError(f"{needed} is not installed: pip install 'assignor[{extra or own_extra}]'")
    cause = " ".join(str(error).split())
    kind = "" if isinstance(error, ImportError) and cause else type(error).__name__
    reason = ": ".join(filter(None, [kind, cause]))
    return MissingDependencyError(f"{package} is installed, but cannot be imported: {reason}")
