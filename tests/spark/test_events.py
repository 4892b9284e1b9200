"""Events of groups in Spark: equal in a batch, in a stream with any split into micro-batches, and after restarts."""

from __future__ import annotations

import functools
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from assignor import _core
from assignor.cluster import Recording
from assignor.cluster.metadata import topic_batch
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.replay import Replay
from assignor.replay.silences import Silence
from tests.spark.event_runs import DELAY, checksum, replayed, stream, uneven_parts
from tests.support.recorded_fleet import RECORDING
from tests.support.synthetic_log import RECORDS, SyntheticLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.spark

LOG = SyntheticLog(groups=40, steps=60)

SILENCES = (Silence(1_795_218_640_490, 1_795_218_669_490, (), True),)
"""Made-up silence of the recorded fleet, in which a member of `clickstream-sessionizer` is silent before it leaves."""


@functools.cache
def logs_of_two_clusters() -> pa.Table:
    """Return the synthetic log, and the committed records of the recorded fleet."""
    recording = Recording.open(RECORDING)
    fleet = pq.read_table(recording.records).select(RECORDS.names).cast(RECORDS)
    aborted = set(recording.aborted)
    places = zip(fleet["partition"].to_pylist(), fleet["offset"].to_pylist(), strict=True)
    kept = [place not in aborted for place in places]
    tables = {"synthetic": LOG.records(), "webshop": fleet.filter(pa.array(kept))}
    return pa.concat_tables(
        table.add_column(0, "cluster", pa.array([cluster] * table.num_rows)) for cluster, table in tables.items()
    )


def topics() -> pa.Table:
    return Recording.open(RECORDING).topics()


@functools.cache
def expected(*, finish: bool) -> tuple[dict[str, int], str]:
    """Return the checksum of the events of both clusters."""
    return replayed(logs_of_two_clusters(), topics(), finish=finish, silences=SILENCES)


@pytest.mark.parametrize("finish", [False, True])
def test_a_batch_has_the_events_of_the_replay(spark: SparkSession, *, finish: bool) -> None:
    from assignor.spark import events

    records = spark.createDataFrame(logs_of_two_clusters())
    rows = events(records, topics(), delay_ms=DELAY, finish=finish, silences=SILENCES).toArrow()
    found = checksum(rows)

    assert expected(finish=finish) == found
    counts, _ = found
    kinds = {"generation", "rebalance", "member", "storm", "stuck", "offsets", "bad_record"}
    assert kinds | {"cost", "group_deleted", "offsets_deleted"} == counts.keys()
    first = [
        (row["group_id"], row["generation"]) for row in rows.to_pylist() if "coordinator_moved" in (row["causes"] or ())
    ]
    assert ("clickstream-sessionizer", 4) in first


def test_a_stream_in_uneven_parts_with_a_restart_has_the_events_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    parts = uneven_parts(logs_of_two_clusters())
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        found, counts = stream(spark, tmp_path, parts, [2, 3], topics=topics(), silences=SILENCES)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "4")

    assert [part.num_rows for part in parts] == counts
    assert expected(finish=False) == checksum(found)


def test_two_clusters_have_separate_events_and_duplicates_change_nothing(spark: SparkSession) -> None:
    from assignor.spark import events
    from assignor.spark.events_schema import in_order

    log = SyntheticLog(groups=5, steps=12, log_partitions=2).records()
    one = spark.createDataFrame(log)
    two = one.selectExpr("*", "'eu' as cluster").unionByName(one.selectExpr("*", "'us' as cluster"))
    single = in_order(events(one)).toArrow().drop_columns(["cluster"])
    # Nothing identifies a record without a group, so a repeated one is another bad record.
    both = in_order(events(two.unionByName(two.where("hex(key) not like '0063%'")))).toArrow()

    for cluster in ("eu", "us"):
        assert single == both.filter(pc.equal(both["cluster"], cluster)).drop_columns(["cluster"])
    assert both["at"].to_pylist() == sorted(both["at"].to_pylist())


def test_the_number_of_buckets_does_not_change_the_events(spark: SparkSession) -> None:
    from assignor.spark import events

    frame = spark.createDataFrame(SyntheticLog(groups=12, steps=20, log_partitions=1).records())
    one, three = (events(frame, buckets=count, delay_ms=None) for count in (1, 3))

    assert checksum(one) == checksum(three)


