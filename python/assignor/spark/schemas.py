"""Schemas of the DataFrames that the pipeline reads and returns.

Each is derived from the constant or the function of the engine that defines its columns for all other uses. Print one
with `print(schema.treeString())`. They are `StructType`s, because Spark parses DDL strings with a server call, which
functions of Declarative Pipelines must not make.
"""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from assignor import _core, lag, lag_time, lag_time_sums
from assignor.cluster import metadata, records
from assignor.dependencies import dependency
from assignor.migration import BrokerSettings
from assignor.spark.engine_types import CLUSTERS, FLEET, GROUPS
from assignor.validation import wrong_type

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import (
        ArrayType,
        BooleanType,
        DoubleType,
        LongType,
        StringType,
        StructField,
        StructType,
        TimestampType,
    )

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pyspark.sql import DataFrame

KEYS = ("cluster", "group_id")
"""Columns that identify the group of a row."""


def columns(fields: Iterable[pa.Field], texts: Iterable[str] = (), without: Collection[str] = ()) -> StructType:
    """Return columns of texts, followed by the fields of an Arrow schema; all of them may have nulls."""
    kept = [field.with_nullable(True) for field in fields if field.name not in without]
    return from_arrow_schema(pa.schema([*((name, pa.string()) for name in texts), *kept]))


def _answer(method: str, *arguments: Any) -> list[pa.Field]:
    """Return the columns that a method of `_core.Clusters` returns for a group."""
    group = pa.array([{"members": [{"member_id": "", "topics": []}]}], GROUPS)
    (column,) = getattr(_core.Clusters(pa.array([[]], CLUSTERS)), method)(group, *arguments)
    kind = pa.array(column).type
    return list(kind if pa.types.is_struct(kind) else kind.value_type)


def _elements(name: str) -> StructType:
    """Return the columns of a list of `HISTORY`."""
    kind = HISTORY[name].dataType
    assert isinstance(kind, ArrayType)
    assert isinstance(kind.elementType, StructType)
    return kind.elementType


RECORDS = columns(records.SCHEMA)
"""Raw records of the log. The timestamp is in milliseconds; a null value is a tombstone."""

CLUSTER_RECORDS = columns(records.SCHEMA, ["cluster"])
"""Raw records of several clusters; offsets and groups of different clusters are independent."""

DECODED = columns(pa.record_batch(_core.decode_batch(*[pa.array([], pa.binary())] * 2)).schema)
"""Columns that `decode` adds to a record. `status` is `decoded`, `unknown_type` or `bad`; JSON has Kafka's format."""

TOPIC_METADATA = columns(metadata.topic_schema())
"""Topic metadata over time: a row per snapshot (time `t` in milliseconds) and partition, with one rack per replica."""

TOPICS = columns(FLEET["topics"])
"""The topics of a fleet; partition ids are 0 to `partitions` - 1. `racks` and `topic_id` may be missing or null.

racks     for each partition the racks of its replicas, null for a replica on a broker without a rack
topic_id  the topic's id as Kafka prints it (22 characters of base64), which decides the order of topics in the broker's
          assignors; if it is null, an id is made from the name
"""

TOPIC_WEIGHTS = StructType([StructField("weights", ArrayType(DoubleType()))])
"""Optional further column of the topics of a fleet.

weights  weight of each partition, such as its records per second, in the order of ids; null for an unknown weight or if
         no weight of the topic is known
"""

MEMBERS = columns(FLEET["members"])
"""The members of a fleet's groups. A member subscribes to `topics`, by `pattern` in a `dialect`, or by both.

The first three columns and `topics` or `pattern` are required; the others are optional.

topics          names of topics; in the dialect `librdkafka`, a name that begins with `^` is a pattern
pattern         one pattern; several are a list, in a column of type `array<string>` (see `PATTERN_LISTS`)
dialect         dialect of the patterns: `java` (also where it is null), `re2j`, `librdkafka` or `python`
group_protocol  `classic` (also where it is null in all rows of a group), `consumer` for a group of KIP-848, or `share`
                for a share group
assignor        Kafka's name of the group's assignor: `range`, `roundrobin`, `sticky` or `cooperative-sticky` of
                `classic`, `uniform` or `range` of `consumer`, `simple` of `share`; if it is null in all rows of a
                group, `range` for `classic`, `uniform` for `consumer` and `simple` for `share`
generation      the generation in which the member got its partitions in `current`; null or negative for none
protocol_type   protocol type of a classic group, such as `consumer` (also where it is null) or `connect`
library         client library of the member, such as `java`; if it is null, a default client id in the id decides
library_version  version of the library, as far as it is visible, such as `3.0.12` or `3.4+`
conversion_problem  why a broker cannot take over the member: `user_data`, `subscription` or `assignment`, else null

Only `migrate` reads the last four columns.

A group is not computed if its rows have different values of `assignor` or `group_protocol`, or values not listed here,
or if Kafka's class fails for the group or has several answers (only `simple`).
"""

