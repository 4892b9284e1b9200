"""Section of `make bench-spark` that compares methods of `Fleet` with floors.

A floor is a job that only collects and sends the same rows, without computing an assignment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from assignor.spark import Fleet, Scenario
from benches import spark_implementations as implementations
from benches.implementations import WrongAnswerError
from benches.spark_fleets import SAMPLE, Size, Written, checksum, right_answer, written
from benches.spark_timing import HEAD, timed
from benches.tables import Raw, Report, ReportSection, Table, shown
from benches.targets import TargetResult
from benches.timing import ratio

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FLOOR = {50: 1.0, 5: 0.6}
"""By members per group, the largest ratio of the time of a method of `Fleet` to the time of its floor."""

ONE_MORE = Scenario("one more member").add_members(1)

Method = Callable[[Fleet], "DataFrame"]

METHODS: Mapping[str, Method] = {
    "assign()": Fleet.assign,
    "balance()": Fleet.balance,
    "what_if()": lambda fleet: fleet.what_if(ONE_MORE),
    "moves()": Fleet.moves,
}
"""The methods. `moves()` reads owned partitions, and is compared with a floor that reads them as well."""


def floor_section(
    spark: SparkSession, folder: Path, fleets: Sequence[Size], rounds: int, report: Report, raw: Raw
) -> ReportSection:
    """Return the section about fleets of these sizes."""
    rows, target_results = [], []
    for size in fleets:
        report(f"writing and checking {size.name}")
        given = written(spark, size, folder)
        owned = owned_partitions(spark, given, folder)
        floors = checked_floors(given, owned)
        methods = {name: functools.partial(_call, method, given, owned) for name, method in METHODS.items()}
        for name, method in METHODS.items():
            check(name, method, given, owned)
        found = timed({**methods, **floors}, rounds, report)
        raw[size.name] = found.raw()
        rows += [[f"{name}, {size.name}", *found.cells(name), shown(found.load)] for name in (*methods, *floors)]
        for name in methods:
            ways = name, "floor with owned partitions" if name == "moves()" else "floor"
            what, wanted = f"{' / '.join(ways)}, {size.name}", FLOOR[size.members]
            target_results += [
                TargetResult(what, ratio(found.seconds, *ways), wanted, sense="<="),
                TargetResult(f"{what}, processor time", found.processors(*ways), wanted, sense="<="),
            ]
    note = (
        "Groups x members x topics of a group. The floors collect ids, instance ids and topics by group, and for "
        "`moves()` also the owned partitions. They send these lists to a worker in Arrow, which returns the same "
        "number of rows as `assign()`, or up to 2 % fewer, without computing an assignment. `what_if()` adds one "
        "member to each group. The owned partitions are those of the fleet before a tenth of its members joined. "
        "Milliseconds, min / median; minimum processor seconds; load of the machine at the end."
    )
    return ReportSection("Fleet and Spark's own cost", note, Table(["", *HEAD, "load"], rows), target_results)


def owned_partitions(spark: SparkSession, given: Written, folder: Path) -> DataFrame:
    """Write the assignment of the fleet without a tenth of its members, and return it."""
    here = folder / f"owned-{given.size.groups}-{given.size.members}"
    if not here.exists():
        before = given.members.where(F.crc32("member_id") % 10 > 0)
        Fleet(given.topics, before).assign().write.parquet(str(here))
    return spark.read.parquet(str(here))


def checked_floors(given: Written, owned: DataFrame) -> dict[str, Callable[[], DataFrame]]:
    """Return the floors.

    Raises:
        WrongAnswerError: The answer of `assign()` is wrong, or a floor returns more rows than that answer has, or over
            2 % fewer.
    """
    count = right_answer(given).rows
    floors: dict[str, Callable[[], DataFrame]] = {
        "floor": functools.partial(implementations.floor, given, count),
        "floor with owned partitions": functools.partial(implementations.floor, given, count, owned),
    }
    for name, floor in floors.items():
        returned = checksum(floor()).rows
        if not 0.98 * count <= returned <= count:
            raise WrongAnswerError(f"the {name} returns {returned} rows, not {count}, {given.size.name}")
    return floors


def check(name: str, method: Method, given: Written, owned: DataFrame) -> None:
    """Compare the rows of a sample of groups with those for these groups alone.

    Raises:
        WrongAnswerError: They differ.
    """
    ids = [row["group_id"] for row in given.members.select("group_id").distinct().orderBy("group_id").take(SAMPLE)]
    chosen = F.col("group_id").isin(ids)
    part = Written(given.size, given.topics, given.members.where(chosen))
    expected, found = (
        sorted(map(repr, frame.collect()))
        for frame in (
            _call(method, part, owned.where(chosen)),
            _call(method, given, owned).where(chosen),
        )
    )
    if expected != found:
        raise WrongAnswerError(f"{name} differs for a part of the fleet, {given.size.name}")


def _call(method: Method, given: Written, owned: DataFrame) -> DataFrame:
    return method(Fleet(given.topics, given.members, owned if method is Fleet.moves else None))
