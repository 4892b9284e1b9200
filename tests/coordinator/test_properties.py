"""Properties of groups under random requests: consistent fields, and no request waits forever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from assignor.coordinator import CoordinatorConfig, GroupState
from tests.coordinator.driver import AT_ONCE, GROUP, GroupDriver
from tests.coordinator.programs import run_step, steps

if TYPE_CHECKING:
    from assignor.coordinator import Effects

CONFIGS = st.sampled_from(
    [
        AT_ONCE,
        CoordinatorConfig(),
        CoordinatorConfig(initial_rebalance_delay_ms=0, group_max_size=2, offsets_retention_check_interval_ms=20_000),
    ]
)


def wrong(driver: GroupDriver) -> list[str]:
    """Return the invariants that the group violates, if it exists."""
    group = driver.coordinator._context.groups.get(GROUP)
    if group is None:
        return []
    members = group.members
    facts = {
        "waiting joins are counted": group.waiting_joins == sum(m.join is not None for m in members.values()),
        "the leader is a member": group.leader is None if not members else group.leader in members,
        "instance ids map to members": all(
            members[member_id].group_instance_id == instance_id
            for instance_id, member_id in group.static_members.items()
        ),
        "static members have instance ids": {m.member_id for m in members.values() if m.group_instance_id is not None}
        == set(group.static_members.values()),
        "the longest rebalance timeout is correct": group.rebalance_timeout_ms
        == max((m.rebalance_timeout_ms for m in members.values()), default=0),
        "a member id is either pending or used": not set(group.pending_joins) & set(members),
        "an empty group has no members": group.state is not GroupState.EMPTY or not members,
        "a group with a generation has members": group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
        or bool(members),
        "syncs wait only in CompletingRebalance": group.state is GroupState.COMPLETING_REBALANCE
        or all(m.sync is None for m in members.values()),
        "joins wait only in PreparingRebalance": group.state is GroupState.PREPARING_REBALANCE
        or group.waiting_joins == 0,
        "a member without a waiting request has a session": all(
            m.deadline is not None for m in members.values() if m.join is None and m.sync is None
        ),
    }
    return [fact for fact, holds in facts.items() if not holds]


@given(CONFIGS, steps())
def test_invariants_hold_after_every_request(
    config: CoordinatorConfig, program: list[tuple[str, dict[str, Any]]]
) -> None:
    driver = GroupDriver.begin(config)
    for step in program:
        run_step(driver, step)
        assert [] == wrong(driver)


@given(CONFIGS, steps())
def test_every_group_is_deleted_after_eight_days_without_requests(
    config: CoordinatorConfig, program: list[tuple[str, dict[str, Any]]]
) -> None:
    driver = GroupDriver.begin(config)
    for step in program:
        run_step(driver, step)

    driver.wait(8 * 24 * 60 * 60 * 1000)

    assert [] == list(driver.coordinator.groups())
    assert driver.coordinator.next_deadline() is None


@given(CONFIGS, steps(), st.lists(st.integers(1, 20_000), max_size=60))
def test_the_number_of_calls_to_expire_makes_no_difference(
    config: CoordinatorConfig, program: list[tuple[str, dict[str, Any]]], looks: list[int]
) -> None:
    seldom, often = GroupDriver.begin(config), GroupDriver.begin(config)
    for step, look in zip(program, looks + [0] * len(program), strict=False):
        run_step(seldom, step)
        if step[0] == "wait":
            milliseconds, end = step[1]["milliseconds"], often.now + step[1]["milliseconds"]
            for part in range(min(look, milliseconds), milliseconds, max(look, milliseconds // 7 + 1)):
                often.collect(often.coordinator.expire(end - milliseconds + part))
        run_step(often, step)
        assert seldom.coordinator.describe(GROUP) == often.coordinator.describe(GROUP)

    assert seldom.log == often.log
    assert seldom.rebalances == often.rebalances
    assert seldom.answers == often.answers


@given(CONFIGS, steps())
def test_nothing_happens_before_the_next_deadline(
    config: CoordinatorConfig, program: list[tuple[str, dict[str, Any]]]
) -> None:
    driver = GroupDriver.begin(config)
    for step in program:
        run_step(driver, step)
        deadline = driver.coordinator.next_deadline()
        if deadline is not None and deadline - 1 > driver.now:
            effects: Effects = driver.coordinator.expire(deadline - 1)
            assert ((), (), ()) == (effects.answers, effects.writes, effects.rebalances)
            driver.now = deadline - 1