MIGRATION_COLUMNS = ("protocol_type", "library", "library_version", "conversion_problem")
"""Columns of `MEMBERS` that only `migrate` reads."""

PATTERN_LISTS = MappingProxyType({"pattern": ArrayType(StringType())})
"""Other type that the column of members may have, so that a member can have several patterns.

In a function of a Declarative Pipeline the column must have the type in `MEMBERS`.
"""

ASSIGNMENTS = columns(FLEET["current"])
"""Assigned or owned partitions: a row per span of consecutive partition ids of a member."""

COMMITTED = columns(lag.POSITIONS, ["cluster"], ["member_id"])
"""Committed offsets of groups: one row per group and partition; null or negative without an offset."""

END_OFFSETS = columns(lag.END_OFFSETS, ["cluster"])
"""First offset in the log of a partition, and the offset after its last record: one row per partition."""

TIMED_COMMITTED = columns(lag_time.TIMED_COMMITTED, ["cluster"])
"""Committed offsets of groups over time: a row for each commit, with its time in milliseconds."""

TIMED_END_OFFSETS = columns(lag.TIMED_END_OFFSETS, ["cluster"])
"""First offset and end offset of partitions over time: a row for each partition and time in milliseconds."""

TIME_LAG = columns(lag_time.TIME_LAG, ["cluster"])
"""Lag of a partition of a group in time: the columns of `assignor.lag_time.TIME_LAG`, and the cluster."""

SUMMED_TIME = MappingProxyType({by: columns(lag_time_sums.summed_schema(by), ["cluster"]) for by in lag_time_sums.BY})
"""Lag in time of groups, topics of groups, and members, by `by`: the columns that
`assignor.lag_time_sums.sum_lag_in_time` returns, and the cluster."""

FLEET_LAG = columns(lag.PARTITION_LAG, ["cluster"])
"""Lag of a partition of a group: the columns of `assignor.lag.PARTITION_LAG`, and the cluster."""

MEMBER_LAG = columns(lag.MEMBER_LAG, ["cluster"])
"""Lag of the partitions of a member: the columns of `assignor.lag.MEMBER_LAG`, and the cluster."""

GROUP_LAG = columns(lag.GROUP_LAG, ["cluster"])
"""Lag of the partitions of a group, each counted once: the columns of `assignor.lag.GROUP_LAG`, and the cluster."""

_ENDED = _core.Replay(metadata.topics_table(None)).push_groups(None)
"""What a replay without records returns: events, histories and others."""

HISTORY = columns(pa.array(_ENDED[3][1]).type)
"""Columns that `replay` returns for each group in addition to `group_id`."""

ENGINE_EVENTS = columns(pa.record_batch(_ENDED[2][0]).schema)
"""An event as the engine returns it, with the names of the JSON form."""

EVENT_NAMES = MappingProxyType({"group": "group_id", "left": "members_left", "offset": "record_offset"})
"""Names in `EVENTS` of columns whose names in JSON are words that SQL reserves, or methods of DataFrames."""

EVENT_TIMES = ("at", "since", "until", "timestamp", "logged_at", "rebalance_at", "pause_since", "pause_until")
"""Columns with times in milliseconds. In `EVENTS`, each is followed by a timestamp with the ending `_time`."""


def _events() -> StructType:
    """Return the columns of `EVENTS`."""
    found = []
    for field in ENGINE_EVENTS.fields:
        found.append(StructField(EVENT_NAMES.get(field.name, field.name), field.dataType))
        if field.name in EVENT_TIMES:
            found.append(StructField(f"{field.name}_time", TimestampType()))
    return StructType(found)


