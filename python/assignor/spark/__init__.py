"""Spark pipeline: functions from DataFrames to DataFrames that call the Rust core once per Arrow batch.

`decode` decodes the records of `__consumer_offsets`, `replay` rebuilds each group from them, and `events` returns what
happened to the groups and why, in a batch or as a stream. `sources` reads the records. `Fleet` computes
assignments, balance, moves and what-if scenarios of thousands of groups. `register_sql` makes assignments available to
queries in SQL. `synthetic_fleet` generates test data. `session.session` starts a local Spark session, and
`progress.progress` shows its progress. `check_executors` finds out whether the executors of a cluster have this
package, which needs the extra `spark`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assignor.spark.decoding import decode as decode
    from assignor.spark.executors import check_executors as check_executors
    from assignor.spark.fleet import Fleet as Fleet
    from assignor.spark.replay_events import events as events
    from assignor.spark.replaying import replay as replay
    from assignor.spark.scenario import Scenario as Scenario
    from assignor.spark.sql import register_sql as register_sql
    from assignor.spark.synthetic import SyntheticFleet as SyntheticFleet
    from assignor.spark.synthetic import synthetic_fleet as synthetic_fleet

_MODULES = {
    "Fleet": "fleet",
    "Scenario": "scenario",
    "SyntheticFleet": "synthetic",
    "check_executors": "executors",
    "decode": "decoding",
    "events": "replay_events",
    "register_sql": "sql",
    "replay": "replaying",
    "synthetic_fleet": "synthetic",
}
"""Module of each public name."""

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name, and with it PySpark, on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'assignor.spark' has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"assignor.spark.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
