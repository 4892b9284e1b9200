"""Responses of a real coordinator to hand-made heartbeats: assignments and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kio.schema.errors import ErrorCode

from tests.broker.scripted_member import ScriptedMember

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker.scenario import Scenario

pytestmark = pytest.mark.broker


def test_a_member_waits_for_partitions_that_another_has_not_revoked(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("hand-over", "range") as scenario:
        scenario.create_topics(orders=4, payments=3)
        a, b = ScriptedMember(scenario, "a"), ScriptedMember(scenario, "b")
        a.join("orders", "payments")
        assert {"orders": [0, 1, 2, 3], "payments": [0, 1, 2]} == a.has()
        a.acknowledge()
        b.join("orders", "payments")
        assert {} == b.has()
        epoch = a.epoch
        assert a.heartbeat().assignment is not None
        assert ({"orders": [0, 1], "payments": [0, 1]}, epoch) == (a.has(), a.epoch)
        assert b.heartbeat().assignment is None
        a.acknowledge()
        assert epoch + 1 == a.epoch == b.epoch
        b.heartbeat()
        assert {"orders": [2, 3], "payments": [2]} == b.has()
        b.acknowledge()
        assert "Stable" == scenario.describe().state
        assert -1 == b.leave().member_epoch
        a.heartbeat()
        assert {"orders": [0, 1, 2, 3], "payments": [0, 1, 2]} == a.has()
        a.acknowledge()
        a.leave()
        assert {} == scenario.describe().members


def test_three_members_join_and_leave(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("three-by-hand", "uniform") as scenario:
        scenario.create_topics(orders=4, payments=3)
        members = [ScriptedMember(scenario, name) for name in "abc"]
        for member in members:
            member.join("orders", "payments")
        settle(*members)
        assert [2, 2, 3] == sorted(sum(map(len, member.has().values())) for member in members)
        members.pop(1).leave()
        settle(*members)
        assert [3, 4] == sorted(sum(map(len, member.has().values())) for member in members)
        assert "Stable" == scenario.describe().state


def test_members_share_the_topics_that_they_have_in_common(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("other-topics", "range") as scenario:
        scenario.create_topics(orders=3, payments=2, refunds=5)
        a, b, c = (ScriptedMember(scenario, name) for name in "abc")
        a.join("orders", "payments")
        b.join("payments", "refunds")
        c.join("orders", "refunds", "missing")
        settle(a, b, c)
        assert {"orders": [0, 1], "payments": [0]} == a.has()
        assert {"payments": [1], "refunds": [0, 1, 2]} == b.has()
        assert {"orders": [2], "refunds": [3, 4]} == c.has()
        b.heartbeat(topics=["orders"])
        settle(a, b, c)
        assert ({"orders": [0], "payments": [0, 1]}, {"orders": [1]}) == (a.has(), b.has())
        assert {"orders": [2], "refunds": [0, 1, 2, 3, 4]} == c.has()
        scenario.describe()


def test_created_grown_and_deleted_topics_are_reassigned(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("changing-topics", "range") as scenario:
        scenario.create_topics(orders=2)
        a, b = ScriptedMember(scenario, "a"), ScriptedMember(scenario, "b")
        for member in (a, b):
            member.join("orders", "later")
        settle(a, b)
        assert ({"orders": [0]}, {"orders": [1]}) == (a.has(), b.has())
        scenario.create_topics(later=2)
        settle(a, b)
        assert ({"later": [0], "orders": [0]}, {"later": [1], "orders": [1]}) == (sort(a.has()), sort(b.has()))
        scenario.grow_topic("later", 3)
        settle(a, b)
        assert ({"later": [0, 1], "orders": [0]}, {"later": [2], "orders": [1]}) == (sort(a.has()), sort(b.has()))
        scenario.delete_topic("orders")
        settle(a, b)
        assert ({"later": [0, 1]}, {"later": [2]}) == (a.has(), b.has())
        scenario.describe()


def test_a_wrong_epoch_is_fenced(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("wrong-epochs", "range") as scenario:
        scenario.create_topics(orders=2)
        a, b = ScriptedMember(scenario, "a"), ScriptedMember(scenario, "b")
        a.join("orders")
        a.acknowledge()
        assert ErrorCode.unknown_member_id.value == b.heartbeat(epoch=a.epoch).error_code
        assert ErrorCode.fenced_member_epoch.value == a.heartbeat(epoch=a.epoch + 1).error_code
        b.join("orders")
        settle(a, b)
        assert ErrorCode.fenced_member_epoch.value == a.heartbeat(epoch=a.epoch - 1).error_code
        again = a.heartbeat(epoch=a.epoch - 1, owned=a.given)
        assert (0, a.epoch) == (again.error_code, again.member_epoch)
        rejoined = a.join("orders")
        assert (0, {"orders": [0]}) == (rejoined.error_code, a.has())
        settle(a, b)
        scenario.describe()


def test_a_new_member_with_the_instance_id_gets_its_partitions(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("static-by-hand", "range") as scenario:
        scenario.create_topics(orders=4)
        first, other = ScriptedMember(scenario, "z", instance_id="one"), ScriptedMember(scenario, "a")
        for member in (first, other):
            member.join("orders")
        settle(first, other)
        assert ({"orders": [0, 1]}, {"orders": [2, 3]}) == (first.has(), other.has())
        second = ScriptedMember(scenario, "k", instance_id="one")
        assert ErrorCode.unreleased_instance_id.value == second.join("orders").error_code
        assert ErrorCode.fenced_instance_id.value == second.heartbeat(epoch=first.epoch).error_code
        assert -2 == first.leave_for_now().member_epoch
        scenario.describe()
        epoch = other.epoch
        second.join("orders")
        settle(second, other)
        assert ({"orders": [0, 1]}, {"orders": [2, 3]}) == (second.has(), other.has())
        assert (epoch, epoch) == (second.epoch, other.epoch)
        assert ErrorCode.fenced_instance_id.value == first.heartbeat().error_code
        second.leave()
        settle(other)
        assert {"orders": [0, 1, 2, 3]} == other.has()
        scenario.describe()


@pytest.mark.long
def test_members_without_heartbeats_or_revocation_are_removed(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("timeouts-by-hand", "range") as scenario:
        scenario.create_topics(orders=4)
        silent, holding, alive = (
            ScriptedMember(scenario, "a"),
            ScriptedMember(scenario, "b", rebalance_timeout_ms=2000),
            ScriptedMember(scenario, "c"),
        )
        silent.join("orders")
        holding.join("orders")
        settle(silent, holding)
        alive.join("orders")
        for _ in range(14):
            holding.heartbeat()
            alive.heartbeat()
            scenario.wait(500)
        assert ErrorCode.unknown_member_id.value == silent.heartbeat().error_code
        assert ErrorCode.unknown_member_id.value == holding.heartbeat().error_code
        settle(alive)
        assert {"orders": [0, 1, 2, 3]} == alive.has()
        scenario.describe()


def test_invalid_heartbeats_are_rejected(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("refusals", "range") as scenario:
        scenario.create_topics(orders=2)
        a = ScriptedMember(scenario, "a")
        assert ErrorCode.group_id_not_found.value == a.heartbeat(epoch=3).error_code
        assert ErrorCode.invalid_request.value == a.heartbeat(epoch=0).error_code
        assert ErrorCode.invalid_request.value == a.heartbeat(epoch=-3).error_code
        assert ErrorCode.unsupported_assignor.value == a.join("orders", assignor="nonesuch").error_code
        assert ErrorCode.invalid_regular_expression.value == a.join(pattern="(").error_code
        assert 0 == a.join("orders").error_code
        assert ErrorCode.unsupported_assignor.value == a.heartbeat(assignor="nonesuch").error_code
        assert ErrorCode.invalid_request.value == a.leave_for_now().error_code
        assert 0 == a.leave().error_code


def test_a_pattern_is_resolved_in_addition_to_names(start_scenario: Callable[..., Scenario]) -> None:
    with start_scenario("pattern-by-hand", "range") as scenario:
        scenario.create_topics(orders=2, origins=1, refunds=2)
        a, b = ScriptedMember(scenario, "a"), ScriptedMember(scenario, "b")
        a.join(pattern=scenario.topic("or.*"))
        scenario.await_patterns()
        settle(a)
        assert {"orders": [0, 1], "origins": [0]} == sort(a.has())
        b.join("refunds", pattern=scenario.topic("or.*"))
        settle(a, b)
        assert {"orders": [0], "origins": [0]} == sort(a.has())
        assert {"orders": [1], "refunds": [0, 1]} == sort(b.has())
        a.heartbeat(topics=["refunds"], pattern="")
        settle(a, b)
        assert {"refunds": [0]} == a.has()
        assert {"orders": [0, 1], "origins": [0], "refunds": [1]} == sort(b.has())
        scenario.describe()


def settle(*members: ScriptedMember) -> None:
    """Let the members acknowledge their assignments in turn until the coordinator sends no new ones."""
    moving = True
    while moving:
        answers = [member.heartbeat() for member in members]
        moving = any(answer.assignment is not None for answer in answers)
        for member in members:
            member.acknowledge()


def sort(partitions: dict[str, list[int]]) -> dict[str, list[int]]:
    return dict(sorted(partitions.items()))
