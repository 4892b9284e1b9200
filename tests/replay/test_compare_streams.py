"""Comparison of the target assignments of streams groups (KIP-1071) with the broker's assignor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor import _core
from assignor.cluster import Recording
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import in_log_order
from assignor.replay.events import event_dicts
from tests.replay.logs import STREAMS, Event, event, metadata, replayed
from tests.replay.streams_logs import epoch, joins

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSIONS = [(4, 2, 0), (4, 2, 1), (4, 3, 0), (4, 3, 1)]
OTHER_VERSIONS = [(4, 1, 1), (4, 2, 2), (4, 3, 2), (4, 4, 0), (5, 0, 0)]

STICKY = "sticky"
DATA = Path(__file__).parents[2] / "data"
TOPIC = metadata({0: {"t": 4}})
TOPOLOGY = STREAMS.streams_topology(0, {"0": ["t"]}, stateful=["0"])

Result = tuple[str | None, str | None, str | None]


def target(number: int, **tasks: tuple[Sequence[int], Sequence[int]]) -> list[Event]:
    """Return the target of an epoch: the active and standby tasks of subtopology 0 by member."""
    members = [
        STREAMS.target_of(id, {"0": active} if active else {}, **({"0": standby} if standby else {}))
        for id, (active, standby) in tasks.items()
    ]
    return [*members, STREAMS.target_epoch(number)]


def compared(
    *events: Event, topics: Sequence[Any] = TOPIC, version: tuple[int, int, int] | None = None
) -> tuple[Result, list[str]]:
    """Return assignor, outcome and class of the last generation, and its reasons."""
    last = replayed(*events, topics=topics, broker_version=version)["generations"][-1]
    return (last["assignor"], last["outcome"], last["class"]), last["reasons"]


PAIR = [joins("a"), joins("b"), TOPOLOGY, epoch(2), *target(2, a=([0, 1], [2, 3]), b=([2, 3], [0, 1]))]
"""Two members, each with a copy of each task."""

THIRD = [joins("c"), epoch(3)]
"""A third member joins."""

STICKS = target(3, a=([0, 1], [2]), b=([2], [1, 3]), c=([3], [0]))
"""The answer of Kafka's class."""

OTHER = target(3, a=([0, 1], [2]), b=([2], [0, 3]), c=([3], [1]))
"""The answer with two standby tasks exchanged."""


@pytest.mark.parametrize("version", [None, *VERSIONS])
def test_the_answer_of_the_class_is_equal(version: tuple[int, int, int] | None) -> None:
    assert compared(*PAIR, *THIRD, *STICKS, version=version) == ((STICKY, "equal", None), [])


@pytest.mark.parametrize("version", VERSIONS)
def test_another_answer_is_different_if_the_version_is_known(version: tuple[int, int, int]) -> None:
    found, (reason,) = compared(*PAIR, *THIRD, *OTHER, version=version)

    assert found == (STICKY, "different", "unexplained")
    assert reason == "2 of 3 members have other tasks than Kafka's sticky assignor of streams groups gives them"


def test_another_answer_of_an_unknown_version_is_not_determined() -> None:
    found, (reason,) = compared(*PAIR, *THIRD, *OTHER)

    assert found == (STICKY, "unknown", "not_determined")
    assert reason.endswith("gives them; the broker may have another version: name its version with --broker-version")


@pytest.mark.parametrize("version", OTHER_VERSIONS)
@pytest.mark.parametrize("answer", [STICKS, OTHER])
def test_another_version_is_not_determined(version: tuple[int, int, int], answer: list[Event]) -> None:
    found, (reason,) = compared(*PAIR, *THIRD, *answer, version=version)

    assert found == (STICKY, "unknown", "not_determined")
    assert reason == (
        "not compared: the assignor is that of Kafka 4.2.0, 4.2.1, 4.3.0 and 4.3.1; the broker has version "
        f"{'.'.join(map(str, version))}"
    )


