"""Schemas of the DataFrames that the pipeline reads and returns.

They are `StructType`s, because Spark parses DDL strings with a server call, which functions of Declarative Pipelines
must not make.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from assignor.errors import WrongTypeError

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import DataFrame


def _struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


RECORDS = _struct(
    partition=IntegerType(),
    offset=LongType(),
    timestamp=LongType(),
    key=BinaryType(),
    value=BinaryType(),
)
"""Raw records of the log. The timestamp is in milliseconds; a null value is a tombstone."""

CLUSTER_RECORDS = StructType([StructField("cluster", StringType()), *RECORDS.fields])
"""Raw records of several clusters; offsets and groups of different clusters are independent."""

DECODED = _struct(
    type=IntegerType(),
    type_name=StringType(),
    group_id=StringType(),
    tombstone=BooleanType(),
    version=IntegerType(),
    status=StringType(),
    key_json=StringType(),
    value_json=StringType(),
    consumer_protocol_json=StringType(),
    error=StringType(),
)
"""Columns that `decode` adds to a record. `status` is `decoded`, `unknown_type` or `bad`; JSON has Kafka's format."""

TOPIC_METADATA = _struct(
    t=LongType(),
    topic=StringType(),
    topic_id=StringType(),
    partition=IntegerType(),
    racks=ArrayType(StringType()),
)
"""Topic metadata over time: a row per snapshot (time `t` in milliseconds) and partition, with one rack per replica."""

TOPICS = _struct(
    cluster=StringType(),
    topic=StringType(),
    partitions=IntegerType(),
    racks=ArrayType(ArrayType(StringType())),
    topic_id=StringType(),
)
"""The topics of a fleet; partition ids are 0 to `partitions` - 1. `racks` and `topic_id` may be missing or null.

racks     for each partition the racks of its replicas, null for a replica on a broker without a rack
topic_id  the topic's id as Kafka prints it (22 characters of base64), which decides the order of topics in the broker's
          assignors; if it is null, an id is made from the name
"""

MEMBERS = _struct(
    cluster=StringType(),
    group_id=StringType(),
    member_id=StringType(),
    group_instance_id=StringType(),
    rack=StringType(),
    topics=ArrayType(StringType()),
    pattern=StringType(),
    dialect=StringType(),
    assignor=StringType(),
    group_protocol=StringType(),
    generation=IntegerType(),
)
"""The members of a fleet's groups. A member subscribes to `topics`, or by `pattern` in a `dialect` (default `java`).

The first three columns and `topics` or `pattern` are required; the others are optional.

group_protocol  `classic` (also where it is null in all rows of a group), or `consumer` for a group of KIP-848
assignor        Kafka's name of the group's assignor: `range`, `roundrobin`, `sticky` or `cooperative-sticky` of
                `classic`, `uniform` or `range` of `consumer`; if it is null in all rows of a group, `range` for
                `classic` and `uniform` for `consumer`
generation      the generation in which the member got its partitions in `current`; null or negative for none

A group is not computed if its rows have different values of `assignor` or `group_protocol`, or values not listed here.
"""

ASSIGNMENTS = _struct(
    cluster=StringType(),
    group_id=StringType(),
    member_id=StringType(),
    topic=StringType(),
    start=IntegerType(),
    count=IntegerType(),
)
"""Assigned or owned partitions: a row per span of consecutive partition ids of a member."""

COMMITTED = _struct(
    cluster=StringType(),
    group_id=StringType(),
    topic=StringType(),
    partition=IntegerType(),
    committed=LongType(),
)
"""Committed offsets of groups: one row per group and partition; null or negative without an offset."""

END_OFFSETS = _struct(
    cluster=StringType(),
    topic=StringType(),
    partition=IntegerType(),
    start_offset=LongType(),
    end_offset=LongType(),
)
"""First offset in the log of a partition, and the offset after its last record: one row per partition."""

LAG_PROBLEMS = ("never_committed", "unknown_end", "beyond_end", "before_start")
"""Values of the column `problem` of `FLEET_LAG`: `assignor.lag.PROBLEMS`, which describes them."""

