"""The model of the coordinator answers as a real broker did, and has Kafka's timers and limits."""

from __future__ import annotations

import copy
import os
import random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode

from assignor.member.messages import HeartbeatRequest
from tests.broker import random_heartbeats, recording
from tests.member.simulation.coordinator import ModelCoordinator, Removal
from tests.member.simulation.coordinator_settings import CoordinatorSettings
from tests.member.simulation.exchange_replay import differences
from tests.member.simulation.hash_tables import TimelineTable
from tests.member.simulation.targets import Topic
from tests.support import vector_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.member.messages import HeartbeatResponse

SCENARIOS = {scenario["scenario"]: scenario for scenario in recording.read(vector_files.OWN_FOLDER / recording.FILE)}
RANDOM_SCENARIOS = {
    scenario["scenario"]: scenario for scenario in recording.read(vector_files.OWN_FOLDER / random_heartbeats.FILE)
}
ORDERS, MAIL = UUID(int=1), UUID(int=2)
CHANGED = 8 if os.environ.get("ASSIGNOR_PROFILE") == "long" else 3
"""Number of answers of a scenario that are changed, one by one, in four or five ways."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_model_answers_as_the_broker(name: str) -> None:
    assert [] == differences(SCENARIOS[name])


@pytest.mark.parametrize("name", RANDOM_SCENARIOS)
def test_the_model_answers_random_heartbeats_as_the_broker(name: str) -> None:
    assert [] == differences(RANDOM_SCENARIOS[name])


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_changed_answer_is_detected(name: str) -> None:
    rng = random.Random(name)
    answers = [index for index, event in enumerate(SCENARIOS[name]["events"]) if "response" in event]
    for index in rng.sample(answers, min(len(answers), CHANGED)):
        for altered in _altered(SCENARIOS[name]["events"][index]["response"], rng):
            scenario = copy.deepcopy(SCENARIOS[name])
            scenario["events"][index]["response"] = altered
            assert [index] == [difference.event for difference in differences(scenario)]


def _altered(response: dict[str, Any], rng: random.Random) -> Iterator[dict[str, Any]]:
    yield response | {"error_code": response["error_code"] + 1}
    yield response | {"member_epoch": response["member_epoch"] + rng.choice([-1, 1])}
    yield response | {"heartbeat_interval_ms": response["heartbeat_interval_ms"] + 1}
    if response["assignment"] is None:
        yield response | {"assignment": {}}
    else:
        yield response | {"assignment": None}
        yield response | {"assignment": {**response["assignment"], str(UUID(int=7)): [0]}}


class Group:
    """A coordinator with a clock, and short forms of requests."""

    def __init__(self, **settings: Any) -> None:
        self.coordinator = ModelCoordinator(CoordinatorSettings(**({"assignment_interval_ms": 0} | settings)))
        self.coordinator.change_topics({"orders": Topic(ORDERS, 4)})
        self.now = 0

    def join(self, member: str, *topics: str, **fields: Any) -> HeartbeatResponse:
        names = topics or ("orders",)
        given = {"rebalance_timeout_ms": 20_000, "subscribed_topic_names": names, "topic_partitions": {}} | fields
        return self.heartbeat(member, 0, **given)

    def heartbeat(self, member: str, epoch: int, **fields: Any) -> HeartbeatResponse:
        return self.coordinator.heartbeat(HeartbeatRequest("group", member, epoch, **fields), self.now)


def test_the_table_of_members_grows_when_the_assignment_of_the_second_one_is_stored() -> None:
    group = Group()
    # A broker lists the first id before the second.
    # A table that grows only for a third member lists the second id first.
    ids = ["616828d3-16cb-4561-ae88-f65712dbd7d2", "a12e1a8e-bf75-42fa-a277-9e105837cfd6"]
    for member in ids:
        group.join(member)
    assert ids == group.coordinator.groups["group"].in_order()


def test_a_silent_member_is_removed_when_its_session_expires() -> None:
    group = Group()
    epoch = group.join("a").member_epoch
    assert 45_000 == group.coordinator.next_deadline()
    group.now = 44_999
    assert ErrorCode.none == group.heartbeat("a", epoch).error_code
    group.now += 45_000
    assert ErrorCode.unknown_member_id == group.heartbeat("a", epoch).error_code
    assert [Removal(89_999, "group", "a", "session")] == group.coordinator.removals


def test_a_member_that_does_not_revoke_in_time_is_removed() -> None:
    group = Group()
    epoch = group.join("a").member_epoch
    group.join("b")
    group.heartbeat("a", epoch)
    group.now = 19_999
    assert ErrorCode.none == group.heartbeat("a", epoch).error_code
    group.now = 20_000
    assert ErrorCode.unknown_member_id == group.heartbeat("a", epoch).error_code
    assert ["rebalance"] == [removal.reason for removal in group.coordinator.removals]


def test_timers_restart_after_a_fail_over() -> None:
    group = Group()
    epoch = group.join("a").member_epoch
    group.join("b")
    group.heartbeat("a", epoch)
    group.now = 19_000
    group.coordinator.fail_over(group.now)
    assert 39_000 == group.coordinator.next_deadline()
    group.now = 38_999
    assert ErrorCode.none == group.heartbeat("a", epoch).error_code
    group.now = 39_000
    assert ErrorCode.unknown_member_id == group.heartbeat("a", epoch).error_code


def test_a_new_target_waits_for_the_assignment_interval() -> None:
    group = Group(assignment_interval_ms=1000)
    first = group.join("a")
    group.now = 500
    second = group.join("b")
    assert (first.member_epoch, {}) == (second.member_epoch, second.assignment)
    group.now = 999
    assert first.member_epoch == group.heartbeat("b", second.member_epoch).member_epoch
    group.now = 1000
    assert first.member_epoch + 1 == group.heartbeat("b", second.member_epoch).member_epoch


def test_a_pattern_is_resolved_after_a_delay_and_refreshed_after_ten_seconds() -> None:
    group = Group(regex_resolution_ms=5)
    first = group.join("a", subscribed_topic_names=None, subscribed_topic_regex="o.*|mail")
    assert {} == first.assignment
    group.now = 5
    resolved = group.heartbeat("a", first.member_epoch)
    assert {ORDERS: (0, 1, 2, 3)} == resolved.assignment
    group.coordinator.change_topics(
        {"orders": Topic(ORDERS, 4), "mail": Topic(MAIL, 1), "inbox": Topic(UUID(int=3), 1)}
    )
    group.now = 10_000
    assert group.heartbeat("a", resolved.member_epoch).assignment is None
    group.now = 10_001
    assert group.heartbeat("a", resolved.member_epoch).assignment is None
    group.now = 10_006
    assert {ORDERS: (0, 1, 2, 3), MAIL: (0,)} == group.heartbeat("a", resolved.member_epoch).assignment


def test_an_invalid_pattern_and_a_full_group_are_rejected() -> None:
    group = Group(max_size=1)
    answer = group.join("a", subscribed_topic_regex="(")
    assert ErrorCode.invalid_regular_expression == answer.error_code
    assert group.coordinator.describe("group") is None
    assert ErrorCode.none == group.join("a").error_code
    assert ErrorCode.group_max_size_reached == group.join("b").error_code


def test_a_table_of_the_timeline_forgets_removed_keys() -> None:
    table = TimelineTable()
    for name in ["range", "uniform", "a", "b"]:
        table.add(name)
    table.remove("a")
    assert {"range", "uniform", "b"} == set(table)
