"""The pipeline: DataFrames in, DataFrames out, the Rust core once per Arrow batch.

`decode` reads the records of `__consumer_offsets`, `replay` rebuilds each group from them. `Fleet` assigns, judges and
plans thousands of groups, and `synthetic_fleet` makes up as many. `session.session` starts a quiet local Spark, and
`progress.progress` shows how far a session is. Needs the extra `spark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assignor.spark.decoding import decode as decode
    from assignor.spark.fleet import Fleet as Fleet
    from assignor.spark.replaying import replay as replay
    from assignor.spark.scenario import Scenario as Scenario
    from assignor.spark.synthetic import SyntheticFleet as SyntheticFleet
    from assignor.spark.synthetic import synthetic_fleet as synthetic_fleet

_MODULES = {
    "Fleet": "fleet",
    "Scenario": "scenario",
    "SyntheticFleet": "synthetic",
    "decode": "decoding",
    "replay": "replaying",
    "synthetic_fleet": "synthetic",
}
"""Module of each public name."""

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import PySpark when one of the names is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module 'assignor.spark' has no attribute {name!r}")
    from importlib import import_module

    try:
        found = getattr(import_module(f"assignor.spark.{_MODULES[name]}"), name)
    except ImportError as error:
        if error.name and error.name.startswith("assignor"):
            raise
        from assignor.errors import MissingDependencyError

        raise MissingDependencyError(f"{error.name} is not installed: pip install 'assignor[spark]'") from error
    globals()[name] = found
    return found