FLEET_LAG = _struct(
    cluster=StringType(),
    group_id=StringType(),
    topic=StringType(),
    partition=IntegerType(),
    member_id=StringType(),
    committed=LongType(),
    start_offset=LongType(),
    end_offset=LongType(),
    lag=LongType(),
    deleted=LongType(),
    problem=StringType(),
)
"""Lag of a partition of a group: the columns of `assignor.lag.PARTITION_LAG`, and the cluster."""

_LAG_SUMS = {name: LongType() for name in ("partitions", "lag", "unknown", *LAG_PROBLEMS)}

MEMBER_LAG = _struct(cluster=StringType(), group_id=StringType(), member_id=StringType(), **_LAG_SUMS)
"""Lag of the partitions of a member: the columns of `assignor.lag.MEMBER_LAG`, and the cluster."""

GROUP_LAG = _struct(
    cluster=StringType(), group_id=StringType(), **_LAG_SUMS, unowned=LongType(), unowned_lag=LongType()
)
"""Lag of the partitions of a group, each counted once: the columns of `assignor.lag.GROUP_LAG`, and the cluster."""

GENERATION = _struct(
    offset=LongType(),
    timestamp=LongType(),
    kind=StringType(),
    generation=IntegerType(),
    protocol_type=StringType(),
    protocol=StringType(),
    leader=StringType(),
    members=IntegerType(),
    partitions=IntegerType(),
    same_members=BooleanType(),
    range=StringType(),
    remarks=ArrayType(StringType()),
    assignor=StringType(),
    outcome=StringType(),
    reasons=ArrayType(StringType()),
)
"""A generation of a classic group or an epoch of a group of another type, compared with the answer of Kafka's assignor.

`assignor` is the name of the assignor whose answer was compared, and `outcome` is `equal`, `different` or `unknown`.
Both are null if nothing was compared: the group has no members, its assignor is not one of Kafka's, the record repeats
a generation, the log lacks what the assignor starts from, or there is no topic metadata. `reasons` are sentences that
say why the outcome is not `equal`, and which subscriptions Kafka cannot parse. If the assignor is `range` of the
classic protocol, `range` and `remarks` repeat the outcome and the reasons.
"""

MEMBER = _struct(
    member_id=StringType(),
    group_instance_id=StringType(),
    client_id=StringType(),
    client_host=StringType(),
    rack=StringType(),
    topics=ArrayType(StringType()),
    pattern=StringType(),
    partitions=IntegerType(),
)
"""A member at the end of the log, its subscription, and the number of its partitions.

`topics` is null if the member subscribes only by `pattern`, if its subscription cannot be decoded, and in groups
without subscriptions (streams groups, and classic groups with another protocol type than `consumer`, such as
Connect's). Members of classic groups match patterns themselves and send topic names. A member of a KIP-848 group can
subscribe to names and by a pattern. If the log has a record of the topics that match its pattern (type 16), `topics`
has the names followed by these topics, and `pattern` is null; otherwise both columns have values. `rack` is null if the
member has no rack or an empty one.
"""

SPAN = _struct(member_id=StringType(), topic=StringType(), start=IntegerType(), count=IntegerType())
"""A span of consecutive partitions of a member."""

GAP = _struct(problem=StringType(), topic=StringType(), start=IntegerType(), count=IntegerType())
"""A span of partitions at the end of the log that lack something.

`problem` is `unowned` (partitions of a subscribed topic without an owner) or `never_committed` (partitions with an
owner and without a committed offset).
"""

GROUP = _struct(
    kind=StringType(),
    state=StringType(),
    protocol=StringType(),
    generation=IntegerType(),
    topics=IntegerType(),
    partitions=IntegerType(),
    unowned=IntegerType(),
    idle_members=IntegerType(),
    least_loaded=IntegerType(),
    most_loaded=IntegerType(),
    committed_offsets=IntegerType(),
    bad_records=IntegerType(),
    rebalances=IntegerType(),
    busiest_minute=IntegerType(),
    range_equal=IntegerType(),
    range_different=IntegerType(),
    range_unknown=IntegerType(),
    assignments_equal=IntegerType(),
    assignments_different=IntegerType(),
    assignments_unknown=IntegerType(),
)
"""A group at the end of the log.

unowned         partitions of the subscribed topics without an owner
busiest_minute  highest number of rebalances with unchanged membership within a minute
range_*         number of generations under `range`, by outcome of the comparison with Kafka's range assignor
assignments_*   number of generations and epochs under any of Kafka's assignors, by outcome of the comparison
"""

