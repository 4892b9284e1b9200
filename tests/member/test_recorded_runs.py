"""The member compared with recorded runs of Kafka's own classes, without Java.

`comparison.py` names the deliberate differences. After one, both members are resynchronised and the comparison
continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.member.comparison import (
    IMMEDIATE_DIFFERENCES,
    LASTING_DIFFERENCES,
    Comparison,
    UnexpectedDifferenceError,
    compare,
)
from tests.member.extent import add_up
from tests.member.recorded_runs import PROGRAMS, RecordedRunner, recorded
from tests.member.resynchronisation import Resynchronised
from tests.member.runner import Json, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def drawn() -> Iterator[tuple[Json, list[Json]]]:
    """Return the recorded runs of drawn programs."""
    return (run for run in recorded() if "difference" not in run[0])


def test_the_member_equals_the_recorded_runs(record_property: Callable[[str, object], None]) -> None:
    comparisons = [compare_recorded(program, kafkas) for program, kafkas in drawn()]

    totals = add_up(comparisons, record_property)

    assert PROGRAMS == totals["programs"]
    compared = totals["events drawn"] + totals["resynchronisations"] + totals["restarts"]
    assert sum(len(kafkas) for _, kafkas in drawn()) == compared
    assert totals["resynchronisations"] > 10 * totals["restarts"]


@pytest.mark.parametrize("difference", [*LASTING_DIFFERENCES, *IMMEDIATE_DIFFERENCES])
def test_every_deliberate_difference_exists(difference: str) -> None:
    (program, kafkas), *others = (run for run in recorded() if run[0].get("difference") == difference)
    comparison = compare_recorded(program, kafkas)

    assert not others
    assert {difference: 1} == comparison.deliberate
    assert len(kafkas) - 1 == comparison.compared


@pytest.mark.parametrize("distance", [0, 1, 5], ids=lambda distance: f"{distance} events after it")
def test_a_wrong_report_after_a_resynchronisation_is_detected(distance: int) -> None:
    program, kafkas = next(run for run in drawn() if "resynchronise" in kinds_of(run[0])[: -distance - 1])
    kafkas[kinds_of(program).index("resynchronise") + distance]["epoch"] += 1

    with pytest.raises(UnexpectedDifferenceError, match=f"program of seed {program['seed']} "):
        compare_recorded(program, kafkas)


def test_a_restart_of_a_member_that_is_not_fatal_is_detected() -> None:
    program, kafkas = next(run for run in drawn() if "resynchronise" in kinds_of(run[0]))
    program["events"][kinds_of(program).index("resynchronise")]["type"] = "restart"

    with pytest.raises(UnexpectedDifferenceError, match="members must be restarted if one of them is FATAL"):
        compare_recorded(program, kafkas)


def kinds_of(program: Json) -> list[str]:
    """Return the type of each event of a program."""
    return [event["type"] for event in program["events"]]


def compare_recorded(program: Json, kafkas: list[Json]) -> Comparison:
    """Compare our member with the recorded reports of Kafka's."""
    return compare(program, Resynchronised(lambda: start(program["options"])), RecordedRunner(kafkas))


def test_the_recorded_runs_have_every_state_and_every_kind_of_effect() -> None:
    states = {report["state"] for _, reports in recorded() for report in reports}
    kinds = {effect["kind"] for _, reports in recorded() for report in reports for effect in report["effects"]}

    # No event leaves a member in LEAVING, because a leave heartbeat that need not wait is sent immediately.
    every = {"UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"}
    assert every | {"FENCED", "PREPARE_LEAVING", "FATAL", "STALE"} == states
    assert kinds >= {"heartbeat", "assigned", "revoked", "lost", "commit", "left", "error"}
