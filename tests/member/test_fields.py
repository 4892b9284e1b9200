"""Fields of a member's heartbeats."""

from __future__ import annotations

from dataclasses import asdict

from assignor.member.events import (
    Subscribe,
)
from assignor.member.messages import HeartbeatRequest
from tests.member.driver import (
    INTERVAL,
    ORDERS,
    Driver,
    changed,
    joining,
    stable,
)


def next_request(driver: Driver) -> HeartbeatRequest:
    """Return the next heartbeat after the interval."""
    driver.wait(INTERVAL)
    driver.send()
    return driver.request


def test_the_first_heartbeat_has_all_fields() -> None:
    driver = joining(instance_id="i", rack_id="r", server_assignor="range", rebalance_timeout_ms=60_000)

    assert {
        "group_id": "g",
        "member_id": "m-1",
        "member_epoch": 0,
        "instance_id": "i",
        "rack_id": "r",
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": ("clicks", "orders"),
        "subscribed_topic_regex": "",
        "server_assignor": "range",
        "topic_partitions": {},
    } == asdict(driver.request)


def test_a_join_without_a_pattern_sends_an_empty_pattern_only_if_the_coordinator_may_store_a_pattern() -> None:
    assert joining().request.subscribed_topic_regex is None
    # An earlier member with the instance id may have had a pattern, which the coordinator keeps.
    assert "" == joining(instance_id="i").request.subscribed_topic_regex


def test_equal_partitions_are_sent_again_after_another_assignment() -> None:
    driver = stable()
    for assignment in ({}, {ORDERS: [0, 1]}):
        driver.wait(INTERVAL)
        driver.send()
        driver.respond(1, assignment)

    assert {"topic_partitions": {ORDERS: (0, 1)}} == changed(driver.request)


def test_a_removed_pattern_is_sent_again_after_a_failure() -> None:
    driver = stable()
    driver.handle(Subscribe(pattern="ord.*"))
    next_request(driver)
    driver.respond(1)
    driver.handle(Subscribe(["orders"]))
    next_request(driver)
    driver.respond(error=14)
    driver.wait(100)

    assert "" == driver.request.subscribed_topic_regex


def test_a_removed_pattern_is_sent_again_by_a_member_that_rejoins() -> None:
    driver = stable()
    driver.handle(Subscribe(pattern="ord.*"))
    next_request(driver)
    driver.respond(1)
    driver.handle(Subscribe(["orders"]))
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    driver.call_back()

    assert (0, "") == (driver.request.member_epoch, driver.request.subscribed_topic_regex)


def test_all_fields_are_sent_again_after_a_failure() -> None:
    driver = stable(server_assignor="range", rack_id="r")
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=14)
    driver.wait(100)

    fields = changed(driver.request)
    assert {"rebalance_timeout_ms", "subscribed_topic_names", "server_assignor", "topic_partitions"} == set(fields)
    assert {ORDERS: (0, 1)} == fields["topic_partitions"]
