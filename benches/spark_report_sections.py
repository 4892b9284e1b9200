"""Sections of the report of `make bench-spark`. Each times one subject and compares the figures with the targets."""

from __future__ import annotations

import functools
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from benches import spark_implementations as implementations
from benches.implementations import WrongAnswerError
from benches.spark_fleets import Size, Written, checksum, right_answer, written
from benches.spark_replay import replay_section
from benches.spark_session import Spent, spent
from benches.tables import Raw, Report, ReportSection, Table, milliseconds, shown
from benches.targets import TargetResult
from benches.timing import Times, ratio

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).resolve().parents[1]

FLOOR = {50: 1.0, 5: 0.6}
"""By members per group, the largest ratio of the time of `Fleet.assign()` to the time of the floor."""

INTERNED = 2.0
"""The largest ratio of the time of a large group to its time with subscriptions interned in the input."""

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
        log: Number of groups and intervals of the log whose events are found.
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


@dataclass(slots=True)
class Timed:
    """Measurements of all rounds, by implementation.

    Attributes:
        seconds: Seconds from the start of each job to its end.
        spent: Processor seconds of each job.
        load: Load of the machine in the last minute before the end.
    """

    seconds: Times = field(default_factory=dict)
    spent: dict[str, list[Spent]] = field(default_factory=dict)
    load: float = 0

    def cells(self, implementation: str) -> list[str]:
        """Return the milliseconds, and the minimum processor seconds of Java and of the workers, as text."""
        taken = [min(each) for each in zip(*self.spent[implementation], strict=True)]
        return [milliseconds(self.seconds[implementation]), *map(shown, taken)]

    def processors(self, slow: str, fast: str) -> float:
        """Return the ratio of the minimum processor times of two implementations."""
        least = [min(map(sum, self.spent[implementation])) for implementation in (slow, fast)]
        return least[0] / least[1] if least[1] else 0

    def raw(self) -> Raw:
        """Return all measurements as JSON values."""
        return {"seconds": self.seconds, "processors": self.spent, "load": self.load}


HEAD = ("ms", "Java CPU s", "Python CPU s")


def run(frame: DataFrame) -> None:
    """Compute all rows and discard them."""
    frame.write.format("noop").mode("overwrite").save()


def timed(ways: Mapping[str, Callable[[], DataFrame]], rounds: int, report: Report, warm: int = 1) -> Timed:
    """Run all implementations in turn, round after round. The first `warm` rounds are not timed."""
    found = Timed({name: [] for name in ways}, {name: [] for name in ways})
    for turn in range(-warm, rounds):
        for name, way in ways.items():
            report(f"round {turn + 1} of {rounds}: {name}")
            gc.collect()
            before, start = spent(), time.perf_counter()
            run(way())
            seconds = time.perf_counter() - start
            if turn >= 0:
                found.seconds[name].append(seconds)
                found.spent[name].append(spent().since(before))
    found.load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    return found


def floor(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares `Fleet.assign()` with a job that computes no assignment."""
    rows, target_results = [], []
    for size in selection.fleets:
        report(f"writing and checking {size.name}")
        given = written(spark, size, folder)
        answer = right_answer(given)
        least = checksum(implementations.floor(given, answer.rows))
        if not 0.98 * answer.rows <= least.rows <= answer.rows:
            raise WrongAnswerError(f"the floor gives {least.rows} rows, not {answer.rows}, {size.name}")
        ways = {
            "Fleet.assign()": functools.partial(implementations.fleet, given),
            "floor": functools.partial(implementations.floor, given, answer.rows),
        }
        found = timed(ways, selection.rounds, report)
        raw[size.name] = found.raw()
        rows += [[f"{name}, {size.name}", *found.cells(name), shown(found.load)] for name in ways]
        what = f"Fleet.assign() over the floor, {size.name}"
        target_results.append(TargetResult(what, ratio(found.seconds, *ways), FLOOR[size.members], sense="<="))
        target_results.append(
            TargetResult(f"{what}, processor time", found.processors(*ways), FLOOR[size.members], sense="<=")
        )
    note = (
        "Groups x members x topics of a group. The floor collects ids, instance ids and topics by group, sends them "
        "to a worker in Arrow, and returns the same number of rows as the answer, without computing an assignment. "
        "Milliseconds, min / median; minimum processor seconds; load of the machine at the end."
    )
    return ReportSection("Fleet.assign() and Spark's own cost", note, Table(["", *HEAD, "load"], rows), target_results)


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
    what = f"Fleet.assign() of sticky over range, {size.name}"
    target_results = [
        TargetResult(what, ratio(found.seconds, *ways), STICKY, sense="<="),
        TargetResult(f"{what}, processor time", found.processors(*ways), STICKY, sense="<="),
    ]
    note = (
        "All groups of the fleet use one assignor; the members own no partitions. The answer of sticky has more runs "
        "of partitions, and so more rows. Milliseconds, min / median; minimum processor seconds; load of the machine "
        "at the end."
    )
    return ReportSection("Fleet.assign() with another assignor", note, Table(["", *HEAD, "load"], rows), target_results)


def per_group(spark: SparkSession, folder: Path, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares a call of Python for each group."""
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
            what = f"{name} over Fleet.assign(), {size.name}"
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
            f"Fleet.assign() over subscriptions {name}",
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
