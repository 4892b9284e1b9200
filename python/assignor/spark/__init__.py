"""The pipeline: DataFrames in, DataFrames out, the Rust core once per Arrow batch.

`decode` reads the records of `__consumer_offsets`, `replay` rebuilds each group from them. Needs the extra `spark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assignor.spark._decode import decode as decode
    from assignor.spark._replay import replay as replay

__all__ = ["decode", "replay"]


def __getattr__(name: str) -> Any:
    """Import PySpark when one of the verbs is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'assignor.spark' has no attribute {name!r}")
    from importlib import import_module

    try:
        verb = getattr(import_module(f"assignor.spark._{name}"), name)
    except ImportError as error:
        if error.name and error.name.startswith("assignor"):
            raise
        from assignor.errors import MissingDependencyError

        raise MissingDependencyError(f"{error.name} is not installed: pip install 'assignor[spark]'") from error
    globals()[name] = verb
    return verb
