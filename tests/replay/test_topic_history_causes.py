"""Causes of rebalances from topics with exact times, as the log of the controllers has them; with counterexamples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.replay import Replay
from assignor.sources.topic_history import topic_history
from tests.replay.logs import CONSUMER, classic, log, member
from tests.sources import metadata_bytes as made

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.replay.logs import Event as Step

Row = dict[str, Any]

AT = 60_000
"""Time of the rebalance; the group began at 1 s, after topic t with two partitions."""

BEGIN = [made.topic(1, "t"), made.partition(1, 0, [1]), made.partition(1, 1, [1])]

Change = tuple[int, bytes]


def rebalance(folder: Path, steps: Iterable[Step], *changes: Change) -> Row:
    """Return the last rebalance of a log, with the topics of the controllers' log."""
    values = [*((0, value) for value in BEGIN), *changes]
    history = topic_history([made.write(folder, values=values)])
    replay = Replay(history.topics.to_pylist())
    events = [found for record in log(steps) for found in replay.push(record)] + replay.finish()
    found: Row = [each for each in events if each["event"] == "rebalance"][-1]
    return found


def classic_steps(after: dict[str, list[int]], *wants: str) -> list[Step]:
    """Return a log in which the member gets other partitions in a second generation."""
    topics = ["t", *wants]
    first = classic(1, member("a", topics, {"t": [0, 1]})).at(1_000)
    return [classic(0, protocol_type="").at(500), first, classic(2, member("a", topics, after)).at(AT)]


def created(number: int, name: str, at: int) -> list[Change]:
    return [(at, made.topic(number, name)), (at, made.partition(number, 0, [1]))]


def test_partitions_that_were_added_just_before_are_the_cause(tmp_path: Path) -> None:
    steps = classic_steps({"t": [0, 1, 2]})
    found = rebalance(tmp_path, steps, (AT - 30, made.partition(1, 2, [1])))

    assert found["causes"][0] == "partitions_increased"


def test_a_topic_that_was_created_just_before_is_the_cause(tmp_path: Path) -> None:
    steps = classic_steps({"t": [0, 1], "u": [0]}, "u")
    found = rebalance(tmp_path, steps, *created(2, "u", AT - 30))

    assert found["causes"][0] == "topic_created"
    assert "Topic 'u' has partitions for the first time." in found["evidence"]


@pytest.mark.parametrize("at", [AT - 30, AT - 20_000, AT + 30, AT + 20_000])
def test_a_topic_that_no_member_subscribes_to_is_no_cause(tmp_path: Path, at: int) -> None:
    steps = classic_steps({"t": [0, 1]})

    found = rebalance(tmp_path, steps, *created(2, "other", at), (at + 1, made.partition(2, 1, [1])))
    assert found["causes"] == ["leader_rejoined"]
    assert "other" not in found["evidence"]


@pytest.mark.parametrize("at", [AT + 2_000, AT + 3_600_000])
def test_a_deletion_after_a_rebalance_is_not_its_cause(tmp_path: Path, at: int) -> None:
    """A cooperative assignor can withhold the partitions of a topic, which has none then."""
    both = member("a", ["t", "u"], {"t": [0, 1], "u": [0]})
    withheld = member("a", ["t", "u"], {"t": [0, 1]})
    steps = [classic(0, protocol_type="").at(500), classic(1, both).at(1_000), classic(2, withheld).at(AT)]

    found = rebalance(tmp_path, steps, *created(2, "u", 100), (at, made.topic_removed(2)))
    assert "topic_deleted" not in found["causes"]
    found = rebalance(tmp_path, steps, *created(2, "u", 100), (AT - 30, made.topic_removed(2)))
    assert "topic_deleted" in found["causes"]


def epoch_steps() -> list[Step]:
    """Return a log in which the hash of the topics of a consumer group changes."""
    begin = [
        CONSUMER.joins("b", subscribedTopicNames=["t", "u"]),
        CONSUMER.epoch(2, metadataHash=11),
        CONSUMER.target_of("b", {"t": [0, 1]}),
        CONSUMER.target_epoch(2),
        CONSUMER.has("b", 2, 0, {"t": [0, 1]}),
    ]
    later = [CONSUMER.epoch(3, metadataHash=12), CONSUMER.target_epoch(3)]
    return [*(each.at(1_000) for each in begin), *(each.at(AT) for each in later)]


def test_the_topic_whose_change_gave_a_new_epoch_is_named(tmp_path: Path) -> None:
    assert rebalance(tmp_path, epoch_steps(), *created(2, "u", AT - 30))["causes"] == ["topic_created"]
    grown = rebalance(tmp_path, epoch_steps(), (AT - 30, made.partition(1, 2, [1])))
    assert (grown["causes"], grown["evidence"]) == (
        ["partitions_increased"],
        "Topic 't' has 3 partitions instead of 2.",
    )


def test_a_change_after_a_new_epoch_is_not_its_cause(tmp_path: Path) -> None:
    """The racks of the topic changed in fact, and another topic was created an hour later."""
    racks = [(AT - 40, made.broker(1, "a")), (AT - 30, made.broker(2, "b"))]
    moved = (AT - 20, made.partition_changed(1, 0, replicas=[2, 1]))
    found = rebalance(tmp_path, epoch_steps(), *racks, moved, *created(2, "u", AT + 3_600_000))

    assert "topic_created" not in found["causes"]
    assert found["evidence"] == "The racks of the replicas of t changed."
