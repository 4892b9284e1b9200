"""`register_sql`: the table function `assignor_assign`, which assigns the groups in the rows of a query.

A query can change the rows first: what if a topic had more partitions, or a group one more member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.spark.executors import on_executors
from assignor.spark.schemas import ASSIGNMENTS, KEYS, MEMBERS, TOPICS, check_session
from assignor.validation import shown

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

_TOPIC = ("partitions", "topic_id", "racks")
"""Columns that describe the topic of a row."""

_MEMBER = ("group_instance_id", "rack", "assignor", "group_protocol", "generation")
"""Optional columns that describe the member of a row."""

ROWS = StructType(
    [
        *(MEMBERS[name] for name in (*KEYS, "member_id")),
        *(TOPICS[name] for name in ("topic", *_TOPIC)),
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

    A query fails if a group cannot be computed, or if its rows have different values for one member or topic.

    Args:
        spark: A session, classic or Connect, whose workers have `assignor`.

    Raises:
        MissingDependencyError: An executor lacks this package, or has another version.
        WrongTypeError: `spark` is no session.
    """
    check_session(spark, "sql")
    # Not in Arrow, whatever the session says: there, workers need pandas.
    spark.udtf.register(ASSIGN, udtf(table_for(spark), useArrow=False))  # type: ignore[arg-type]  # a class is given, so no decorator is returned


def table_for(spark: SparkSession) -> type[Any]:
    """Return the class to register with a session: an executor calls `AssignTable` in its place."""
    table = cast("type[AssignTable]", on_executors(spark, AssignTable))

    class OnExecutors:
        def __init__(self) -> None:
            self._table = table()

        @staticmethod
        def analyze(rows: AnalyzeArgument) -> AnalyzeResult:
            return table.analyze(rows)

        def eval(self, rows: Row) -> None:
            self._table.eval(rows)

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            return self._table.terminate()

    return OnExecutors


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
    """Return the answer of the engine of `Fleet` for the rows of one group.

    Raises:
        IllegalArgumentError: The group is invalid or not computed, or rows differ in what they say of the same thing.
    """
    with dependency("pyarrow"):
        import pyarrow as pa
    from assignor import _core
    from assignor.spark.engine_types import CLUSTERS, GROUPS

    where = ", ".join(f"{kind} {shown(keys[name])}" for kind, name in (("cluster", "cluster"), ("group", "group_id")))
    members: dict[str, dict[str, Any]] = {}
    topics: dict[str, dict[str, Any]] = {}
    owned: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        member, topic = row["member_id"], row["topic"]
        what = f"{where}: member {shown(member)}"
        _keep(members, member, row, _MEMBER, what)
        if topic is not None:
            _keep(topics, topic, row, _TOPIC, f"{where}: topic {shown(topic)}")
            _keep(owned, (member, topic), row, ("owned",), f"{what}, topic {shown(topic)}")
    subscribed: dict[str, list[str]] = {member: [] for member in members}
    for member, topic in owned:
        subscribed[member].append(topic)
    known = [{"topic": name, **topic} for name, topic in topics.items() if topic["partitions"] is not None]
    given = {
        **keys,
        "members": [{"member_id": id, "topics": subscribed[id], **member} for id, member in members.items()],
        "current": [
            {"member_id": member, "topic": topic, "start": id, "count": 1}
            for (member, topic), found in owned.items()
            for id in found["owned"] or ()
        ],
    }
    clusters = _core.Clusters(pa.array([[{"cluster": keys["cluster"], "topics": known}]], CLUSTERS))
    group = pa.array([given], GROUPS)
    spans = _only(clusters.assign(group))
    if not spans and (reasons := _only(clusters.problems(group))):
        raise IllegalArgumentError(f"{where}: {'; '.join(reasons)}")
    return spans


def _keep(found: dict[Any, dict[str, Any]], key: Any, row: dict[str, Any], names: tuple[str, ...], what: str) -> None:
    """Keep the columns of a row under a key; raise an error if another row with the key has other values."""
    known = found.setdefault(key, {name: row.get(name) for name in names})
    for name in names:
        if known[name] != row.get(name):
            one, other = sorted(map(shown, (known[name], row.get(name))))
            raise IllegalArgumentError(f"{what} has different values of {name} in its rows: {one} and {other}")


def _only(columns: list[Any]) -> list[Any]:
    """Return the answer for one group."""
    with dependency("pyarrow"):
        import pyarrow as pa
    (answer,) = (answer for column in columns for answer in pa.array(column).to_pylist())
    return answer or []
