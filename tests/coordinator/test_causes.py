"""Every rebalance has a cause and a reason: one scenario per cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor import RangeAssignor, Subscription
from assignor.coordinator import Coordinator, CoordinatorConfig, LeavingMember, RebalanceCause
from assignor.wire import encode_subscription
from tests.coordinator.driver import AT_ONCE, GROUP, RANGE, GroupDriver

if TYPE_CHECKING:
    from collections.abc import Callable

T0_AND_T1 = (("range", encode_subscription(Subscription(("t0", "t1")))),)
T0_OWNED = (("range", encode_subscription(Subscription(("t0",), owned_partitions=(("t0", 0),)))),)


def member_joins() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.join("a")
    return driver


def member_leaves() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.leave("b")
    return driver


def member_is_silent() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.now = 6_000
    driver.heartbeat("a")
    driver.wait(4_000)
    return driver


def application_crashes() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.collect(driver.coordinator.disconnected(GROUP, driver.ids["b"], driver.now))
    driver.now = 6_000
    driver.heartbeat("a")
    driver.wait(4_000)
    return driver


def leader_sees(topics: dict[str, int]) -> GroupDriver:
    """Let the leader of a group join again after the topics change."""
    driver = GroupDriver.begin(partitions_per_topic={"t0": 4})
    driver.join("a", protocols=T0_AND_T1)
    driver.sync("a")
    driver.collect(driver.coordinator.update_metadata(topics, driver.now))
    driver.join("a", protocols=T0_AND_T1)
    return driver


def subscription_changes() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.join("b", protocols=T0_AND_T1)
    return driver


def owned_partitions_change() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.join("b", protocols=T0_OWNED)
    return driver


def leader_rejoins() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.join("a", reason="metadata is stale", version=8)
    return driver


def static_member_returns_while_completing() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.join("a", group_instance_id="i", version=5)
    driver.join("a", member_id="", group_instance_id="i", version=5)
    return driver


def static_member_changes_protocol() -> GroupDriver:
    driver = GroupDriver.begin()
    both = (*RANGE, ("roundrobin", RANGE[0][1]))
    driver.join("a", group_instance_id="i", version=5, protocols=both)
    driver.sync("a")
    driver.join("a", member_id="", group_instance_id="i", version=5, protocols=both[::-1])
    return driver


def administrator_removes() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.join("a", group_instance_id="i", version=5)
    driver.sync("a")
    driver.leave("a", members=[LeavingMember("", "i")])
    return driver


def member_does_not_sync() -> GroupDriver:
    driver = GroupDriver.begin()
    driver.join("a", session_timeout_ms=600_000)
    driver.wait(60_000)
    return driver


def assignment_is_not_written() -> GroupDriver:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a")
    effects = driver.collect(driver.coordinator.expire(1))
    driver.sync("a", {"a": b"x"})
    assert effects is not None
    driver.collect(driver.coordinator.write_failed(2, 19, driver.now))
    return driver


def group_is_too_large() -> GroupDriver:
    before = GroupDriver.begin()
    before.settle("a", "b", "c")
    after = GroupDriver(Coordinator(CoordinatorConfig(group_max_size=2)))
    after.collect(after.coordinator.load(before.log, now=1))
    return after


SCENARIOS: dict[RebalanceCause, tuple[Callable[[], GroupDriver], str]] = {
    RebalanceCause.CONSUMER_SUBSCRIBED: (member_joins, "Member a-1 joined."),
    RebalanceCause.CONSUMER_CLOSED: (member_leaves, "Member b-2 left."),
    RebalanceCause.CONSUMER_DEAD: (member_is_silent, "Member b-2: no heartbeat for 10000 ms."),
    RebalanceCause.PARTITIONS_INCREASED: (
        lambda: leader_sees({"t0": 6}),
        "Topic 't0' has 6 partitions instead of 4. Leader a-1 joined again.",
    ),
    RebalanceCause.TOPIC_CREATED: (
        lambda: leader_sees({"t0": 4, "t1": 2}),
        "Topic 't1' was created with 2 partitions. Leader a-1 joined again.",
    ),
    RebalanceCause.TOPIC_DELETED: (lambda: leader_sees({}), "Topic 't0' was deleted. Leader a-1 joined again."),
    RebalanceCause.APPLICATION_CRASHED: (
        application_crashes,
        "Member b-2: its connection ended, and there was no heartbeat for 10000 ms.",
    ),
    RebalanceCause.SUBSCRIPTION_CHANGED: (subscription_changes, "Member b-2 joined again."),
    RebalanceCause.OWNED_PARTITIONS_CHANGED: (owned_partitions_change, "Member b-2 joined again."),
    RebalanceCause.LEADER_REJOINED: (leader_rejoins, "Leader a-1 joined again: metadata is stale."),
    RebalanceCause.STATIC_MEMBER_RETURNED: (
        static_member_returns_while_completing,
        "Static member 'i' returned as i-2.",
    ),
    RebalanceCause.PROTOCOL_CHANGED: (static_member_changes_protocol, "Static member 'i' returned as i-2."),
    RebalanceCause.MEMBER_REMOVED: (administrator_removes, "Static member 'i' was removed."),
    RebalanceCause.SYNC_TIMED_OUT: (member_does_not_sync, "No SyncGroup arrived in time from a-1."),
    RebalanceCause.ASSIGNMENT_NOT_STORED: (
        assignment_is_not_written,
        "The assignment of generation 1 could not be written (COORDINATOR_NOT_AVAILABLE).",
    ),
    RebalanceCause.OVER_CAPACITY: (group_is_too_large, "The group has 3 members; the limit is 2."),
}


ONLY_IN_LOGS = {
    RebalanceCause.PROTOCOL_UPGRADED,
    RebalanceCause.PROTOCOL_DOWNGRADED,
    RebalanceCause.PARTITIONS_INITIALIZED,
    RebalanceCause.POLL_INTERVAL_EXCEEDED,
    RebalanceCause.REJOIN_TIMED_OUT,
    RebalanceCause.COORDINATOR_MOVED,
}
"""Causes in logs of brokers that the classic coordinator never has: they need a group of another protocol."""


def test_every_cause_of_the_classic_coordinator_has_a_scenario() -> None:
    assert set(RebalanceCause) == SCENARIOS.keys() | ONLY_IN_LOGS
    assert not SCENARIOS.keys() & ONLY_IN_LOGS


@pytest.mark.parametrize("cause", SCENARIOS, ids=lambda cause: cause.name.lower())
def test_a_rebalance_has_its_cause_and_reason(cause: RebalanceCause) -> None:
    run, reason = SCENARIOS[cause]

    rebalance = run().rebalances[-1]

    assert (cause, reason) == (rebalance.cause, rebalance.reason)


def test_every_cause_has_its_own_sentence() -> None:
    sentences = {cause.value for cause in RebalanceCause}

    assert len(RebalanceCause) == len(sentences)
    assert all(sentence.endswith(".") and sentence[0].isupper() for sentence in sentences)


@pytest.mark.parametrize(
    ("topics", "cause"),
    [
        ({"t0": 6}, RebalanceCause.PARTITIONS_INCREASED),
        ({"t0": 2}, RebalanceCause.TOPIC_CREATED),
        ({}, RebalanceCause.TOPIC_DELETED),
    ],
)
def test_a_group_with_server_side_assignment_rebalances_when_its_topics_change(
    topics: dict[str, int], cause: RebalanceCause
) -> None:
    driver = GroupDriver.begin(assignor=RangeAssignor(), partitions_per_topic={"t0": 4})
    driver.settle("a", "b")

    driver.collect(driver.coordinator.update_metadata(topics, driver.now))

    assert cause is driver.causes[-1]
    assert "PreparingRebalance" == driver.state()


def test_a_member_that_sends_a_request_after_a_disconnect_did_not_crash() -> None:
    driver = GroupDriver.begin()
    driver.settle("a")
    driver.collect(driver.coordinator.disconnected(GROUP, driver.ids["a"], driver.now))
    driver.heartbeat("a")
    driver.wait(AT_ONCE.min_session_timeout_ms + 10_000)

    assert RebalanceCause.CONSUMER_DEAD is driver.causes[-1]


def test_requests_that_cause_no_rebalance_in_kafka_cause_no_rebalance_here() -> None:
    driver = GroupDriver.begin(partitions_per_topic={"t0": 4})
    driver.settle("a", "b")
    before = list(driver.rebalances)
    driver.join("b")
    driver.heartbeat("b")
    driver.commit("b", 5)
    driver.collect(driver.coordinator.update_metadata({"t0": 9}, driver.now))

    assert before == driver.rebalances
    assert "Stable" == driver.state()


@pytest.mark.parametrize("reason", ["metadata is stale", "metadata is stale."])
def test_the_reason_that_a_member_gives_ends_with_one_full_stop(reason: str) -> None:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.join("a", reason=reason, version=8)

    assert driver.rebalances[-1].reason.endswith(" joined again: metadata is stale.")