HISTORY = StructType(
    [
        *GROUP.fields,
        StructField("generations", ArrayType(GENERATION)),
        StructField("members", ArrayType(MEMBER)),
        StructField("assignment", ArrayType(SPAN)),
        StructField("gaps", ArrayType(GAP)),
    ]
)
"""Columns that `replay` returns for each group in addition to `group_id`."""


KEYS = ("cluster", "group_id")
"""Columns that identify the group of a row."""

RESOLVED = StructType(
    [
        *(field for field in MEMBERS.fields if field.name not in ("pattern", "dialect")),
        StructField("unknown_topics", ArrayType(StringType())),
    ]
)
"""Members with the existing `topics` that they subscribe to by name or pattern, in Java's `String` order.

`unknown_topics` has the subscribed names that do not exist.
"""

BALANCE = _struct(
    group_protocol=StringType(),
    computed_as=StringType(),
    members=IntegerType(),
    unnamed_members=IntegerType(),
    unsubscribed_members=IntegerType(),
    topics=IntegerType(),
    unknown_topics=IntegerType(),
    partitions=IntegerType(),
    unowned=IntegerType(),
    idle_members=IntegerType(),
    least_loaded=IntegerType(),
    most_loaded=IntegerType(),
    co_partition_breaks=IntegerType(),
    rack_misses=IntegerType(),
    most_loaded_member=StringType(),
    mean_load=DoubleType(),
    record_bytes=LongType(),
)
"""Balance of an assignment.

group_protocol        `classic` or `consumer`: the protocol of the assignor in `computed_as`, or null
computed_as           Kafka's name of the assignor that computed the assignment; null for groups that are not computed,
                      groups without members, and `balance(of="current")`
members               number of members
unnamed_members       number of member rows without a cluster, group or member id, which belong to no group
unsubscribed_members  number of members with neither topics nor a pattern; they get no partitions
topics                number of existing topics that the members subscribe to
unknown_topics        number of subscribed names that do not exist
partitions            number of partitions with an owner
unowned               number of partitions of the subscribed topics without an owner
idle_members          number of members without partitions
least_loaded          lowest number of partitions of a member, null without members
most_loaded           highest number of partitions of a member, null without members
co_partition_breaks   number of partition ids that have different owners in co-partitioned topics, so that a member that
                      joins the records of these topics lacks one side of the join; topics are co-partitioned if a
                      member subscribes to all of them and they have the same number of partitions
rack_misses           number of partitions that are read from another rack: their member has a rack, and some of their
                      replicas have racks, but none of them is the member's rack
most_loaded_member    the first member, in Kafka's order, with the highest number of partitions
mean_load             partitions per member, null without members
record_bytes          size of key and value of the group's record in `__consumer_offsets`, with subscriptions of
                      version 3 and the owned partitions that members of the assignor send; without client ids and
                      hosts, which are not known; null for groups of protocol `consumer`, which have no such record

For a group that is not computed, `partitions` and all columns after it are null.
"""

BALANCE_WITH_SKEW = StructType(
    [*BALANCE.fields, StructField("skew", DoubleType()), StructField("record_fits", BooleanType())]
)
"""`BALANCE` and two more columns.

skew         `most_loaded` / `mean_load`, null if no partition has an owner
record_fits  true if a broker accepts the group's record: its batch is not larger than message.max.bytes
"""

MOVES = _struct(
    cluster=StringType(),
    group_id=StringType(),
    topic=StringType(),
    start=IntegerType(),
    count=IntegerType(),
    from_member=StringType(),
    to_member=StringType(),
)
"""A span of partitions whose owner changes; a null member means no owner."""

