"""Topic metadata that is given to `replay` and `events`: a table of Arrow, of pandas or of Spark, as an Arrow table."""

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

_CLUSTER = CLUSTER_RECORDS["cluster"]


def read_metadata(topics: Metadata | None) -> pa.Table | None:
    """Return topic metadata as an Arrow table. A Spark DataFrame is collected by a job, and a stream is read, at once.

    Raises:
        WrongTypeError: The value is no table, a column of a Spark DataFrame is missing or of another type, or the
            DataFrame is streaming.
    """
    if topics is None or isinstance(topics, pa.Table):
        return topics
    if hasattr(topics, "sparkSession"):
        return _collected(cast("DataFrame", topics))
    if not any(hasattr(topics, f"__arrow_c_{kind}__") for kind in ("stream", "array")):
        raise wrong_type("topic metadata", "a table of Arrow, pandas or Spark", topics)
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
