"""Comparison of a real coordinator with its model, for random heartbeats in orders that no client sends.

With ASSIGNOR_RECORD in the environment, many more scenarios are played and written as vectors.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from assignor.member import HeartbeatRequest
from tests.broker import recording
from tests.broker.random_heartbeats import FILE, send_random_heartbeats
from tests.broker.scripted_member import ScriptedMember
from tests.member.simulation.exchange_replay import differences
from tests.support import vector_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.broker.cluster import Cluster
    from tests.broker.recording import Recording
    from tests.broker.scenario import Scenario

pytestmark = pytest.mark.broker

SEEDS = range(40 if recording.wanted() else 3)
STEPS = 120
LONGER_THAN_TEN_SECONDS = 11_000
"""Milliseconds after which the coordinator has resolved patterns again; it does so every ten seconds."""


@pytest.fixture(scope="module")
def recordings() -> Iterator[list[Recording]]:
    """Collect the scenarios; write them as vectors at the end if ASSIGNOR_RECORD is set."""
    scenarios: list[Recording] = []
    yield scenarios
    if recording.wanted():
        recording.write(vector_files.OWN_FOLDER / FILE, scenarios)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_responds_as_the_broker(
    patient_broker: Cluster,
    recordings: list[Recording],
    seed: int,
    record_property: Callable[[str, object], None],
) -> None:
    from tests.broker.scenario import Scenario

    assignor = "uniform" if seed % 2 else "range"
    with Scenario(patient_broker, f"at-random-{seed}", assignor, recordings.append) as scenario:
        send_random_heartbeats(scenario, seed, STEPS)
    events = json.loads(scenario.recording.line())
    record_property("events compared", len(events["events"]))
    assert [] == differences(events)


@pytest.mark.long
def test_partitions_stay_unowned_after_a_member_changes_to_a_pattern_without_topics(
    patient_broker: Cluster, recordings: list[Recording]
) -> None:
    from tests.broker.scenario import Scenario

    # The coordinator revokes the partitions from the member but keeps them in its target, so they have no owner.
    with Scenario(patient_broker, "left-behind", "uniform", recordings.append) as scenario:
        scenario.create_topics(orders=5)
        a, b = ScriptedMember(scenario, "a"), ScriptedMember(scenario, "b")
        a.join(pattern=scenario.topic("o.*"))
        scenario.await_patterns()
        b.join("orders")
        _settle(scenario, a, b)
        assert [2, 3] == sorted(sum(map(len, member.has().values())) for member in (a, b))
        had = a.has()
        nothing = HeartbeatRequest(
            scenario.group, "a", a.epoch, subscribed_topic_names=(), subscribed_topic_regex=scenario.topic("nothing")
        )
        assert {} == a.send(nothing).assignment
        _settle(scenario, a, b)
        scenario.wait(LONGER_THAN_TEN_SECONDS)
        _settle(scenario, a, b)
        described = scenario.describe()
        assert "Stable" == described.state
        assert had["orders"] == sorted(partition.partition for partition in described.members["a"].target)
        assert 5 - len(had["orders"]) == len(described.members["b"].assigned)
        a.leave()
        _settle(scenario, b)
        assert {"orders": [0, 1, 2, 3, 4]} == b.has()
    assert [] == differences(json.loads(scenario.recording.line()))


@pytest.mark.long
@pytest.mark.parametrize("newcomer", ["a", "c"])
def test_a_new_member_with_a_pattern_without_topics_changes_the_assignment(
    patient_broker: Cluster, recordings: list[Recording], newcomer: str
) -> None:
    from tests.broker.scenario import Scenario

    # The coordinator ignores an unresolved pattern when it checks whether all members have the same subscription.
    # Then the first member in its hash table decides which topics are assigned: all of them, or none.
    with Scenario(patient_broker, f"overlooked-{newcomer}", "uniform", recordings.append) as scenario:
        scenario.create_topics(orders=5)
        b, gone = ScriptedMember(scenario, "b"), ScriptedMember(scenario, "d")
        b.join("orders")
        gone.join("orders")
        _settle(scenario, b, gone)
        gone.leave()
        other = ScriptedMember(scenario, newcomer)
        other.join(pattern=scenario.topic("nothing"))
        scenario.await_patterns()
        _settle(scenario, b, other)
        scenario.wait(LONGER_THAN_TEN_SECONDS)
        _settle(scenario, b, other)
        described = scenario.describe()
        assert "Stable" == described.state
        assert (0 if newcomer == "a" else 3) == len(described.members["b"].assigned)
        assert 0 == len(described.members[newcomer].assigned)
        assert (0 if newcomer == "a" else 2) == len(described.members[newcomer].target)
        b.leave()
        other.leave()
    assert [] == differences(json.loads(scenario.recording.line()))


def test_a_returning_static_member_keeps_the_pattern_of_its_predecessor_unless_it_sends_an_empty_one(
    patient_broker: Cluster, recordings: list[Recording]
) -> None:
    from tests.broker.scenario import Scenario

    # A null field means "unchanged", even for a member that joins.
    with Scenario(patient_broker, "pattern-handed-on", "range", recordings.append) as scenario:
        scenario.create_topics(orders=2, payments=1)
        first = ScriptedMember(scenario, "a", instance_id="one")
        first.join(pattern=scenario.topic(".*"))
        scenario.await_patterns()
        first.heartbeat()
        assert {"orders": [0, 1], "payments": [0]} == first.has()
        first.leave_for_now()
        second = ScriptedMember(scenario, "b", instance_id="one")
        second.join("payments")
        assert {"orders": [0, 1], "payments": [0]} == second.has()
        second.leave_for_now()
        third = ScriptedMember(scenario, "c", instance_id="one")
        third.join("payments", pattern="")
        assert {"payments": [0]} == third.has()
        third.leave()
    assert [] == differences(json.loads(scenario.recording.line()))


def _settle(scenario: Scenario, *members: ScriptedMember) -> None:
    """Let the members acknowledge their assignments in turn, a few times."""
    for _ in range(3):
        for member in members:
            member.heartbeat()
            scenario.await_patterns()
            member.acknowledge()
