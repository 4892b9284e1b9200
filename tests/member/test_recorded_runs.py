"""The member does what Kafka's own classes did in the recorded runs; needs no Java.

Where ours differs on purpose, `comparison.py` says how; both members are then resynchronised, and the comparison
continues.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.member.comparison import ENDS, EXCUSES, Comparison, UnexpectedDifferenceError, compare
from tests.member.recorded_runs import PROGRAMS, RecordedRunner, recorded
from tests.member.resynchronisation import Resynchronised
from tests.member.runner import Json, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def drawn() -> Iterator[tuple[Json, list[Json]]]:
    """The recorded runs whose programs were drawn."""
    return (run for run in recorded() if "difference" not in run[0])


def test_it_does_what_kafkas_own_classes_did(record_property: Callable[[str, object], None]) -> None:
    totals: Counter[str] = Counter()
    deliberate: Counter[str] = Counter()
    for program, kafkas in drawn():
        comparison = compare_recorded(program, kafkas)
        assert comparison.drawn + comparison.resynchronised + comparison.restarted == len(kafkas)
        totals["events recorded"] += comparison.drawn
        totals["events compared"] += comparison.compared
        totals["programs compared to the end"] += comparison.is_complete
        totals["programs"] += 1
        totals["resynchronisations"] += comparison.resynchronised
        totals["restarts"] += comparison.restarted
        totals["heartbeats with other partitions"] += comparison.reported
        deliberate += comparison.deliberate
    for name, count in (*totals.items(), *deliberate.items()):
        record_property(name, count)
    counts = f"{dict(totals)}; deliberate differences: {dict(deliberate)}"

    assert totals["programs"] == PROGRAMS, counts
    assert totals["events compared"] + deliberate.total() == totals["events recorded"], counts
    assert totals["events compared"] > 0.97 * totals["events recorded"], counts
    assert totals["programs compared to the end"] == PROGRAMS, counts
    assert totals["resynchronisations"] + totals["restarts"] == deliberate.total(), counts
    assert totals["resynchronisations"] > 0.94 * deliberate.total(), counts
    assert 0 < totals["heartbeats with other partitions"] < 0.05 * totals["events compared"], counts


@pytest.mark.parametrize("difference", [*ENDS, *EXCUSES])
def test_every_deliberate_difference_is_there(difference: str) -> None:
    (program, kafkas), *others = (run for run in recorded() if run[0].get("difference") == difference)
    comparison = compare_recorded(program, kafkas)

    assert not others
    assert {difference: 1} == comparison.deliberate
    assert len(kafkas) - 1 == comparison.compared


@pytest.mark.parametrize("distance", [0, 1, 5], ids=lambda distance: f"{distance} events after it")
def test_a_wrong_report_after_a_resynchronisation_is_noticed(distance: int) -> None:
    program, kafkas = next(run for run in drawn() if "resynchronise" in kinds_of(run[0])[: -distance - 1])
    kafkas[kinds_of(program).index("resynchronise") + distance]["epoch"] += 1

    with pytest.raises(UnexpectedDifferenceError, match=f"the program of seed {program['seed']} "):
        compare_recorded(program, kafkas)


def test_a_restart_of_a_member_that_is_not_fatal_is_noticed() -> None:
    program, kafkas = next(run for run in drawn() if "resynchronise" in kinds_of(run[0]))
    program["events"][kinds_of(program).index("resynchronise")]["type"] = "restart"

    with pytest.raises(UnexpectedDifferenceError, match="members are restarted if one of them is FATAL"):
        compare_recorded(program, kafkas)


def kinds_of(program: Json) -> list[str]:
    """Return the type of each event of a program."""
    return [event["type"] for event in program["events"]]


def compare_recorded(program: Json, kafkas: list[Json]) -> Comparison:
    """Compare our member with the recorded reports of Kafka's."""
    return compare(program, Resynchronised(lambda: start(program["options"])), RecordedRunner(kafkas))


def test_the_recorded_runs_are_in_every_state_and_meet_every_kind_of_effect() -> None:
    states = {report["state"] for _, reports in recorded() for report in reports}
    kinds = {effect["kind"] for _, reports in recorded() for report in reports for effect in report["effects"]}

    # A leave heartbeat goes out as soon as there is nothing to wait for, so that no event leaves a member in LEAVING.
    every = {"UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"}
    assert every | {"FENCED", "PREPARE_LEAVING", "FATAL", "STALE"} == states
    assert kinds >= {"heartbeat", "assigned", "revoked", "lost", "commit", "left", "error"}
