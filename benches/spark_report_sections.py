"""Sections of the report of `make bench-spark`. Each times one subject and compares the figures with the targets."""

from __future__ import annotations

import functools
import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from benches import spark_implementations as implementations
from benches.implementations import WrongAnswerError
from benches.spark_fleets import Size, Written, checksum, right_answer, written
from benches.spark_floor import floor_section
from benches.spark_replay import replay_section
from benches.spark_timing import HEAD, run, timed
from benches.tables import Raw, Report, ReportSection, Table, milliseconds, shown
from benches.targets import TargetResult
from benches.timing import ratio

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).resolve().parents[1]

INTERNED = 2.0
"""The largest ratio of the time of a large group to its time with subscriptions interned in the input.

Interned: a table has each subscription once, and each member has the number of its subscription.
"""

STICKY = 1.5
"""The largest ratio of the time of a fleet under sticky to its time under range."""

OVER_ARROW, OVER_PANDAS = {50: 2.5, 5: 15.0}, {50: 7.0, 5: 60.0}
"""By members per group, the smallest ratio of the time of a Python call per group to the time of `Fleet.assign()`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Sizes and rounds of a run.

    Attributes:
        rounds: Timed rounds of each implementation, after one round that is not timed.
        slow_rounds: Timed rounds of implementations that call Python for each group.
        fleets: Fleets that are compared with the floor and with calls for each group.
        checked_groups: Largest number of groups of a fleet on which calls for each group are checked.
        large: The large fleet, and a part of it.
        large_rounds: Timed rounds of the large fleets.
        group: The large group.
        growing: Fleets with increasing numbers of groups.
        log: Number of groups, and number of intervals of five seconds, of the log whose events are found.
    """

    rounds: int
    slow_rounds: int
    fleets: Sequence[Size]
    checked_groups: int
    large: Sequence[Size]
    large_rounds: int
    group: Size
    growing: Sequence[Size]
    log: tuple[int, int]


SELECTIONS = {
    "quick": Selection(
        rounds=1,
        slow_rounds=1,
        fleets=[Size(40, 50, 5, 100), Size(200, 5, 2, 100)],
        checked_groups=50,
        large=[Size(50, 50, 5, 100)],
        large_rounds=1,
        group=Size(1, 200, 20, 20),
        growing=[Size(100, 5, 2, 100), Size(200, 5, 2, 100)],
        log=(40, 20),
    ),
    "default": Selection(
        rounds=5,
        slow_rounds=1,
        fleets=[Size(10_000, 50, 5), Size(100_000, 5, 2)],
        checked_groups=10_000,
        large=[Size(25_000, 50, 5), Size(100_000, 50, 5)],
        large_rounds=3,
        group=Size(1, 10_000, 1_000, 1_000),
        growing=[Size(1_000, 5, 2), Size(10_000, 5, 2), Size(100_000, 5, 2)],
        log=(2_500, 300),
    ),
}