def test_invalid_arguments_are_errors_before_any_job(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark import events
    from assignor.spark.schemas import RECORDS as SCHEMA

    frame = spark.createDataFrame(logs_of_two_clusters().slice(0, 5))
    streaming = spark.readStream.schema(SCHEMA).parquet(str(tmp_path))
    with pytest.raises(WrongTypeError, match="records has no column value of type binary"):
        events(frame.drop("value"))
    with pytest.raises(WrongTypeError, match=r"records has no column cluster of type string; .*, value$"):
        events(frame.withColumnRenamed("cluster", "Cluster"))
    with pytest.raises(IllegalArgumentError, match="until and finish are for batches: a stream has no end"):
        events(streaming, until=1)
    with pytest.raises(IllegalArgumentError, match="buckets must be an int >= 1, not 0"):
        events(frame, buckets=0)
    with pytest.raises(IllegalArgumentError, match="stuck_factor must be >= 1, not 0"):
        events(frame, stuck_factor=0)


def test_sql_can_name_the_columns_without_quotes_and_times_are_timestamps(spark: SparkSession) -> None:
    from pyspark.sql import DataFrame, Row

    from assignor.spark.events_schema import EVENTS, with_times
    from assignor.spark.schemas import ENGINE_EVENTS

    given = dict.fromkeys(ENGINE_EVENTS.fieldNames()) | {"group": "g", "left": ["a"], "at": 1_500, "since": 2**62}
    found = with_times(spark.createDataFrame([Row(*given.values())], ENGINE_EVENTS))
    assert EVENTS.fieldNames() == found.columns
    found.createOrReplaceTempView("named_events")
    reserved = "spark.sql.ansi.enforceReservedKeywords"
    spark.conf.set(reserved, "true")
    try:
        [row] = spark.sql(f"select {', '.join(EVENTS.fieldNames())} from named_events").collect()
        with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
            spark.sql("select group from named_events")
    finally:
        spark.conf.unset(reserved)
        spark.catalog.dropTempView("named_events")

    assert ("g", ["a"], 1_500, 2**62, None) == (row.group_id, row.members_left, row.at, row.since, row.since_time)
    assert 1.5 == row.at_time.timestamp()
    assert [] == [name for name in EVENTS.fieldNames() if hasattr(DataFrame, name)]


# ---- without a Spark session


def keyed(records: pa.Table) -> pa.RecordBatch:
    """Return records with the columns that the workers get."""
    from assignor.spark.event_stream import KEY

    count = records.num_rows
    records = records.append_column("bucket", pa.array([0] * count, pa.int32()))
    return records.sort_by([(name, "ascending") for name in (*KEY, "offset")]).combine_chunks().to_batches()[0]


def new_machine(_cluster: str | None = None) -> _core.Replay:
    """Return a replay without topic metadata."""
    return _core.Replay(topic_batch([]))


class StreamOfOneKey:
    """Stream of one key without Spark."""

    def __init__(self, new_replay: Callable[[str | None], Any] | None = None) -> None:
        tws_tester = pytest.importorskip("pyspark.sql.streaming.tws_tester")
        from assignor.spark.event_machine import MachineSettings
        from assignor.spark.event_stream import EventProcessor

        def read_at(row: Any) -> int:
            return int(row["read_at"].timestamp() * 1000)

        settings = MachineSettings(new_replay or new_machine)
        processor = EventProcessor(settings, 60_000)
        self.tester = tws_tester.TwsTester(processor, timeMode="EventTime", eventTimeExtractor=read_at)

    def push(self, records: pa.Table, now: int) -> list[dict[str, Any]]:
        """Return the events of a micro-batch of records; `now` is the time at which it is read."""
        from datetime import datetime

        from pyspark.sql import Row as NewRow

        from assignor.spark.event_stream import pack

        read_at = datetime.fromtimestamp(now / 1000, UTC)
        packed = (row["packed"] for batch in pack([keyed(records)]) for row in batch.to_pylist())
        rows = [NewRow(packed=data, read_at=read_at) for data in packed]
        return list(opened(self.tester.test("key", rows)))

    def state(self) -> dict[str, tuple[Any, ...] | None]:
        """Return the values of the state."""
        return {name: self.tester.peekValueState(name, "key") for name in ("machine", "version")}

    def set_state(self, state: dict[str, tuple[Any, ...] | None]) -> None:
        """Replace the values of the state."""
        for name, value in state.items():
            self.tester.updateValueState(name, "key", value)


def opened(rows: list[Row]) -> Iterator[dict[str, Any]]:
    """Yield the events in the rows of a processor."""
    from assignor.spark.event_stream import unpack

    for row in rows:
        for batch in unpack([pa.record_batch({"packed": pa.array([row["packed"]], pa.binary())})]):
            yield from batch.to_pylist()


def log_of_one_partition() -> pa.Table:
    log = SyntheticLog(groups=4, steps=50, log_partitions=1, rebalance_steps=60).records()
    return log.add_column(0, "cluster", pa.array([""] * log.num_rows))


def test_a_processor_keeps_its_state_and_fires_deadlines_of_silent_partitions() -> None:
    # The timer is set for the earliest deadline, and the watermark fires it.
    log, tester, now = log_of_one_partition(), StreamOfOneKey(), 1_800_000_000_000
    half = log.num_rows // 2

    found = tester.push(log.slice(0, half), now) + tester.push(log.slice(half), now + 1)
    assert [] == list(opened(tester.tester.setWatermark(now)))
    late = list(opened(tester.tester.setWatermark(now + 1)))

    replay = Replay()
    wanted = [event for row in log.to_pylist() for event in replay.push(_record(row))]
    wanted += replay.advance(log["timestamp"][-1].as_py() - DELAY)
    assert _in_time(wanted) == _in_time(found)
    assert _in_time(replay.advance(now + 1)) == _in_time(late)
    assert "stuck" in {event["event"] for event in late}


def test_a_repeated_micro_batch_does_not_use_the_machine_of_the_discarded_attempt() -> None:
    # A worker keeps its `EventMachine` after an attempt that Spark discards. The stored state precedes the attempt.
    made: list[_core.Replay] = []

    def new_replay(_cluster: str | None) -> _core.Replay:
        made.append(new_machine())
        return made[-1]

    log, tester, now = log_of_one_partition(), StreamOfOneKey(new_replay), 1_800_000_000_000
    third = log.num_rows // 3
    tester.push(log.slice(0, third), now)
    before = tester.state()

    first = tester.push(log.slice(third, third), now + 1)
    assert 1 == len(made), "the second micro-batch uses the machine that the worker kept"
    tester.set_state(before)
    second = tester.push(log.slice(third, third), now + 1)

    assert 2 == len(made)
    assert first
    assert first == second
    tester.push(log.slice(2 * third), now + 2)
    assert 2 == len(made)


def test_a_worker_keeps_machines_up_to_a_limit_and_drops_those_of_other_queries() -> None:
    from assignor.spark.event_machine import EventMachine, MachineSettings
    from assignor.spark.live_machines import LiveMachines

    settings = MachineSettings(new_machine)
    old, *machines = (EventMachine(settings, "") for _ in range(4))
    live = LiveMachines(limit=100)
    live.keep((b"old", 0), b"1", old, 40)
    for key, machine in enumerate(machines):
        live.keep((b"new", key), b"1", machine, 40)

    assert live.take((b"old", 0), b"1") is None
    assert machines[0] is live.take((b"new", 0), b"1")
    assert live.take((b"new", 0), b"1") is None
    assert live.take((b"new", 1), b"2") is None
    assert live.take((b"new", 1), b"1") is None
    assert live.take((b"new", 2), b"1") is None
    live.keep((b"new", 0), b"1", machines[0], 100)
    live.keep((b"new", 0), b"2", machines[1], 100)
    assert machines[1] is live.take((b"new", 0), b"2")


def _in_time(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((event["at"], event["group"] or "", event["offset"], event["event"]) for event in events)


def _record(row: dict[str, Any]) -> tuple[int, int, bytes | None, bytes | None]:
    return row["offset"], row["timestamp"], row["key"], row["value"]


def test_packed_records_are_bounded_and_complete() -> None:
    from assignor.spark.event_stream import KEY, _read, pack
    from assignor.spark.slices import SLICE_BYTES

    rows = keyed(logs_of_two_clusters())
    found = [row for batch in pack([rows]) for row in batch.to_pylist()]

    assert {(row["cluster"], row["partition"], row["bucket"]) for row in rows.select(KEY).to_pylist()} == {
        tuple(row[name] for name in KEY) for row in found
    }
    assert all(len(row["packed"]) < 2 * SLICE_BYTES for row in found)
    offsets = [
        (row["partition"], id) for row in found for part in _read(row["packed"]) for id in part["offset"].to_pylist()
    ]
    assert list(zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True)) == offsets
