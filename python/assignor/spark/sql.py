"""`register_sql`: the table function `assignor_assign`, which assigns the groups in the rows of a query.

A query can change the rows first: what if a topic had more partitions, or a group one more member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.errors import WrongTypeError
from assignor.spark.schemas import ASSIGNMENTS, KEYS, MEMBERS, TOPICS, check_session

with dependency("pyspark"):
    from pyspark.sql.functions import udtf
    from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType
    from pyspark.sql.udtf import AnalyzeResult, PartitioningColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Row, SparkSession
    from pyspark.sql.udtf import AnalyzeArgument

ASSIGN = "assignor_assign"
"""Name of the table function."""

_MEMBER = ("group_instance_id", "rack", "assignor", "group_protocol", "generation")
"""Optional columns that describe the member of a row."""

ROWS = StructType(
    [
        *(MEMBERS[name] for name in (*KEYS, "member_id")),
        *(TOPICS[name] for name in ("topic", "partitions", "topic_id", "racks")),
        *(MEMBERS[name] for name in _MEMBER),
        StructField("owned", ArrayType(IntegerType())),
    ]
)
"""Rows of `assignor_assign`: one for each member and each topic to which it subscribes.

The first five columns are required. `partitions` is null if the topic does not exist, and `topic` is null for a member
without topics. `owned` has the ids of the partitions of the topic that the member owns, from which sticky assignors
start. The other columns are those of `TOPICS` and `MEMBERS`; they may be missing.
"""

_REQUIRED = (*KEYS, "member_id", "topic", "partitions")


def register_sql(spark: SparkSession) -> None:
    """Register the table function `assignor_assign` with a session: `SELECT * FROM assignor_assign(TABLE(rows))`.

    The function assigns the partitions of each group, as `Fleet.assign` does. Its argument is a table with the columns
    of `sql.ROWS`: a row for each member and each topic to which it subscribes. The result has the columns of
    `schemas.ASSIGNMENTS`: a row per span of partitions of a member. All rows of a group are in the memory of one task.

    Args:
        spark: A session, classic or Connect, whose workers have `assignor`.

    Raises:
        WrongTypeError: `spark` is no session.
    """
    check_session(spark, "sql")
    spark.udtf.register(ASSIGN, udtf(AssignTable))  # type: ignore[arg-type]  # a class is given, so no decorator is returned


class AssignTable:
    """Table function that assigns the partitions of one group; Spark makes one instance for each group."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    @staticmethod
    def analyze(rows: AnalyzeArgument) -> AnalyzeResult:
        """Check the columns of the table, and ask Spark to bring the rows of each group together."""
        if not rows.isTable or not isinstance(rows.dataType, StructType):
            raise WrongTypeError(f"{ASSIGN} needs a table: {ASSIGN}(TABLE(name)) or {ASSIGN}(TABLE(SELECT ...))")
        found = {field.name: field.dataType.simpleString() for field in rows.dataType.fields}
        for field in ROWS.fields:
            kind = field.dataType.simpleString()
            if field.name not in found:
                if field.name in _REQUIRED:
                    there = ", ".join(found)
                    raise WrongTypeError(f"{ASSIGN}: there is no column {field.name} of type {kind}, but {there}")
            elif found[field.name] not in (kind, "void"):
                raise WrongTypeError(f"{ASSIGN}: column {field.name} must be of type {kind}, not {found[field.name]}")
        return AnalyzeResult(schema=ASSIGNMENTS, partitionBy=[PartitioningColumn(name) for name in KEYS])

    def eval(self, rows: Row) -> None:
        """Keep a row."""
        self._rows.append(rows.asDict())

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Assign the group, and yield the spans."""
        rows = [row for row in self._rows if None not in (*(row[name] for name in KEYS), row["member_id"])]
        if rows:
            keys = {name: rows[0][name] for name in KEYS}
            for span in _assigned(keys, rows):
                found = {**keys, **span}
                yield tuple(found[name] for name in ASSIGNMENTS.fieldNames())


def _assigned(keys: dict[str, str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer of the engine of `Fleet` for the rows of one group; none if the group is not computed."""
    with dependency("pyarrow"):
        import pyarrow as pa
    from assignor import _core
    from assignor.spark.engine_types import CLUSTERS, GROUPS

    members: dict[str, dict[str, Any]] = {}
    topics: dict[tuple[str, int], dict[str, Any]] = {}
    current = []
    for row in rows:
        described = {name: row.get(name) for name in _MEMBER}
        member = members.setdefault(row["member_id"], {"member_id": row["member_id"], "topics": [], **described})
        topic = row["topic"]
        if topic is None:
            continue
        member["topics"].append(topic)
        if row["partitions"] is not None:
            # A topic with two numbers of partitions is an error of the engine.
            found = {name: row.get(name) for name in TOPICS.fieldNames() if name != "cluster"}
            topics.setdefault((topic, row["partitions"]), found)
        ids = row.get("owned") or ()
        current += [{"member_id": row["member_id"], "topic": topic, "start": id, "count": 1} for id in ids]
    cluster = {"cluster": keys["cluster"], "topics": list(topics.values())}
    given = {**keys, "members": list(members.values()), "current": current}
    columns = _core.Clusters(pa.array([[cluster]], CLUSTERS)).assign(pa.array([given], GROUPS))
    (answer,) = (answer for column in columns for answer in pa.array(column).to_pylist())
    return answer or []
