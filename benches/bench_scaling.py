"""A group with 1 to 1,000 members, for each assignor: `assignor.scaling.scale`.

The answer is compared with the plans of the package for some numbers of members before it is timed.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator

from assignor import plan
from assignor.names import AssignorName
from assignor.scaling import Scaling, scale
from benches.checks import require
from benches.report import Part, Row, Run, Target, section
from benches.timing import Case, interleave, sampler

ASSIGNORS: tuple[AssignorName, ...] = ("range", "roundrobin", "sticky", "cooperative-sticky")

SECONDS = 1.0
"""Target for 1,000 numbers of members of a group with 50 topics of 50 partitions."""


def workload(run: Run) -> tuple[dict[str, int], dict[str, list[str]], int]:
    """Return topics, today's members, and the largest number of members."""
    topics, most = run.of((50, 1000), (5, 20))
    names = [f"topic-{number:02}" for number in range(topics)]
    members = {f"worker-{number:04}": names for number in range(most // 10)}
    return dict.fromkeys(names, topics), members, most


def prepared(run: Run, assignor: AssignorName) -> Callable[[], Scaling]:
    """Return the call of an assignor, after its answer is checked."""
    topics, members, most = workload(run)
    call = functools.partial(scale, topics, members, max_members=most, assignor=assignor)
    found = call()
    require(len(found.counts) == most, f"scale with {assignor} has {len(found.counts)} counts, not {most}")
    for count in (1, len(members) // 2 or 1, len(members)):
        chosen = {name: members[name] for name in list(members)[:count]}
        balance = plan(topics, chosen, assignor=assignor).balance()
        row = found.counts[count - 1]
        is_right = (balance.min, balance.max, len(balance.idle)) == (
            row.least_loaded,
            row.most_loaded,
            row.idle_members,
        )
        require(is_right, f"scale with {assignor} differs from the plan for {count} members")
    return call


def cases(run: Run) -> Iterator[Case]:
    """Yield a call for each assignor."""
    for assignor in ASSIGNORS:
        yield Case("scale", assignor, functools.partial(prepared, run, assignor))


@section(
    "scaling",
    "Numbers of members",
    "Milliseconds, min / median, for all rows of `assignor.scaling.scale`: 1 to 1,000 members of a group with 50 "
    "topics of 50 partitions and 100 members today.",
)
def scaling(run: Run) -> Iterator[Part]:
    """Yield the times of each assignor."""
    for assignor in ASSIGNORS:
        run.report(f"scale: {assignor}")
        times = interleave({"scale": sampler(prepared(run, assignor))}, run.pace(3))
        yield Row(assignor, times)
        yield Target(f"seconds for {assignor}", statistics.median(times["scale"]), SECONDS, " s", "<=")