def test_a_member_that_loses_its_copy_shows_the_version() -> None:
    """A new member gets a standby copy in 4.3.1, although another member had it; 4.2.2 leaves it where it was."""
    single = metadata({0: {"t": 1}})
    before = [
        *[joins(id, id) for id in "bcd"],
        *[TOPOLOGY, epoch(2, 2), *target(2, b=([0], []), c=([], [0]), d=([], [0])), joins("a", "a"), epoch(3, 2)],
    ]
    of_4_3_1 = target(3, a=([], [0]), d=([], []))
    of_4_2_2 = target(3, a=([], []))

    assert compared(*before, *of_4_3_1, topics=single, version=(4, 3, 1))[0] == (STICKY, "equal", None)
    assert compared(*before, *of_4_2_2, topics=single)[0] == (STICKY, "unknown", "not_determined")
    assert compared(*before, *of_4_2_2, topics=single, version=(4, 2, 2))[0] == (STICKY, "unknown", "not_determined")
    assert compared(*before, *of_4_2_2, topics=single, version=(4, 2, 1))[0] == (STICKY, "different", "unexplained")


def without(events: Sequence[Event], left_out: Event) -> list[Event]:
    return [each for each in events if each != left_out]


MISSING_INPUT = {
    "topology": ([*without(PAIR, TOPOLOGY), *THIRD, *STICKS], TOPIC, "the log lacks the topology of the group"),
    "target": ([*PAIR[:3], *THIRD[:1], epoch(9), *target(9, a=([0, 1], []))], TOPIC, "the log lacks the target"),
    "replicas": ([*PAIR, THIRD[0], epoch(3, None), *STICKS], TOPIC, "the record of the group has no valid num.standby"),
    "number": ([*PAIR, THIRD[0], epoch(3, -1), *STICKS], TOPIC, "the record of the group has no valid num.standby"),
    "topics": ([*PAIR, *THIRD, *STICKS], (), "there is no topic metadata"),
    "pattern": (
        [*PAIR[:2], STREAMS.streams_topology(0, {"0": ["t"]}, pattern="t.*"), *PAIR[3:], *THIRD, *STICKS],
        TOPIC,
        "subtopology 0 reads topics that match a pattern",
    ),
}


@pytest.mark.parametrize("version", [None, (4, 3, 1)])
@pytest.mark.parametrize("name", MISSING_INPUT)
def test_a_target_without_its_input_is_not_determined(name: str, version: tuple[int, int, int] | None) -> None:
    events, topics, text = MISSING_INPUT[name]

    found, (reason,) = compared(*events, topics=topics, version=version)

    assert found == (STICKY, "unknown", "not_determined")
    assert reason.startswith(f"not compared: {text}")


def test_a_topic_that_the_metadata_lacks_is_named() -> None:
    found, reasons = compared(*PAIR, *THIRD, *STICKS, topics=metadata({0: {"u": 4}}), version=(4, 3, 1))

    assert found == (STICKY, "unknown", "unknown_topics")
    assert reasons == ["not compared: the topic metadata lacks the topic t"]


def test_a_topic_can_grow_between_two_snapshots() -> None:
    grown = metadata({0: {"t": 3}, 60_000: {"t": 4}})
    assert compared(*PAIR, *THIRD, *STICKS, topics=grown, version=(4, 3, 1))[0] == (STICKY, "equal", None)


def test_each_topic_can_grow_at_another_time() -> None:
    topology = STREAMS.streams_topology(0, {"0": ["t"], "1": ["u"]})
    events = [joins("a"), topology, epoch(2, 0), STREAMS.target_of("a", {"0": [0, 1], "1": [0]})]
    topics = metadata({0: {"t": 1, "u": 1}, 60_000: {"t": 2, "u": 2}})
    assert compared(*events, STREAMS.target_epoch(2), topics=topics, version=(4, 3, 1))[0] == (STICKY, "equal", None)


