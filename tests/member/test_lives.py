"""The member does what Kafka's own classes did in the recorded lives; needs no Java.

Where ours differs on purpose, `comparison.py` says how, and the comparison of that life ends there.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.member.comparison import ENDS, EXCUSES, compare
from tests.member.life import Json, lived
from tests.member.lives import PROGRAMS, recorded

if TYPE_CHECKING:
    from collections.abc import Iterator


def drawn() -> Iterator[tuple[Json, list[Json]]]:
    """The recorded lives whose programs were drawn."""
    return (life for life in recorded() if "difference" not in life[0])


def test_it_does_what_kafkas_own_classes_did() -> None:
    compared = recorded_events = whole = 0
    ended: Counter[str] = Counter()
    for program, kafkas in drawn():
        verdict = compare(program, lived(program), kafkas)
        assert verdict.difference is None, verdict.difference
        compared += verdict.compared
        recorded_events += len(kafkas)
        if verdict.ended is None:
            whole += 1
        else:
            ended[verdict.ended] += 1
    told = f"{compared} of {recorded_events} events and {whole} of {PROGRAMS} lives to the end; ended by {ended}"

    assert whole + ended.total() == PROGRAMS, told
    assert compared > 0.75 * recorded_events, told
    assert whole > 0.55 * PROGRAMS, told


@pytest.mark.parametrize("difference", [*ENDS, *EXCUSES])
def test_every_deliberate_difference_is_there(difference: str) -> None:
    (program, kafkas), *others = (life for life in recorded() if life[0].get("difference") == difference)
    verdict = compare(program, lived(program), kafkas)

    assert not others
    assert difference == verdict.ended, verdict.difference
    assert len(kafkas) - 1 == verdict.compared


def test_the_recorded_lives_are_in_every_state_and_meet_every_kind_of_effect() -> None:
    states = {report["state"] for _, reports in recorded() for report in reports}
    kinds = {effect["kind"] for _, reports in recorded() for report in reports for effect in report["effects"]}

    # A goodbye goes out as soon as there is nothing to wait for, so that no event leaves a member in LEAVING.
    every = {"UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE"}
    assert every | {"FENCED", "PREPARE_LEAVING", "FATAL", "STALE"} == states
    assert kinds >= {"heartbeat", "assigned", "revoked", "lost", "commit", "left", "error"}
