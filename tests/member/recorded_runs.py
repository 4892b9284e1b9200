"""Recorded runs of Kafka's own member, for comparisons without Java.

`PYTHONPATH=python python -m tests.member.recorded_runs` records them again (`oracle.py` lists the requirements). The
first line of the file has the release of Kafka. Each other line is a program with the reports of Kafka's member after
each event; a report has only the fields that changed. After a deliberate difference the next event resynchronises or
restarts both members.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from tests.member.comparison import Comparison, Pair
from tests.member.differences import DIFFERENCES, program
from tests.member.oracle import MemberOracle, version
from tests.member.programs import draw
from tests.member.resynchronisation import Resynchronised
from tests.member.runner import Json, start
from tests.support.vector_files import OWN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE = OWN_FOLDER / "member_runs.jsonl.gz"
PROGRAMS = 400


def recorded() -> Iterator[tuple[Json, list[Json]]]:
    """Yield each program with the reports of Kafka's member."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            run = json.loads(line)
            reports: list[Json] = []
            for changed in run.pop("kafka"):
                reports.append({**(reports[-1] if reports else {}), "effects": [], **changed})
            yield run, reports


def write(runs: Iterable[tuple[Json, list[Json]]], release: str) -> None:
    """Write the file."""
    lines = [json.dumps({"kafka": release})]
    for events, reports in runs:
        before: Json = {}
        changes = []
        for report in reports:
            compared = {**before, "effects": []}
            changes.append({name: value for name, value in report.items() if compared.get(name, ...) != value})
            before = report
        lines.append(json.dumps({**events, "kafka": changes}, separators=(",", ":")))
    FILE.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))


class RecordedRunner:
    """Recorded member of Kafka.

    Args:
        reports: Reports of the member, one for each event of the program.
    """

    def __init__(self, reports: list[Json]) -> None:
        self._reports = iter(reports)

    def step(self, _: Json) -> Json:
        """Return the report of the next event."""
        return next(self._reports)


def record(oracle: MemberOracle) -> None:
    """Record Kafka's member over the program of each difference and over drawn programs of the first seeds."""
    found = [_record_difference(oracle, difference) for difference in DIFFERENCES]
    write([*found, *(_draw(oracle, seed) for seed in range(PROGRAMS))], version())


def _record_difference(oracle: MemberOracle, difference: str) -> tuple[Json, list[Json]]:
    shortest = program(difference)
    oracle.start(shortest["options"])
    return shortest, [oracle.step(event) for event in shortest["events"]]


def _draw(oracle: MemberOracle, seed: int) -> tuple[Json, list[Json]]:
    pairs: list[Pair] = []

    def start_pair(options: Json) -> Pair:
        comparison = Comparison({"seed": seed, "options": options})
        kafkas = Resynchronised(lambda: oracle.start(options))
        pairs.append(Pair(Resynchronised(lambda: start(options)), kafkas, comparison))
        return pairs[0]

    drawn, _ = draw(seed, start_pair)
    return drawn, pairs[0].kafka_reports


if __name__ == "__main__":
    with MemberOracle() as oracle:
        record(oracle)
