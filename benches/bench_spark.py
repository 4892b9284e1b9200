"""Benchmarks of `Fleet` and of events on Spark, compared with floors and with a call of Python for each group.

A floor is a job that only collects and sends the same rows, without computing an assignment.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from assignor.spark import Fleet, Scenario
from benches import spark_implementations as implementations
from benches.checks import require
from benches.report import Part, Row, Run, Target, faster, section, shown
from benches.spark_answers import check_answers, offsets
from benches.spark_fleets import SAMPLE, Size, Written, checksum, right_answer, written
from benches.spark_session import CORES, HEAP, Spent, peak, session, spent
from benches.timing import Times, ratio

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLOOR = {50: 1.0, 5: 0.6}
"""By members per group, the largest ratio of the time of a method of `Fleet` to the time of its floor."""

STICKY = 1.5
"""The largest ratio of the time of a fleet under sticky to its time under range."""

BALANCE = 1.5
"""The largest ratio of the time of an answer about a fleet to the time of `Fleet.balance()`."""

PER_GROUP = {
    "applyInArrow": (implementations.in_arrow, {50: 2.5, 5: 15.0}),
    "applyInPandas": (implementations.in_pandas, {50: 7.0, 5: 60.0}),
}
"""Calls of Python for each group, with the smallest ratio of their time to that of `Fleet.assign()`, by members per
group."""

EVENTS = {"batch": 300_000, "stream": 90_000}
"""The smallest allowed numbers of records per second on two cores."""

SESSION = f"Spark: local[{CORES}], a heap of {HEAP}, Java's default compilers and collector."

FLEETS = [Size(10_000, 50, 5), Size(100_000, 5, 2)]
SMALL_FLEETS = [Size(40, 50, 5, 100), Size(200, 5, 2, 100)]

Method = Callable[[Fleet], "DataFrame"]
Ways = Mapping[str, Callable[[], "DataFrame"]]

METHODS: Mapping[str, Method] = {
    "assign()": Fleet.assign,
    "balance()": Fleet.balance,
    "what_if()": lambda fleet: fleet.what_if(Scenario("one more member").add_members(1)),
    "moves()": Fleet.moves,
}
"""The methods. `moves()` reads owned partitions, and is compared with a floor that reads them as well."""


@functools.cache
def started() -> tuple[SparkSession, Path]:
    """Start the session of all sections, and return it with the folder of the fleets."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-spark-")))
    return stack.enter_context(session()), folder


def given(size: Size, run: Run, assignor: str = "range") -> Written:
    """Return a fleet whose answer is checked."""
    run.report(f"writing and checking {size.name}, {assignor}")
    fleet = written(*started(), size)
    right_answer(fleet, assignor)
    return fleet