def floor(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares methods of `Fleet` with a job that computes no assignment."""
    return floor_section(spark, folder, selection.fleets, selection.rounds, report, raw)


def assignors(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares the same fleet under range and under sticky."""
    size = selection.fleets[0]
    given = written(spark, size, folder)
    ways = {}
    for assignor in ("sticky", "range"):
        report(f"checking {assignor}, {size.name}")
        right_answer(given, assignor)
        ways[assignor] = functools.partial(implementations.fleet, given, assignor)
    found = timed(ways, selection.rounds, report)
    raw[size.name] = found.raw()
    rows = [[f"{name}, {size.name}", *found.cells(name), shown(found.load)] for name in ways]
    what = f"Fleet.assign() with sticky / with range, {size.name}"
    target_results = [
        TargetResult(what, ratio(found.seconds, *ways), STICKY, sense="<="),
        TargetResult(f"{what}, processor time", found.processors(*ways), STICKY, sense="<="),
    ]
    note = (
        "All groups of the fleet use one assignor; the members own no partitions. The answer of sticky has more spans "
        "of partitions, and so more rows. Milliseconds, min / median; minimum processor seconds; load of the machine "
        "at the end."
    )
    return ReportSection("Fleet.assign() with another assignor", note, Table(["", *HEAD, "load"], rows), target_results)


def per_group(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares `Fleet.assign()` with a call of Python for each group."""
    rows, target_results = [], []
    slow = {
        "applyInArrow": (implementations.in_arrow, OVER_ARROW),
        "applyInPandas": (implementations.in_pandas, OVER_PANDAS),
    }
    for size in selection.fleets:
        part = Size(min(size.groups, selection.checked_groups), size.members, size.topics_per_group, size.topics)
        checked = written(spark, part, folder)
        answer = right_answer(checked)
        for name, (implementation, _) in slow.items():
            report(f"checking {name}, {part.name}")
            if checksum(implementation(checked)) != answer:
                raise WrongAnswerError(f"{name} and Fleet.assign() differ on {part.name}")
        given = written(spark, size, folder)
        if part != size:
            right_answer(given)
        run(implementations.fleet(given))
        ways = {"Fleet.assign()": functools.partial(implementations.fleet, given)}
        ways |= {name: functools.partial(implementation, given) for name, (implementation, _) in slow.items()}
        # The check has warmed the slow implementations up: they have run through thousands of groups.
        found = timed(ways, selection.slow_rounds, report, warm=0)
        raw[size.name] = found.raw()
        rows += [[f"{name}, {size.name}", *found.cells(name), shown(found.load)] for name in ways]
        for name, (_, targets) in slow.items():
            what = f"{name} / Fleet.assign(), {size.name}"
            target_results.append(
                TargetResult(what, ratio(found.seconds, name, "Fleet.assign()"), targets[size.members])
            )
    note = (
        f"Spark calls the same engine for each group. Rounds: {selection.slow_rounds}, because one takes minutes. "
        f"Answers are compared on fleets of at most {selection.checked_groups:,} groups, which also warms the "
        "implementations up."
    )
    return ReportSection(
        "Fleet.assign() and a call for each group", note, Table(["", *HEAD, "load"], rows), target_results
    )


def large_fleet(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about the memory of large fleets."""
    rows = []
    for size in selection.large:
        report(f"writing and checking {size.name}")
        right_answer(written(spark, size, folder))
        report(f"assigning {size.name} in a new session")
        arguments = [str(folder), *map(str, (size.groups, size.members, size.topics_per_group, size.topics))]
        done = subprocess.run(
            [sys.executable, "-m", "benches.spark_memory", *arguments, str(selection.large_rounds)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        use = raw[size.name] = json.loads(done.stdout)
        per = statistics.median(use["seconds"]) / size.groups * 1e6
        memory = [f"{use[name] / 1e6:,.0f}" for name in ("java", "worker")]
        rows.append([size.name, milliseconds(use["seconds"]), shown(per), *memory, shown(use["load"])])
    note = (
        "`Fleet.assign()`, each fleet in a new session: milliseconds, min / median, and the peak memory of Java, whose "
        "heap is limited to 2 GB, and of the largest Python worker."
    )
    head = ["fleet", "ms", "µs per group", "Java, MB", "worker, MB", "load"]
    return ReportSection("A large fleet", note, Table(head, rows))


def large_group(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about one group with many members and topics."""
    size = selection.group
    report(f"writing and checking {size.name}")
    given = written(spark, size, folder)
    answer = right_answer(given)
    here = folder / "interned"
    numbered = given.members.withColumn("subscription", F.xxhash64("topics"))
    numbered.drop("topics").write.mode("overwrite").parquet(str(here / "members"))
    subscriptions = numbered.select("cluster", "group_id", "subscription", "topics").dropDuplicates(["subscription"])
    subscriptions.write.mode("overwrite").parquet(str(here / "subscriptions"))
    members, subscriptions = (spark.read.parquet(str(here / name)) for name in ("members", "subscriptions"))
    ways: dict[str, Callable[[], DataFrame]] = {
        "Fleet.assign()": lambda: implementations.fleet(given),
        "interned in the input": lambda: implementations.interned(given, members, subscriptions),
        "members only read": lambda: given.members,
    }
    for name, way in ways.items():
        if "read" not in name and checksum(way()) != answer:
            raise WrongAnswerError(f"{name} and Fleet.assign() differ on {size.name}")
    found = timed(ways, selection.rounds, report)
    raw[size.name] = found.raw()
    rows = [[name, *found.cells(name), shown(found.load)] for name in ways]
    target_results = [
        TargetResult(
            f"Fleet.assign() / subscriptions {name}",
            ratio(found.seconds, "Fleet.assign()", name),
            INTERNED,
            sense="<=",
        )
        for name in ways
        if name.startswith("interned")
    ]
    note = (
        f"{size.name}: each member's row lists all its topics, except where subscriptions are interned in the input. "
        "Milliseconds, min / median."
    )
    return ReportSection("A large group", note, Table(["", *HEAD, "load"], rows), target_results)


def growth(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about fleets with increasing numbers of groups."""
    fleets: dict[str, Written] = {}
    for size in selection.growing:
        report(f"writing and checking {size.name}")
        fleets[size.name] = written(spark, size, folder)
        right_answer(fleets[size.name])
    ways = {name: functools.partial(implementations.fleet, given) for name, given in fleets.items()}
    found = timed(ways, selection.rounds, report)
    raw.update(found.raw())
    rows = []
    for name, given in fleets.items():
        per = statistics.median(found.seconds[name]) / given.size.groups * 1e6
        rows.append([name, *found.cells(name), shown(per), shown(found.load)])
    note = "`Fleet.assign()`: milliseconds, min / median. Every job has a fixed cost."
    return ReportSection("Fleets with more groups", note, Table(["fleet", *HEAD, "µs per group", "load"], rows))


def events(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about events of groups."""
    return replay_section(spark, folder, *selection.log, selection.rounds, report, raw)


SECTIONS = {
    "floor": floor,
    "assignors": assignors,
    "per-group": per_group,
    "large-fleet": large_fleet,
    "large-group": large_group,
    "growth": growth,
    "events": events,
}
"""All sections by the name that `--only` takes."""
