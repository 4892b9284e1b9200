"""Groups continue from logs with records of old coordinators, and with records that no coordinator would write."""

from __future__ import annotations

from typing import Any

import pytest

from assignor.coordinator import CoordinatorConfig, ErrorCode, RebalanceCause
from assignor.coordinator.context import LogRecord
from assignor.offsets import Record, encode_record
from tests.coordinator.driver import GROUP, RANGE, GroupDriver

GROUP_METADATA = 2
SESSION_MS = 10_000


def member(**fields: Any) -> dict[str, Any]:
    """Return one member of a group's record."""
    return {
        "memberId": "a-1",
        "groupInstanceId": None,
        "clientId": "a",
        "clientHost": "",
        "rebalanceTimeout": 60_000,
        "sessionTimeout": SESSION_MS,
        "subscription": RANGE[0][1],
        "assignment": b"",
        **fields,
    }


def record(*members: dict[str, Any], version: int = 3, **fields: Any) -> LogRecord:
    """Return a group's record."""
    value = {
        "protocolType": "consumer",
        "generation": 7,
        "protocol": "range",
        "leader": "a-1",
        "currentStateTimestamp": -1,
        "members": members or (member(),),
        **fields,
    }
    return LogRecord(*encode_record(Record(GROUP_METADATA, None, {"group": GROUP}, version, value)))


def loaded(*records: LogRecord) -> GroupDriver:
    """Return a driver for a coordinator that loaded a group with a member named a."""
    driver = GroupDriver.begin()
    driver.collect(driver.coordinator.load(records, 0))
    driver.ids["a"], driver.generations["a"] = "a-1", 7
    return driver


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_members_of_a_record_of_any_version_continue(version: int) -> None:
    driver = loaded(record(version=version))

    assert ErrorCode.NONE is driver.heartbeat("a")
    driver.wait(SESSION_MS)
    assert [RebalanceCause.CONSUMER_DEAD] == driver.causes


@pytest.mark.parametrize(
    "strange",
    [
        pytest.param(record(protocol=None), id="no protocol"),
        pytest.param(record(member(subscription=b"\0\1\0\0\0\5")), id="a subscription that is too short"),
        pytest.param(record(leader="unknown"), id="a leader that is not a member"),
        pytest.param(record(leader=None), id="no leader"),
        pytest.param(record(member(rebalanceTimeout=-(2**31))), id="a negative timeout"),
        pytest.param(record(member(), member()), id="one member twice"),
        pytest.param(
            record(member(groupInstanceId="i"), member(groupInstanceId="i", memberId="b-1")), id="one instance id twice"
        ),
    ],
)
def test_members_of_a_strange_group_expire(strange: LogRecord) -> None:
    driver = loaded(strange)

    driver.wait(SESSION_MS)

    assert [RebalanceCause.CONSUMER_DEAD] == driver.causes[:1]
    driver.wait(10 * SESSION_MS)
    assert "Empty" == driver.state()


def test_the_generation_overflows_to_the_smallest_number() -> None:
    driver = loaded(record(generation=2**31 - 1))

    answer = driver.join("a")

    assert answer is not None
    assert -(2**31) == answer.generation_id
    assert driver.sync("a", {"a": b"x"}) is not None
    assert "Stable" == driver.state()


def test_sessions_of_a_loaded_group_begin_with_the_first_call_that_has_a_time_argument() -> None:
    driver = GroupDriver.begin()
    driver.ids["a"], driver.generations["a"] = "a-1", 7
    driver.collect(driver.coordinator.load([record()]))
    assert "Stable" == driver.state()
    assert driver.coordinator.next_deadline() is None

    driver.now = 1_795_000_000_000
    assert ErrorCode.NONE is driver.heartbeat("a")

    assert driver.now + SESSION_MS == driver.coordinator.next_deadline()


def test_a_loaded_group_that_is_too_large_rebalances_with_the_first_call_that_has_a_time_argument() -> None:
    driver = GroupDriver.begin(CoordinatorConfig(group_max_size=1))
    driver.collect(driver.coordinator.load([record(member(), member(memberId="b-2"))]))

    effects = driver.coordinator.expire(1_795_000_000_000)

    assert [(RebalanceCause.OVER_CAPACITY, 1_795_000_000_000)] == [(each.cause, each.at) for each in effects.rebalances]
