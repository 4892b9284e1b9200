"""Target assignments of recorded share groups, compared with the answers of the broker's assignor."""

from __future__ import annotations

from collections import Counter

import pytest

from assignor.cluster import Recording
from assignor.replay.recorded import replay
from tests.support.recorded_applications import folder

COUNTS = {
    "streams_connect_share": {"mailers": 15, "resizers": 9},
    "streams_share_4_4": {"mailers": 15, "resizers": 9},
}
"""Number of equal targets of each share group, by recording."""


@pytest.mark.parametrize("name", COUNTS)
def test_recorded_targets_equal_kafkas_answers(name: str) -> None:
    generations = [
        event
        for event in replay(Recording.open(folder(name)))
        if event["event"] == "generation" and event["comparison"]
    ]
    found = Counter(
        (event["group"], event["comparison"]["assignor"], event["comparison"]["outcome"])
        for event in generations
        if event["kind"] == "share"
    )

    assert found == {(group, "simple", "equal"): count for group, count in COUNTS[name].items()}
