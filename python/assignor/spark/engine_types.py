"""Arrow types of the columns that `_core.Clusters` reads: clusters with their topics, and groups with their members."""

from __future__ import annotations

from assignor.cluster.snapshot import ClusterSnapshot
from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa

FLEET = {name: table.schema for name, table in ClusterSnapshot("", (), (), (), ()).to_arrow().items()}
"""Schemas of the rows of `topics`, `members` and `current`."""


def _lists(name: str, *keys: str) -> pa.ListType:
    several = {"pattern": pa.list_(pa.string())}
    fields = [field.with_type(several.get(field.name, field.type)) for field in FLEET[name] if field.name not in keys]
    return pa.list_(pa.struct(fields))


CLUSTERS = pa.list_(pa.struct({"cluster": pa.string(), "topics": _lists("topics", "cluster")}))
"""All clusters, which are one value."""

_KEYS = {"cluster": pa.string(), "group_id": pa.string()}

GROUPS = pa.struct({**_KEYS, **{name: _lists(name, *_KEYS) for name in ("members", "current")}})
"""A group. The `pattern` of a member is a list here. The engine also reads it as one text."""
