"""Rows of `Fleet.what_if` for groups that a scenario names and the fleet does not have.

Without them, a wrong name in a scenario would look like a scenario that changes nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency

with dependency("pyspark"):
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, StringType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

_ASKED = ArrayType(StructType([StructField(name, StringType()) for name in ("scenario", "group_id")]))


def with_missing_groups(
    outcomes: DataFrame, scenarios: Iterable[tuple[Any, ...]], members: DataFrame, *others: DataFrame
) -> DataFrame:
    """Return outcomes, and a row for each group that a scenario names and that has none.

    Args:
        outcomes: The columns that `Fleet.what_if` returns.
        scenarios: Result of `scenario.as_data`.
        members: The members of the fleet.
        *others: The other tables whose groups have outcomes.

    Returns:
        The same columns; of the further rows, only `scenario`, `group_id` and `problems` are not null.
    """
    asked = [{"scenario": name, "group_id": group} for name, groups, _ in scenarios for group in groups or ()]
    if not asked:
        return outcomes
    # One literal, because a pipeline must not create a DataFrame from rows: this would ask its server for settings.
    named = members.sparkSession.range(1).select(F.inline(F.from_json(F.lit(json.dumps(asked)), _ASKED)))
    few = F.broadcast(named.select("group_id"))
    for table in (members, *others):
        known = table.select("group_id").join(few, "group_id", "left_semi").distinct()
        named = named.join(F.broadcast(known), "group_id", "left_anti")
    problem = F.format_string("the fleet has no members of group '%s'", "group_id")
    missing = named.select("scenario", "group_id", F.array(problem).alias("problems"))
    return outcomes.unionByName(missing, allowMissingColumns=True)
