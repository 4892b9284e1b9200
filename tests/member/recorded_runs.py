"""Runs of Kafka's own member, recorded, so that ours can be compared where there is no Java.

`PYTHONPATH=python python -m tests.member.recorded_runs` records them anew (see `oracle.py` for what it needs). The
first line of the file says which release answered; each other one is a program and what Kafka's member reported after
each event, of which a report gives only what is not as in the one before. After a deliberate difference of our member
from Kafka's follows an event that resynchronises or restarts both.
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
    """Each program with the reports of Kafka's member."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            run = json.loads(line)
            reports: list[Json] = []
            for changed in run.pop("kafka"):
                reports.append({**(reports[-1] if reports else {}), "effects": [], **changed})
            yield run, reports


def write(runs: Iterable[tuple[Json, list[Json]]], release: str) -> None:
    """Writes the file."""
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
    """A member of Kafka's whose reports were recorded.

    Args:
        reports: Its reports, one for each event of the program.
    """

    def __init__(self, reports: list[Json]) -> None:
        self._reports = iter(reports)

    def step(self, _: Json) -> Json:
        """Return the report of the next event."""
        return next(self._reports)


def record(oracle: MemberOracle) -> None:
    """Record Kafka's member over the program of each difference and over programs of the first seeds."""
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