EVENTS = _events()
"""An event of a group. Each event has the first seven columns and those of its kind; the others are null.

event                kind of the event
cluster, group_id    the group; `group_id` is null for a record whose key has no readable group
kind                 kind of the group: `classic`, `consumer`, `share`, `streams` or `offsets`
at, record_offset    time in milliseconds and offset of the record that the event describes. The event of a deadline has
                     the deadline as its time and the offset of the group's last record
at_time              the same time as a timestamp; null for a time outside the years 1 to 9999, whose first and last
                     day are left out, too

`docs/replay-events.md` describes the columns of each kind. The names are those of JSON, except that `group` is
`group_id`, `left` is `members_left`, and `offset` is `record_offset`. Each time in milliseconds has a timestamp beside
it.
"""

GROUP = StructType([field for field in HISTORY.fields if not isinstance(field.dataType, ArrayType)])
"""A group at the end of the log.

unowned         partitions of the subscribed topics without an owner
busiest_minute  highest number of rebalances with unchanged membership within a minute
range_*         number of generations under `range`, by outcome of the comparison with Kafka's range assignor
assignments_*   number of generations and epochs under any of Kafka's assignors, by outcome of the comparison
"""

GENERATION = _elements("generations")
"""A generation of a classic group or an epoch of a group of another type, compared with the answer of Kafka's assignor.

`assignor` is the name of the assignor whose answer was compared, and `outcome` is `equal`, `different` or `unknown`.
Both are null if nothing was compared: the group has no members, its assignor is not one of Kafka's, the record repeats
a generation, the log lacks what the assignor starts from, or there is no topic metadata. `class` is null if the outcome
is `equal`. A `different` one is `explained` if its assignor gives the assignment for other topic metadata, `healed` if
an equal generation of the group follows within 10 s, or else `unexplained`. An `unknown` one is `unreadable` if the
bytes of a member cannot be decoded, `unknown_topics` if the topic metadata lacks a topic, or `not_determined` if the
log does not have all that the assignment depends on; `assignor` is null if this holds for any assignor. `reasons` are
sentences that say why the outcome is not `equal`, and which subscriptions Kafka cannot parse. If the assignor is
`range` of the classic protocol, `range` and `remarks` repeat the outcome and the reasons.
"""

MEMBER = _elements("members")
"""A member at the end of the log, its subscription, and the number of its partitions.

`topics` is null if the member subscribes only by `pattern`, if its subscription cannot be decoded, and in groups
without subscriptions (streams groups, and classic groups with another protocol type than `consumer`, such as
Connect's). Members of classic groups match patterns themselves and send topic names. A member of a KIP-848 group can
subscribe to names and by a pattern. If the log has a record of the topics that match its pattern (type 16), `topics`
has the names followed by these topics, and `pattern` is null; otherwise both columns have values. `rack` is null if the
member has no rack or an empty one.
"""

SPAN = _elements("assignment")
"""A span of consecutive partitions of a member."""

GAP = _elements("gaps")
"""A span of partitions at the end of the log that lack something.

`problem` is `unowned` (partitions of a subscribed topic without an owner) or `never_committed` (partitions with an
owner and without a committed offset).
"""

RESOLVED = columns(_answer("resolve"), KEYS)
"""Members with the existing `topics` that they subscribe to by name or pattern, in Java's `String` order.

`unknown_topics` has the subscribed names that do not exist.
"""

_BALANCE = columns(_answer("balance"))

_OF_WEIGHTS = (
    *("unweighted", "least_weight", "most_weight", "mean_weight", "most_weight_member", "weight_bound"),
    "packed_weight",
)

WEIGHTED = StructType([_BALANCE[name] for name in _OF_WEIGHTS])
"""Balance of an assignment by weight, for a fleet whose topics have the column `weights`.

unweighted          number of partitions of the subscribed topics whose weight is not known; null if no weight of the
                    cluster is known. If it is not 0, the columns that follow are null
least_weight        lowest weight of a member
most_weight         highest weight of a member
mean_weight         weight per member
most_weight_member  the first member, in Kafka's order, with the highest weight
weight_bound        lower bound of `most_weight` for every assignment, see `assignor.WeightedBalance`
packed_weight       highest weight of a member after longest-processing-time packing
"""

