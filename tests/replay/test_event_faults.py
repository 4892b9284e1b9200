"""Causes that replay gets wrong, found by the comparison with simulated groups; each example has its smallest log.

`known_faults` in `expected_events.py` leaves these places out of the comparison. A fault that is mended is removed from
both files, and its example moves to the tests of the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.replay.event_logs import replayed
from tests.replay.logs import classic, log, member, metadata
from tests.support.record_bytes import subscription

if TYPE_CHECKING:
    from tests.replay.logs import Event as Step

Row = dict[str, Any]

BEGIN = classic(0, protocol_type="").at(0)
A = member("a", ["t"], {"t": [0]})


def cooperative(count: int, owned: int) -> Row:
    """Return a member with the first partitions of topic t, which owned others when it joined."""
    return member("a", subscription("t", owned={"t": range(owned)}, generation=1), {"t": range(count)} if count else {})


def causes(rows: list[Row], *steps: Step, name: str = "rebalance") -> list[str]:
    """Return the causes of the last rebalance, or of the last event of a member."""
    events, _ = replayed({"g": log([BEGIN, *steps])}, rows)
    found: list[str] = [each["causes"] for each in events if each["event"] == name][-1]
    return found


def recreated(first: int, second: int) -> list[Row]:
    """Return metadata in which topic t is deleted at 50 ms, and created again with another id at 70 ms."""
    again = [{**row, "topic_id": "A" * 22} for row in metadata({70: {"t": second}}) if row["topic"] == "t"]
    return [*metadata({0: {"t": first}, 50: {"x": 1}}), *again]


@pytest.mark.xfail(strict=True, reason="a subscription to a topic that does not exist counts as its creation")
def test_a_subscription_to_a_missing_topic_creates_no_topic() -> None:
    second = classic(2, member("a", ["t", "missing"], {"t": [0]})).at(20)
    assert "topic_created" not in causes(metadata({0: {"t": 1}, 30: {"t": 1}}), classic(1, A).at(10), second)


@pytest.mark.xfail(strict=True, reason="a topic counts as deleted if any later snapshot lacks it")
def test_the_deletion_of_a_topic_is_not_the_cause_of_an_earlier_rebalance() -> None:
    rows = metadata({0: {"t": 1, "u": 1}, 30: {"t": 1, "u": 1}, 9_000: {"t": 1}})
    first = classic(1, member("a", ["t", "u"], {"t": [0], "u": [0]})).at(10)
    assert "topic_deleted" not in causes(rows, first, classic(2, A).at(20))


@pytest.mark.xfail(strict=True, reason="topics of members that left are not compared with the metadata")
def test_the_deletion_of_a_topic_whose_subscribers_left_can_be_the_cause() -> None:
    rows = metadata({0: {"t": 1, "u": 1}, 15: {"t": 1}})
    first = classic(1, A, member("b", ["u"], {"u": [0]})).at(10)
    assert "topic_deleted" in causes(rows, first, classic(2, A).at(20))


@pytest.mark.xfail(strict=True, reason="partitions that members owned count, although their topic was deleted")
def test_a_cooperative_group_notices_that_its_topic_was_created_again() -> None:
    first, second, third = (
        classic(place, cooperative(*each)) for place, each in enumerate([(4, 0), (0, 4), (6, 0)], 1)
    )
    found = causes(recreated(4, 6), first.at(10), second.at(60), third.at(80))
    assert "topic_created" in found
    assert "partitions_increased" not in found


@pytest.mark.xfail(strict=True, reason="only the snapshot after a rebalance shows that a topic was created again")
def test_a_topic_that_was_created_again_and_then_deleted_did_not_grow() -> None:
    rows = [*recreated(1, 2), *metadata({90: {"x": 1}})]
    second = classic(2, member("a", ["t"], {"t": [0, 1]})).at(80)
    assert "partitions_increased" not in causes(rows, classic(1, A).at(10), second)
