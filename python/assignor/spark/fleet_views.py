"""Temporary views with the tables of a fleet and its answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.validation import check_name, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

ANSWERS = ("resolve", "assign", "balance", "moves", "scale", "migrate", "problems")
"""Methods of `Fleet` that need no argument: each is a view. `moves` needs the owned partitions."""


def check_prefix(prefix: str) -> None:
    """Check a prefix of names of views.

    Raises:
        WrongTypeError: The prefix is no str.
        IllegalArgumentError: The prefix has other characters than letters, digits and `_`.
    """
    if not re.fullmatch(r"\w*", check_name(prefix, "prefix"), re.ASCII):
        raise IllegalArgumentError(f"prefix must have only letters, digits and _, not {shown(prefix)}")


def create_views(frames: Mapping[str, DataFrame | None], prefix: str) -> list[str]:
    """Create or replace a view of each DataFrame, and return their names; None has no view.

    If the DataFrames read views of the same names, each call puts the plans of the old views into those of the new
    ones. Such a fleet needs another prefix.
    """
    views = {f"{prefix}{name}": frame for name, frame in frames.items() if frame is not None}
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    return list(views)
