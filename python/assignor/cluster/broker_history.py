"""Brokers of a cluster over time: the leaders of the partitions of `__consumer_offsets`, and which brokers were there.

They are optional files of a recording; only the log of the controllers of a cluster has these facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cluster.folder import open_dataset, parquet_error
from assignor.cluster.metadata import cast_table
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.cluster.folder import Recording

COORDINATORS = pa.schema(
    [
        pa.field("at", pa.int64(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("leader", pa.int32()),
    ]
)
"""Columns of `coordinators.parquet`."""

BROKERS = pa.schema(
    [
        pa.field("at", pa.int64(), nullable=False),
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("rack", pa.string()),
        pa.field("is_available", pa.bool_(), nullable=False),
    ]
)
"""Columns of `brokers.parquet`."""


def has_history(recording: Recording) -> bool:
    """Return True if a recording has the history of brokers, even an empty one."""
    return any((recording.folder / name).exists() for name in ("coordinators.parquet", "brokers.parquet"))


def read_coordinators(recording: Recording) -> pa.Table:
    """Read the leaders of the partitions of the log over time, by time; no rows without the file.

    Raises:
        IllegalArgumentError: The file cannot be read as Parquet, or a required value is null.
        WrongTypeError: A column is missing or of another type.
    """
    return _read(recording.folder / "coordinators.parquet", COORDINATORS)


def read_brokers(recording: Recording) -> pa.Table:
    """Read the registrations of brokers over time, by time; no rows without the file.

    Raises:
        IllegalArgumentError: The file cannot be read as Parquet, or a required value is null.
        WrongTypeError: A column is missing or of another type.
    """
    return _read(recording.folder / "brokers.parquet", BROKERS)


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    if not path.exists():
        return schema.empty_table()
    try:
        found = open_dataset(path).to_table()
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(path, error) from error
    table = cast_table(found, pa.schema([field.with_nullable(True) for field in schema]), str(path))
    for field in schema:
        if not field.nullable and table[field.name].null_count:
            raise IllegalArgumentError(f"{path}: column {field.name} has nulls")
    return table.cast(schema).sort_by([("at", "ascending")])
