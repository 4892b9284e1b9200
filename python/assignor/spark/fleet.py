"""`Fleet`: who gets which partition in thousands of groups at once, what that is like, and what would be if."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructType

from assignor._engine import check_engine
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.spark import schemas
from assignor.spark.group_rows import ask, clusters_row, group_rows
from assignor.spark.scenario import as_data
from assignor.validation import shown, wrong_type

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame, SparkSession

    from assignor._engine import Engine
    from assignor.clients.snapshot import ClusterSnapshot
    from assignor.spark.scenario import Scenario

__all__ = ["MAX_MESSAGE_BYTES", "Fleet"]

MAX_MESSAGE_BYTES = 1_048_588
"""What a broker takes at most in one batch of records, unless it is told otherwise (message.max.bytes)."""

_VERBS_OF_PLANS = ("assign", "what_if")
"""The verbs that need `current` only if an assignor starts from it."""

_BATCH_BYTES = 61 + 5 + 3 + 5 + 5 + 1
"""What a batch of one record adds to key and value at most: the batch's head, and the record's lengths and fields."""


class Fleet:
    """Groups of one or many clusters, each assigned by its own assignor of Kafka as `assign` does it.

    Every method gives a DataFrame that is computed when it is used, in one job whatever the number of groups. The same
    works in Classic Spark, in Spark Connect, and in the functions of Declarative Pipelines.

    Args:
        topics: The topics, with the columns of `schemas.TOPICS`; `racks` may be missing.
        members: The members of all groups, with the columns of `schemas.MEMBERS`; only `cluster`, `group_id`,
            `member_id`, and `topics` or `pattern` must be there. Other columns do no harm.
        current: The partitions that members own at present, with the columns of `schemas.ASSIGNMENTS`. `sticky`,
            `cooperative-sticky` and `uniform` start from them; `moves` and `balance(of="current")` need them.
        engine: `"rust"`, or `"reference"`: the same in plain Python, to compare.

    The columns `assignor` and `group_protocol` of members name the assignor of a group; without them it is `range`.
    Groups with an assignor that is not Kafka's, such as `stream`, and groups whose members name different ones are not
    computed: `assign` and `moves` have no rows for them, `computed_as` is null, and `problems` has the reason.

    Members with the same `group_instance_id` count in the order of their ids. Rows that lack a key are in no group, and
    are counted: by `balance`, in the row of the keys that they have, and by `problems`.

    Raises:
        WrongTypeError: No DataFrame, a streaming one, or one that lacks a column or has it twice or in another type; no
            job is started for that.
        IllegalArgumentError: An unknown engine.

    What is wrong with a row is found where it is read. The error that the job then ends with names the cluster and the
    group, or the topic: a member or a topic that is given twice, topics and a pattern for one member, a pattern that
    cannot be used, a count that is negative or null, racks for another number of partitions.

    Example:
        >>> from assignor.spark import Fleet
        >>> from assignor.spark.session import session
        >>> with session() as spark:  # doctest: +SKIP
        ...     topics = spark.createDataFrame([("eu", "orders", 3)], "cluster string, topic string, partitions int")
        ...     members = spark.createDataFrame(
        ...         [("eu", "billing", "a", ["orders"]), ("eu", "billing", "b", ["orders"])],
        ...         "cluster string, group_id string, member_id string, topics array<string>")
        ...     Fleet(topics, members).assign().show()
        +-------+--------+---------+------+-----+-----+
        |cluster|group_id|member_id| topic|start|count|
        +-------+--------+---------+------+-----+-----+
        |     eu| billing|        a|orders|    0|    2|
        |     eu| billing|        b|orders|    2|    1|
        +-------+--------+---------+------+-----+-----+
    """

    def __init__(
        self, topics: DataFrame, members: DataFrame, current: DataFrame | None = None, *, engine: Engine = "rust"
    ) -> None:
        check_engine(engine)
        self._engine = engine
        self._topics, topic_columns = _read(topics, schemas.TOPICS, "topics", {"racks", "topic_id"})
        optional = set(schemas.MEMBERS.fieldNames()) - {*schemas.KEYS, "member_id"}
        self._members, self._member_columns = _read(members, schemas.MEMBERS, "members", optional)
        if not {"topics", "pattern"} & set(self._member_columns):
            kind = schemas.MEMBERS["topics"].dataType.simpleString()
            found = ", ".join(members.columns)
            raise WrongTypeError(f"members must have a column topics of type {kind}, or pattern; it has {found}")
        self._current = None if current is None else _read(current, schemas.ASSIGNMENTS, "current", ())[0]
        self._clusters = clusters_row(self._topics, topic_columns)
        self._snapshot: ClusterSnapshot | None = None

    @classmethod
    def from_recording(
        cls, folder: str | os.PathLike[str], *, spark: SparkSession | None = None, engine: Engine = "rust"
    ) -> Fleet:
        """The groups of a recorded cluster as they are at the end of its log.

        Args:
            folder: The recording, see `assignor.recording`. Its topic metadata is read at once.
            spark: The session; by default the one there is.
            engine: As for `Fleet`.

        Returns:
            Members of classic groups that speak `consumer` and of consumer groups (KIP-848), with the assignor, the
            protocol and the generation of their group, and with what they have as `current`; `cluster` is ""
            everywhere.

        Raises:
            IllegalArgumentError: The folder or a file is missing or cannot be read.
            WrongTypeError: A file lacks a column or has it in another type.
        """
        from assignor.spark.recorded_fleet import recorded

        topics, members, current = recorded(spark or _active(), folder)
        return cls(topics, members, current, engine=engine)

    @classmethod
    def from_admin(
        cls,
        admin: Any,
        *,
        cluster: str | None = None,
        groups: Iterable[str] | None = None,
        spark: SparkSession | None = None,
        engine: Engine = "rust",
    ) -> Fleet:
        """The groups of a live cluster as they are now; nothing on the cluster is changed.

        Args:
            admin: A `confluent_kafka.admin.AdminClient`, or its configuration (`pip install 'assignor[kafka]'`).
            cluster: What to call the cluster; by default its own id.
            groups: Which groups; by default all.
            spark: The session; by default the one there is.
            engine: As for `Fleet`.

        Returns:
            The fleet. The cluster is read at once, by `assignor.clients.confluent.read_cluster`, which says what an
            admin is told and what has to be guessed; `snapshot` keeps that, and `problems` tells it.

        Raises:
            MissingDependencyError: confluent-kafka is not installed.
            WrongTypeError: Something else is given as admin.
        """
        from assignor.clients.confluent import read_cluster

        return cls.from_snapshot(read_cluster(admin, cluster, groups), spark=spark, engine=engine)

    @classmethod
    def from_snapshot(
        cls, snapshot: ClusterSnapshot, *, spark: SparkSession | None = None, engine: Engine = "rust"
    ) -> Fleet:
        """The groups of a cluster that `read_cluster` of `assignor.clients` has looked at."""
        tables = snapshot.to_arrow()
        spark = spark or _active()

        def frame(name: str, schema: StructType) -> DataFrame:
            return spark.createDataFrame(tables[name], schema)

        fleet = cls(
            frame("topics", schemas.TOPICS),
            frame("members", schemas.MEMBERS),
            frame("current", schemas.ASSIGNMENTS),
            engine=engine,
        )
        fleet._snapshot = snapshot
        return fleet

    @property
    def topics(self) -> DataFrame:
        """The topics, with the columns of `schemas.TOPICS` that were given."""
        return self._topics

    @property
    def members(self) -> DataFrame:
        """The members, with the columns of `schemas.MEMBERS` that were given."""
        return self._members

    @property
    def current(self) -> DataFrame | None:
        """Who has what at present, if that was given."""
        return self._current

    @property
    def snapshot(self) -> ClusterSnapshot | None:
        """What was seen of a live cluster, where the fleet was read from one."""
        return self._snapshot

    def resolve(self) -> DataFrame:
        """Which topics each member means: a row per member, with the columns of `schemas.RESOLVED`.

        A pattern is read and tried once for all members of a cluster that have it, in each task. Patterns leave out the
        topics that a broker keeps for itself, but for those in the dialect `re2j`.
        """
        answer = ArrayType(_without_keys(schemas.RESOLVED))
        return self._ask("resolve", answer).select(*schemas.KEYS, F.inline("answer"))

    def assign(self) -> DataFrame:
        """Return who gets what: a row per run of partitions, with the columns of `schemas.ASSIGNMENTS`, in any order.

        It is the answer of the group's assignor in the next rebalance. With `cooperative-sticky`, partitions that
        another member has yet to give up have no owner; they get one in the rebalance after that.
        """
        answer = ArrayType(_without_keys(schemas.ASSIGNMENTS))
        return self._ask("assign", answer).select(*schemas.KEYS, F.inline("answer"))

    def balance(
        self, *, of: Literal["assign", "current"] = "assign", max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> DataFrame:
        """What the assignment of each group is like: a row per group, with the columns of `schemas.BALANCE_WITH_SKEW`.

        Groups without members, which are in `current` or have only rows without a member id, have a row too, and so do
        rows of members that lack a cluster or a group.

        Args:
            of: `"assign"` describes the answer of `assign()`. `"current"` describes the existing partitions in
                `current`, for groups of any assignor: owners without a row in `members` are members too, and a
                partition of several owners counts for each of them.
            max_message_bytes: The brokers' message.max.bytes, for `record_fits`.

        Raises:
            IllegalArgumentError: Another `of`, or `"current"` of a fleet that has no `current`.
        """
        limit = _bytes(max_message_bytes)
        if of not in ("assign", "current"):
            raise IllegalArgumentError(f"of must be 'assign' or 'current', not {shown(of)}")
        if of == "current" and self._current is None:
            raise IllegalArgumentError("balance(of='current') needs the table current: Fleet(topics, members, current)")
        verb = "balance" if of == "assign" else "current_balance"
        found = self._ask(verb, schemas.BALANCE, with_current=True).select(*schemas.KEYS, "answer.*")
        return found.select("*", *_skew_and_fit(limit))

    def moves(self) -> DataFrame:
        """What changes hands from `current` to `assign()`: a row per run, with the columns of `schemas.MOVES`.

        Of a partition that several members have, each but the one that gets it gives it up. Rows of `current` without a
        group, a member or a topic say nothing, and are counted by `problems`.

        Raises:
            IllegalArgumentError: The fleet has no `current`.
        """
        if self._current is None:
            raise IllegalArgumentError("moves needs what the members have at present: Fleet(topics, members, current)")
        answer = ArrayType(_without_keys(schemas.MOVES))
        return self._ask("moves", answer, with_current=True).select(*schemas.KEYS, F.inline("answer"))

    def what_if(
        self, scenarios: Scenario | Iterable[Scenario], *, max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> DataFrame:
        """What each scenario would bring for each group that it is about: all of them in one job.

        A scenario starts from the answer of `assign()`, and each of its steps is followed by the rebalances that it
        causes. In each of them members own what they got in the one before. Members of `cooperative-sticky` rebalance
        a second time if partitions change their owner, and both rebalances count. No second rebalance is pending when
        a scenario starts. A rolling restart assigns a group twice for each of its members.

        Args:
            scenarios: The scenarios.
            max_message_bytes: As for `balance`.

        Returns:
            A row per scenario and group: the keys, `schemas.OUTCOME`, and `schemas.BALANCE_WITH_SKEW` for how it ends.

        Raises:
            WrongTypeError, IllegalArgumentError: No scenarios, or two of one name.
        """
        limit, data = _bytes(max_message_bytes), as_data(scenarios)
        answer = ArrayType(StructType([*schemas.OUTCOME.fields, *schemas.BALANCE.fields]))
        found = self._ask("what_if", answer, data).select(*schemas.KEYS, F.inline("answer"))
        return found.select("*", *_skew_and_fit(limit))

    def problems(self) -> DataFrame:
        """Return rows that lack a key, parts of a cluster that could not be read, and groups that are not computed.

        Returns:
            The columns of `schemas.PROBLEMS`; no rows where all is well.
        """
        tables = {"topics": (self._topics, ("topic",)), "members": (self._members, ("group_id", "member_id"))}
        if self._current is not None:
            tables["current"] = (self._current, ("group_id", "member_id", "topic"))
        found = [_lacking(table, frame, needed) for table, (frame, needed) in tables.items()]
        if self._snapshot is not None:
            snapshot = self._snapshot
            seen = [(each.what, snapshot.cluster, each.name, each.reason, 1) for each in snapshot.problems]
            guessed = [("member", snapshot.cluster, each.group_id, each.reason, 1) for each in snapshot.guessed]
            rows = self._members.sparkSession.createDataFrame([*seen, *guessed], schemas.PROBLEMS)
            found.append(rows.groupBy("table", "cluster", "name", "problem").agg(F.sum("rows").alias("rows")))
        if self._names_assignors:
            reasons = self._ask("problems", ArrayType(StringType())).select(*schemas.KEYS, F.explode("answer"))
            found.append(
                reasons.select(
                    F.lit("group").alias("table"),
                    "cluster",
                    F.col("group_id").alias("name"),
                    F.col("col").alias("problem"),
                    F.lit(1).cast("bigint").alias("rows"),
                )
            )
        first, *others = found
        for other in others:
            first = first.unionByName(other)
        return first

    @property
    def _names_assignors(self) -> bool:
        """True if a group may have another assignor than range, which does not read what members own."""
        return bool({"assignor", "group_protocol"} & set(self._member_columns))

    def _ask(self, verb: str, answer: ArrayType | StructType, *arguments: Any, with_current: bool = False) -> DataFrame:
        with_current = with_current or (self._names_assignors and verb in _VERBS_OF_PLANS)
        groups = group_rows(self._members, self._member_columns, self._current if with_current else None)
        return ask(groups, self._clusters, verb, answer, self._engine, *arguments)


def _active() -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _read(frame: DataFrame, wanted: StructType, what: str, optional: Iterable[str]) -> tuple[DataFrame, list[str]]:
    """The DataFrame with just the columns that are wanted and there, and their names."""
    if not hasattr(frame, "sparkSession"):
        raise wrong_type(what, "a Spark DataFrame", frame)
    names = schemas.known_columns(frame, wanted, what, set(optional))
    if names is None:
        return schemas.late_columns(frame, wanted, what, set(optional)), wanted.fieldNames()
    if frame.isStreaming:
        # Spark itself would speak of functions that nobody but this package calls.
        raise WrongTypeError(f"{what} must not be a streaming DataFrame; in foreachBatch each batch is none")
    return frame.select(*names), names


def _without_keys(schema: StructType) -> StructType:
    return StructType([field for field in schema.fields if field.name not in schemas.KEYS])


def _bytes(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type("max_message_bytes", "an int", value)
    if not 0 <= value < 2**63:
        raise IllegalArgumentError(f"max_message_bytes must be from 0 to {2**63 - 1}, not {shown(value)}")
    return value


def _skew_and_fit(limit: int) -> tuple[Column, Column]:
    skew = F.when(F.col("mean_load") > 0, F.col("most_loaded") / F.col("mean_load"))
    fits = F.col("record_bytes") + F.lit(_BATCH_BYTES) <= F.lit(limit)
    return skew.alias("skew"), fits.alias("record_fits")


def _lacking(table: str, frame: DataFrame, needed: tuple[str, ...]) -> DataFrame:
    """The rows that lack a key, counted."""
    keys = ("cluster", *needed)
    lack = F.concat_ws(", ", *(F.when(F.col(key).isNull(), F.lit(key)) for key in keys))
    rows = frame.where(" or ".join(f"`{key}` is null" for key in keys))
    named = rows.select("cluster", F.col(needed[0]).alias("name"), F.concat(F.lit("no "), lack).alias("problem"))
    counted = named.groupBy("cluster", "name", "problem").agg(F.count("*").alias("rows"))
    return counted.select(F.lit(table).alias("table"), "cluster", "name", "problem", "rows")
