"""Job of each morning: what happened yesterday to the consumer groups of a cluster, in tables that SQL can query.

Run it once for each cluster, with `spark-submit examples/daily_job.py --help`. `docs/daily-job.md` is its tutorial.
The tables have a partition for each day and cluster, which a run replaces, so a day can be run again:

    events    a row per event of the day
    groups    a row per group at the end of the day, with the partitions that its members own
    findings  a row per problem of a group on that day
    changes   a row per group: what differs from the day before
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from assignor.spark import decode, events, replay, sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

KEYS = ["cluster", "group_id"]

LASTING = ("two_owners", "not_subscribed", "unknown_partition")
PASSING = ("went_back", "not_owned")
"""Problems of events `offsets`: those that last until another event ends them, and those of a single moment."""

KINDS = ("storm", "unowned", *LASTING, *PASSING, "idle", "unreadable_group")
"""Kinds of findings, with the names that `assignor report` gives them."""

STATE = ("kind", "state", "protocol", "generation", "idle_members", "topics", "partitions", "unowned", "unreadable")
"""Columns of `schemas.GROUP` that the table `groups` keeps."""

SHOWN = 5
"""Largest number of problems in the line of a failed check."""

PASSED = 3
"""Exit code for a passed limit; any error of Python has exit code 1."""


@dataclass(frozen=True)
class Day:
    """Day of a cluster, in UTC: the partition of the tables that a run replaces."""

    date: datetime.date
    cluster: str

    @property
    def start(self) -> int:
        """First millisecond of the day."""
        return int(datetime.datetime.combine(self.date, datetime.time(), datetime.UTC).timestamp() * 1_000)

    @property
    def end(self) -> int:
        """First millisecond after the day."""
        return self.before(-1).start

    def before(self, days: int = 1) -> Day:
        """Return the day that is a number of days earlier."""
        return Day(self.date - datetime.timedelta(days), self.cluster)

    def rows(self) -> Column:
        """Return the condition for the rows of this day and cluster."""
        return (F.col("date") == F.lit(self.date)) & (F.col("cluster") == self.cluster)


@dataclass(frozen=True)
class Tables:
    """Tables with a partition for each day and cluster.

    Attributes:
        place: Folder of the tables; for Iceberg a catalog and a namespace, such as `lake.kafka`.
        format: `parquet`, `delta` or `iceberg`.
    """

    place: str
    format: str = "parquet"

    def replace(self, name: str, rows: DataFrame, day: Day) -> DataFrame:
        """Replace the rows of a day and cluster, also if there are no new ones.

        Returns:
            The rows of the day and of the day before, for Delta and Iceberg the whole table.
        """
        spark, path = rows.sparkSession, f"{self.place}/{name}"
        rows = rows.withColumns({"date": F.lit(day.date), "cluster": F.lit(day.cluster)})
        if self.format == "iceberg":
            table = f"{self.place}.{name}"
            if spark.catalog.tableExists(table):
                rows.writeTo(table).overwrite(day.rows())
            else:
                rows.writeTo(table).using("iceberg").partitionedBy(F.col("date"), F.col("cluster")).create()
            return spark.table(table)
        if self.format == "delta":
            writer = rows.write.format("delta").mode("overwrite").partitionBy("date", "cluster")
            writer.option("replaceWhere", f"date = '{day.date}' AND cluster = '{day.cluster}'").save(path)
            return spark.read.format("delta").load(path)
        # A dynamic overwrite would keep the old rows of a partition that has no new ones.
        rows.drop("date", "cluster").write.mode("overwrite").parquet(self.folder(name, day))
        kept = [each for each in (day, day.before()) if self.has_folder(spark, name, each)]
        # Without a schema, a cluster named 7 would be a number.
        reader = spark.read.schema(rows.schema).option("basePath", path)
        return reader.parquet(*(self.folder(name, each) for each in kept))

    def has(self, name: str, table: DataFrame, day: Day) -> bool:
        """Return True if a table has the partition of a day; in Delta and Iceberg only a day with rows has one."""
        if self.format == "parquet":
            return self.has_folder(table.sparkSession, name, day)
        return not table.where(day.rows()).isEmpty()

    def folder(self, name: str, day: Day) -> str:
        """Return the folder of a partition in Parquet."""
        return f"{self.place}/{name}/date={day.date}/cluster={day.cluster}"

    def has_folder(self, spark: SparkSession, name: str, day: Day) -> bool:
        """Return True if the folder of a partition exists, on any file system that Spark reads."""
        try:
            return bool(spark.read.schema("group_id string").parquet(self.folder(name, day)).columns)
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return False


def at_end(topics: pa.Table | None, day: Day) -> pa.Table | None:
    """Return the topic metadata as it was known at the end of a day; the earliest one if it is later."""
    if topics is None or not topics.num_rows:
        return topics
    latest = max(day.end - 1, int(topics["t"].to_numpy().min()))
    return topics.filter(pc.field("t") <= latest)


def find_events(records: DataFrame, topics: pa.Table | None, day: Day, until: int) -> DataFrame:
    """Return the events of a day up to a time, and the earlier storms and offsets that may have lasted until then."""
    found = events(records, topics, until=until)
    return found.where((F.col("at") >= day.start) | F.col("event").isin("storm", "offsets"))


def find_groups(records: DataFrame, topics: pa.Table | None) -> DataFrame:
    """Return the groups at the end of the records; those that were deleted have no row."""
    histories = replay(decode(records), topics)
    found = histories.select(*KEYS, *STATE, F.size("members").alias("members"), "assignment")
    return found.where("state <> 'gone'")


def find_problems(found: DataFrame, groups: DataFrame, day: Day) -> DataFrame:
    """Return the problems of the day in the rows of `find_events` and `find_groups`."""
    every = of_events(found, day).unionByName(of_states(groups))
    every = every.where(F.col("until").isNull() | (F.col("until") >= day.start))
    return every.withColumns({name: F.timestamp_millis(name) for name in ("since", "until")})


def of_events(found: DataFrame, day: Day) -> DataFrame:
    """Return a row for each storm and each time in which owners were wrong, and one for unusual offsets of the day."""
    is_passing = F.col("problem").isin(*PASSING)
    is_wanted = (
        (F.col("event") == "storm") | F.col("problem").isin(*LASTING) | (is_passing & (F.col("at") >= day.start))
    )
    kind = F.coalesce("problem", "event").alias("kind")
    # The events of one problem have the same `since`. It ends with the last of them, which may have no `until`.
    last = F.struct("at", "record_offset")
    return (
        found.where(is_wanted)
        .withColumn("until", F.when(is_passing, F.col("at")).otherwise(F.col("until")))
        .groupBy(*KEYS, kind, F.col("since").alias("began"))
        .agg(
            F.coalesce(F.max("rebalances"), F.size(F.array_distinct(F.flatten(F.collect_list("topic_partitions")))))
            .cast("long")
            .alias("count"),
            F.coalesce("began", F.min("at")).alias("since"),
            F.max_by("until", last).alias("until"),
            F.max_by("evidence", last).alias("evidence"),
        )
        .drop("began")
    )


def of_states(groups: DataFrame) -> DataFrame:
    """Return a row for each problem of a group at the end of the day, whose beginning the state does not show."""
    counts = {
        "unowned": F.col("unowned"),
        "idle": F.col("idle_members"),
        "unreadable_group": F.col("unreadable").isNotNull().cast("int"),
    }
    by_kind = F.create_map(*(each for kind, count in counts.items() for each in (F.lit(kind), count.cast("long"))))
    evidence = F.when(F.col("kind") == "unreadable_group", F.col("unreadable"))
    none = F.lit(None).cast("long")
    found = groups.select(*KEYS, "unreadable", F.explode(by_kind).alias("kind", "count")).where("count > 0")
    return found.select(*KEYS, "kind", "count", none.alias("since"), none.alias("until"), evidence.alias("evidence"))


def find_changes(groups: DataFrame, found: DataFrame, day: Day) -> DataFrame:
    """Return how each group differs from the day before, from the tables `groups` and `events`.

    `moved` is the number of partitions whose owner at the end of the day did not own them at the end of the day before.
    """
    states = [groups.where(each.rows()) for each in (day, day.before())]
    rebalances = [
        found.where(each.rows() & (F.col("event") == "rebalance")).groupBy("group_id").count()
        for each in (day, day.before())
    ]
    today, before = (state.select("group_id", F.lit(True).alias("is_there")) for state in states)
    owners, owned = map(owners_of, states)
    partition = ["group_id", "topic", "partition"]
    moved = owners.join(owned, [*partition, "member_id"], "left_anti").select(partition).distinct()
    counts = {
        "rebalances": rebalances[0],
        "rebalances_before": rebalances[1],
        "moved": moved.groupBy("group_id").count(),
    }
    both = today.join(before.withColumnRenamed("is_there", "was_there"), "group_id", "full_outer")
    for name, counted in counts.items():
        both = both.join(counted.withColumnRenamed("count", name), "group_id", "left").fillna(0, [name])
    change = F.when(F.col("was_there").isNull(), "new").when(F.col("is_there").isNull(), "gone").otherwise("kept")
    return both.select("group_id", change.alias("change"), *counts)


def owners_of(groups: DataFrame) -> DataFrame:
    """Return a row for each partition of a group and member that owns it."""
    spans = groups.selectExpr("group_id", "inline(assignment)")
    partitions = F.explode(F.sequence("start", F.col("start") + F.col("count") - 1))
    return spans.select("group_id", "topic", "member_id", partitions.alias("partition"))


def passed(problems: DataFrame, limits: Mapping[str, int]) -> str | None:
    """Return one line with the problems of groups whose number is above the limit of their kind; None without any."""
    limit = F.create_map(*(F.lit(each) for pair in limits.items() for each in pair))[F.col("kind")]
    rows = problems.where(F.col("count") > limit).orderBy(*KEYS, "kind").collect() if limits else []
    if not rows:
        return None
    shown = [f"{row.group_id!r} {row.kind} {row['count']:,} (limit {limits[row.kind]:,})" for row in rows[:SHOWN]]
    more = [f"{len(rows) - SHOWN:,} more"] if len(rows) > SHOWN else []
    return f"{rows[0].cluster}: {', '.join(shown + more)}"


def run(
    records: DataFrame,
    topics: pa.Table | None,
    day: Day,
    tables: Tables,
    limits: Mapping[str, int],
    *,
    is_partial: bool = False,
) -> str | None:
    """Write the tables of a day, and return one line if a limit is passed.

    The state at the start of the day comes from the log before it, so all records up to the end of the day are read.
    Later ones are not, so a day has the same rows again while the source still has the same records, and the table
    `groups` the same rows of the day before.

    Args:
        records: The columns of `schemas.CLUSTER_RECORDS` of one cluster, from the start of its log.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`; None if it is not known.
        day: The day and the cluster.
        tables: The tables.
        limits: Largest number in a row of the table `findings`, by kind.
        is_partial: True if the source may end before the day; the events then end with its last record.
    """
    records, topics = records.where(F.col("timestamp") < day.end), at_end(topics, day)
    until = records.agg(F.max("timestamp")).collect()[0][0] if is_partial else day.end - 1
    found = find_events(records, topics, day, until).persist()
    try:
        is_of_day = F.col("at") >= day.start
        all_events = tables.replace("events", found.where(is_of_day), day)
        groups = tables.replace("groups", find_groups(records, topics), day)
        problems = find_problems(found, groups.where(day.rows()), day)
        findings = tables.replace("findings", problems, day)
        changes = find_changes(groups, all_events, day)
        tables.replace("changes", changes if tables.has("groups", groups, day.before()) else changes.limit(0), day)
        return passed(findings.where(day.rows()), limits)
    finally:
        found.unpersist()


def read(spark: SparkSession, options: argparse.Namespace) -> tuple[DataFrame, pa.Table | None]:
    """Return the records and the topic metadata that the options name."""
    topics = read_topics(spark, options.topics, options.cluster) if options.topics else None
    if options.segments:
        return sources.segments(spark, options.segments, cluster=options.cluster), topics
    if options.bootstrap_server:
        return sources.kafka_connector(spark, options.bootstrap_server, cluster=options.cluster), topics
    recorded = sources.recording_records(spark, options.recording, cluster=options.cluster)
    return recorded, sources.recording_topics(spark, options.recording) if topics is None else topics


def read_topics(spark: SparkSession, path: str, cluster: str) -> pa.Table:
    """Return the topic metadata in Parquet files; if they have a column `cluster`, only the rows of the cluster."""
    found = spark.read.parquet(path)
    if "cluster" not in found.columns:
        return found.toArrow()
    topics = found.where(F.col("cluster").cast("string") == cluster).drop("cluster").toArrow()
    if not topics.num_rows:
        raise SystemExit(f"--topics {path} has no row with cluster = {cluster!r}: it must have the name in --cluster")
    return topics


def check(records: DataFrame, topics: pa.Table | None, day: Day, options: argparse.Namespace) -> None:
    """End the job with one line before it writes anything, if the source lacks what the day or a limit needs."""
    if "unowned" in dict(options.limit) and (topics is None or not topics.num_rows):
        raise SystemExit("--limit unowned needs topic metadata, and the source has none: give --topics PATH")
    end = f"{day.before(-1).date} 00:00 UTC"
    if records.where(F.col("timestamp") < day.end).isEmpty():
        raise SystemExit(f"the source has no record before {end}: check the source, and --day {day.date}")
    if not options.partial and records.where(F.col("timestamp") >= day.end).isEmpty():
        raise SystemExit(
            f"the source has no record from {end} or later, so {day.date} may be incomplete: run the job when the "
            "source has newer records, or give --partial"
        )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    def limit(text: str) -> tuple[str, int]:
        kind, _, number = text.partition("=")
        if kind not in KINDS or not number.isdecimal():
            raise argparse.ArgumentTypeError(f"{text} must be KIND=NUMBER; the kinds are {', '.join(KINDS)}")
        return kind, int(number)

    def cluster(text: str) -> str:
        if not re.fullmatch(r"[\w.-]+", text, re.ASCII):  # it is the name of a folder
            raise argparse.ArgumentTypeError(f"{text!r} must have only letters, digits, and the characters _ . -")
        return text

    yesterday = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=1)

    def day(text: str) -> datetime.date:
        date = datetime.date.fromisoformat(text)
        if date > yesterday:
            raise argparse.ArgumentTypeError(f"{date} is not over in UTC: the last day that is over is {yesterday}")
        return date

    about = f"Write the tables of a day, and end with exit code {PASSED} above a limit."
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--day", type=day, default=yesterday, help="such as 2026-11-20 (UTC); by default yesterday")
    parser.add_argument("--cluster", type=cluster, required=True, help="name of the cluster in the tables")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--recording", metavar="FOLDER", help="folder that `assignor record` writes")
    source.add_argument("--segments", metavar="PATH", help="data directories of brokers, or copies of them")
    source.add_argument("--bootstrap-server", metavar="ADDRESS", help="live cluster, read by Spark's Kafka connector")
    parser.add_argument("--topics", metavar="PATH", help="topic metadata as Parquet; by default that of the recording")
    parser.add_argument("--tables", required=True, help="folder of the tables; for Iceberg catalog and namespace")
    parser.add_argument("--format", choices=("parquet", "delta", "iceberg"), default="parquet")
    about = "write the day also if the source has no record after it, so that the day may be incomplete"
    parser.add_argument("--partial", action="store_true", help=about)
    about = f"end with exit code {PASSED} if a finding of this kind has a higher count; kinds: {', '.join(KINDS)}"
    parser.add_argument("--limit", type=limit, action="append", default=[], metavar="KIND=NUMBER", help=about)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> str | None:
    options = parse(arguments)
    spark = SparkSession.builder.appName("daily job").getOrCreate()
    day, tables = Day(options.day, options.cluster), Tables(options.tables, options.format)
    records, topics = read(spark, options)
    check(records, topics, day, options)
    failed = run(records, topics, day, tables, dict(options.limit), is_partial=options.partial)
    return None if failed is None else f"{day.date} {failed}"


if __name__ == "__main__":
    failed = main()
    if failed is not None:
        print(failed, file=sys.stderr)
        sys.exit(PASSED)