def timed(ways: Ways, rounds: int, run: Run) -> tuple[Times, dict[str, list[Spent]]]:
    """Run all implementations in turn; return the seconds and the processor seconds. The first round is not timed."""
    seconds: Times = {name: [] for name in ways}
    processors: dict[str, list[Spent]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            run.report(f"round {turn} of {rounds}: {name}")
            gc.collect()
            before, start = spent(), time.perf_counter()
            way().write.format("noop").mode("overwrite").save()
            if turn:
                seconds[name].append(time.perf_counter() - start)
                processors[name].append(spent().since(before))
    return seconds, processors


def rows(ways: Ways, rounds: int, run: Run, where: str) -> tuple[list[Row], Times, Times]:
    """Time implementations; return their rows, their seconds, and their minimum processor seconds."""
    seconds, processors = timed(ways, rounds, run)
    load = shown(os.getloadavg()[0])
    found = []
    for name in ways:
        java, workers = (shown(min(each)) for each in zip(*processors[name], strict=True))
        cells = {"Java CPU s": java, "Python CPU s": workers, "load": load}
        found.append(Row(f"{name}, {where}", {"ms": seconds[name]}, cells))
    return found, seconds, {name: [min(map(sum, each))] for name, each in processors.items()}


def at_most(ways: tuple[str, str], wanted: float, where: str, seconds: Times, processors: Times) -> Iterator[Target]:
    """Yield the targets for the time and the processor time of one implementation divided by another's."""
    for what, times in {where: seconds, f"{where}, processor time": processors}.items():
        yield Target(f"{' / '.join(ways)}, {what}", ratio(times, *ways), wanted, sense="<=")


@section(
    "spark-floor",
    "Fleet and Spark's own cost",
    "Groups x members x topics of a group. The floors collect ids, instance ids and topics by group, and for "
    "`moves()` also the owned partitions. They send these lists to a worker in Arrow, which returns the same number "
    "of rows as `assign()`, or up to 2 % fewer, without computing an assignment. `what_if()` adds one member to each "
    "group. The owned partitions are those of the fleet before a tenth of its members joined. Milliseconds, min / "
    "median; minimum processor seconds; load of the machine at the end.",
)
def floor(run: Run) -> Iterator[Part]:
    for size in run.of(FLEETS, SMALL_FLEETS):
        fleet = given(size, run)
        owned = owned_partitions(fleet, *started())
        floors = checked_floors(fleet, owned)
        for name, method in METHODS.items():
            check(name, method, fleet, owned)
        methods = {name: functools.partial(_call, method, fleet, owned) for name, method in METHODS.items()}
        found, *times = rows({**methods, **floors}, run.of(5, 1), run, size.name)
        yield from found
        for name in methods:
            base = "floor with owned partitions" if name == "moves()" else "floor"
            yield from at_most((name, base), FLOOR[size.members], size.name, *times)
    yield SESSION


def owned_partitions(fleet: Written, spark: SparkSession, folder: Path) -> DataFrame:
    """Write the assignment of the fleet without a tenth of its members, and return it."""
    here = folder / f"owned-{fleet.size.groups}-{fleet.size.members}"
    if not here.exists():
        before = fleet.members.where(F.crc32("member_id") % 10 > 0)
        Fleet(fleet.topics, before).assign().write.parquet(str(here))
    return spark.read.parquet(str(here))


def checked_floors(fleet: Written, owned: DataFrame) -> Ways:
    """Return the floors.

    Raises:
        WrongAnswerError: A floor returns more rows than the answer of `assign()` has, or over 2 % fewer.
    """
    count = checksum(implementations.fleet(fleet)).rows
    floors: Ways = {
        "floor": functools.partial(implementations.floor, fleet, count),
        "floor with owned partitions": functools.partial(implementations.floor, fleet, count, owned),
    }
    for name, call in floors.items():
        returned = checksum(call()).rows
        require(
            0.98 * count <= returned <= count, f"the {name} returns {returned} rows, not {count}, {fleet.size.name}"
        )
    return floors


def check(name: str, method: Method, fleet: Written, owned: DataFrame) -> None:
    """Compare the rows of a sample of groups with those of a fleet that has only these groups."""
    ids = [row["group_id"] for row in fleet.members.select("group_id").distinct().orderBy("group_id").take(SAMPLE)]
    chosen = F.col("group_id").isin(ids)
    alone = Written(fleet.size, fleet.topics, fleet.members.where(chosen))
    frames = _call(method, alone, owned.where(chosen)), _call(method, fleet, owned).where(chosen)
    expected, found = (sorted(map(repr, frame.collect())) for frame in frames)
    require(expected == found, f"{name} of a group depends on the other groups, {fleet.size.name}")


def _call(method: Method, fleet: Written, owned: DataFrame) -> DataFrame:
    return method(Fleet(fleet.topics, fleet.members, owned if method is Fleet.moves else None))


@section(
    "spark-assignors",
    "Fleet.assign() with another assignor",
    "All groups of the fleet use one assignor; the members own no partitions. The answer of sticky has more spans of "
    "partitions, and so more rows. Milliseconds, min / median; minimum processor seconds; load of the machine at the "
    "end.",
)
def assignors(run: Run) -> Iterator[Part]:
    size = run.of(FLEETS, SMALL_FLEETS)[0]
    ways = {
        name: functools.partial(implementations.fleet, given(size, run, name), name) for name in ("sticky", "range")
    }
    found, *times = rows(ways, run.of(5, 1), run, size.name)
    yield from found
    yield from at_most(("sticky", "range"), STICKY, size.name, *times)
    yield SESSION


@section(
    "spark-answers",
    "Fleet.migrate(), scale() and lag_in_time()",
    "`balance()` computes a plan per group, and so does `migrate()`, with the broker's assignor. `scale()` computes a "
    "plan for each number of members up to that of today, `scale(1)` only for 1 member. `lag_in_time()` reads two "
    "commits and two end offsets per partition instead of members, and returns a row per group. All get the partitions "
    "that the members own. Milliseconds, min / median; minimum processor seconds; load of the machine at the end.",
)
def answers(run: Run) -> Iterator[Part]:
    size = run.of(Size(10_000, 5, 2), Size(40, 5, 2, 100))
    fleet = given(size, run)
    owned = owned_partitions(fleet, *started())
    timed_offsets = offsets(*started(), fleet, owned)
    run.report(f"checking a sample of {size.name}")
    check_answers(fleet, owned, timed_offsets)
    whole = Fleet(fleet.topics, fleet.members, owned)
    ways: Ways = {
        "balance()": whole.balance,
        "migrate()": whole.migrate,
        "scale(1)": functools.partial(whole.scale, 1),
        "scale()": whole.scale,
        "lag_in_time()": functools.partial(whole.lag_in_time, *timed_offsets, by="group"),
    }
    found, *times = rows(ways, run.of(5, 1), run, size.name)
    yield from found
    for name in [*ways][1:]:
        yield from at_most((name, "balance()"), BALANCE, size.name, *times)
    each = ratio(times[0], "scale()", "balance()") / size.members
    yield f"`scale()` computes {size.members} plans per group; a plan takes {shown(each)} times as long as `balance()`."
    yield SESSION


@section(
    "spark-per-group",
    "Fleet.assign() and a call for each group",
    "Spark calls `plan` for each group. One round, because it takes minutes. The answers are equal.",
)
def per_group(run: Run) -> Iterator[Part]:
    for size in run.of(FLEETS, SMALL_FLEETS):
        fleet = given(Size(min(size.groups, 10_000), size.members, size.topics_per_group, size.topics), run)
        answer = checksum(implementations.fleet(fleet))
        for name, (implementation, _) in PER_GROUP.items():
            run.report(f"checking {name}, {fleet.size.name}")
            is_equal = checksum(implementation(fleet)) == answer
            require(is_equal, f"{name} and Fleet.assign() differ on {fleet.size.name}")
        calls = {"Fleet.assign()": implementations.fleet} | {name: call for name, (call, _) in PER_GROUP.items()}
        large = given(size, run)
        found, seconds, _ = rows(
            {name: functools.partial(call, large) for name, call in calls.items()}, 1, run, size.name
        )
        yield from found
        for name, (_, wanted) in PER_GROUP.items():
            yield faster(seconds, name, "Fleet.assign()", wanted[size.members], size.name)
    yield SESSION


@section(
    "spark-growth",
    "Fleets with more groups, and a large group",
    "`Fleet.assign()`: milliseconds, min / median. Every job has a fixed cost. Each member's row lists all its topics.",
)
def growth(run: Run) -> Iterator[Part]:
    few = [Size(100, 5, 2, 100), Size(200, 5, 2, 100), Size(1, 200, 20, 20)]
    many = [Size(1_000, 5, 2), Size(10_000, 5, 2), Size(100_000, 5, 2), Size(1, 10_000, 1_000, 1_000)]
    many += [Size(25_000, 50, 5), Size(100_000, 50, 5)]
    fleets = {size.name: given(size, run) for size in run.of(many, few)}
    ways = {name: functools.partial(implementations.fleet, fleet) for name, fleet in fleets.items()}
    seconds, _ = timed(ways, run.of(5, 1), run)
    for name, fleet in fleets.items():
        each = statistics.median(seconds[name]) / fleet.size.groups * 1e6
        yield Row(name, {"ms": seconds[name]}, {"µs per group": shown(each)})
    memory = peak()
    yield f"At the peak, Java had {memory.java / 1e6:,.0f} MB, and the largest worker {memory.worker / 1e6:,.0f} MB."
    yield SESSION


@section(
    "spark-events",
    "Events",
    "`events` over a log in Parquet files: records per second, without the start of the workers. In the stream, the "
    "second half of the micro-batches counts.",
)
def events(run: Run) -> Iterator[Part]:
    from benches import spark_events

    spark, folder = started()
    log, source = spark_events.log_in(folder, *run.of((2_500, 300), (40, 20)))
    run.report(f"replaying {log.num_rows:,} records in a batch, and as a stream")
    rates = {
        "batch": spark_events.batch_rates(spark, log, source, run.of(5, 1)),
        "stream": spark_events.stream_rates(spark, log, source),
    }
    for name, found in rates.items():
        yield Row(name, {}, {"median": f"{statistics.median(found):,.0f}", "lowest": f"{min(found):,.0f}"})
    for name, wanted in EVENTS.items():
        what = f"a {name}, compared with {wanted:,} records per second"
        yield Target(what, statistics.median(rates[name]) / wanted, 1)
    yield f"The log has {log.num_rows:,} records. The largest Python worker had {peak().worker / 1e6:,.0f} MB."
    yield SESSION
