"""The columns of every DataFrame that the pipeline takes or gives, as constants.

They are `StructType`s and not DDL text, so that they can be used where a query may not be analysed while it is written
(Spark Connect, Declarative Pipelines).
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
"""Records as the log has them; timestamp in milliseconds, a null value is a tombstone."""

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
"""What `decode` adds to a record: `status` is `decoded`, `unknown_type` or `bad`; JSON as Kafka writes it."""

TOPIC_METADATA = _struct(
    t=LongType(),
    topic=StringType(),
    topic_id=StringType(),
    partition=IntegerType(),
    racks=ArrayType(StringType()),
)
"""Topic metadata over time: a row per moment (milliseconds) and partition, one rack per replica."""

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
"""The members of a fleet's groups, who subscribe to `topics` or by `pattern`, read in `dialect` (`java` where null).

The first three columns must be there, and `topics` or `pattern`; the others may be missing.

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
"""Who has what, or is to have: a row per run of consecutive partition ids."""

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
say why the outcome is not `equal`, and which subscriptions Kafka's reader refuses. `range` and `remarks` are the
outcome and the reasons under `range` of the classic protocol.
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
"""A member at the end of the log, what it subscribes to, and how many partitions it has.

`topics` is null where a member subscribes by `pattern` alone, where its bytes cannot be read, and where there is none
to name (streams groups, and classic ones that do not speak `consumer`, such as Connect's). Members of classic groups
match patterns themselves and send names. A broker subscribes a member with names and a pattern (KIP-848) to both: then
`topics` has the names, followed by what the group's last record of that pattern (type 16) found, and `pattern` is null;
only while there is no such record both are there. `rack` is null where none or an empty one is named.
"""

SPAN = _struct(member_id=StringType(), topic=StringType(), start=IntegerType(), count=IntegerType())
"""A run of consecutive partitions that a member has."""

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

`unowned` counts partitions of its topics that nobody has, `busiest_minute` the most rebalances within a minute that
changed no member, `range_...` its generations under `range` by how they compare with what the range rules give,
`assignments_...` its generations and epochs under any of Kafka's assignors, by the same outcomes.
"""

HISTORY = StructType(
    [
        *GROUP.fields,
        StructField("generations", ArrayType(GENERATION)),
        StructField("members", ArrayType(MEMBER)),
        StructField("assignment", ArrayType(SPAN)),
    ]
)
"""What `replay` gives per group, beside `group_id`."""


KEYS = ("cluster", "group_id")
"""The columns that say which group a row is about."""

RESOLVED = StructType(
    [
        *(field for field in MEMBERS.fields if field.name not in ("pattern", "dialect")),
        StructField("unknown_topics", ArrayType(StringType())),
    ]
)
"""Members with the `topics` that exist of those that they name or that their pattern matches, in Java's order.

`unknown_topics` has the names that are no topics.
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
"""What an assignment is like.

group_protocol        `classic` or `consumer`: the protocol of the assignor in `computed_as`, or null
computed_as           Kafka's name of the assignor that computed the assignment; null for groups that are not computed,
                      groups without members, and `balance(of="current")`
members               how many members there are
unnamed_members       rows of members that lack a cluster, a group or an id, and so are in no group
unsubscribed_members  members with neither topics nor a pattern; they get nothing
topics                how many topics the members subscribe to that exist
unknown_topics        how many names they subscribe to that are no topics
partitions            how many partitions have an owner
unowned               how many partitions of these topics have none
idle_members          how many members have none
least_loaded          the fewest partitions that a member has, null without members
most_loaded           the most
co_partition_breaks   partition numbers p of which, among topics that one member subscribes to together and that have as
                      many partitions, p is not everywhere the same member's: joins of such topics miss their other half
rack_misses           partitions that are read from another rack: their member has one, and none of their replicas, of
                      which some have a rack, is on it
most_loaded_member    the first member, in Kafka's order, that has the most
mean_load             partitions per member, null without members
record_bytes          key and value of the group's record in `__consumer_offsets`, with subscriptions of version 3 and
                      the owned partitions that members of the assignor send, without client ids and hosts, which are
                      not known here; null for groups of protocol `consumer`, which have no such record

For a group that is not computed, `partitions` and all columns after it are null.
"""

BALANCE_WITH_SKEW = StructType(
    [*BALANCE.fields, StructField("skew", DoubleType()), StructField("record_fits", BooleanType())]
)
"""`BALANCE`, and two more.

skew         `most_loaded` over `mean_load`, null where nobody has anything
record_fits  whether a broker takes the group's record: its batch is no larger than message.max.bytes
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
"""A run of partitions that changes hands, from nobody or to nobody where a member is null."""

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
    """Say which of the columns a DataFrame has, and refuse it if one has another type or one that must be there lacks.

    Returns:
        The names of those wanted that are there, in the order of `wanted`; None where a query may not be analysed
        while it is written, as in functions of Declarative Pipelines.

    Raises:
        WrongTypeError: The message names the column, the type wanted and the type found.
    """
    from pyspark.errors import PySparkException

    if _in_pipeline():
        return None
    try:
        there = frame.schema.fieldNames()
    except PySparkException as error:
        if error.getCondition() == "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION":
            return None
        raise
    names = [name for name in wanted.fieldNames() if name not in optional or name in there]
    check_columns(frame, StructType([wanted[name] for name in names]), what)
    return names


def late_columns(frame: DataFrame, wanted: StructType, what: str, optional: Collection[str] = ()) -> DataFrame:
    """All wanted columns of a DataFrame whose columns nobody knows yet; optional ones that lack are null.

    When the query is resolved Spark refuses it without another column, or with a type that cannot be brought together
    with the one wanted. Any other type ends the job, with the message that `check_columns` would have given.
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
    """Whether the definitions of a declarative pipeline are being read; asking its server would fill the log."""
    registry = sys.modules.get("pyspark.pipelines.graph_element_registry")
    if registry is None:
        return False
    try:
        registry.get_active_graph_element_registry()
    except Exception:  # There is none, or PySpark has changed: then the server is asked.
        return False
    return True


def check_columns(frame: DataFrame, wanted: StructType, what: str) -> None:
    """Refuse a DataFrame that lacks a column, or has it twice or in another type, before any job starts.

    Raises:
        WrongTypeError: The message names the column, the type wanted and the type found.
    """
    names = frame.schema.fieldNames()
    found = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for field in wanted.fields:
        kind = field.dataType.simpleString()
        if names.count(field.name) > 1:
            raise WrongTypeError(f"{what} must have one column {field.name}; it has {', '.join(names)}")
        if field.name not in found:
            raise WrongTypeError(f"{what} must have a column {field.name} of type {kind}; it has {', '.join(found)}")
        if found[field.name] != kind:
            raise WrongTypeError(f"{what}: column {field.name} must be of type {kind}, not {found[field.name]}")
