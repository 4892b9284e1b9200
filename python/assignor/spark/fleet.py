"""`Fleet`: assignments, balance, moves, what-if scenarios and scaling of thousands of consumer groups."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Literal

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag_time import WINDOW_MS
from assignor.migration import BrokerSettings
from assignor.scaling import read_max_members
from assignor.spark import schemas
from assignor.spark.fleet_balance import MAX_MESSAGE_BYTES, read_message_bytes, with_skew
from assignor.spark.fleet_lag import lag_by
from assignor.spark.fleet_problems import INVALID, problems_of
from assignor.spark.fleet_tables import choose_groups, read_members, read_table, read_topics, session_or_active
from assignor.spark.fleet_time_lag import time_lag_by
from assignor.spark.fleet_views import ANSWERS, check_prefix, create_views
from assignor.spark.fleet_what_if import with_missing_groups
from assignor.spark.group_rows import call_engine, clusters_row, group_rows, invalid_topics
from assignor.spark.grouping import TEXT
from assignor.spark.scenario import as_data
from assignor.validation import check_name, read_bool, shown, wrong_type

with dependency("pyspark"):
    from pyspark.sql.types import StringType, StructField, StructType

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame, SparkSession

    from assignor.cluster.snapshot import ClusterSnapshot
    from assignor.spark.scenario import Scenario

__all__ = ["MAX_MESSAGE_BYTES", "Fleet"]

_METHODS_OF_PLANS = ("assign", "what_if")
"""Methods that need `current` only if an assignor starts from owned partitions."""


class Fleet:
    """Consumer groups of one or more clusters. Each group is assigned by its own assignor, as `assign` does.

    Every method returns a lazy DataFrame, which one job computes for all groups. The methods work in classic Spark, in
    Spark Connect, and in functions of Declarative Pipelines.

    Args:
        topics: The topics, with the columns of `schemas.TOPICS`; `racks` may be missing. With the column of
            `schemas.TOPIC_WEIGHTS`, `balance`, `what_if` and `scale` also have results by weight.
        members: The members of all groups, with the columns of `schemas.MEMBERS`; only `cluster`, `group_id`,
            `member_id`, and `topics` or `pattern` are required. `pattern` may have the type `array<string>`, for
            members with several patterns. Other columns are ignored.
        current: The partitions that members own, with the columns of `schemas.ASSIGNMENTS`. `sticky`,
            `cooperative-sticky` and `uniform` start from them; `moves` and `balance(of="current")` need them.

    The columns `assignor` and `group_protocol` of members name the assignor of a group; without them it is `range`.
    Groups whose assignor is not one of Kafka's, such as `stream`, and groups whose members name different assignors are
    not computed: `assign` and `moves` have no rows for them, `computed_as` is null, and `problems` has the reason.

    Members with the same `group_instance_id` are ordered by member id. A row without a cluster, group or member id
    belongs to no group. `balance` counts such rows of members by the cluster and group that they have, and `problems`
    lists all of them.

    Raises:
        WrongTypeError: An argument is not a DataFrame, is a streaming DataFrame, or has a missing, duplicate or
            mistyped column. This is checked before any job starts.

    Invalid rows are found when the job reads them. The job then fails with an error that names the cluster and the
    group or topic; `leave_out_invalid` answers for the other groups, and `problems` lists all of them. These rows are
    invalid: a duplicate member or topic, an invalid or unsupported pattern, a null in a list of topics or patterns, a
    negative or null count, and racks for a different number of partitions.

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

    def __init__(self, topics: DataFrame, members: DataFrame, current: DataFrame | None = None) -> None:
        self._topics, topic_columns = read_topics(topics)
        self._has_weights = "weights" in topic_columns
        self._members, self._member_columns = read_members(members)
        self._current = None if current is None else read_table(current, schemas.ASSIGNMENTS, "current", ())[0]
        self._clusters = clusters_row(self._topics, topic_columns)
        self._snapshot: ClusterSnapshot | None = None
        self._leaves_out_invalid = False
        self._conditions: tuple[Column | str, ...] = ()

    @classmethod
    def from_recording(
        cls, folder: str | os.PathLike[str], *, cluster: str = "", spark: SparkSession | None = None
    ) -> Fleet:
        """Return the groups of a recorded cluster at the end of its log.

        Args:
            folder: Recording folder, see `assignor.cluster.Recording`: a path on this machine, or a URI of any file
                system that Spark reads, such as `s3a://backup/webshop`. Its topic metadata is read immediately.
            cluster: Name of the cluster in the rows.
            spark: Spark session; the active session by default.

        Returns:
            Members of classic groups with protocol type `consumer` and of consumer groups (KIP-848), with the assignor,
            protocol and generation of their group. `current` has the partitions that they own.

        Raises:
            IllegalArgumentError: The folder or a file is missing or cannot be read.
            WrongTypeError: A column of a file is missing or has another type.
        """
        from assignor.spark.recorded_fleet import recorded

        topics, members, current = recorded(session_or_active(spark), folder, check_name(cluster, "cluster"))
        return cls(topics, members, current)

    @classmethod
    def from_admin(
        cls,
        admin: Any,
        *,
        cluster: str | None = None,
        groups: Iterable[str] | None = None,
        spark: SparkSession | None = None,
    ) -> Fleet:
        """Return the current groups of a live cluster. This does not change the cluster.

        Args:
            admin: A `confluent_kafka.admin.AdminClient`, or its configuration (extra `kafka`).
            cluster: Name of the cluster in the rows; the cluster's id by default.
            groups: Ids of the groups to read; all groups by default.
            spark: Spark session; the active session by default.

        Returns:
            The fleet. `assignor.cluster.confluent.read_cluster` reads the cluster immediately; its documentation lists
            which subscriptions it has to guess. `snapshot` is its result, and `problems` lists the guesses and errors.

        Raises:
            MissingDependencyError: confluent-kafka is not installed.
            WrongTypeError: `admin` is neither an AdminClient nor a configuration.
            IllegalArgumentError: The configuration has an unknown setting, or a setting with an invalid value.
        """
        from assignor.cluster.confluent import read_cluster

        return cls.from_snapshot(read_cluster(admin, cluster, groups), spark=spark)

    @classmethod
    def from_snapshot(cls, snapshot: ClusterSnapshot, *, spark: SparkSession | None = None) -> Fleet:
        """Return the groups of a cluster that a `read_cluster` function of `assignor.clients` has read."""
        if not callable(getattr(snapshot, "to_arrow", None)):
            raise wrong_type("snapshot", "a ClusterSnapshot", snapshot)
        active = session_or_active(spark)
        tables = snapshot.to_arrow()

        def frame(name: str, schema: StructType) -> DataFrame:
            return active.createDataFrame(tables[name], schema)

        fleet = cls(
            frame("topics", schemas.TOPICS),
            frame("members", schemas.MEMBERS),
            frame("current", schemas.ASSIGNMENTS),
        )
        fleet._snapshot = snapshot
        return fleet

    def __repr__(self) -> str:
        """Return the columns of the tables; no row is read."""
        tables = {"topics": self._topics, "members": self._members, "current": self._current}

        def columns(frame: DataFrame | None) -> str:
            if frame is None:
                return "None"
            return str(frame.columns) if schemas.columns_are_known(frame) else "?"

        return f"Fleet({', '.join(f'{name}={columns(frame)}' for name, frame in tables.items())})"

    @property
    def topics(self) -> DataFrame:
        """The topics, with those columns of `schemas.TOPICS` that the input has."""
        return self._topics

    @property
    def members(self) -> DataFrame:
        """The members, with those columns of `schemas.MEMBERS` that the input has."""
        return self._members

    @property
    def current(self) -> DataFrame | None:
        """The partitions that members own; None if the fleet was created without them."""
        return self._current

    @property
    def snapshot(self) -> ClusterSnapshot | None:
        """Snapshot of the live cluster that the fleet was read from; None for other fleets."""
        return self._snapshot

    def leave_out_invalid(self) -> Fleet:
        """Return a copy of this fleet whose methods leave out invalid groups, where one of them would end the job.

        A group is invalid if one of its rows is, or if it subscribes to an invalid topic. It has no row in the answers
        that read the invalid row. `problems` has the reason, so check it, too: an answer that lacks groups looks
        complete, which is why this is not the default. `lag` and `lag_in_time` fail as before, and so does a group that
        is valid but too large.
        """
        fleet = copy(self)
        fleet._leaves_out_invalid = True
        return fleet

    def where(self, condition: Column | str) -> Fleet:
        """Return a copy of this fleet with the groups that meet a condition on the columns `cluster` and `group_id`.

        Spark leaves out the other groups before it shuffles any rows: those in members and in `current`, and those in
        the committed offsets that `lag` and `lag_in_time` read. A group whose key is null meets no comparison. All
        topics stay, because the condition names no topics: `problems` still lists the invalid ones of every cluster,
        and what a `snapshot` lacks.

        Args:
            condition: As for `DataFrame.where`: `functions.col("cluster") == "eu"`, or `"group_id like 'billing%'"`.

        Raises:
            WrongTypeError: `condition` is neither a Column nor a str.
            IllegalArgumentError: `condition` has another column, or Spark cannot resolve it. In functions of
                Declarative Pipelines, a condition on another column of members is not noticed.
        """
        fleet = copy(self)
        fleet._members = choose_groups(self._members, condition)
        fleet._current = None if self._current is None else choose_groups(self._current, condition)
        fleet._conditions = (*self._conditions, condition)
        return fleet

    def resolve(self) -> DataFrame:
        """Return the topics that each member subscribes to: a row per member, with the columns of `schemas.RESOLVED`.

        Each task compiles and matches a pattern once for all members of a cluster that subscribe with it. Patterns do
        not match Kafka's internal topics, except patterns in the dialect `re2j`.
        """
        return self._call("resolve", schemas.RESOLVED)

    def assign(self) -> DataFrame:
        """Return the assignment: a row per span of partitions, with the columns of `schemas.ASSIGNMENTS`, in any order.

        This is the answer of the group's assignor in the next rebalance. With `cooperative-sticky`, a partition that
        another member has to revoke first has no owner; it gets its new owner in the following rebalance.
        """
        return self._call("assign", schemas.ASSIGNMENTS)

    def balance(
        self, *, of: Literal["assign", "current"] = "assign", max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> DataFrame:
        """Return the balance of each group's assignment, with the columns of `schemas.BALANCE_WITH_SKEW`.

        There is a row for each group, including groups without members (groups that occur in `current` only, or only in
        rows without a member id), and for rows of members without a cluster or group.

        Args:
            of: `"assign"` describes the answer of `assign()`. `"current"` describes the existing partitions in
                `current`, for groups of any assignor. Owners without a row in `members` count as members, and a
                partition with several owners counts for each of them.
            max_message_bytes: The brokers' message.max.bytes, for `record_fits`.

        Raises:
            IllegalArgumentError: Unknown `of`, or `"current"` for a fleet without `current`.
        """
        limit = read_message_bytes(max_message_bytes)
        if not isinstance(of, str) or of not in ("assign", "current"):
            raise IllegalArgumentError(f"of must be 'assign' or 'current', not {shown(of)}")
        if of == "current":
            self._owned("balance(of='current')")
        method = "balance" if of == "assign" else "current_balance"
        answer = StructType([*schemas.BALANCE.fields, *schemas.WEIGHTED.fields])
        return with_skew(
            self._call(method, schemas.with_keys(answer), with_current=True),
            answer,
            limit,
            has_weights=self._has_weights,
        )

    def moves(self) -> DataFrame:
        """Return the partitions whose owner changes from `current` to `assign()`, with the columns of `schemas.MOVES`.

        If several members own a partition, all of them except its new owner lose it. Rows of `current` without a group,
        member or topic are ignored; `problems` lists them.

        Raises:
            IllegalArgumentError: The fleet has no `current`.
        """
        self._owned("moves()")
        return self._call("moves", schemas.MOVES, with_current=True)

    def what_if(
        self, scenarios: Scenario | Iterable[Scenario], *, max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> DataFrame:
        """Return the outcome of each scenario for each of its groups; one job computes all of them.

        A scenario starts from the answer of `assign()`, and each of its steps is followed by the rebalances that it
        causes. In each rebalance members own the partitions of the previous one. Members of `cooperative-sticky`
        rebalance a second time if partitions change their owner, and both rebalances count. No second rebalance is
        pending when a scenario starts. A rolling restart assigns a group twice for each member that is not static.

        Args:
            scenarios: One or more scenarios.
            max_message_bytes: As for `balance`.

        Returns:
            A row per scenario and group: the keys, `schemas.OUTCOME`, and `schemas.BALANCE_WITH_SKEW` of the final
            assignment. `pattern_changes` has the topics that members gain and lose because a step switches the group
            protocol, which changes what their patterns mean (see `Scenario.use`). `problems` says why steps change no
            topic: it does not exist, has more partitions, or exists with another number of them. A group of the
            scenario that has no members in any cluster has a row with this problem, without cluster and balance.

        Raises:
            WrongTypeError: `scenarios` is not a Scenario or an iterable of them.
            IllegalArgumentError: There are no scenarios, or two have the same name.
        """
        limit, data = read_message_bytes(max_message_bytes), as_data(scenarios)
        answer = StructType([*schemas.OUTCOME.fields, *schemas.BALANCE.fields, *schemas.WEIGHTED.fields])
        found = self._call("what_if", schemas.with_keys(answer), data)
        found = with_skew(found, answer, limit, has_weights=self._has_weights)
        others = [self._current] if self._current is not None and self._reads_current("what_if") else []
        return with_missing_groups(found, data, self._members, *others)

    def scale(self, max_members: int | None = None) -> DataFrame:
        """Return each group with 1, 2, 3, ... members: load, idle members, and the partitions that move from today.

        `assignor.scaling.scale` explains how members leave and join. Today's owners are those in `current`; a group
        without rows in `current` starts from the answer of `assign()`.

        Args:
            max_members: Largest number of members of each group; the number of today by default.

        Returns:
            A row per number of members and group, with the keys and the columns of `schemas.SCALE`. Its columns by
            weight are null if the fleet's topics have no weights. Groups without members, and those that are not
            computed, have no rows; `problems` has the reasons.

        Raises:
            WrongTypeError: `max_members` is no int.
            IllegalArgumentError: `max_members` is not from 1 to `assignor.scaling.MAX_MEMBERS`.
        """
        most = None if max_members is None else read_max_members(max_members)
        return self._call("scale", schemas.with_keys(schemas.SCALE), most, with_current=True)

    def migrate(self, settings: BrokerSettings | None = None, *, later: bool = False) -> DataFrame:
        """Return whether each classic group can move to KIP-848: a row per group, with the columns of `MIGRATION`.

        The answers are those of `assignor.migration.migrate`, which describes them, and `assignor migrate`. Groups of
        other protocols, and groups without rows of members, have no rows. `read_row` of `assignor.migration` makes a
        `Migration` of a row.

        Args:
            settings: Settings of the brokers; Kafka's defaults by default. `BrokerSettings.read` reads them from texts.
            later: Whether to compute the moves of later changes and of a rolling replacement, which takes much more
                time than all else.

        Raises:
            WrongTypeError: An argument has another type.
        """
        rules = BrokerSettings() if settings is None else settings
        if not isinstance(rules, BrokerSettings):
            raise wrong_type("settings", "a BrokerSettings", settings)
        read_bool(later, "later")
        has_owners = self._current is not None
        return self._call("migrate", schemas.MIGRATION, rules.rules(), with_current=has_owners, later=later)

    def lag(
        self,
        committed: DataFrame,
        end_offsets: DataFrame,
        *,
        by: Literal["partition", "member", "group"] = "partition",
    ) -> DataFrame:
        """Return the lag of the groups; owners are those in `current`. `docs/lag.md` explains the special cases.

        Args:
            committed: The columns of `schemas.COMMITTED`, with one row per group and partition. The job fails if a
                partition of a group has several offsets.
            end_offsets: The columns of `schemas.END_OFFSETS`, with one row per partition. The job fails if a partition
                has several rows.
            by: `"partition"` returns a row for each partition with a committed offset or an owner, `"member"` and
                `"group"` the sums of a member's or group's partitions.

        Returns:
            The columns of `schemas.FLEET_LAG`, `schemas.MEMBER_LAG` or `schemas.GROUP_LAG`.

        Raises:
            WrongTypeError: A column is missing, duplicate or of another type, or a DataFrame is streaming.
            IllegalArgumentError: Unknown `by`, or the fleet has no `current`.
        """
        owned = self._owned("lag()")
        return lag_by(owned, self._of_groups(committed, schemas.COMMITTED), end_offsets, by)

    def lag_in_time(
        self,
        committed: DataFrame,
        end_offsets: DataFrame,
        *,
        by: Literal["partition", "topic", "member", "group"] = "partition",
        window_ms: int = WINDOW_MS,
    ) -> DataFrame:
        """Return the lag at the last time of the end offsets, with seconds behind, growth and the time to catch up.

        Owners are those in `current`. The rules are those of `assignor.lag_time.lag_in_time`; `docs/lag.md` explains
        them.

        Args:
            committed: The columns of `schemas.TIMED_COMMITTED`: commits with their times.
            end_offsets: The columns of `schemas.TIMED_END_OFFSETS`, with one row per partition and time. The last time
                of a cluster is that of its lag.
            by: `"partition"` returns a row for each partition with a committed offset or an owner, the others the sums
                of topics of groups, of members, and of groups.
            window_ms: Length of the time in which growth is measured, in milliseconds.

        Returns:
            The columns of `schemas.TIME_LAG`, or of `schemas.SUMMED_TIME[by]`.

        Raises:
            WrongTypeError: A column is missing, duplicate or of another type, or a DataFrame is streaming.
            IllegalArgumentError: Unknown `by`, `window_ms` is not positive, or the fleet has no `current`.
        """
        owned = self._owned("lag_in_time()")
        return time_lag_by(owned, self._of_groups(committed, schemas.TIMED_COMMITTED), end_offsets, by, window_ms)

    def problems(self) -> DataFrame:
        """Return problems: rows without a key, invalid topics and groups, groups that are not computed, unread parts.

        A key is the cluster, the group id, the member id or the topic of a row. An invalid topic or group has a row for
        each reason, which names the member of an invalid row; a row of a member has one reason. A row of `current` that
        repeats partitions of the same member is a problem, too, although it counts once. Reasons show bytes that are
        not UTF-8 as escapes. Only a group that needs more memory than there is, and a number that does not fit its
        column, end the job.

        Returns:
            The columns of `schemas.PROBLEMS`; no rows if there is no problem.
        """
        answer = schemas.with_keys(StructType([StructField(TEXT, StringType())]))
        reasons = self._call("problems", answer, with_current=self._current is not None)
        invalid = invalid_topics(self._clusters, INVALID)
        return problems_of(self._topics, self._members, self._current, self._snapshot, invalid, reasons)

    def create_views(self, prefix: str = "fleet_") -> list[str]:
        """Create temporary views with the tables of this fleet and with its answers, for queries in SQL.

        The views have the names of the tables and methods after the prefix: topics, members, current, resolve, assign,
        balance, moves, scale, migrate and problems; without `current` there are no current and moves. A query computes
        only the views that it reads. Views of the same names are replaced.

        Args:
            prefix: Beginning of the names: letters, digits and `_`.

        Returns:
            The names of the views.

        Raises:
            WrongTypeError: `prefix` is no str.
            IllegalArgumentError: `prefix` has other characters.
        """
        check_prefix(prefix)
        tables = {"topics": self._topics, "members": self._members, "current": self._current}
        names = (name for name in ANSWERS if name != "moves" or self._current is not None)
        return create_views({**tables, **{name: getattr(self, name)() for name in names}}, prefix)

    def _owned(self, method: str) -> DataFrame:
        if self._current is None:
            raise IllegalArgumentError(f"{method} needs the owned partitions: Fleet(topics, members, current)")
        return self._current

    def _of_groups(self, committed: DataFrame, wanted: StructType) -> DataFrame:
        """Return the committed offsets of the groups of this fleet."""
        if self._conditions:
            committed, _ = read_table(committed, wanted, "committed", ())
        for condition in self._conditions:
            committed = choose_groups(committed, condition)
        return committed

    def _reads_current(self, method: str) -> bool:
        """Return True if a plan may start from the owned partitions, because an assignor may be another than range."""
        return method in _METHODS_OF_PLANS and bool({"assignor", "group_protocol"} & set(self._member_columns))

    def _call(
        self, method: str, answer: StructType, *arguments: Any, with_current: bool = False, **options: Any
    ) -> DataFrame:
        current = self._current if with_current or self._reads_current(method) else None
        left_out = () if method in ("migrate", "problems") else schemas.MIGRATION_COLUMNS
        names = [name for name in self._member_columns if name not in left_out]
        rows, columns = group_rows(self._members, names, current)
        lenient = self._leaves_out_invalid or method == "problems"
        return call_engine(
            rows, columns, self._clusters, method, answer, *arguments, leave_out_invalid=lenient, **options
        )