SCALE = columns(_answer("scale"))
"""A group with a number of members: the fields of `assignor.scaling.ScaledGroup`."""

BALANCE = StructType([field for field in _BALANCE.fields if field.name not in _OF_WEIGHTS])
"""Balance of an assignment.

group_protocol        `classic`, `consumer` or `share`: the protocol of the assignor in `computed_as`, or null
computed_as           Kafka's name of the assignor that computed the assignment; null for groups that are not computed,
                      groups without members, and `balance(of="current")`
members               number of members
unnamed_members       number of member rows without a cluster, group or member id, which belong to no group
unsubscribed_members  number of members with neither topics nor a pattern; they get no partitions
topics                number of existing topics that the members subscribe to
unknown_topics        number of subscribed names that do not exist
partitions            number of partitions with an owner, or with several
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
                      hosts, which are not known; null for groups of other protocols than `classic`, which have no such
                      record

For a group that is not computed, `partitions` and all columns after it are null.
"""

BALANCE_WITH_SKEW = StructType(
    [*BALANCE.fields, StructField("skew", DoubleType()), StructField("record_fits", BooleanType())]
)
"""`BALANCE` and two more columns.

skew         `most_loaded` / `mean_load`, null if no partition has an owner
record_fits  true if a broker accepts the group's record: its batch is not larger than message.max.bytes
"""

MOVES = columns(_answer("moves"), KEYS)
"""A span of partitions whose owner changes; a null member means no owner."""

OUTCOME = columns(_answer("what_if", [("", None, [])]), without=_BALANCE.fieldNames())
"""Outcome of a scenario.

rebalances       number of rebalances; null for a group that is not computed
moved            number of partitions that move in all these rebalances; null for a group that is not computed
pattern_changes  a struct for each subscription whose patterns mean something else after a switch of the group protocol,
                 or cannot be used there: `members` and `patterns` of the subscription, the text that is `sent` to the
                 broker as one pattern (null if none is), the existing topics that the members have `gained` and `lost`,
                 and the `problem` if the patterns cannot be used or not be matched (null if they can)
problems         why steps of the scenario do not change a topic: one that should grow does not exist or has more
                 partitions, or one that should be added exists with another number of partitions; or that a group of
                 the scenario has no members; empty without problems
"""

_DEFAULT_RULES = BrokerSettings().rules()

MIGRATION = columns(_answer("migrate", _DEFAULT_RULES), KEYS)
"""Whether a classic group can move to KIP-848: the fields of `assignor.migration.Migration`, which describes them.

`group_id` is its field `group`. A fleet has no field `unknown`.
"""

PROBLEMS = StructType(
    [
        *(StructField(name, StringType()) for name in ("table", "cluster", "name", "problem")),
        StructField("rows", LongType()),
    ]
)
"""Rows that lack a key, invalid topics and groups, groups that are not computed, and unread parts of a cluster.

`name` is that of the topic or group, if known.
"""


def with_keys(schema: StructType) -> StructType:
    """Return a schema with the keys of groups before its columns."""
    return StructType([*(MEMBERS[key] for key in KEYS), *schema.fields])


def columns_are_known(frame: DataFrame) -> bool:
    """Return False in functions of Declarative Pipelines, where the columns of a DataFrame are not known yet."""
    with dependency("pyspark"):
        from pyspark.errors import PySparkException

    if _in_pipeline():
        return False
    try:
        return bool(frame.columns)
    except PySparkException as error:
        if error.getCondition() == "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION":
            return False
        raise


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


def check_session(spark: object, method: str = "createDataFrame") -> None:
    """Raise WrongTypeError if a value is not a Spark session, classic or Connect: it lacks the method."""
    if not callable(getattr(spark, method, None)):
        raise wrong_type("spark", "a SparkSession", spark)


def check_frame(frame: object, what: str) -> None:
    """Raise WrongTypeError if a value is not a DataFrame of Spark, classic or Connect."""
    if not hasattr(frame, "sparkSession"):
        raise wrong_type(what, "a Spark DataFrame", frame)