OUTCOME = _struct(scenario=StringType(), rebalances=LongType(), moved=LongType())
"""Outcome of a scenario: how often the group rebalances, and how many partitions move in all these rebalances.

Both are null for a group that is not computed.
"""

PROBLEMS = _struct(
    table=StringType(),
    cluster=StringType(),
    name=StringType(),
    problem=StringType(),
    rows=LongType(),
)
"""Rows that lack a key, parts of a cluster that could not be read, and groups that are not computed.

`name` is that of the topic or group, if known.
"""


def known_columns(frame: DataFrame, wanted: StructType, what: str, optional: Collection[str] = ()) -> list[str] | None:
    """Check the types of a DataFrame's columns, and return the names of the wanted columns that it has.

    Returns:
        The names in the order of `wanted`; None in functions of Declarative Pipelines, where the columns of a
        DataFrame are not known yet.

    Raises:
        WrongTypeError: A required column is missing, or a column is duplicate, has another type or has a name in
            another case.
    """
    if not columns_are_known(frame):
        return None
    there = lookup_names(frame)
    names = [name for name in wanted.fieldNames() if name not in optional or name in there]
    check_columns(frame, StructType([wanted[name] for name in names]), what)
    return names


def columns_are_known(frame: DataFrame) -> bool:
    """Return False in functions of Declarative Pipelines, where the columns of a DataFrame are not known yet."""
    from pyspark.errors import PySparkException

    if _in_pipeline():
        return False
    try:
        return bool(frame.columns)
    except PySparkException as error:
        if error.getCondition() == "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION":
            return False
        raise


def late_columns(frame: DataFrame, wanted: StructType, what: str, optional: Collection[str] = ()) -> DataFrame:
    """Select all wanted columns of a DataFrame whose columns are not known yet; missing optional columns are null.

    When Spark resolves the query, it rejects a missing required column and a type that cannot be converted. Any other
    wrong type fails the job with the message of `check_columns`.
    """
    from pyspark.sql import functions as F

    filling = [F.lit(None).cast(field.dataType).alias(field.name) for field in wanted.fields if field.name in optional]
    if filling:  # `DataFrame.to` would do the same, but a pipeline's server resolves it too early.
        none = frame.sparkSession.range(1).where(F.lit(False)).select(*filling)
        frame = frame.unionByName(none, allowMissingColumns=True)
    columns = []
    for field in wanted.fields:
        column, kind = F.col(field.name), field.dataType.simpleString()
        found = F.typeof(column)
        message = F.concat(F.lit(f"{what}: column {field.name} must be of type {kind}, not "), found)
        columns.append(F.when(found == kind, column).otherwise(F.raise_error(message)).alias(field.name))
    return frame.select(*columns)


def _in_pipeline() -> bool:
    """Return True inside a function of a Declarative Pipeline. Asking its server instead would log errors."""
    registry = sys.modules.get("pyspark.pipelines.graph_element_registry")
    if registry is None:
        return False
    try:
        registry.get_active_graph_element_registry()
    except Exception:  # No pipeline is active, or PySpark has changed; then the caller asks the server.
        return False
    return True


def lookup_names(frame: DataFrame) -> list[str]:
    """Return the names by which Spark finds the columns: in lower case, unless the session distinguishes case."""
    is_case_sensitive = str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    return [name if is_case_sensitive else name.lower() for name in frame.columns]


def check_columns(frame: DataFrame, wanted: StructType, what: str) -> None:
    """Check that a DataFrame has each wanted column once and with its type, before any job starts.

    Raises:
        WrongTypeError: A column is missing, duplicate or of another type.
    """
    names, there = frame.columns, lookup_names(frame)
    found = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for field in wanted.fields:
        kind = field.dataType.simpleString()
        if there.count(field.name) > 1:
            raise WrongTypeError(f"{what} has several columns {field.name}; its columns are {', '.join(names)}")
        if field.name not in found:
            columns = ", ".join(found)
            raise WrongTypeError(f"{what} has no column {field.name} of type {kind}; its columns are {columns}")
        if found[field.name] != kind:
            raise WrongTypeError(f"{what}: column {field.name} must be of type {kind}, not {found[field.name]}")