def test_a_target_of_other_topics_is_explained() -> None:
    later = metadata({60_000: {"t": 6}})

    found, (reason,) = compared(*PAIR, *THIRD, *STICKS, topics=later, version=(4, 3, 1))

    assert found == (STICKY, "different", "explained")
    assert reason == "the recorded assignment equals the answer of Kafka's assignor if subtopology 0 had 4 tasks"
    assert compared(*PAIR, *THIRD, *STICKS, topics=later)[0] == (STICKY, "unknown", "not_determined")


def test_tasks_of_an_unknown_subtopology_are_no_answer() -> None:
    odd = [STREAMS.target_of("c", {"0": [3], "7": [0]}), *target(3, a=([0, 1], [2]), b=([2], [1, 3]))]
    assert compared(*PAIR, *THIRD, *odd, version=(4, 3, 1))[0] == (STICKY, "different", "unexplained")


def test_warm_up_tasks_are_no_answer() -> None:
    lists = {"activeTasks": [3], "standbyTasks": [0], "warmupTasks": [1]}
    tasks = {name: [{"subtopologyId": "0", "partitions": numbers}] for name, numbers in lists.items()}
    warm = event(21, {"groupId": "g", "memberId": "c"}, tasks)
    answer = [warm, *target(3, a=([0, 1], [2]), b=([2], [1, 3]))]
    assert compared(*PAIR, *THIRD, *answer, version=(4, 3, 1))[0] == (STICKY, "different", "unexplained")


def test_a_topology_that_is_not_ready_is_not_compared() -> None:
    waits = [joins("a"), TOPOLOGY, epoch(2, validatedTopologyEpoch=-1), *target(2, a=([], []))]
    assert compared(*waits, version=(4, 3, 1)) == ((None, None, None), [])


def test_members_without_process_ids_are_compared() -> None:
    """The class takes an empty process id for a process like any other."""
    alone = [STREAMS.joins("a", topologyEpoch=0), TOPOLOGY, epoch(2), *target(2, a=([0, 1, 2, 3], []))]
    assert compared(*alone, version=(4, 3, 1)) == ((STICKY, "equal", None), [])


RECORDED = {
    ("fleet_webshop", (4, 3, 1)): {"equal": 3},
    ("fleet_webshop", None): {"equal": 3},
    ("streams_connect_share", (4, 3, 1)): {"equal": 11},
    ("streams_connect_share", None): {"equal": 11},
    ("streams_share_4_4", (4, 4, 0)): {"not_determined": 9},
    ("streams_share_4_4", None): {"equal": 4, "not_determined": 5},
}


@pytest.mark.parametrize(("name", "version"), RECORDED)
def test_recorded_targets_are_equal_or_not_determined(name: str, version: tuple[int, int, int] | None) -> None:
    recording = Recording.open(DATA / name)
    replay = _core.Replay(topics_table(recording.topics()), broker_version=version)
    columns = ["partition", "offset", "timestamp", "key", "value"]
    found: dict[str, int] = {}
    for batch in (*[replay.push(batch.select(columns)) for batch in in_log_order(recording)], replay.finish()):
        for each in event_dicts(batch):
            if each.get("kind") == "streams" and each["event"] == "generation" and each["comparison"]:
                result = each["comparison"]["class"] or each["comparison"]["outcome"]
                found[result] = found.get(result, 0) + 1

    assert found == RECORDED[name, version]


def test_the_columns_of_histories_are_those_of_events() -> None:
    history = replayed(*PAIR, *THIRD, *STICKS, topics=TOPIC)
    columns = pa.record_batch(_core.Replay(topics_table(None)).finish()[0]).schema
    assert [row["moved_tasks"] for row in history["generations"]] == [[], [{"task": "0_3", "process": "process-c"}]]
    assert {"tasks", "moved_tasks", "moved_state", "task_problems"} <= set(columns.names)
