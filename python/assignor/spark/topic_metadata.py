"""Topic metadata that is given to `replay` and `events`: any table of Spark or Arrow's interface, as an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from assignor.dependencies import dependency
from assignor.errors import WrongTypeError
from assignor.spark.column_types import read_columns
from assignor.spark.schemas import CLUSTER_RECORDS, TOPIC_METADATA, lookup_names
from assignor.validation import wrong_type

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from typing import TypeAlias

    from pyspark.sql import DataFrame

    from assignor.columns import ArrowTable


Metadata: TypeAlias = "DataFrame | ArrowTable"
"""Tables that are accepted as topic metadata; those of pandas have Arrow's interface, too."""

_TABLES = "a table of Spark, or one with Arrow's PyCapsule interface, such as a table of pyarrow or pandas"

_CLUSTER = CLUSTER_RECORDS["cluster"]


def read_metadata(topics: Metadata | None) -> pa.Table | None:
    """Return topic metadata as an Arrow table.

    The call collects a Spark DataFrame with a job, and reads an Arrow stream to its end.

    Raises:
        WrongTypeError: The value is no table, a column of a Spark DataFrame is missing or of another type, or the
            DataFrame is streaming.
    """
    if topics is None or isinstance(topics, pa.Table):
        return topics
    if hasattr(topics, "sparkSession"):
        return _collected(cast("DataFrame", topics))
    if not any(hasattr(topics, f"__arrow_c_{kind}__") for kind in ("stream", "array")):
        raise wrong_type("topic metadata", _TABLES, topics)
    try:
        return pa.table(topics)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise WrongTypeError(f"topic metadata cannot be read as an Arrow table: {error}") from error


def _collected(topics: DataFrame) -> pa.Table:
    if topics.isStreaming:
        raise WrongTypeError("topic metadata must not be a streaming DataFrame")
    has_cluster = _CLUSTER.name in lookup_names(topics)
    wanted = StructType([*TOPIC_METADATA.fields, *([_CLUSTER] if has_cluster else [])])
    return read_columns(topics, wanted, "topic metadata").select(*wanted.fieldNames()).toArrow()
