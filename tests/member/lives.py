"""Lives of Kafka's own member, recorded, so that ours can be compared where there is no Java.

`PYTHONPATH=python python -m tests.member.lives` records them anew (see `oracle.py` for what it needs). The
first line of the file says which release answered; each other one is a program and what Kafka's member reported after
each event, of which a report gives only what is not as in the one before.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from tests.member.differences import DIFFERENCES, program
from tests.member.life import Json, life
from tests.member.oracle import MemberOracle, version
from tests.member.programs import draw
from tests.support.vector_files import OWN_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE = OWN_FOLDER / "member_lives.jsonl.gz"
PROGRAMS = 400


def recorded() -> Iterator[tuple[Json, list[Json]]]:
    """Each program with the reports of Kafka's member."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            life = json.loads(line)
            reports: list[Json] = []
            for changed in life.pop("kafka"):
                reports.append({**(reports[-1] if reports else {}), "effects": [], **changed})
            yield life, reports


def write(lives: Iterable[tuple[Json, list[Json]]], release: str) -> None:
    """Writes the file."""
    lines = [json.dumps({"kafka": release})]
    for events, reports in lives:
        before: Json = {}
        changes = []
        for report in reports:
            compared = {**before, "effects": []}
            changes.append({name: value for name, value in report.items() if compared.get(name, ...) != value})
            before = report
        lines.append(json.dumps({**events, "kafka": changes}, separators=(",", ":")))
    FILE.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))


def record(oracle: MemberOracle) -> None:
    """Has Kafka's member live the program of each difference and the first ones drawn, and writes what it did."""
    programs = [program(difference) for difference in DIFFERENCES]
    programs += [draw(seed, life)[0] for seed in range(PROGRAMS)]
    write(((each, oracle.live(each)) for each in programs), version())


if __name__ == "__main__":
    with MemberOracle() as oracle:
        record(oracle)
