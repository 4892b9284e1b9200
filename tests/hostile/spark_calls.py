"""Public calls of `assignor.spark` with valid arguments to replace; none of them starts a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from assignor.cluster.snapshot import ClusterSnapshot
from tests.hostile.calls import Call
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES = (
    *("Fleet", "Fleet.from_recording", "Fleet.from_admin", "Fleet.from_snapshot", "Fleet.resolve", "Fleet.assign"),
    *("Fleet.balance", "Fleet.moves", "Fleet.what_if", "Fleet.scale", "Fleet.migrate", "Fleet.lag"),
    *("Fleet.lag_in_time", "Fleet.problems", "Fleet.leave_out_invalid", "Fleet.where", "Fleet.create_views"),
    *("decode", "replay", "events", "register_sql", "synthetic_fleet", "check_executors"),
    *("sources.recording_records", "sources.recording_topics", "sources.segments", "sources.segment_files"),
    *("sources.kafka_offsets", "sources.kafka_connector"),
    *("session.session", "progress.progress"),
)
"""The callables, without `assignor.spark`."""


def _fields(spark: SparkSession) -> Callable[..., DataFrame]:
    def empty(schema: Any) -> DataFrame:
        return spark.createDataFrame([], schema)

    return empty


def _entered(manager: Callable[..., Any], **given: Any) -> None:
    with manager(**given):
        pass


def spark_calls(spark: SparkSession) -> Iterator[Call]:
    """Yield the calls of `NAMES`."""
    from assignor.migration import BrokerSettings
    from assignor.spark import Fleet, Scenario, decode, events, register_sql, replay, schemas, sources, synthetic_fleet
    from assignor.spark.executors import check_executors
    from assignor.spark.progress import progress
    from assignor.spark.session import session

    def call(name: str, function: Callable[..., object], **arguments: Any) -> Call:
        return Call(f"assignor.spark.{name}", lambda: (function, arguments))

    empty = _fields(spark)
    tables = {
        "topics": empty(schemas.TOPICS),
        "members": empty(schemas.MEMBERS),
        "current": empty(schemas.ASSIGNMENTS),
    }
    fleet = Fleet(**tables)
    yield call("Fleet", Fleet, **tables)
    yield call("Fleet.from_recording", Fleet.from_recording, folder=RECORDING, spark=spark)
    yield call("Fleet.from_admin", Fleet.from_admin, admin=None, cluster="c", groups=["g"], spark=spark)
    snapshot = ClusterSnapshot("c", (), (), (), ())
    yield call("Fleet.from_snapshot", Fleet.from_snapshot, snapshot=snapshot, spark=spark)
    for method in ("resolve", "assign", "moves", "problems", "leave_out_invalid"):
        yield call(f"Fleet.{method}", getattr(fleet, method))
    yield call("Fleet.where", fleet.where, condition="cluster = 'eu'")
    yield call("Fleet.balance", fleet.balance, of="current", max_message_bytes=5)
    yield call("Fleet.what_if", fleet.what_if, scenarios=[Scenario("s")], max_message_bytes=5)
    yield call("Fleet.scale", fleet.scale, max_members=2)
    yield call("Fleet.migrate", fleet.migrate, settings=BrokerSettings(), later=True)
    offsets = {"committed": empty(schemas.COMMITTED), "end_offsets": empty(schemas.END_OFFSETS)}
    yield call("Fleet.lag", fleet.lag, **offsets, by="group")
    timed = {"committed": empty(schemas.TIMED_COMMITTED), "end_offsets": empty(schemas.TIMED_END_OFFSETS)}
    yield call("Fleet.lag_in_time", fleet.lag_in_time, **timed, by="group", window_ms=5)
    records = empty(schemas.CLUSTER_RECORDS)
    yield call("decode", decode, records=records)
    yield call("replay", replay, events=decode(records), topics=None)
    settings = {"storm_rebalances": 3, "stuck_factor": 3}
    yield call("events", events, records=records, topics=None, until=5, finish=True, **settings)
    yield call("Fleet.create_views", fleet.create_views, prefix="hostile_")
    yield call("register_sql", register_sql, spark=spark)
    shares = dict.fromkeys(("static_share", "pattern_share", "asymmetric_share", "stale_share"), 0.5)
    counts = dict.fromkeys(("groups", "members", "topics", "topics_per_group", "clusters", "racks", "seed"), 1)
    yield call("synthetic_fleet", synthetic_fleet, spark=spark, **counts, **shares)
    for name in ("recording_records", "recording_topics"):
        yield call(f"sources.{name}", getattr(sources, name), spark=spark, folder=RECORDING)
    for name in ("segments", "segment_files"):
        yield call(f"sources.{name}", getattr(sources, name), spark=spark, path="nowhere")
    live = {"spark": spark, "bootstrap_servers": "127.0.0.1:1", "stream": False, "cluster": "c"}
    yield call("sources.kafka_offsets", sources.kafka_offsets, **live, partitions="0", isolation="read_committed")
    yield call("sources.kafka_connector", sources.kafka_connector, **live, partitions=[0])
    yield call("check_executors", check_executors, spark=spark)
    yield call("session.session", partial(_entered, session), app="a", cores=1, log="log", memory="1g")
    yield call("progress.progress", partial(_entered, progress), spark=None, title="t", quiet=True)
